"""One sentence and an exit code instead of a traceback, for all commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from ilspace.cli import Interruption, install_sentence, interruption_code
from ilspace.cli._log import note

REQUESTS = {
    "TableError": "ilspace.tables.values",
    "PictureError": "ilspace.images.errors",
    "ModelFileError": "ilspace.estimators.saving",
    "ClusterError": "ilspace.dask.clusters",
    "PlanError": "ilspace.benchmark.plan_entries",
    "DataMissing": "ilspace.datasets._files",
    "DataCorrupt": "ilspace.datasets._files",
}
"""Errors that say what is wrong with a request or a file, and what to do; and their modules, which
are not imported for it."""


def _request_errors() -> tuple[type[Exception], ...]:
    """Those of them that can have been raised, as their module is there."""
    there = ((sys.modules.get(home), name) for name, home in REQUESTS.items())
    return tuple(getattr(module, name) for module, name in there if module is not None)


@contextmanager
def refusals(
    what: str,
    *requests: type[Exception],
    failure: str = "cannot read or write a file",
    kept: str = "no file was left half-written.",
) -> Iterator[None]:
    """Turn errors and interruptions into a sentence on standard error and an exit code.

    Parameters
    ----------
    what : str
        What cannot go on: the beginning of a sentence.
    *requests : type
        Further errors of which the request is the cause.
    failure : str
        What to say if the disk is full, or a file may not be written.
    kept : str
        What there is after an interruption.

    Yields
    ------
    None
        While the command runs.
    """
    try:
        yield
    except ImportError as error:
        said, code = install_sentence(error, what), 1
    except (*_request_errors(), *requests) as error:
        said, code = f"Error: {error}", 2
    except BrokenPipeError:  # whoever reads our output has seen enough
        with suppress(OSError, ValueError):  # what is left in the buffer goes nowhere, in silence
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        said, code = f"Error: {what} {failure}: {error}", 1
    except (KeyboardInterrupt, Interruption):
        said, code = f"Interrupted; {kept}", interruption_code()
    else:
        return
    typer.echo(said, err=True)
    note(f"{said} (exit code {code})", failed=True)
    raise typer.Exit(code)
