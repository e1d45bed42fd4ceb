"""All pairs on a GPU in one fused pass: distances, losses and slopes stay on the chip."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ilspace._typing import Array, Hinge, PairSum
from ilspace.backend import like
from ilspace.pairs.statistics import pair_shares

_WIDEST_BLOCK = 128
"""Most columns of a block of rows that stays on the chip."""

_CHUNK = 64
"""Columns of the chunks into which wider rows are split."""

_FEW_ROWS = 4096

_FAR = 1e30
"""Squared norm of the padding rows of the last block: at such a distance the slope is 0."""


@triton.jit
def _block(matrix, rows, columns, WIDTH: tl.constexpr):
    return tl.load(matrix + rows[:, None] * WIDTH + columns[None, :])


@triton.jit
def _reciprocal(x):
    """1 / x, accurate to a bit or two, in one instruction."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def _add_product(query, query_rest, key, key_rest, total):
    """Add the product of two matrices, each in two parts, without the product of the rests."""
    total = tl.dot(query_rest, tl.trans(key), total, input_precision="tf32")
    total = tl.dot(query, tl.trans(key_rest), total, input_precision="tf32")
    return tl.dot(query, tl.trans(key), total, input_precision="tf32")


@triton.jit
def _pass_over_pairs(
    queries,
    query_rests,
    keys,
    key_rests,
    codes,
    weights,
    values,
    products,
    n_padded,
    similar,
    dissimilar,
    WIDTH: tl.constexpr,
    P: tl.constexpr,
    WEIGHTED: tl.constexpr,
    FEW_ROWS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One block of rows against all rows: losses, and products of the slopes with the rows.

    The tensor cores read 10 bits of the mantissa. So rows and slopes come in two parts, what these
    bits hold and the rest, and a product of two matrices is the sum of three. Rows wider than P
    are split into chunks: each program sums the products of its own chunk of columns.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, P)
    own_columns = tl.program_id(1) * P + columns
    if WIDTH == P:
        query = _block(queries, rows, columns, WIDTH)
        query_rest = _block(query_rests, rows, columns, WIDTH)
    row_codes = tl.load(codes + rows)
    product = tl.zeros((ROWS, P), tl.float32)
    value = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n_padded, COLUMNS):
        others = start + tl.arange(0, COLUMNS)
        other_codes = tl.load(codes + others)
        key = _block(keys, others, own_columns, WIDTH)
        key_rest = _block(key_rests, others, own_columns, WIDTH)
        # β log₂e (d - 1): the scale is in the queries, the norms are two more columns
        excess = tl.zeros((ROWS, COLUMNS), tl.float32)
        if WIDTH == P:
            excess = _add_product(query, query_rest, key, key_rest, excess)
        else:
            for first in range(0, WIDTH, P):
                excess = _add_product(
                    _block(queries, rows, first + columns, WIDTH),
                    _block(query_rests, rows, first + columns, WIDTH),
                    _block(keys, others, first + columns, WIDTH),
                    _block(key_rests, others, first + columns, WIDTH),
                    excess,
                )
        same = row_codes[:, None] == other_codes[None, :]
        violation = tl.where(same, excess, -excess)
        weight = tl.where(same, similar, -dissimilar)
        if WEIGHTED:
            weight *= tl.load(weights + others)[None, :]
        decay = tl.exp2(-tl.abs(excess))
        grown = 1.0 + decay
        share = _reciprocal(grown)
        slope = tl.where(violation > 0, share, decay * share)
        value += tl.abs(weight) * (tl.maximum(violation, 0.0) + tl.log2(grown))
        force = weight * slope
        held = ((force.to(tl.int32, bitcast=True) + 4096) & -8192).to(tl.float32, bitcast=True)
        part = tl.dot(held, key_rest, input_precision="tf32")
        part = tl.dot(held, key, part, input_precision="tf32")
        if FEW_ROWS:  # over many rows the rounding errors of the forces average out
            part = tl.dot(force - held, key, part, input_precision="tf32")
        product += part  # not in the tensor cores, which round down: this adds up over blocks
    tl.store(products + rows[:, None] * WIDTH + own_columns[None, :], product)
    if tl.program_id(1) == 0:
        tl.store(values + rows, tl.sum(value, 1))


class FlashPairs:
    """Every pair of labelled rows, as :class:`~ilspace.pairs.AllPairs`, fused for a GPU.

    Value, degrees and the product of the slopes with the rows come from one pass over the pairs;
    memory is that of the rows. In single precision, with a relative error of about 1e-6.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each labelled row, from 0.
    weights : ndarray of shape (n,), optional
        Weight of each row, as for AllPairs.
    reference : Tensor
        A tensor of the device to work on.
    """

    def __init__(
        self, codes: np.ndarray, weights: np.ndarray | None = None, *, reference: Array
    ) -> None:
        host = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._similar, self._dissimilar = pair_shares(codes, host)
        n_padded = triton.cdiv(len(codes), 64) * 64
        padded = np.full(n_padded, -2, dtype=np.int32)
        padded[: len(codes)] = codes
        self._codes = like(padded, reference)
        self._weights = None
        # weight of the pairs of a row with itself, less that of those with its copies
        self._alone = float(np.sum(host**2 - np.maximum(host * (host - 1), 0)))
        if weights is not None:
            self._weights = torch.zeros_like(self._codes, dtype=torch.float32)
            self._weights[: len(host)] = like(host, reference)

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
        sharpness = getattr(hinge, "sharpness", None)
        if sharpness is None:
            raise TypeError(f"Only a smooth hinge is fused, but this is {hinge!r}: use AllPairs.")
        beta = float(sharpness)
        (n, p), n_padded = latent.shape, self._codes.shape[0]
        chunk = max(16, triton.next_power_of_2(p + 2))
        chunk = chunk if chunk <= _WIDEST_BLOCK else _CHUNK
        width = triton.cdiv(p + 2, chunk) * chunk
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
        # weights near 1 suit single precision; the true ones are about 1 / n²
        unit = max(self._similar, self._dissimilar) or 1.0
        kernel: Any = _pass_over_pairs
        kernel[(n_padded // 64, width // chunk)](
            *_split(queries),
            *_split(keys),
            self._codes,
            self._weights,
            values,
            products,
            n_padded,
            self._similar / unit,
            self._dissimilar / unit,
            WIDTH=width,
            P=chunk,
            WEIGHTED=self._weights is not None,
            FEW_ROWS=n <= _FEW_ROWS,
            ROWS=64,
            COLUMNS=32,
            num_warps=4,
            num_stages=3 if width == chunk else 2,
        )
        # a row with itself is a similar pair at distance 0: no gradient, and a known loss
        itself = self._similar / unit * math.log1p(math.exp(-beta)) / beta
        if self._weights is not None:
            values, products = values * self._weights, products * self._weights[:, None]
        total = torch.sum(values[:n], dtype=torch.float64) * (math.log(2) / beta)
        total = total - self._alone * itself
        degrees = products[:n, p + 1 : p + 2]
        laplacian = (degrees * keys[:n, :p] - products[:n, :p]).to(latent.dtype) * unit
        return PairSum(
            (total * (unit / 2)).to(latent.dtype), 2 * laplacian @ metric, latent.mT @ laplacian
        )


def _split(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What 10 bits of the mantissa hold, and the rest."""
    held = (matrix.view(torch.int32) & -(1 << 13)).view(torch.float32)
    return held, matrix - held
