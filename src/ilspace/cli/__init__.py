"""The command ``ilspace``: one file a command, each parses, calls and prints."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; the entry point of the script ``ilspace``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # "→" on a terminal that does not have it
    try:
        from ilspace.cli.app import app
    except ModuleNotFoundError as error:
        from ilspace.cli._extras import explain

        sys.exit(explain(error, "The command ilspace"))
    app()
