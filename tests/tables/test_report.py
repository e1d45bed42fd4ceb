"""The page about an adaptation: the same words and numbers in one small file, all it needs."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import quick, small_tables

import ilspace
from ilspace.pages.adaptation import PALETTE
from ilspace.tables.report import MOST_ROWS, report_page

TABLES = small_tables(missing=0)
HOSTILE = ["<b>x</b>", "a&amp;b", "</script><script>boom()</script>", "<!--<script>", "e" * 300]


def adapted(source=TABLES.source, target=TABLES.target, **options):
    return ilspace.adapt(source, target, "class", **{"method": quick()} | options)


class Page(HTMLParser):
    """Tags and their attributes, and the text of a page without its style."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.words, self.inside = [], [], []
        self.feed(content)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" not in self.inside:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def found():
    return adapted(target=TABLES.labelled(5), own_scaling=False)


@pytest.fixture(scope="module")
def page(found):
    return Page(report_page(found, "results/"))


def spaced(text):
    return " ".join(text.split())


def test_it_says_what_the_answer_says(found, page):
    for card in found.rely:
        for part in ("title", "value", "text"):
            assert spaced(card[part]) in page.text
    for note in found.notes:
        assert spaced(note) in page.text
    (step,) = found.next_steps("results/")
    assert spaced(step["text"]) in page.text
    assert "ilspace label results/" in page.text
    for each in found.estimate.drift:
        assert f"moved by {each.distance:.2f}; {each.about}" in page.text
    low, high = found.estimate.interval or (0, 0)
    title = f"Expected accuracy on the target: between {100 * low:.0f}% and {100 * high:.0f}%"
    assert title in page.text
    for each in found.summary["balance"]:
        shares = f"{each['class']} {100 * each['source']:.0f}% {100 * each['predicted']:.0f}%"
        assert shares in page.text


def test_every_section_is_there_and_linked(page):
    anchors = {each["id"] for each in page.all("section") + page.all("footer") if "id" in each}
    wanted = {"rely", "changed", "balance", "look-first", "explained", "map", "done", "next"}
    assert anchors == wanted
    links = [each["href"] for each in page.all("a")]
    assert {f"#{each}" for each in wanted} == set(links)


def test_the_least_probable_rows_are_looked_at_first(found, page):
    order = found.new["probability"].sort_values(kind="stable").index[:MOST_ROWS]
    shown = page.text[page.text.index("Rows to look at first Target") :]
    shown = shown[: shown.index("Why these rows have their labels")]
    rows = re.findall(r"(\d+) (000\d\d) (\S+) (\d\.\d\d) ", shown)
    said = found.predictions.loc[order]
    expected = zip(said["row"], said["sample"], said["label"], said["probability"], strict=True)
    assert rows == [(str(row), name, label, f"{p:.2f}") for row, name, label, p in expected]
    assert said["probability"].max() <= found.new["probability"].drop(order).min()


def test_rows_of_missing_values_are_looked_at_last():
    target = TABLES.target.copy()
    target.loc[3, ["height", "width", "depth", "colour"]] = None
    again = adapted(target=target, own_scaling=False)
    text = Page(report_page(again)).text
    first = text[text.index("Rows to look at first Target") :]
    order = [int(each) for each in re.findall(r" (\d+) 000\d\d ", first)][:MOST_ROWS]
    assert 4 not in order


def test_what_was_done(found, page):
    for line in (
        "source source, 30 rows, 5 columns",
        "target target, 24 rows, 5 columns",
        "label class",
        "target labels 5",
        "columns matched by name",
        "identifiers sample",
        "method Pipeline",
        "own scaling no",
        f"scikit-learn {found.summary['versions']['scikit-learn']}",
    ):
        assert line in page.text
    assert "own scaling yes" in Page(report_page(adapted(own_scaling=True))).text


def test_own_scaling_that_nobody_asked_for_is_told():
    again = adapted(own_scaling=True)
    again = replace(again, inputs=again.inputs | {"own_scaling": None})
    assert "own scaling yes" in Page(report_page(again)).text


def test_nothing_comes_from_outside_and_nothing_runs(page, found):
    content = report_page(found)
    assert "http" not in content.replace("http-equiv", "")
    assert "//" not in re.sub(r"/\*.*?\*/", "", content)
    assert not page.all("script")
    assert not page.all("button")
    assert "@import" not in content
    assert "url(" not in content
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]


def test_charts_are_told_to_those_who_cannot_see(page):
    charts = [each for each in page.all("svg") if each.get("aria-hidden") != "true"]
    assert charts
    assert all(each.get("role") == "img" for each in charts)
    titles = [tag for tag, _ in page.tags if tag == "title"]
    assert len(titles) == len(charts) + 1  # and that of the page
    for each in page.all("th"):
        assert "scope" in each or each == {}
    assert ("html", {"lang": "en"}) in page.tags


def test_names_are_shown_as_they_are():
    source, target = TABLES.source, TABLES.target
    names = dict(zip(["height", "width", "depth", "weight", "colour"], HOSTILE, strict=True))
    classes = dict(zip(["ant", "bee", "élan"], HOSTILE[:3], strict=True))
    source = source.assign(
        **{"class": source["class"].map(classes), "colour": "<i>" + source["colour"]}
    )
    target = target.assign(colour="<i>" + target["colour"], sample="<u>" + target["sample"])
    again = adapted(source.rename(columns=names), target.rename(columns=names), own_scaling=False)
    content = report_page(again)
    for each in (*HOSTILE[:4], "<i>red", "<u>0000"):
        assert each not in content.replace("<!doctype", "")
        assert html.escape(each) in content or html.escape(each, quote=False) in content
    assert "e" * 300 in content  # as the title of what is cut off
    text = Page(content).text
    assert "<b>x</b>" in text
    assert "eeee…" in text


def test_characters_that_act_are_replaced():
    target = TABLES.target.assign(sample=[f"{i}\u202e\x1b[31m" for i in range(24)])
    content = report_page(adapted(target=target, own_scaling=False))
    assert "\u202e" not in content
    assert "\x1b" not in content
    assert "\ufffd" in content


@pytest.mark.parametrize("n_classes", [2, 12])
def test_it_is_small(n_classes):
    """At most 200 kB for 1,500 rows."""
    rng = np.random.default_rng(0)
    y = np.arange(1500) % n_classes
    means = rng.normal(size=(n_classes, 30)) * 2
    names = [f"a column that has a long name {'i' * i}" for i in range(30)]
    tables = [
        pd.DataFrame(rng.normal(size=(1500, 30)) + means[y] + i, columns=names) for i in (0, 1)
    ]
    for table in tables:
        table["place"] = rng.choice([f"town {i}" for i in range(30)], 1500)
        table.insert(0, "id", [f"row {i:05d}" for i in range(1500)])
    source = tables[0].assign(**{"class": [f"class {i:02d}" for i in y]})
    again = adapted(source, tables[1], own_scaling=False)
    content = report_page(again)
    assert len(content.encode()) <= 200_000
    assert "400 rows of each table" in Page(content).text
    assert content.count("M") > 400  # there is a map


def test_features_have_fewer_histograms():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    tables = [pd.DataFrame(rng.normal(size=(40, 60)) + 2 * y[:, None] + i) for i in (0, 1)]
    tables = [each.add_prefix("x") for each in tables]
    source = tables[0].assign(**{"class": y})
    page = Page(report_page(adapted(source, tables[1], method="ils")))
    assert "features of one kind" in page.text
    assert "48 columns that moved less" in page.text
    assert len(re.findall(r"moved by \d\.\d\d;", page.text)) == 12


def test_a_page_without_a_map_and_without_numbers(tmp_path):
    """Of one column there are no two axes; what cannot be known is not drawn."""
    again = adapted(TABLES.source[["width", "class"]], TABLES.target[["width"]], own_scaling=False)
    page = Page(report_page(again))
    assert "map" not in {each.get("id") for each in page.all("section")}
    known = replace(again.estimate, expected=None, interval=None)
    text = Page(report_page(replace(again, estimate=known))).text
    assert "Expected accuracy on the target unknown" in text
    again.report(tmp_path / "page.html")
    written = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert spaced(again.rely[0]["text"]) in written
    assert "ilspace label out/" in written


def test_tables_without_common_columns_have_a_page_too():
    other = TABLES.labelled(9)[["depth", "colour", "class"]].set_axis(["p", "q", "class"], axis=1)
    page = Page(report_page(adapted(target=other, method="ils")))
    assert "The tables share no columns that could be compared." in page.text
    assert "different in the two tables" in page.text
    assert "changed" not in {each.get("id") for each in page.all("section")}


def luminance(colour):
    """Relative luminance of a colour as WCAG defines it."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_colours_of_classes_are_seen_on_light_and_dark_grounds(found):
    grounds = re.findall(r"--(?:ground|panel): (#[0-9a-f]{6})", report_page(found))
    assert len(set(grounds)) == 4
    assert len(set(PALETTE)) == len(PALETTE)
    for ground in grounds:
        for colour in PALETTE:
            low, high = sorted([luminance(ground), luminance(colour)])
            assert (high + 0.05) / (low + 0.05) >= 3, (ground, colour)
