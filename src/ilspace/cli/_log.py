"""The file that ``--log-file`` names: what was asked, what happened when, and how it ended."""

from __future__ import annotations

import atexit
import logging
import platform
import shlex
import sys
from pathlib import Path

import typer

LOG = logging.getLogger("ilspace")


def start_log(path: Path, version: str) -> None:
    """Append what happens from now on to a file, warnings included.

    Parameters
    ----------
    path : Path
        The file; one that exists is added to.
    version : str
        Of the package.

    Raises
    ------
    typer.BadParameter
        If it cannot be written.
    """
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise typer.BadParameter(
            f"The log {path} must be a file that can be written, but is not "
            f"({error.strerror}): name another."
        ) from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    LOG.addHandler(handler)
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").addHandler(handler)
    LOG.info("ilspace %s, Python %s, %s", version, platform.python_version(), platform.platform())
    LOG.info("command: %s", shlex.join(["ilspace", *sys.argv[1:]]))

    def end() -> None:
        LOG.info("end")
        for logger in (LOG, logging.getLogger("py.warnings")):
            logger.removeHandler(handler)
        handler.close()

    atexit.register(end)


def say(text: str) -> None:
    """Say something on standard error, and keep it in the log if there is one.

    Parameters
    ----------
    text : str
        One or more sentences.
    """
    typer.echo(text, err=True)
    note(text)


def note(text: str, *, failed: bool = False) -> None:
    """Keep something in the log, if there is one.

    Parameters
    ----------
    text : str
        One line, or several.
    failed : bool, default=False
        Whether it says why the command failed.
    """
    if LOG.handlers:
        LOG.log(logging.ERROR if failed else logging.INFO, "%s", text)
