"""Self-contained HTML pages: sections, tables, charts."""

from ilspace.pages.page import Section, chart, escaped, plain_table, render_page
from ilspace.pages.svg import Points, bar_chart, class_colours, line_chart, scatter_chart

__all__ = [
    "Points",
    "Section",
    "bar_chart",
    "chart",
    "class_colours",
    "escaped",
    "line_chart",
    "plain_table",
    "render_page",
    "scatter_chart",
]
