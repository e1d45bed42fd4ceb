"""All pairs on a GPU in one pass: no distance, loss or force ever leaves the chip."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import like
from ilspace.pairs.tiles import pair_totals

WIDEST = 126
"""Most latent dimensions for which a block of rows stays on the chip."""

_FAR = 1e30
"""Squared norm of the rows that fill up the last block: nothing acts at such a distance."""


@triton.jit
def _pass_over_pairs(
    queries,
    query_rests,
    keys,
    key_rests,
    codes,
    values,
    products,
    n_padded,
    similar,
    dissimilar,
    P: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One block of rows against all rows: its losses, and the forces on it.

    The tensor cores read 10 bits of a number. So rows and forces come in two parts, what these
    bits hold and the rest, and a product of two matrices is the sum of three.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, P)
    query = tl.load(queries + rows[:, None] * P + columns[None, :])
    query_rest = tl.load(query_rests + rows[:, None] * P + columns[None, :])
    row_codes = tl.load(codes + rows)
    product = tl.zeros((ROWS, P), tl.float32)
    value = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n_padded, COLUMNS):
        others = start + tl.arange(0, COLUMNS)
        key = tl.load(keys + others[:, None] * P + columns[None, :])
        key_rest = tl.load(key_rests + others[:, None] * P + columns[None, :])
        other_codes = tl.load(codes + others)
        # β log₂e (d - 1): the scale is in the queries, the norms are two more columns
        excess = tl.dot(query_rest, tl.trans(key), input_precision="tf32")
        excess = tl.dot(query, tl.trans(key_rest), excess, input_precision="tf32")
        excess = tl.dot(query, tl.trans(key), excess, input_precision="tf32")
        same = row_codes[:, None] == other_codes[None, :]
        violation = tl.where(same, excess, -excess)
        weight = tl.where(same, similar, -dissimilar)
        decay = tl.exp2(-tl.abs(excess))
        grown = 1.0 + decay
        share = 1.0 / grown
        slope = tl.where(violation > 0, share, decay * share)
        value += tl.abs(weight) * (tl.maximum(violation, 0.0) + tl.log2(grown))
        force = weight * slope
        held = (force.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        part = tl.dot(force - held, key, input_precision="tf32")
        part = tl.dot(held, key_rest, part, input_precision="tf32")
        part = tl.dot(held, key, part, input_precision="tf32")
        product += part  # not inside the tensor cores: over many blocks they round down
    tl.store(values + rows, tl.sum(value, 1))
    tl.store(products + rows[:, None] * P + columns[None, :], product)


class FlashPairs:
    """Every pair of labelled rows, as :class:`~ilspace.pairs.AllPairs`, fused for a GPU.

    Value, degrees and the product of the forces with the rows come from one pass over the pairs;
    memory is that of the rows. Works in single precision, to about 1e-6 relative.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    reference : Tensor
        A tensor of the device to work on.
    """

    def __init__(self, codes: np.ndarray, *, reference: Array) -> None:
        similar, dissimilar = pair_totals(codes, np.ones(len(codes)))
        shares = 1 / max(1, (similar > 0) + (dissimilar > 0))
        self._similar = shares / similar if similar > 0 else 0.0
        self._dissimilar = shares / dissimilar if dissimilar > 0 else 0.0
        n_padded = triton.cdiv(len(codes), 64) * 64
        padded = np.full(n_padded, -2, dtype=np.int32)
        padded[: len(codes)] = codes
        self._codes = like(padded, reference)

    def sum(
        self, hinge: Hinge, latent: Array, metric: Array, slack: Array | None = None
    ) -> PairSum:
        """Sum the hinge over all pairs.

        Parameters
        ----------
        hinge : SmoothHinge
            Loss of a margin violation.
        latent : Tensor of shape (n, p)
            The labelled rows in the latent space.
        metric : Tensor of shape (p, p)
            M.
        slack : None
            All pairs have no slacks.

        Returns
        -------
        PairSum
            The sum and its gradients.
        """
        if slack is not None:
            raise ValueError("All pairs have no slacks; use sampled pairs with slacks.")
        beta = float(hinge.sharpness)  # type: ignore[attr-defined]
        (n, p), n_padded = latent.shape, self._codes.shape[0]
        width = max(16, triton.next_power_of_2(p + 2))
        stretched = latent @ metric
        norms = torch.sum(stretched * latent, dim=1)
        scale = beta * math.log2(math.e)
        queries = latent.new_zeros((n_padded, width), dtype=torch.float32)
        keys = torch.zeros_like(queries)
        queries[:n, :p], queries[:n, p] = -2 * scale * stretched, scale
        queries[:n, p + 1] = scale * (norms - 1)
        keys[:n, :p], keys[:n, p], keys[:n, p + 1] = latent, norms, 1
        queries[n:, p], keys[n:, p] = scale, _FAR
        values, products = torch.empty_like(queries[:, 0]), torch.empty_like(keys)
        # weights near 1 lose nothing in single precision; the true ones are about 1 / n²
        unit = max(self._similar, self._dissimilar) or 1.0
        kernel: Any = _pass_over_pairs
        kernel[(n_padded // 64,)](
            *_parts(queries),
            *_parts(keys),
            self._codes,
            values,
            products,
            n_padded,
            self._similar / unit,
            self._dissimilar / unit,
            P=width,
            ROWS=64,
            COLUMNS=32,
            num_warps=4,
            num_stages=3,
        )
        # a row and itself are a similar pair at distance 0: no force, and a known loss
        itself = self._similar / unit * math.log1p(math.exp(-beta)) / beta
        total = torch.sum(values[:n], dtype=torch.float64) * (math.log(2) / beta) - n * itself
        degrees = products[:n, p + 1 : p + 2]
        laplacian = (degrees * keys[:n, :p] - products[:n, :p]).to(latent.dtype) * unit
        return PairSum(
            (total * (unit / 2)).to(latent.dtype), 2 * laplacian @ metric, latent.mT @ laplacian
        )


def _parts(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What 10 bits of the mantissa hold, and the rest."""
    held = (matrix.view(torch.int32) & -(1 << 13)).view(torch.float32)
    return held, matrix - held
