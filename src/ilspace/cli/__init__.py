"""The command ``ilspace``: one file a command, each parses, calls and prints."""

from __future__ import annotations

import io
import signal
import sys


class Interruption(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which the parser would turn into exit code 1."""


_interruptions: list[int] = []


def _interrupt(number: int, frame: object) -> None:
    _interruptions.append(number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough: files are being taken away
    raise Interruption


def main() -> None:
    """Run the command line; the entry point of the script ``ilspace``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # "→" on a terminal that does not have it
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as a shell starts what runs behind it
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from ilspace.cli.app import app

        app()
    except BaseException as error:
        # compiled code may turn an interruption into an error of its own, as while it is imported
        if _interruptions and getattr(error, "code", None) != 0:
            sys.stderr.write("Interrupted; no file was left half-written.\n")
            sys.exit(130)
        if not isinstance(error, ModuleNotFoundError):
            raise
        from ilspace.cli._extras import explain

        sys.exit(explain(error, "The command ilspace"))
