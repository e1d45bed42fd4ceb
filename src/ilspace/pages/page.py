"""One HTML page that needs nothing from the network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Section(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    anchor, title : str
        HTML id, and the heading.
    body : str
        HTML.
    """

    anchor: str
    title: str
    body: str


def render_page(title: str, sections: Sequence[Section], *, introduction: str) -> str:
    """Render a page.

    Parameters
    ----------
    title : str
        Plain text.
    sections : sequence of Section
        The sections; a list of links comes first.
    introduction : str
        HTML between the title and the links.

    Returns
    -------
    str
        HTML, including the plotting library where a chart needs it.
    """
    links = "".join(
        f'<li><a href="#{each.anchor}">{escaped(each.title)}</a></li>' for each in sections
    )
    parts = "".join(
        f'<section id="{each.anchor}"><h2>{escaped(each.title)}</h2>{each.body}</section>'
        for each in sections
    )
    page = resources.files("ilspace.pages") / "page.html"
    return (
        page.read_text(encoding="utf-8")
        .replace("<!-- title -->", escaped(title))
        .replace("<!-- links -->", links)
        .replace("<!-- plotting -->", _plotting_library() if _PLOTLY in parts else "")
        # last: their content must not be taken for a placeholder
        .replace("<!-- introduction -->", introduction)
        .replace("<!-- sections -->", parts)
    )


_PLOTLY = 'class="chart plotly"'


def _plotting_library() -> str:
    from plotly.offline import get_plotlyjs

    scripts = resources.files("ilspace.pages") / "plotting.html"
    return scripts.read_text(encoding="utf-8").replace("/* plotly */", get_plotlyjs())


def escaped(value: object) -> str:
    """A value as escaped HTML.

    Parameters
    ----------
    value : object
        Converted by :class:`str`.

    Returns
    -------
    str
        HTML.
    """
    return html.escape(str(value))


def chart(figure: go.Figure, label: str, *, height: int = 420) -> str:
    """An interactive chart, which brings a plotting library of some megabytes into the page.

    Parameters
    ----------
    figure : plotly figure
        Its data go into the page.
    label : str
        Alternative text.
    height : int, default=420
        In pixels.

    Returns
    -------
    str
        HTML.
    """
    figure.update_layout(
        template="plotly_white", height=height, margin={"l": 50, "r": 20, "t": 20, "b": 40}
    )
    data = figure.to_json().replace("<", "\\u003c")  # no string may close the script element
    return (
        f'<div {_PLOTLY} role="img" style="height: {height}px" '
        f'aria-label="{escaped(label)}"></div>'
        f'<script type="application/json">{data}</script>'
    )


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = ""
) -> str:
    """A static table.

    Parameters
    ----------
    heads : sequence of str
        Of the columns.
    rows : sequence of sequence
        Numbers are aligned to the right, all else to the left; None is a dash.
    caption : str
        Plain text above it.

    Returns
    -------
    str
        HTML.
    """
    are_text = [any(isinstance(row[i], str) for row in rows) for i in range(len(heads))]
    top = "".join(
        f'<th scope="col"{" class=text" if is_text else ""}>{escaped(each)}</th>'
        for each, is_text in zip(heads, are_text, strict=True)
    )
    lines = "".join(
        f'<tr><th scope="row">{escaped(first)}</th>{"".join(map(_cell, others))}</tr>'
        for first, *others in rows
    )
    above = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0"><table>{above}<thead><tr>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if value is None:
        return "<td>–</td>"
    if isinstance(value, str):
        return f'<td class="text">{escaped(value)}</td>'
    return f"<td>{escaped(f'{value:.4g}' if isinstance(value, float) else value)}</td>"
