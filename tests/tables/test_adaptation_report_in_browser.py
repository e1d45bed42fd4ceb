"""The report of an adaptation in a real browser: no network, no error, fit for a phone."""

import json

import numpy as np
import pandas as pd
import pytest
from browser import chromium, needs_browser
from tables.small_tables import quick

import ilspace
from ilspace.tables.outputs import write_outputs

pytest.importorskip("selenium.webdriver")
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
    for table in (source, target):
        table["place"] = rng.choice(["north", "south", "w" * 90], len(table))
    source["class"] = np.array(NASTY)[y]
    source.to_csv(folder / "s.csv", index=False)
    target.to_parquet(folder / "t.parquet")
    answer = ilspace.adapt(folder / "s.csv", folder / "t.parquet", "class", method=quick())
    write_outputs(answer, folder / "out")
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def browser(page):
    with chromium() as driver:
        driver.get(page.as_uri())
        yield driver


def test_it_is_small_and_says_how_many_points_there_are(page, browser):
    assert page.stat().st_size < 200_000
    text = browser.find_element(By.ID, "map").text
    assert "At most 400 rows of each table are shown" in text
    title = browser.find_element(By.CSS_SELECTOR, ".map title").get_attribute("textContent")
    assert title == "Map of 200 source rows and 400 target rows, coloured by 5 classes"


def test_loads_without_network_or_error(browser):
    requests = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert requests
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests), requests
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_every_section_is_there_and_told_to_those_who_cannot_see(browser):
    anchors = ("rely", "changed", "balance", "look-first", "explained", "map", "done", "next")
    for anchor in anchors:
        assert browser.find_element(By.ID, anchor).is_displayed(), anchor
        assert browser.find_elements(By.CSS_SELECTOR, f'nav a[href="#{anchor}"]'), anchor
    for chart in browser.find_elements(By.CSS_SELECTOR, 'svg[role="img"]'):
        title = chart.find_element(By.TAG_NAME, "title").get_attribute("textContent")
        assert len(title) > 10
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.histogram")) == 6
    assert len(browser.find_elements(By.CSS_SELECTOR, ".levels dt")) == 3
    assert browser.execute_script("return document.documentElement.lang") == "en"


def test_names_are_shown_as_they_are(browser):
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "<i>0</i>" in text
    legend = browser.find_elements(By.CSS_SELECTOR, "#map .legend li")
    cut_off = [each if len(each) <= 40 else f"{each[:39]}…" for each in sorted(NASTY)]
    assert [each.text.strip() for each in legend] == ["source", "target", *cut_off]
    assert browser.execute_script("return typeof boom") == "undefined"


def test_classes_have_colours_of_their_own(browser):
    colour = "return getComputedStyle(arguments[0]).color"
    keys = browser.find_elements(By.CSS_SELECTOR, "#map .legend li svg[class]")
    found = {browser.execute_script(colour, each) for each in keys}
    assert len(found) == 5
    crosses = browser.find_elements(By.CSS_SELECTOR, "#map .crosses")
    dots = browser.find_elements(By.CSS_SELECTOR, "#map .dots")
    for marks in (crosses, dots):
        assert {browser.execute_script(colour, each) for each in marks} <= found


def test_explanations_open(browser):
    first, *others = browser.find_elements(By.CSS_SELECTOR, "#explained details")
    assert first.get_attribute("open")
    assert len(others) == 3
    for each in others:
        assert not each.get_attribute("open")
        browser.execute_script("arguments[0].querySelector('summary').click()", each)
        assert each.find_element(By.TAG_NAME, "table").is_displayed()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_readable_on_a_desk_and_on_a_phone_by_day_and_by_night(browser, page, width, theme):
    """Headless windows are at least 500 pixels wide, so the device is emulated."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.get(page.as_uri())
    fits = f"return document.documentElement.scrollWidth <= {width}"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(fits))
    assert browser.execute_script("return window.innerWidth") == width
    ground, ink = (
        browser.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    assert contrast(ground, ink) > 7
    assert (luminance(ground) > 0.5) == (theme == "light")
    for each in browser.find_elements(By.CSS_SELECTOR, ".quiet, .card p, td, th, dt, li"):
        colour = browser.execute_script("return getComputedStyle(arguments[0]).color", each)
        assert contrast(ground, colour) > 4.5
    for each in browser.find_elements(By.CSS_SELECTOR, "#map .legend li svg[class]"):
        colour = browser.execute_script("return getComputedStyle(arguments[0]).color", each)
        assert contrast(ground, colour) >= 3


def luminance(colour):
    """As WCAG has it, of ``rgb(r, g, b)``."""
    parts = np.array([float(each) for each in colour[colour.index("(") + 1 : -1].split(",")[:3]])
    parts = parts / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
