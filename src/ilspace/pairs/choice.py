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


def all_pairs(
    codes: np.ndarray, weights: np.ndarray | None = None, *, n_components: int, reference: Array
) -> Pairs:
    """Make the engine for all pairs of labelled rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row.
    n_components : int
        Dimension of the latent space.
    reference : array
        Library, device and floating type to work in.

    Returns
    -------
    Pairs
        In tiles; fused into one pass for single precision on an NVIDIA GPU, without weights, where
        Triton is installed.
    """
    if weights is None and _is_single_on_gpu(reference) and find_spec("triton") is not None:
        from ilspace.pairs.flash import WIDEST, FlashPairs

        if n_components <= WIDEST:
            return FlashPairs(codes, reference=reference)
    if is_foreign(reference):
        return AllPairs(codes, weights, reference=reference, tile=_LARGE_TILE)
    return AllPairs(codes, weights, reference=reference)


def _is_single_on_gpu(reference: Array) -> bool:
    if not array_api_compat.is_torch_array(reference) or not reference.is_cuda:
        return False
    return str(reference.dtype) == "torch.float32"
