"""Pages that nobody types: lists of public names, the command line's reference, changes to come.

The command line and the changes are written as Markdown to ``_generated``, where pages include
them; the index of the API is made from its template, beside it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import jinja2
import typer
from sphinx.application import Sphinx
from sphinx.config import Config

from ilspace import __version__
from ilspace.cli.app import app as command_line


def api_index(template: str) -> str:
    """Fill in the names that the modules offer.

    Parameters
    ----------
    template : str
        Jinja, in which ``names("a.module")`` stands for a table of the names in its ``__all__``,
        those left out that ``ilspace`` offers as well.

    Returns
    -------
    str
        reStructuredText, with an autosummary for each module.
    """

    def names(module: str) -> str:
        above = set() if module == "ilspace" else set(importlib.import_module("ilspace").__all__)
        offered = sorted(set(importlib.import_module(module).__all__) - above, key=str.lower)
        head = f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated/\n\n"
        return head + "\n".join(f"   {name}" for name in offered)

    return jinja2.Template(template, keep_trailing_newline=True).render(names=names)


def command_reference(command: Any, path: str = "ilspace") -> str:
    """Describe a command and all that it contains.

    Parameters
    ----------
    command : click command
        What typer makes of an application.
    path : str, default="ilspace"
        What one types to get there.

    Returns
    -------
    str
        Markdown, one section per command.
    """
    children = getattr(command, "commands", {})
    parts = [f"## {path}", command.help or "", _synopsis(command, path)]
    parts += [_parameters(command), command.epilog or ""]
    parts += [command_reference(child, f"{path} {name}") for name, child in children.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _synopsis(command: Any, path: str) -> str:
    words = [path, "[OPTIONS]"]
    words += [each.name.upper() for each in command.params if each.param_type_name == "argument"]
    words += ["COMMAND ..."] if getattr(command, "commands", None) else []
    return f"```text\n{' '.join(words)}\n```"


def _parameters(command: Any) -> str:
    lines = []
    for each in command.params:
        if getattr(each, "hidden", False):
            continue
        is_argument = each.param_type_name == "argument"
        names = [each.name.upper()] if is_argument else [*each.opts, *each.secondary_opts]
        lines.append(f"{', '.join(f'`{name}`' for name in names)}\n: {_explained(each)}\n")
    return "\n".join(lines)


def _explained(parameter: Any) -> str:
    text = (parameter.help or "").strip()
    default = parameter.default
    if isinstance(default, Enum):
        default = default.value
    # a flag is off, and an option without a default says nothing
    says_nothing = default is None or isinstance(default, bool) or default in ("", [], ())
    if parameter.required or callable(default) or says_nothing:
        return text
    return f"{text} Default: `{default}`."


def unreleased_changes(root: Path) -> str:
    """Gather the fragments of the changes that are not released.

    Parameters
    ----------
    root : Path
        The project's folder.

    Returns
    -------
    str
        Markdown, as towncrier will write it at the release.
    """
    date = ("--date", "not released yet")
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", __version__, *date],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _remove_stale(folder: Path, index: str) -> None:
    """Remove the pages of names that are gone; autosummary only ever adds some."""
    _, *parts = index.split(".. currentmodule:: ")
    wanted = {
        f"{part.split()[0]}.{line.strip()}.rst" for part in parts for line in part.splitlines()
    }
    for page in folder.glob("*.rst"):
        if page.name not in wanted:
            page.unlink()


def _write(app: Sphinx, config: Config) -> None:
    source = Path(app.srcdir)
    index = api_index((source / "api" / "index.rst.jinja").read_text(encoding="utf-8"))
    _remove_stale(source / "api" / "generated", index)
    pages = {
        source / "api" / "index.rst": index,
        source / "_generated" / "command-line.md": command_reference(
            typer.main.get_command(command_line)
        ),
        source / "_generated" / "unreleased.md": unreleased_changes(source.parent),
    }
    for place, text in pages.items():
        place.parent.mkdir(exist_ok=True)
        # a file that stays as it is keeps its date, and its page is not read again
        if not place.is_file() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read.

    Parameters
    ----------
    app : Sphinx
        The application.

    Returns
    -------
    dict
        That pages may be read and written in parallel.
    """
    app.connect("config-inited", _write)  # before Sphinx looks which pages there are
    return {"parallel_read_safe": True, "parallel_write_safe": True}
