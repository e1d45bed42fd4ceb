"""One command on two folders of digits, and its report in a real browser."""

import pytest
from browser import chromium, needs_browser
from images.digit_folders import write_digits
from typer.testing import CliRunner

from ilspace.cli.app import app
from ilspace.tables.report import MOST_ROWS

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    digits = write_digits(folder, mnist=True)
    arguments = ["adapt", digits.source, digits.target, "-o", str(folder / "out")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def browser(page):
    with chromium() as driver:
        driver.get(page.as_uri())
        yield driver


@pytest.mark.parametrize("width", [1200, 500])
def test_thumbnails_are_seen_in_pairs(browser, width):
    browser.set_window_size(width, 900)
    rows = browser.find_elements(By.CSS_SELECTOR, "#look-first tbody tr")
    assert len(rows) == MOST_ROWS
    for row in rows:
        left, right = row.find_elements(By.TAG_NAME, "img")
        for image in (left, right):
            assert browser.execute_script("return arguments[0].naturalWidth", image) == 8
            assert image.size == {"width": 96, "height": 96}
            assert ", labelled " in image.get_attribute("alt")
        assert left.location["x"] + 96 <= right.location["x"]
        assert left.location["y"] == right.location["y"]
    overflow = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.execute_script(overflow)
    assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []


def test_columns_of_pictures_explain_nothing(browser, page):
    """What tells is the picture that is nearest, not the numbers that describe it."""
    heads = browser.find_elements(By.CSS_SELECTOR, "#explained thead th:first-child")
    assert heads
    named = {each.get_attribute("textContent") for each in heads}
    assert named == {"nearest labelled rows"}
    assert page.stat().st_size < 400_000
