"""The command ``ilspace``: one file per command, each parses, calls and prints."""

from __future__ import annotations

import gc
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Interruption(BaseException):
    """Ctrl-C, or a request to end. No KeyboardInterrupt, which the parser makes exit code 1."""


_interruptions: list[int] = []
_mains: list[bool] = []  # not empty while the command has a process of its own


def interruption_code() -> int:
    """Exit code after an interruption, as shells have it: 130, or 143 for a request to end."""
    return 128 + (_interruptions[-1] if _interruptions else signal.SIGINT)


def install_sentence(error: ImportError, what: str) -> str:
    """Turn a failed import into one sentence that says how to go on.

    A module of our own that is missing is a mistake of ours, and is raised again.
    """
    if (error.name or "").partition(".")[0] == "ilspace":
        raise error
    if 'pip install "' in str(error):  # said already, where it was met
        return str(error)
    missing = (error.name or str(error)).partition(".")[0]
    return f'{what} needs {missing}, which is not installed: pip install "ilspace[demo]"'


@contextmanager
def loading() -> Iterator[None]:
    """Import what a command needs, while garbage collection is paused.

    In a process of the command's own, what was imported is exempt from it later, too. Both together
    save a fifth of the time that imports take.

    Yields
    ------
    None
        While imports run.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _mains:
            gc.freeze()
        if was_enabled:
            gc.enable()


_INTERRUPTING = (signal.SIGINT, signal.SIGTERM)


def _interrupt(number: int, frame: object) -> None:
    _interruptions.append(number)
    for each in _INTERRUPTING:
        signal.signal(each, signal.SIG_IGN)  # once is enough: files are being taken away
    raise Interruption


def main() -> None:
    """Run the command line; the entry point of the script ``ilspace``."""
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")  # "→" on a terminal that does not have it
    if isinstance(sys.stdout, io.TextIOWrapper):
        # labels and tables for other programs are never changed, only escaped on odd terminals
        is_shown = sys.stdout.isatty()
        sys.stdout.reconfigure(
            encoding=None if is_shown else "utf-8", errors="backslashreplace" if is_shown else None
        )
    for each in _INTERRUPTING:
        if signal.getsignal(each) != signal.SIG_IGN:  # as a shell starts what runs behind it
            signal.signal(each, _interrupt)
    _mains.append(True)
    try:
        with loading():
            from ilspace.cli.app import app

        app()
    except BaseException as error:
        # compiled code may turn an interruption into an error of its own, as while it is imported
        if _interruptions and getattr(error, "code", None) not in (0, interruption_code()):
            sys.stderr.write("Interrupted; no file was left half-written.\n")
            sys.exit(interruption_code())
        if not isinstance(error, ModuleNotFoundError):
            raise
        sys.exit(install_sentence(error, "The command ilspace"))
    finally:
        _mains.clear()
