"""A Dask cluster for the duration of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ClusterError(ValueError):
    """One sentence: the rule, the value met, and the remedy."""


LOCAL = "local"
"""Name of a cluster of processes on this machine."""

_PATIENCE = 20
"""Seconds in which a scheduler must answer."""


@contextmanager
def cluster(where: str | None, *, n_workers: int | None = None) -> Iterator[None]:
    """Work on a Dask cluster.

    Parameters
    ----------
    where : str or None
        ``"local"`` for processes on this machine, which end with the job, however it ends; the
        address of a scheduler, which stays; None for no cluster.
    n_workers : int, optional
        Number of processes on this machine; one per core by default.

    Yields
    ------
    None
        Within the context Dask computes there.
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
        here = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")
        with here, Client(here):
            yield
        return
    try:
        client = Client(where, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ClusterError(
            f'The Dask cluster must be "{LOCAL}" or the address of a scheduler that answers, but '
            f"{where!r} does not ({reason}): check the address."
        ) from None
    with client:
        yield
