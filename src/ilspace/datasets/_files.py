"""Locate data files and verify their checksums. Nothing here downloads."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple


class DataMissing(FileNotFoundError):  # noqa: N818 - reads as the fact it reports
    """A data file is in none of the search folders."""


class DataCorrupt(ValueError):  # noqa: N818 - as above
    """A data file was found, but its checksum is not the published one."""


class PublicCopy(NamedTuple):
    """A folder of a public GitHub repository, pinned to one commit.

    Attributes
    ----------
    repository : str
        ``owner/name`` on GitHub.
    commit : str
        Full commit hash.
    path : str
        Folder inside the repository.
    """

    repository: str
    commit: str
    path: str

    @property
    def address(self) -> str:
        """Address of the folder, to which a file's name is added."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    def __str__(self) -> str:
        """Location of the copy, for messages."""
        return f"GitHub {self.repository}, commit {self.commit}, folder {self.path}"


#: Public copies, by the folder of the data root that they fill; other folders have none.
PUBLIC_COPIES = {
    "office_caltech_surf": PublicCopy(
        "viggin/domain-adaptation-toolbox",
        "2a991816a0ac39043b526c2b0cbe01bc844d8890",
        "ToRelease_GFK/data",
    ),
    "office_caltech_splits": PublicCopy(
        "jhoffman/MaxMarginDomainTransforms",
        "73fed23388ea8c0794976cf0d5f908637502ca1a",
        "DataSplitsOfficeCaltech",
    ),
    "office_caltech_decaf6": PublicCopy(
        "jtahmores/LSA",
        "4698659aa7cd5efbf8c9355f174f05cb87c73b2b",
        "datasets/Office-Caltech-decaf6",
    ),
}

#: Where the originals are of folders that hold them rewritten, by the folder of the data root.
ORIGINALS = {
    "tables/heart": "UCI Heart Disease, files processed.*.data",
    "tables/wine_quality": "UCI Wine Quality, files winequality-*.csv",
    "tables/penguins": "the R package palmerpenguins, file penguins.csv",
    "tables/cars": "the R package ggplot2, file data-raw/mpg.csv",
    "tables/students": "UCI Student Performance, file student-mat.csv",
    "tables/sentences": "UCI Sentiment Labelled Sentences, files *_labelled.txt",
}


def search_roots() -> tuple[Path, ...]:
    """Folders searched for data, in order.

    Returns
    -------
    roots : tuple of Path
        ``$ILSPACE_DATA`` when it is set, then ``$XDG_CACHE_HOME/ilspace``, which is
        ``~/.cache/ilspace`` where that variable is unset or not absolute. They need not exist.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():  # the XDG specification: a relative path is to be ignored
        cache = Path.home() / ".cache"
    named = os.environ.get("ILSPACE_DATA")
    return (*([Path(named).expanduser()] if named else []), cache / "ilspace")


def locate(relative_path: str, sha256: str) -> Path:
    """Find a data file and check its content.

    The first root of :func:`search_roots` that holds the file decides; a corrupt file there
    is an error, not a reason to look further.

    Parameters
    ----------
    relative_path : str
        Path below a data root, with forward slashes.
    sha256 : str
        Expected checksum, hexadecimal.

    Returns
    -------
    path : Path
        The file, whose checksum has been verified.

    Raises
    ------
    DataMissing
        When no root holds the file.
    DataCorrupt
        When the checksum differs.
    """
    roots = search_roots()
    for root in roots:
        path = root / relative_path
        if path.is_file():
            _verify(path, sha256, relative_path)
            return path
    raise DataMissing(
        f"The file {relative_path} must be in $ILSPACE_DATA or in the cache, but none of "
        f"{', '.join(map(str, roots))} holds it: set ILSPACE_DATA to a folder that holds "
        f"{relative_path} ({_whence(relative_path)})."
    )


def _verify(path: Path, sha256: str, relative_path: str) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise DataCorrupt(
            f"The file {path} must have sha256 {sha256}, but has {found}: replace it with an "
            f"intact copy, or set ILSPACE_DATA to a folder that holds one as {relative_path} "
            f"({_whence(relative_path)})."
        )


def _whence(relative_path: str) -> str:
    folder = relative_path.rpartition("/")[0]
    if folder in ORIGINALS:
        return originals_sentence(folder)
    copy = PUBLIC_COPIES.get(folder)
    if copy is None:
        return "there is no public copy"
    return f"`ilspace data fetch {folder.replace('_', '-')}` downloads the public copy: {copy}"


def originals_sentence(folder: str) -> str:
    """Where the originals of a folder are, and what turns them into its files.

    Parameters
    ----------
    folder : str
        A folder of `ORIGINALS`.

    Returns
    -------
    str
        Part of a sentence.
    """
    return (
        f"originals: {ORIGINALS[folder]}, which `python -m ilspace.datasets.make_tables ORIGINALS "
        "$ILSPACE_DATA` turns into such files"
    )
