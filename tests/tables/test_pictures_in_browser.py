"""One command on two folders of digits, and its report in a real browser."""

import pytest
from browser import chromium, needs_browser
from images.digit_folders import write_digits
from typer.testing import CliRunner

from ilspace.cli.app import app

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    digits = write_digits(folder, mnist=True)
    arguments = ["adapt", digits.source, digits.target, "-o", str(folder / "out")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    with chromium() as driver:
        driver.get((folder / "out" / "report.html").as_uri())
        yield driver


@pytest.mark.parametrize("width", [1200, 500])
def test_thumbnails_are_seen_in_pairs(browser, width):
    browser.set_window_size(width, 900)
    pairs = browser.find_elements(By.CSS_SELECTOR, "#doubtful .pair")
    assert len(pairs) == 15
    for pair in pairs:
        left, right = pair.find_elements(By.TAG_NAME, "img")
        for image in (left, right):
            assert browser.execute_script("return arguments[0].naturalWidth", image) == 8
            assert image.size == {"width": 96, "height": 96}
            assert image.get_attribute("alt")
        assert left.location["x"] < right.location["x"]
        assert left.location["y"] == right.location["y"]
        assert right.location["x"] + 96 < width
    overflow = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.execute_script(overflow)
    assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []
