"""A Dask cluster for as long as a job takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ilspace.tables.errors import TableError

LOCAL = "local"
"""What stands for a cluster of processes on this machine."""

_PATIENCE = 20
"""Seconds in which a scheduler must answer."""


@contextmanager
def cluster(where: str | None) -> Iterator[None]:
    """Work on a Dask cluster.

    Parameters
    ----------
    where : str or None
        ``"local"`` for processes on this machine, which end with the job, however it ends; the
        address of a scheduler, which stays; None for no cluster.

    Yields
    ------
    None
        While it lasts, Dask computes there.
    """
    if where is None:
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(
            "A Dask cluster needs the packages dask and distributed, which are missing: "
            'pip install "ilspace[dask]".'
        ) from None
    if where == LOCAL:
        with LocalCluster(threads_per_worker=1, dashboard_address=":0") as here, Client(here):
            yield
        return
    try:
        client = Client(where, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise TableError(
            f'The Dask cluster must be "{LOCAL}" or the address of a scheduler that answers, but '
            f"{where!r} does not ({reason}): check the address."
        ) from None
    with client:
        yield
