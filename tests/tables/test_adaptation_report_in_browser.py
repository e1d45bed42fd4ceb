"""The report of an adaptation in a real browser: no network, no error, fit for a phone."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from browser import chromium, needs_browser

from ilspace.tables.job import adapt_files
from ilspace.tables.outputs import write_outputs

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]

N_TARGET = 20_000
NASTY = ["<b>x</b>", "a&amp;b", "</script><script>boom()</script>", "<!--<script>", "e" * 300]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """20,000 target rows, and names of classes and columns that look like HTML."""
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    y, yt = np.arange(200) % 5, np.arange(N_TARGET) % 5
    means = 3 * rng.normal(size=(5, 6))
    names = [f"<i>{i}</i> {'long ' * 9}" for i in range(6)]
    source = pd.DataFrame(rng.normal(size=(200, 6)) + means[y], columns=names)
    target = pd.DataFrame(rng.normal(size=(N_TARGET, 6)) + means[yt] + 1, columns=names)
    source["class"] = np.array(NASTY)[y]
    source.to_csv(folder / "s.csv", index=False)
    target.to_parquet(folder / "t.parquet")
    adaptation = adapt_files(folder / "s.csv", folder / "t.parquet", label="class")
    write_outputs(adaptation, folder / "out")
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def browser(page):
    with chromium() as driver:
        driver.get(page.as_uri())
        yield driver


def test_size_and_thinning(page):
    assert page.stat().st_size < 1_500_000
    text = page.read_text(encoding="utf-8")
    assert f"2000 of {N_TARGET} target rows are shown" in text
    assert "2000 of 200 " not in text


def test_loads_without_network_or_error(browser):
    requests = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert requests
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests), requests
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart")
    assert len(charts) == 5  # balance, confidence, before, after, convergence
    assert all(chart.find_elements(By.CSS_SELECTOR, "svg.main-svg") for chart in charts)


def test_no_button_sends_anything_anywhere(browser, page):
    text = page.read_text(encoding="utf-8")
    assert "plot.ly" not in text
    assert "cloud" not in text.lower()
    links = re.findall(r'(?:src|href|action)="([^"]*)"', text)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links), links
    assert browser.find_elements(By.CSS_SELECTOR, ".modebar-btn") == []
    assert browser.execute_script("return typeof Plotly") == "undefined"


def test_a_table_can_be_hidden(browser):
    button = browser.find_element(By.CSS_SELECTOR, '#latent-space button[data-kind="source"]')
    group = browser.find_element(By.CSS_SELECTOR, '#latent-space g[data-kind="source"]')
    for is_shown in (False, True):
        browser.execute_script("arguments[0].click()", button)
        assert (button.get_attribute("aria-pressed") == "true") == is_shown
        assert group.is_displayed() == is_shown


def test_source_and_target_wear_no_colour_of_a_class(browser):
    fills = "return [...document.querySelectorAll(arguments[0])].map((e) => e.getAttribute('fill'))"
    classes = browser.execute_script(fills, "#latent-space .legendtext svg [fill]")
    domains = browser.execute_script(fills, "#latent-space .legend button svg [fill]")
    assert len(set(classes)) == 5
    assert domains
    assert not set(domains) & set(classes)


def test_every_part_is_there_and_told_to_those_who_cannot_see(browser):
    for anchor in (
        "adapt-at-all",
        "predictions",
        "doubtful",
        "latent-space",
        "convergence",
        "directions",
    ):
        assert browser.find_elements(By.ID, anchor), anchor
        assert browser.find_elements(By.CSS_SELECTOR, f'nav a[href="#{anchor}"]'), anchor
    for chart in browser.find_elements(By.CSS_SELECTOR, ".chart"):
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 10
    for table in browser.find_elements(By.TAG_NAME, "table"):
        assert table.find_elements(By.CSS_SELECTOR, 'th[scope="col"]')
    assert browser.execute_script("return document.documentElement.lang") == "en"


def test_names_are_shown_as_they_are(browser):
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "<i>0</i>" in text
    legend = [
        each.text.strip()
        for each in browser.find_elements(By.CSS_SELECTOR, "#latent-space .legend li")
    ]
    assert {"source", "target", "<b>x</b>", "a&amp;b", "<!--<script>"} <= set(legend), legend
    assert browser.execute_script("return typeof boom") == "undefined"


def test_points_tell_what_they_are(browser):
    chart = browser.find_elements(By.CSS_SELECTOR, "#latent-space .chart")[-1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    point = chart.find_elements(By.CSS_SELECTOR, 'g[data-kind="target"] path')[-1]
    ActionChains(browser).move_to_element(point).pause(0.5).perform()
    assert "target, " in browser.find_element(By.CSS_SELECTOR, ".tip").text


def test_readable_on_a_phone(browser, page):
    """Headless windows are at least 500 pixels wide, so the device is emulated."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 375, "height": 800, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get(page.as_uri())
    fits = "return document.documentElement.scrollWidth <= 375"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(fits))
    assert browser.execute_script("return window.innerWidth") == 375
