"""Charts as SVG, and pages that carry no more than they need."""

import re
from xml.etree import ElementTree

import pytest

from ilspace.pages import (
    Points,
    Section,
    bar_chart,
    class_colours,
    line_chart,
    plain_table,
    render_page,
    scatter_chart,
)
from ilspace.pages.svg import COLOURS, NEUTRAL, ticks

NASTY = '<b>"&</b>'


def drawn(chart):
    """The picture of a chart, parsed."""
    (picture,) = re.findall(r'<svg class="main-svg".*?</svg>(?=</div></div>)', chart, re.DOTALL)
    return ElementTree.fromstring(picture.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


@pytest.mark.parametrize("stacked", [True, False])
def test_bars_are_as_high_as_their_numbers(stacked):
    series = {"one": [10.0, 20.0], NASTY: [30.0, 0.0]}
    chart = bar_chart(["a", NASTY], series, "what", stacked=stacked)
    bars = drawn(chart).findall("rect")
    heights = [float(each.get("height", "")) for each in bars]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.2)
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.2)
    assert heights[3] == pytest.approx(0, abs=0.2)
    assert bars[3].get("data-tip") == f"{NASTY}, {NASTY}: 0"
    bottoms = [
        float(each.get("y", "")) + height for each, height in zip(bars, heights, strict=True)
    ]
    assert (bottoms[1] < bottoms[0] - 1) == stacked


def test_points_lie_where_they_should():
    places = [(0.0, 0.0), (1.0, 2.0), (2.0, 4.0)]
    points = Points("source", "#123456", "circle", places, [1, 1, 0.5], ["a", NASTY, "c"])
    chart = scatter_chart([points], "what", kinds={"source": "circle"}, classes={NASTY: "#123456"})
    circles = drawn(chart).findall("g/circle")
    x, y = ([float(each.get(axis, "")) for each in circles] for axis in ("cx", "cy"))
    assert x[1] == pytest.approx((x[0] + x[2]) / 2, abs=0.2)
    assert x[0] < x[2]
    assert y[0] > y[1] > y[2]  # upwards
    assert [each.get("data-tip") for each in circles] == ["a", NASTY, "c"]
    assert NEUTRAL not in COLOURS


def test_a_line_falls():
    chart = line_chart([3.0, 2.0, 1.0], "what")
    points = drawn(chart).find("polyline")
    assert points is not None
    heights = [float(each.split(",")[1]) for each in points.get("points", "").split()]
    assert heights == sorted(heights)
    drawn(line_chart([1.0], "one"))
    drawn(line_chart([1.0, 1.0], "even"))


@pytest.mark.parametrize("n", [1, 2, 8, 9, 200])
def test_each_class_has_its_colour(n):
    colours = class_colours(n)
    assert len(set(colours)) == n
    assert all(re.fullmatch(r"#[0-9a-f]{6}", each) for each in colours)
    assert NEUTRAL not in colours


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0, 10), [0, 2, 4, 6, 8, 10]),
        ((-1, 1), [-1, -0.5, 0, 0.5, 1]),
        ((0, 0.35), [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35]),
        ((1, 1), []),
        ((0, float("inf")), []),
    ],
)
def test_round_numbers(ends, expected):
    assert ticks(*ends) == pytest.approx(expected)


def test_a_page_without_the_plotting_library_is_small():
    body = bar_chart(["a"], {"s": [1.0]}, "what") + plain_table(["h", "i"], [["a", 1.5]])
    page = render_page("title", [Section("x", "X", body)], introduction="<p>hello</p>")
    assert len(page) < 20_000
    assert "Plotly" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
