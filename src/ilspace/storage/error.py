"""The one error about what is in a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REMEDY = "save the model again, or fetch an intact copy"


class ModelFileError(ValueError):
    """A file that holds no model, or not an intact one.

    Parameters
    ----------
    flaw : str
        What was met, as the rest of a sentence after "but".
    remedy : str, optional
        What to do about it.
    path : Path, optional
        The file, where it is known.
    """

    def __init__(self, flaw: str, *, remedy: str = _REMEDY, path: Path | None = None) -> None:
        super().__init__(flaw)
        self.flaw, self.remedy, self.path = flaw, remedy, path

    def __str__(self) -> str:
        """Say the rule, the flaw and the remedy."""
        what = "A model" if self.path is None else f"The file {self.path}"
        return f"{what} must be an intact model of ilspace, but {self.flaw}: {self.remedy}."


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the file in an error about its content.

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
