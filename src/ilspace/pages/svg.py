"""Charts as SVG: bars, lines and points, small enough for a page of one's own.

What is hovered, or tapped, tells what it is: the page shows the text of its ``data-tip``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ilspace.pages.page import escaped

COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f6a00", "#000000"),
)
"""Colours that the colour-blind tell apart (Okabe and Ito, with a darker yellow)."""

NEUTRAL = "#555555"
"""Colour of what is no class."""

_DARK, _LIGHT = (0, 32, 77), (253, 203, 38)
"""Ends of a scale, from blue to yellow, for more classes than there are colours."""

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 62, 12, 10, 46


class Points(NamedTuple):
    """Some points of one colour and shape.

    Attributes
    ----------
    kind : str
        Name of what is shown or hidden together.
    colour : str
        Of all of them.
    shape : {"circle", "cross"}
        Of all of them.
    places : sequence of (float, float)
        Where they are.
    opacities : sequence of float
        How strong each is drawn, up to 1.
    tips : sequence of str
        What each is, as plain text.
    """

    kind: str
    colour: str
    shape: str
    places: Sequence[tuple[float, float]]
    opacities: Sequence[float]
    tips: Sequence[str]


def class_colours(n_classes: int) -> list[str]:
    """Colours of classes.

    Parameters
    ----------
    n_classes : int
        How many there are.

    Returns
    -------
    list of str
        One each; from nine on they are shades of a scale.
    """
    if n_classes <= len(COLOURS):
        return list(COLOURS[:n_classes])
    shares = [i / (n_classes - 1) for i in range(n_classes)]
    mixed = [
        [round(a + share * (b - a)) for a, b in zip(_DARK, _LIGHT, strict=True)] for share in shares
    ]
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed]


def bar_chart(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    label: str,
    *,
    across: str = "",
    up: str = "",
    stacked: bool = False,
    height: int = 320,
) -> str:
    """Draw bars in groups.

    Parameters
    ----------
    groups : sequence of str
        Names below the bars.
    series : mapping of str to sequence of float
        Heights by the name of their colour, one per group.
    label : str
        Alternative text.
    across, up : str
        Titles of the axes.
    stacked : bool, default=False
        Whether the bars of a group stand upon each other, and not side by side.
    height : int, default=320
        In pixels.

    Returns
    -------
    str
        HTML.
    """
    tops = [sum(each) if stacked else max(each) for each in zip(*series.values(), strict=True)]
    frame = _Frame(height, (0.0, float(len(groups))), (0.0, max([*tops, 1e-9])))
    parts = [frame.axes(across, up, names=groups)]
    wide = 0.8 if stacked else 0.8 / len(series)
    for i, group in enumerate(groups):
        floor = 0.0
        for k, (name, values) in enumerate(series.items()):
            left = i + 0.1 + (0 if stacked else k * wide)
            top = floor + values[i]
            x, y = frame.x(left), frame.y(top)
            sizes = f'width="{frame.x(left + wide) - x:.1f}" height="{frame.y(floor) - y:.1f}"'
            tip = f"{group}, {name}: {values[i]:.4g}"
            fill = COLOURS[k % len(COLOURS)]
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {sizes} fill="{fill}"{_tip(tip)}/>')
            floor = top if stacked else 0.0
    keys = {name: _key("square", COLOURS[k % len(COLOURS)]) for k, name in enumerate(series)}
    return _figure("".join(parts), label, height, _legend(keys))


def line_chart(
    values: Sequence[float], label: str, *, across: str = "", up: str = "", height: int = 320
) -> str:
    """Draw a line over the numbers from 0 on.

    Parameters
    ----------
    values : sequence of float
        Its heights.
    label : str
        Alternative text.
    across, up : str
        Titles of the axes.
    height : int, default=320
        In pixels.

    Returns
    -------
    str
        HTML.
    """
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.5
    frame = _Frame(height, (0.0, float(max(len(values) - 1, 1))), (low - room, high + room))
    places = [(frame.x(i), frame.y(value)) for i, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    style = f'fill="none" stroke="{COLOURS[0]}" stroke-width="2"'
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"'
        f"{_tip(f'{across} {i}: {value:.6g}')}/>"
        for i, ((x, y), value) in enumerate(zip(places, values, strict=True))
    )
    body = f'{frame.axes(across, up)}<polyline points="{line}" {style}/>{dots}'
    return _figure(body, label, height, "")


def scatter_chart(
    points: Sequence[Points],
    label: str,
    *,
    kinds: Mapping[str, str],
    classes: Mapping[str, str],
    height: int = 460,
) -> str:
    """Draw points in a plane.

    Parameters
    ----------
    points : sequence of Points
        What to draw, the first below the others.
    label : str
        Alternative text.
    kinds : mapping of str to str
        Shape of each kind of points, for the legend, where each can be hidden.
    classes : mapping of str to str
        Colour of each class, for the legend.
    height : int, default=460
        In pixels.

    Returns
    -------
    str
        HTML.
    """
    ends = []
    for axis in (0, 1):
        values = [place[axis] for each in points for place in each.places] or [0.0]
        room = 0.04 * (max(values) - min(values)) or 0.5
        ends.append((min(values) - room, max(values) + room))
    frame = _Frame(height, *ends)
    groups = []
    for each in points:
        style = f'fill="{each.colour}"'
        if each.shape == "cross":
            style = f'fill="none" stroke="{each.colour}" stroke-width="2.5"'
        drawn = "".join(
            _marker(each.shape, frame.x(x), frame.y(y), f' opacity="{opacity:.2g}"{_tip(tip)}')
            for (x, y), opacity, tip in zip(each.places, each.opacities, each.tips, strict=True)
        )
        groups.append(f'<g data-kind="{escaped(each.kind)}" {style}>{drawn}</g>')
    shapes = {
        f'<button type="button" data-kind="{escaped(kind)}" aria-pressed="true">': (kind, shape)
        for kind, shape in kinds.items()
    }
    buttons = "".join(
        f"<li>{opening}{_key(shape, NEUTRAL)}{escaped(kind)}</button></li>"
        for opening, (kind, shape) in shapes.items()
    )
    legend = _legend({name: _key("square", colour) for name, colour in classes.items()}, buttons)
    return _figure(frame.axes("", "") + "".join(groups), label, height, legend)


class _Frame:
    """Where numbers are in a picture."""

    def __init__(self, height: int, across: tuple[float, float], up: tuple[float, float]) -> None:
        self.height, self.across, self.up = height, across, up

    def x(self, value: float) -> float:
        low, high = self.across
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.up
        inside = self.height - _TOP - _BOTTOM
        return _TOP + (high - value) / (high - low) * inside

    def axes(self, across: str, up: str, names: Sequence[str] | None = None) -> str:
        """Lines, numbers or names, and titles of both axes."""
        floor, right = self.height - _BOTTOM, _WIDTH - _RIGHT
        parts = []
        for value in ticks(*self.up):
            y = f"{self.y(value):.1f}"
            parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}" class="grid"/>')
            parts.append(f'<text x="{_LEFT - 6}" y="{y}" class="up">{value:.6g}</text>')
        if names is None:
            below = [(value, f"{value:.6g}") for value in ticks(*self.across)]
        else:
            step = -(-len(names) // 14)  # as many as can be read
            below = [(i + 0.5, _short(names[i], 12)) for i in range(0, len(names), step)]
        for value, text in below:
            x = f"{self.x(value):.1f}"
            parts.append(f'<text x="{x}" y="{floor + 16}" class="across">{escaped(text)}</text>')
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{floor}" y2="{floor}" class="axis"/>')
        middle = (_LEFT + right) / 2
        title = f'y="{self.height - 8}" class="across title">{escaped(across)}</text>'
        parts.append(f'<text x="{middle:.0f}" {title}')
        turned = f'transform="rotate(-90)" x="{-(floor + _TOP) / 2:.0f}" y="14"'
        parts.append(f'<text {turned} class="across title">{escaped(up)}</text>')
        return "".join(parts)


def ticks(low: float, high: float, n_most: int = 7) -> list[float]:
    """Round numbers between two others.

    Parameters
    ----------
    low, high : float
        The ends.
    n_most : int, default=7
        About how many at most.

    Returns
    -------
    list of float
        Multiples of 1, 2 or 5 times a power of ten, ascending.
    """
    rough = (high - low) / n_most
    if not (math.isfinite(rough) and rough > 0):
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, min(last, first + 20) + 1)]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _tip(text: str) -> str:
    return f' data-tip="{escaped(text)}"'


def _marker(shape: str, x: float, y: float, rest: str) -> str:
    if shape == "cross":
        return f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8"{rest}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"{rest}/>'


def _key(shape: str, colour: str) -> str:
    """What a name in a legend wears."""
    drawn = f'<rect x="1" y="1" width="12" height="12" fill="{colour}"/>'
    if shape == "cross":
        drawn = f'<path d="M2 2l10 10m0-10l-10 10" stroke="{colour}" stroke-width="2.5"/>'
    elif shape == "circle":
        drawn = f'<circle cx="7" cy="7" r="5.5" fill="{colour}"/>'
    return f'<svg width="14" height="14" aria-hidden="true">{drawn}</svg> '


def _legend(keys: Mapping[str, str], before: str = "") -> str:
    items = "".join(
        f'<li class="legendtext" title="{escaped(name)}">{key}{escaped(_short(name, 40))}</li>'
        for name, key in keys.items()
    )
    return f'<ul class="legend">{before}{items}</ul>'


def _figure(body: str, label: str, height: int, legend: str) -> str:
    return (
        f'{legend}<div class="wide" tabindex="0"><div class="chart" role="img" '
        f'aria-label="{escaped(label)}"><svg class="main-svg" viewBox="0 0 {_WIDTH} {height}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg></div></div>'
    )
