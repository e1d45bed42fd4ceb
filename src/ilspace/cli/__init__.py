"""The command ``ilspace``: one file a command, each parses, calls and prints."""

from __future__ import annotations

import io
import signal
import sys


class Interruption(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which the parser would turn into exit code 1."""


def _interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough: files are being taken away
    raise Interruption


def main() -> None:
    """Run the command line; the entry point of the script ``ilspace``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # "→" on a terminal that does not have it
    signal.signal(signal.SIGINT, _interrupt)
    try:
        from ilspace.cli.app import app

        app()
    except ModuleNotFoundError as error:
        from ilspace.cli._extras import explain

        sys.exit(explain(error, "The command ilspace"))
    except Interruption:
        sys.stderr.write("Interrupted; no file was left half-written.\n")
        sys.exit(130)
