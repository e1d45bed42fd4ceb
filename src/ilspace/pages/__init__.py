"""Self-contained HTML pages: sections, tables, interactive charts."""

from ilspace.pages.page import Section, chart, escaped, plain_table, render_page

__all__ = ["Section", "chart", "escaped", "plain_table", "render_page"]
