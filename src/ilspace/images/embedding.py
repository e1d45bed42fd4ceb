"""From picture files to features, a batch at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ilspace.images.cache import FeatureCache
from ilspace.images.decoding import decode
from ilspace.images.errors import PictureError

if TYPE_CHECKING:
    from ilspace.images.backbones import Backbone

BATCH_SIZE = 32
"""Pictures that are in memory at a time."""

_DECODERS = 4
"""Threads that decode."""


class Broken(NamedTuple):
    """A picture that cannot be used.

    Attributes
    ----------
    position : int
        In the list of files.
    reason : str
        Why, in a few words.
    """

    position: int
    reason: str


class Embedded(NamedTuple):
    """Features of some pictures.

    Attributes
    ----------
    positions : ndarray of int, shape (n,)
        In the list of files, in ascending order.
    features : ndarray of float32, shape (n, n_features)
        A row for each.
    broken : tuple of Broken
        Pictures among them that have none.
    """

    positions: np.ndarray
    features: np.ndarray
    broken: tuple[Broken, ...]


class _Loaded(NamedTuple):
    """What is known of a file before the model has seen it."""

    digest: bytes
    prepared: np.ndarray | None
    reason: str


def embed_files(
    files: Sequence[Path],
    backbone: Backbone,
    *,
    cache: Path | None = None,
    batch_size: int = BATCH_SIZE,
    on_count: Callable[[int, int], object] | None = None,
) -> Generator[Embedded]:
    """Describe pictures by features.

    Parameters
    ----------
    files : sequence of Path
        The pictures.
    backbone : Backbone
        What describes them.
    cache : Path, optional
        Folder in which features are kept, if the backbone is slow; none by default.
    batch_size : int, default=32
        Pictures to hold in memory at a time.
    on_count : callable, optional
        Called with how many files are done, and of how many.

    Yields
    ------
    Embedded
        One per batch, in order; pictures without features are in none but named.
    """
    kept = FeatureCache(cache, backbone.key) if cache and backbone.is_slow else nullcontext()
    with kept as store, ThreadPoolExecutor(_DECODERS) as decoders:
        for start in range(0, len(files), batch_size):
            batch = files[start : start + batch_size]
            yield _embed_batch(batch, start, backbone, store, decoders)
            if on_count is not None:
                on_count(start + len(batch), len(files))


def _embed_batch(
    files: Sequence[Path],
    start: int,
    backbone: Backbone,
    store: FeatureCache | None,
    decoders: ThreadPoolExecutor,
) -> Embedded:
    known: dict[bytes, np.ndarray] = {}
    if store is not None:
        digests = list(decoders.map(_digest, files))
        known = store.get([each for each in digests if each])

    def load(file: Path) -> _Loaded:
        """Read a file, whose digest is taken of what is read."""
        try:
            content = file.read_bytes()
            digest = hashlib.sha256(content).digest() if store is not None else b""
            if digest in known:
                return _Loaded(digest, None, "")
            picture = decode(content, side=backbone.side)
            return _Loaded(digest, backbone.prepare(picture), "")
        except PictureError as error:
            return _Loaded(b"", None, str(error))
        except OSError as error:
            return _Loaded(b"", None, (error.strerror or str(error)).lower())

    loaded = list(decoders.map(load, files))
    new = [i for i, each in enumerate(loaded) if each.prepared is not None]
    rows: dict[int, np.ndarray] = {
        i: known[each.digest]
        for i, each in enumerate(loaded)
        if each.prepared is None and not each.reason
    }
    if new:
        features = backbone.features(np.stack([loaded[i].prepared for i in new]))  # type: ignore
        flawed = ~np.isfinite(features).all(axis=1)
        if flawed.any():
            raise PictureError(
                f"The backbone {backbone.name} must give finite features, but does not for "
                f"{files[new[int(flawed.argmax())]]}: choose another."
            )
        if store is not None:
            store.put([loaded[i].digest for i in new], features)
        rows |= dict(zip(new, features, strict=True))
    positions = sorted(rows)
    broken = [Broken(start + i, each.reason) for i, each in enumerate(loaded) if each.reason]
    return Embedded(
        np.array(positions, dtype=int) + start,
        np.stack([rows[i] for i in positions]) if rows else np.zeros((0, 0), np.float32),
        tuple(broken),
    )


def _digest(file: Path) -> bytes | None:
    """Digest of the content of a file; None if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return None
