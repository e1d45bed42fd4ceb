"""Self-contained HTML pages: sections, tables, charts to hover over."""

from ilspace.pages.page import Section, chart, escaped, plain_table, render_page

__all__ = ["Section", "chart", "escaped", "plain_table", "render_page"]
