"""Nearest labelled rows on a GPU in one fused pass: the distances stay on the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ilspace.backend import like
from ilspace.backend.tensor_cores import (
    WIDEST_BLOCK,
    add_product,
    block_width,
    class_slots,
    load_block,
    split,
)

_FAR = 1e30
"""Squared norm of the padding rows: none of them is the nearest."""

LAUNCH = {"ROWS": 128, "COLUMNS": 64, "num_warps": 4, "num_stages": 3}
"""Sizes of the blocks, and how the kernel is run."""

WIDE_LAUNCH = {"ROWS": 64, "COLUMNS": 32, "num_warps": 4, "num_stages": 2}
"""The same for more than 32 columns, of which the chip holds fewer rows."""


@triton.jit
def _nearest_of_class(
    queries,
    query_rests,
    keys,
    key_rests,
    norms,
    bounds,
    nearest,
    n_classes,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One block of queries against all rows of one class: the smallest of ‖z‖² - 2 qᵀz."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    code = tl.program_id(1)
    columns = tl.arange(0, WIDTH)
    query = load_block(queries, rows, columns, WIDTH)
    query_rest = load_block(query_rests, rows, columns, WIDTH)
    best = tl.full((ROWS, COLUMNS), float("inf"), tl.float32)
    for start in range(tl.load(bounds + code), tl.load(bounds + code + 1), COLUMNS):
        others = start + tl.arange(0, COLUMNS)
        key = load_block(keys, others, columns, WIDTH)
        key_rest = load_block(key_rests, others, columns, WIDTH)
        distances = tl.zeros((ROWS, COLUMNS), tl.float32)
        distances = add_product(query, query_rest, key, key_rest, distances)
        best = tl.minimum(best, distances + tl.load(norms + others)[None, :])
    tl.store(nearest + rows.to(tl.int64) * n_classes + code, tl.min(best, 1))


def fits(queries: torch.Tensor) -> bool:
    """Tell whether rows are narrow enough for the fused pass.

    Parameters
    ----------
    queries : Tensor of shape (n, p)
        Rows in the latent space.

    Returns
    -------
    bool
        True where a block of them stays on the chip.
    """
    return block_width(queries.shape[1]) <= WIDEST_BLOCK


def fused_class_distances(
    queries: torch.Tensor, rows: torch.Tensor, codes: np.ndarray, n_classes: int
) -> torch.Tensor:
    """Squared Euclidean distance of each query to the nearest row of each class.

    Parameters
    ----------
    queries : Tensor of shape (n, p)
        Rows to classify, in single precision on a GPU.
    rows : Tensor of shape (m, p)
        Labelled rows.
    codes : ndarray of shape (m,)
        Their classes, from 0.
    n_classes : int
        How many classes there are.

    Returns
    -------
    Tensor of shape (n, n_classes)
        Infinity for a class that has no row. The error is about 1e-6 of the squared norms.
    """
    n, p = queries.shape
    launch = LAUNCH if block_width(p) <= 32 else WIDE_LAUNCH
    height = launch["ROWS"]
    bounds, slots = class_slots(codes, n_classes, launch["COLUMNS"])
    where = like(slots, rows)
    # distances do not change, and rounding errors shrink with the norms
    centre = torch.mean(rows, dim=0)
    moved = rows - centre
    keys = rows.new_zeros((int(bounds[-1]), block_width(p)))
    keys[where, :p] = moved
    norms = rows.new_full((keys.shape[0],), _FAR)
    norms[where] = torch.sum(moved * moved, dim=1)
    padded = queries.new_zeros((triton.cdiv(n, height) * height, keys.shape[1]))
    padded[:n, :p] = queries - centre
    nearest = queries.new_empty((padded.shape[0], n_classes))
    kernel: Any = _nearest_of_class
    kernel[(padded.shape[0] // height, n_classes)](
        *split(-2 * padded),
        *split(keys),
        norms,
        like(bounds, rows),
        nearest,
        n_classes,
        WIDTH=keys.shape[1],
        **launch,
    )
    squares = torch.sum(padded * padded, dim=1)
    nearest = torch.clamp(nearest + squares[:, None], min=0)[:n]
    nearest[:, like(np.flatnonzero(np.diff(bounds) == 0), rows)] = torch.inf
    return nearest
