"""The error for invalid model files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REMEDY = "save the model again, or fetch an intact copy"


class ModelFileError(ValueError):
    """An invalid or corrupt model file.

    Parameters
    ----------
    flaw : str
        What is wrong, as the rest of a sentence after "but".
    remedy : str, optional
        The remedy.
    path : Path, optional
        The file, where it is known.
    """

    def __init__(self, flaw: str, *, remedy: str = _REMEDY, path: Path | None = None) -> None:
        super().__init__(flaw)
        self.flaw, self.remedy, self.path = flaw, remedy, path

    def __str__(self) -> str:
        """Rule, flaw and remedy."""
        what = "A model" if self.path is None else f"The file {self.path}"
        return f"{what} must be an intact model of ilspace, but {self.flaw}: {self.remedy}."


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Add the path to a ModelFileError.

    Parameters
    ----------
    path : Path
        The file that is read.

    Yields
    ------
    None
        Nothing.
    """
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(error.flaw, remedy=error.remedy, path=path) from error.__cause__
