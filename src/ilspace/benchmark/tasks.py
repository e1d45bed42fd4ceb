"""Cells as the runner and the store see them, whatever the kind of experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

_AS_SPELLED = frozenset({"estimator", "parameters", "selection", "grid"})
"""Entries of a cell that repeat the plan's spelling; the digest covers their meaning."""

_encoded = json.JSONEncoder(sort_keys=True).encode


def cell_key(cell: Mapping[str, Any]) -> str:
    """Unique key of a cell, as a string.

    Parameters
    ----------
    cell : mapping
        A cell as plain data.

    Returns
    -------
    str
        Equal for cells of the same data, trial, name of the method and digest, however the plan
        spells the parameters. A cell of a store that is older than digests has none, and equals
        no cell of a plan.
    """
    return _encoded({k: v for k, v in cell.items() if k not in _AS_SPELLED})


def cell_place(cell: Mapping[str, Any]) -> str:
    """Place of a cell in its table, as a string: its key without the digest.

    Parameters
    ----------
    cell : mapping
        A cell as plain data.

    Returns
    -------
    str
        Equal for cells of the same data, trial and name of the method.
    """
    return cell_key({k: v for k, v in cell.items() if k != "digest"})


class Task(Protocol):
    """A cell of either kind of experiment, as the runner and the store see it.

    Attributes
    ----------
    digest : str
        Digest of its method's description.
    """

    @property
    def digest(self) -> str:
        """Digest of its method's description."""
        ...

    @property
    def key(self) -> str:
        """Unique key, as a string."""
        ...

    @property
    def shared_needs(self) -> tuple[str, str]:
        """What cells have in common that fail with the same errors."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, with ``method``, the name of its row."""
        ...

    def describe(self) -> dict[str, Any]:
        """Description of the method."""
        ...

    def check(self) -> None:
        """Raise the errors that this cell, and similar ones, would fail with."""
        ...

    def run(self) -> dict[str, Any]:
        """Fit and score; the record."""
        ...
