"""Formulas as MathML, which browsers draw by themselves.

No script and no font is fetched or shipped: docutils turns LaTeX into MathML while the page is
built. A formula that it cannot read is a warning, so that it stops the build, and is shown as
LaTeX.
"""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_SYNONYMS = {
    "big": "bigl",  # docutils knows the delimiters that say on which side they are
    "Big": "Bigl",
    "dots": "ldots",
    "texttt": "mathtt",
}
"""Commands that docutils does not know, and what they are called there."""

_COMMAND = re.compile(r"\\([A-Za-z]+)")
# docutils reads \frac12 as 12 over what follows
_TWO_DIGITS = re.compile(r"\\([dt]?frac) ?(\d)(\d)")
# and sets no space around the name of a function
_BEFORE_NAME = re.compile(
    r"(</(?:mi|mn|msub|msup|mfrac)>)(?=\s*<mi[^>]*>\w\w[^<]*</mi>\s*<mo>&Apply)"
)
_AFTER_NAME = re.compile(r"(<mo>&ApplyFunction;</mo>)(?!\s*(?:<mo|<mspace|</))")
_SPACE = '<mspace width="0.1667em"></mspace>'
# it takes the star of an operator with limits for its name, and a space in the name for letters
_LIMITS = re.compile(r"\\operatorname\*\{([^{}]*)\}_(\w|\{(?:[^{}]|\{[^{}]*\})*\})")
_OPERATOR = re.compile(r"(?<=\\operatorname)\{[^{}]*\}")
_THIN_SPACE = "\N{THIN SPACE}"

_logger = logging.getLogger(__name__)


def to_mathml(formula: str, *, block: bool = False) -> str:
    """Convert a formula.

    Parameters
    ----------
    formula : str
        LaTeX, without dollar signs.
    block : bool, default=False
        Whether it stands on lines of its own.

    Returns
    -------
    str
        A ``<math>`` element.

    Raises
    ------
    MathError
        Where the formula has a command or an environment that is not known.
    """
    formula = _TWO_DIGITS.sub(r"\\\1{\2}{\3}", formula)
    formula = _LIMITS.sub(r"\\underset{\2}{\\operatorname{\1}}", formula)
    if r"\operatorname*" in formula:
        raise MathError(r"\operatorname* must have its limits behind it.")
    formula = _OPERATOR.sub(lambda found: found[0].replace(r"\,", _THIN_SPACE), formula)
    known = _COMMAND.sub(lambda found: "\\" + _SYNONYMS.get(found[1], found[1]), formula)
    made = tex2mathml(known, as_block=block)
    made = _BEFORE_NAME.sub(rf"\1{_SPACE}", made)
    made = _AFTER_NAME.sub(rf"\1{_SPACE}", made)
    # a norm is as high as its letters, and lines that are aligned are set like single ones
    made = re.sub(r"<mo[^>]*>‖</mo>", '<mo stretchy="false">‖</mo>', made)
    return made.replace(
        '<mtable class="ams-align"', '<mtable class="ams-align" displaystyle="true"'
    )


def _render(translator, node: nodes.Element, *, block: bool) -> None:
    formula = node.astext()
    # two lines that are aligned, as every LaTeX user writes them in a block
    if block and r"\\" in formula and r"\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    try:
        made = to_mathml(formula, block=block)
    except MathError as error:
        _logger.warning("The formula %s has no MathML: %s", formula, error, location=node)
        made = f"<code>{translator.encode(formula)}</code>"
    translator.body.append(f'<div class="formula">{made}</div>\n' if block else made)
    raise nodes.SkipNode


def _inline(translator, node: nodes.math) -> None:
    _render(translator, node, block=False)


def _block(translator, node: nodes.math_block) -> None:
    _render(translator, node, block=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make ``html_math_renderer = "mathml"`` available.

    Parameters
    ----------
    app : Sphinx
        The application.

    Returns
    -------
    dict
        That pages may be read and written in parallel.
    """
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
