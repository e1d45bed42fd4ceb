"""The search of the docs in a real browser, from a folder on disk: no server, no network."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browser import chromium, needs_browser

pytest.importorskip("pydata_sphinx_theme", reason="the extra docs is not installed")
pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = needs_browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
LOOKS = r"^# --- the pages -+\n(.*)\Z"
"""Where docs/conf.py chooses theme, style and sidebars."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two of the pages, built with the theme and the options of the docs."""
    pages, site = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
    looks = re.search(LOOKS, (DOCS / "conf.py").read_text(), re.M | re.S)
    assert looks is not None
    settings = ['project = "ilspace"', 'extensions = ["myst_parser"]', looks[1]]
    (pages / "conf.py").write_text("\n".join(settings))
    shutil.copytree(DOCS / "_static", pages / "_static")
    (pages / "index.md").write_text("# ilspace\n\n```{toctree}\nglossary\n```\n")
    shutil.copy(DOCS / "glossary.md", pages)
    command = [sys.executable, "-m", "sphinx", "-q", str(pages), str(site)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return site


@pytest.fixture
def browser():
    with chromium() as driver:
        yield driver


def found(browser, site, word):
    """Titles that the search of the site finds."""
    browser.get(f"{(site / 'search.html').as_uri()}?q={word}")
    WebDriverWait(browser, 20).until(
        lambda driver: (
            "found" in driver.find_element(By.ID, "search-results").text
            or "did not match" in driver.find_element(By.ID, "search-results").text
        )
    )
    links = browser.find_elements(By.CSS_SELECTOR, "#search-results li a")
    return [each.text for each in links]


def test_a_word_is_found_without_a_network(site, browser):
    assert any("Glossary" in title for title in found(browser, site, "projection"))
    assert found(browser, site, "zzyzx") == []
    requested = {
        address
        for entry in browser.get_log("performance")
        for address in re.findall(r'"url":"([^"]+)"', entry["message"])
    }
    elsewhere = {each for each in requested if not each.startswith(("file:", "data:", "chrome"))}
    assert not elsewhere - {"about:blank"}
