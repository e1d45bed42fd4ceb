"""The report in a real browser: no network, no error, sorting and hovering work."""

import json

import pytest
from benchmark.test_bench import made_up
from browser import chromium, needs_browser

from ilspace.benchmark.report import write_report
from ilspace.benchmark.store import Store

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    for name in ("trade-off", "solvers"):
        store = Store(folder / f"{name}.jsonl")
        store.path.write_text("".join(json.dumps(record) + "\n" for record in made_up(name)))
    path = folder / "report.html"
    path.write_text(write_report(folder), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(page):
    with chromium() as driver:
        driver.get(page.as_uri())
        yield driver


def test_loads_without_network_or_error(browser):
    requests = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests), requests
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart")
    assert len(charts) == 5
    assert all(chart.find_elements(By.CSS_SELECTOR, "svg.main-svg") for chart in charts)


def test_no_button_sends_anything_anywhere(browser):
    names = {
        each.get_attribute("data-title")
        for each in browser.find_elements(By.CSS_SELECTOR, ".modebar-btn")
    }
    assert names <= {"Zoom", "Pan", "Reset axes", "Autoscale"}, names
    assert not browser.find_elements(By.CSS_SELECTOR, "a[href*='plot']")


def test_headings_sort_both_ways(browser):
    table = browser.find_element(By.CSS_SELECTOR, "table.sortable")
    heads = table.find_elements(By.CSS_SELECTOR, "thead th")
    mean = next(i for i, head in enumerate(heads) if head.text.strip() == "mean")
    button = heads[mean].find_element(By.TAG_NAME, "button")

    def values():
        rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
        return [float(row.find_elements(By.TAG_NAME, "td")[mean - 1].text) for row in rows]

    browser.execute_script("arguments[0].click()", button)
    assert values() == sorted(values(), reverse=True)
    assert heads[mean].get_attribute("aria-sort") == "descending"
    browser.execute_script("arguments[0].click()", button)
    assert values() == sorted(values())
    assert len(set(values())) > 1


def test_bars_tell_their_numbers(browser):
    chart = browser.find_element(By.CSS_SELECTOR, ".chart")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    bar = chart.find_element(By.CSS_SELECTOR, ".barlayer .point path")
    ActionChains(browser).move_to_element(bar).pause(0.5).perform()
    assert chart.find_elements(By.CSS_SELECTOR, ".hoverlayer .hovertext")


def test_readable_on_a_phone(browser):
    browser.set_window_size(500, 800)
    fits = "return document.documentElement.scrollWidth <= window.innerWidth + 1"
    WebDriverWait(browser, 10).until(lambda driver: driver.execute_script(fits))
    browser.set_window_size(1200, 900)
