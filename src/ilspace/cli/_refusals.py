"""One sentence and an exit code instead of a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from ilspace.cli import Interruption
from ilspace.cli._extras import explain
from ilspace.dask import ClusterError
from ilspace.storage import ModelFileError
from ilspace.tables import TableError


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """End a command as its help says: 1 for files, 2 for input, 130 for Ctrl-C."""
    try:
        yield
    except ImportError as error:
        typer.echo(explain(error, what), err=True)
        raise typer.Exit(1) from None
    except (TableError, ModelFileError, ClusterError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except BrokenPipeError:  # whoever reads our output has seen enough
        with suppress(OSError, ValueError):  # what is left in the buffer goes nowhere, in silence
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        typer.echo(f"Error: {what} cannot write its results: {error}.", err=True)
        raise typer.Exit(1) from None
    except (KeyboardInterrupt, Interruption):
        typer.echo("Interrupted; no file was left half-written.", err=True)
        raise typer.Exit(130) from None
