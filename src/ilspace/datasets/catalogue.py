"""Catalogue of the data sets: their files, and how to download them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ilspace.datasets._files import (
    ORIGINALS,
    PUBLIC_COPIES,
    DataCorrupt,
    DataMissing,
    locate,
    originals_sentence,
    search_roots,
)
from ilspace.datasets.office_caltech import PARTS
from ilspace.datasets.table_domains import TABLES


@dataclass(frozen=True)
class DataSet:
    """A set of files that belong together.

    Attributes
    ----------
    name : str
        Its name.
    about : str
        One-line description.
    files : mapping of str to str
        Path below a data root, and checksum.
    """

    name: str
    about: str
    files: Mapping[str, str]

    @property
    def folder(self) -> str:
        """Folder of the data root that holds the files."""
        return next(iter(self.files)).rpartition("/")[0]

    def located(self) -> list[Path]:
        """Locate all files, and verify their checksums.

        Returns
        -------
        list of Path
            In the order of `files`.
        """
        return [locate(path, sha256) for path, sha256 in self.files.items()]

    def state(self) -> str:
        """State of the files: ``"here"``, ``"missing"`` or ``"corrupt"``.

        Returns
        -------
        str
            The state.
        """
        try:
            self.located()
        except DataMissing:
            return "missing"
        except DataCorrupt:
            return "corrupt"
        return "here"


DATA_SETS = {
    f"office-caltech-{name}": DataSet(
        f"office-caltech-{name}", part["summary"], dict(part["files"].values())
    )
    for name, part in PARTS.items()
} | {
    f"tables-{name.replace('_', '-')}": DataSet(
        f"tables-{name.replace('_', '-')}", part["summary"], dict(part["files"].values())
    )
    for name, part in TABLES.items()
}
"""Data sets by name."""


def find_data_set(name: str) -> DataSet:
    """Look up a data set by name.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    DataSet
        The one of this name.
    """
    if name not in DATA_SETS:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(DATA_SETS)}.")
    return DATA_SETS[name]


def fetch(
    name: str, *, mirror: str | None = None, progress: Callable[[str], object] = lambda path: None
) -> list[Path]:
    """Download the missing files of a data set.

    They go to the last of :func:`search_roots`, the cache, each moved there once its checksum
    is verified. A download that fails leaves neither a file nor a new folder.

    Parameters
    ----------
    name : str
        The data set.
    mirror : str, optional
        Address of a folder with the same files; the public copy by default.
    progress : callable, optional
        Called with the path of each file, before it is looked for.

    Returns
    -------
    list of Path
        The files.
    """
    import pooch
    from requests import RequestException

    wanted = find_data_set(name)
    copy = PUBLIC_COPIES.get(wanted.folder)
    if mirror is None and copy is None:
        made = f" ({originals_sentence(wanted.folder)})" if wanted.folder in ORIGINALS else ""
        raise DataMissing(
            f"{name} has no public copy: put its files into $ILSPACE_DATA/{wanted.folder}{made}, "
            "or name an address that holds them."
        )
    address = copy.address if mirror is None and copy is not None else str(mirror).rstrip("/")
    cache = search_roots()[-1]
    quiet = pooch.HTTPDownloader(progressbar=False, timeout=30)
    for path, sha256 in wanted.files.items():
        progress(path)
        with suppress(DataMissing):
            locate(path, sha256)
            continue
        folder, _, file_name = path.rpartition("/")
        url = f"{address}/{file_name}"
        try:
            with _folder(cache / folder) as place:
                pooch.retrieve(url, f"sha256:{sha256}", file_name, str(place), downloader=quiet)
        except RequestException as error:  # some of them are ValueErrors, too
            raise DataMissing(f"{url} cannot be read: {error}") from None
        except ValueError:  # pooch's error for a wrong checksum
            raise DataCorrupt(
                f"{url} must have sha256 {sha256}, but has another: the copy has changed; it was "
                "not kept."
            ) from None
    return wanted.located()


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Make a folder; take it and its new parents away again if they are still empty in the end."""
    made = [each for each in (path, *path.parents) if not each.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    finally:
        for each in made:
            with suppress(OSError):  # there is something in it
                each.rmdir()
