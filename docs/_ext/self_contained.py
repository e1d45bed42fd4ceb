"""A site that loads nothing from elsewhere, or no site.

Links that a reader may follow are fine; scripts, styles, fonts and pictures from another host would
be fetched without being asked for.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_ELSEWHERE = r"(?:https?:)?//[^\"'\s)>]+"
_IN_PAGES = re.compile(
    rf"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc\s*=\s*[\"']({_ELSEWHERE})"
    rf"|<link\b(?![^>]*rel=[\"']?(?:canonical|author))[^>]*?\bhref\s*=\s*[\"']({_ELSEWHERE})",
    re.IGNORECASE,
)
_IN_STYLES = re.compile(
    rf"url\(\s*[\"']?({_ELSEWHERE})|@import\s+[\"']({_ELSEWHERE})", re.IGNORECASE
)


def loaded_from_elsewhere(text: str, *, style: bool = False) -> list[str]:
    """Addresses on other hosts that a browser fetches by itself.

    Parameters
    ----------
    text : str
        A page, or a style sheet.
    style : bool, default=False
        Whether it is a style sheet.

    Returns
    -------
    list of str
        In the order in which they stand; none, if all is well.
    """
    pattern = _IN_STYLES if style else _IN_PAGES
    return [next(filter(None, found)) for found in pattern.findall(text)]


def _refuse(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            found = loaded_from_elsewhere(
                path.read_text(encoding="utf-8"), style=path.suffix == ".css"
            )
            if found:
                raise ExtensionError(
                    f"Pages must load nothing from elsewhere, but {path.relative_to(app.outdir)} "
                    f"loads {found[0]}: ship it, or leave it out."
                )


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at every page once all are written.

    Parameters
    ----------
    app : Sphinx
        The application.

    Returns
    -------
    dict
        That pages may be read and written in parallel.
    """
    app.connect("build-finished", _refuse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
