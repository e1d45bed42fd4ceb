"""Which engine sums over all pairs: the one that suits the arrays."""

from __future__ import annotations

from importlib.util import find_spec

import array_api_compat
import numpy as np

from ilspace._typing import Array, Pairs
from ilspace.backend import is_foreign
from ilspace.pairs.tiles import AllPairs

_LARGE_TILE = 4096
"""Tiles for libraries whose calls cost more than their work: the distances take 128 MiB."""


_WIDEST_FUSED = 190
"""Dimensions from which on an H200 is as fast with tiles: the fused pass then computes distances
several times."""


def all_pairs(
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    reference: Array,
    n_components: int = 1,
) -> Pairs:
    """Make the engine for all pairs of labelled rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row.
    reference : array
        Library, device and floating type to work in.
    n_components : int, default=1
        Dimension of the latent space, if it may be large.

    Returns
    -------
    Pairs
        In tiles; fused into one pass for single precision on an NVIDIA GPU, where Triton is
        installed and the rows are not so wide that the products dwarf all else.
    """
    fused = _is_single_on_gpu(reference) and n_components <= _WIDEST_FUSED
    if fused and find_spec("triton") is not None:
        from ilspace.pairs.flash import FlashPairs

        return FlashPairs(codes, weights, reference=reference)
    if is_foreign(reference):
        return AllPairs(codes, weights, reference=reference, tile=_LARGE_TILE)
    return AllPairs(codes, weights, reference=reference)


def _is_single_on_gpu(reference: Array) -> bool:
    if not array_api_compat.is_torch_array(reference) or not reference.is_cuda:
        return False
    return str(reference.dtype) == "torch.float32"
