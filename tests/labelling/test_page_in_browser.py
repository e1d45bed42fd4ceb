"""The page in a real browser, doing what a person does."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from browser import chromium, needs_browser
from labelling.served import Served, labels_in
from PIL import Image

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]

NAMES = np.array(["</script><script>boom()</script>", "<b>ant</b>", "bee"])  # in their order
N_TARGET = 90


@pytest.fixture
def tables(tmp_path):
    """Files with pictures, texts, and names that look like HTML."""
    rng = np.random.default_rng(0)
    y, yt = np.arange(60) % 3, np.arange(N_TARGET) % 3
    means = 2 * rng.normal(size=(3, 4))
    paths = []
    for name, codes in (("source", y), ("target", yt)):
        table = pd.DataFrame(rng.normal(size=(len(codes), 4)) + means[codes]).add_prefix("<i>x")
        table["remark"] = [f"Row {i} <img src=x onerror=boom()> " * 4 for i in range(len(codes))]
        table["photo"] = [f"photos/{i % 3}.png" for i in range(len(codes))]
        if name == "source":
            table["class"] = NAMES[codes]
        paths.append(tmp_path / f"{name}.csv")
        table.to_csv(paths[-1], index=False)
    (tmp_path / "photos").mkdir()
    for i in range(3):
        Image.fromarray(np.full((20, 30), 80 * i, dtype=np.uint8)).save(
            tmp_path / f"photos/{i}.png"
        )
    return [*paths, "--label", "class", "--ignore", "remark", "--refit-after", "6"]


@pytest.fixture
def browser():
    with chromium() as driver:
        yield driver


def wait(browser, condition, seconds=30):
    return WebDriverWait(browser, seconds, poll_frequency=0.05).until(lambda _: condition())


def text(browser, name):
    return browser.find_element(By.ID, name).text


def row_of(browser):
    found = re.search(r"Row (\d+) of", text(browser, "row-title"))
    return int(found[1]) if found else 0


def labelled(browser):
    found = re.match(r"\d+", text(browser, "progress"))
    return int(found[0]) if found else -1


def press(browser, key):
    """Press a key, and wait for the next row."""
    before = row_of(browser)
    browser.find_element(By.TAG_NAME, "body").send_keys(key)
    wait(browser, lambda: row_of(browser) not in (before, 0))
    return before


def opened(browser, address):
    browser.get(address)
    wait(browser, lambda: row_of(browser) != 0)


def severe(browser):
    return [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_label_twenty_rows_undo_reload_kill_and_go_on(tables, browser):
    path = tables[1].with_name("target.csv.labels.jsonl")
    with Served(*tables) as server:
        opened(browser, server.address)
        given = {}
        for _ in range(20):
            key = row_of(browser) % 3  # not always right, as people are
            given[press(browser, str(key + 1))] = str(NAMES[key])
        assert labelled(browser) == 20
        assert {each["row"]: each["label"] for each in labels_in(path)} == given
        # undo: the row comes back, and gets another label
        last = list(given)[-1]
        browser.find_element(By.TAG_NAME, "body").send_keys("u")
        wait(browser, lambda: row_of(browser) == last)
        assert labelled(browser) == 19
        press(browser, "2")
        press(browser, "s")
        press(browser, "n")
        wait(browser, lambda: "1 skipped" in text(browser, "progress"))
        assert "1 of no class" in text(browser, "progress")
        # the model has learned, and says so
        wait(browser, lambda: "%" in text(browser, "accuracy"))
        assert "held-out source rows" in text(browser, "interval")
        assert "Sure rows" in text(browser, "rely")
        wait(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "#map .labelled path"))
        wait(browser, lambda: not browser.find_element(By.ID, "learning").is_displayed())
        # reload: the same row, the same counts
        before = row_of(browser)
        browser.refresh()
        wait(browser, lambda: row_of(browser) != 0)
        assert (row_of(browser), labelled(browser)) == (before, 20)
        assert severe(browser) == []
        # names are shown as they are, the picture is there
        assert text(browser, "classes").count("<b>ant</b>") == 1
        assert "<img src=x onerror=boom()>" in text(browser, "texts")
        assert "<i>x0" in text(browser, "columns")
        assert browser.execute_script("return typeof boom") == "undefined"
        loaded = "return document.querySelector('#pictures img').naturalWidth"
        wait(browser, lambda: browser.execute_script(loaded) == 30)
        requests = [
            json.loads(entry["message"])["message"]["params"]["request"]["url"]
            for entry in browser.get_log("performance")
            if '"Network.requestWillBeSent"' in entry["message"]
        ]
        assert requests
        assert all(url.startswith((server.address, "data:")) for url in requests)
        server.kill()
        # a label that cannot be sent is said not to be saved
        browser.find_element(By.TAG_NAME, "body").send_keys("1")
        wait(browser, lambda: "does not answer" in text(browser, "alert"))
        assert row_of(browser) == before
    with Served(*tables) as server:
        opened(browser, server.address)
        assert labelled(browser) == 20
        asked = press(browser, "1")
        assert labelled(browser) == 21
        assert asked not in given
    events = labels_in(path)
    assert len({each["event"] for each in events}) == len(events) == 25
    assert sum(each["kind"] == "label" for each in events) == 22


def test_two_tabs(tables, browser):
    with Served(*tables) as server:
        opened(browser, server.address)
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        opened(browser, server.address)
        second, shown = browser.current_window_handle, row_of(browser)
        browser.switch_to.window(first)
        assert row_of(browser) != shown
        mine = [press(browser, "1") for _ in range(3)]
        browser.switch_to.window(second)
        wait(browser, lambda: labelled(browser) == 3)  # without a key or a reload
        assert row_of(browser) == shown
        yours = [press(browser, "2") for _ in range(2)]
        assert set(mine).isdisjoint(yours)
        # undo is about one's own answers
        browser.find_element(By.TAG_NAME, "body").send_keys("u")
        wait(browser, lambda: row_of(browser) == yours[-1])
        browser.switch_to.window(first)
        wait(browser, lambda: labelled(browser) == 4)
        assert severe(browser) == []


def test_without_a_mouse_on_a_phone_and_in_the_dark(tables, browser):
    emulated = {"width": 375, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    with Served(*tables) as server:
        opened(browser, server.address)
        # tab to a class, and choose it; Enter elsewhere is the guess
        wait(browser, lambda: "Guess" in text(browser, "guess"))
        before = row_of(browser)
        for _ in range(20):
            browser.switch_to.active_element.send_keys(Keys.TAB)
            if "bee" in browser.switch_to.active_element.text:
                break
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.execute_script(outline) == "solid"
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        wait(browser, lambda: row_of(browser) != before)
        browser.find_element(By.TAG_NAME, "body").send_keys("?")
        assert browser.find_element(By.ID, "help").is_displayed()
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert not browser.find_element(By.ID, "help").is_displayed()
        browser.execute_script("document.activeElement.blur()")
        guess = browser.find_element(By.CSS_SELECTOR, "#guess strong").text
        asked = press(browser, Keys.ENTER)
        path = tables[1].with_name("target.csv.labels.jsonl")
        assert {"row": asked, "label": guess}.items() <= labels_in(path)[-1].items()
        assert labels_in(path)[0]["label"] == "bee"
        # contrast of text and of classes with what lies beneath, in both schemes
        for scheme in ("light", "dark"):
            wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
            assert contrast(browser, "#columns dd", "color") > 7
            assert contrast(browser, "#columns dt", "color") > 4.5
            assert min(contrasts_of_classes(browser)) > 3
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", emulated)
        browser.refresh()
        wait(browser, lambda: row_of(browser) != 0)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
        button = browser.find_element(By.CSS_SELECTOR, ".class")
        assert button.size["height"] >= 44
        in_sight = "return arguments[0].getBoundingClientRect().bottom <= innerHeight"
        assert browser.execute_script(in_sight, browser.find_element(By.ID, "skip"))
        button.click()
        wait(browser, lambda: labelled(browser) == 3)
        assert severe(browser) == []


def luminance(rgb):
    parts = np.array(rgb) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def ratio(one, other):
    """Contrast, as WCAG 2 defines it."""
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def colour(browser, selector, name):
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    return [
        int(each) for each in re.findall(r"\d+", browser.execute_script(script, selector, name))
    ][:3]


def contrast(browser, selector, name):
    return ratio(colour(browser, selector, name), colour(browser, "#card", "backgroundColor"))


def contrasts_of_classes(browser):
    script = """
        const mark = document.createElement("span");
        document.body.append(mark);
        const found = [...Array(8).keys()].map((code) => {
          mark.className = `class-${code}`;
          return getComputedStyle(mark).color;
        });
        mark.remove();
        return found;
    """
    beneath = colour(browser, "#card", "backgroundColor")
    for found in browser.execute_script(script):
        yield ratio([int(each) for each in re.findall(r"\d+", found)][:3], beneath)
