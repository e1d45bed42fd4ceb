"""The report of an adaptation, and its summary for a notebook, by templates."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

PALETTE = (
    *("#2478cc", "#cc6a00", "#2e8b57", "#c048a8", "#d03a3a", "#008a96"),
    *("#8a66d6", "#8a7a10", "#d0607e", "#7a8699"),
)
"""Colours of classes, with a contrast of 3:1 or more against light and dark grounds."""

MOST_POINTS = 400
"""Points of each table on the map."""

MOST_HISTOGRAMS = {"table": 30, "features": 12}
"""Columns whose histograms are drawn, by the kind of the tables; others are listed."""

_MOST_LISTED = 330
"""Columns that are named."""

_MOST_CLASSES = 40
"""Classes in the table of the class balance."""

_WIDTH, _HEIGHT, _MARGIN = 640, 420, 12

_SECTIONS = {
    "rely": ("rely", "What you can rely on"),
    "drift": ("changed", "What changed"),
    "balance": ("balance", "Class balance"),
    "look_first": ("look-first", "Rows to look at first"),
    "explained": ("explained", "Why these rows have their labels"),
    "map": ("map", "Map of the rows"),
    "done": ("done", "What was done"),
    "next": ("next", "What next"),
}

_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What changes the direction of the text that follows."""


def render_report(data: Mapping[str, Any]) -> str:
    """Make the report of an adaptation.

    Parameters
    ----------
    data : mapping
        ``title``, ``made``, ``source`` and ``target`` (strings), ``kind`` (``"table"`` or
        ``"features"``), ``notes`` (strings) and ``told_apart`` (a number); the sections ``rely``,
        ``drift``, ``balance``, ``look_first``, ``explained``, ``map``, ``done`` and ``next``, as
        :mod:`ilspace.tables.report` makes them. Those without data are left out.

    Returns
    -------
    str
        An HTML page that needs neither the network nor a script.
    """
    found = {
        "sections": [named for key, named in _SECTIONS.items() if data.get(key)],
        "palette": PALETTE,
        "most_histograms": MOST_HISTOGRAMS.get(data.get("kind", "table"), 30),
        "most_listed": _MOST_LISTED,
        "most_classes": _MOST_CLASSES,
        "most_points": MOST_POINTS,
        "map": _drawn(data["map"]) if data.get("map") else None,
    }
    return _templates().get_template("adaptation.html").render({**data, **found}).lstrip()


def render_summary(data: Mapping[str, Any]) -> str:
    """Make what a notebook shows of an adaptation.

    Parameters
    ----------
    data : mapping
        The cards ``rely``, the ``notes`` and the steps ``next``, as for :func:`render_report`.

    Returns
    -------
    str
        A fragment of HTML.
    """
    return _templates().get_template("summary.html").render(data).strip()


@cache
def _templates() -> jinja2.Environment:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ImportError(
            'Reports need jinja2, which is not installed: pip install "ilspace[cli]"'
        ) from error
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("ilspace.pages", "."),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.tests["ranges"] = _are_ranges
    found.filters["short"] = _short
    found.filters["peak"] = lambda values: max(range(len(values)), key=values.__getitem__)
    return found


def _short(value: object, most: int) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _are_ranges(bins: Sequence[str]) -> bool:
    """Tell bars that follow one another from names of categories."""
    ends = [each.split(" to ") for each in bins]
    return all(len(each) == 2 for each in ends) and all(
        left[1] == right[0] for left, right in pairwise(ends)
    )


def _visible(value: object) -> object:
    """A value without characters that a terminal or a browser obeys; HTML as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "".join("\ufffd" if _acts(each) else each for each in value)


def _acts(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in _TURNS


def _drawn(data: Mapping[str, Any]) -> dict[str, Any]:
    """Turn points into a path for each class of each table."""
    classes = list(map(str, data["classes"]))
    sides = {name: _thinned(data[name]) for name in ("source", "target")}
    points = [each for side in sides.values() for each in side]
    xs, ys = (_scaled([each[i] for each in points]) for i in (0, 1))
    paths: dict[tuple[str, str], list[str]] = {}
    kinds = [name for name, side in sides.items() for _ in side]
    for kind, x, y, (_, _, name) in zip(kinds, xs, ys, points, strict=True):
        left = _MARGIN + x * (_WIDTH - 2 * _MARGIN)
        top = _MARGIN + (1 - y) * (_HEIGHT - 2 * _MARGIN)
        shape, mark = ("dots", f"M{left:.0f} {top:.0f}h0")
        if kind == "target":
            shape, mark = "crosses", f"M{left - 3:.0f} {top - 3:.0f}l6 6m0-6l-6 6"
        paths.setdefault((shape, _class_of(str(name), classes)), []).append(mark)
    legend = [(name, f"class{i}") for i, name in enumerate(classes[: len(PALETTE)])]
    if len(classes) > len(PALETTE):
        legend.append(("other classes", "others"))
    return {
        "legend": legend,
        "paths": [(*key, "".join(marks)) for key, marks in paths.items()],
        "n_source": len(sides["source"]),
        "n_target": len(sides["target"]),
        "width": _WIDTH,
        "height": _HEIGHT,
    }


def _class_of(name: str, classes: Sequence[str]) -> str:
    """Which colour a class has, as a class of the style sheet."""
    code = classes.index(name) if name in classes else len(PALETTE)
    return f"class{code}" if code < len(PALETTE) else "others"


def _thinned(points: Sequence[Any]) -> Sequence[Any]:
    """At most 400 points, evenly from all."""
    n = len(points)
    if n <= MOST_POINTS:
        return points
    return [points[i * n // MOST_POINTS] for i in range(MOST_POINTS)]


def _scaled(values: Sequence[float]) -> list[float]:
    """Numbers between 0 and 1."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(each - low) / (high - low) if high > low else 0.5 for each in values]
