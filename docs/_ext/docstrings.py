"""Docstrings as they are, made fit for Sphinx.

The source is written to be read as text. Four habits need help: what a class inherits from other
packages is left out, types such as ``(n, n_components_)`` are no hyperlinks, a helper that is
mentioned but has no page is shown as code, and a constant has the words below its assignment.
"""

from __future__ import annotations

import importlib
import re
import sys
from enum import Enum
from types import MethodDescriptorType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

_SHAPE = re.compile(r"shape \([^)]*\)")
_LAST_UNDERSCORE = re.compile(r"(?<=\w)_(?=[\s,)])")


def leave_out_others(app, kind: str, name: str, member: Any, skip: bool, options) -> bool | None:
    """Leave out what scikit-learn and Python gave a class: their manuals explain it."""
    if isinstance(member, Enum):
        return False  # the members are what an enumeration is about, documented or not
    if isinstance(member, MethodDescriptorType) or type(member).__name__ == "_tuplegetter":
        return True  # methods of tuples, and "Alias for field number 0"
    function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    module = getattr(function, "__module__", None)
    return True if module is not None and not module.startswith("ilspace") else None


def mend(app, kind: str, name: str, member: Any, options, lines: list[str]) -> None:
    """Describe constants, and escape what would be a hyperlink in a type."""
    if kind == "data":
        lines[:] = _below_assignment(name.rpartition(".")[2], member) or lines
    text = "\n".join(lines)
    text = _SHAPE.sub(lambda found: _LAST_UNDERSCORE.sub(r"\\_", found[0]), text)
    lines[:] = text.split("\n")


def _below_assignment(name: str, member: Any) -> list[str]:
    """What the module that makes a constant says of it, wherever else it is imported."""
    for module, content in list(sys.modules.items()):
        if module.startswith("ilspace") and vars(content).get(name) is member:
            found = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if found:
                return found
    return []


def show_helpers_as_code(
    app: Sphinx, env, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Accept the name of a function or class that exists, here or elsewhere, but has no page."""
    if node.get("refdomain") != "py":
        return None
    path, _, name = node["reftarget"].rpartition(".")
    module = path or _home(node.source or "")
    try:
        found = bool(module) and hasattr(importlib.import_module(module), name)
    except ImportError:
        return None
    return content if found else None


def _home(source: str) -> str:
    """Module that a docstring was written in, as opposed to the one that shows its object."""
    path = source.partition("docstring of ")[2]
    while path and path not in sys.modules:
        path = path.rpartition(".")[0]
    return path


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the four.

    Parameters
    ----------
    app : Sphinx
        The application.

    Returns
    -------
    dict
        That pages may be read and written in parallel.
    """
    app.connect("autodoc-skip-member", leave_out_others)
    app.connect("autodoc-process-docstring", mend, priority=100)  # before numpydoc
    app.connect("missing-reference", show_helpers_as_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
