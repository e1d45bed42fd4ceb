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
from ilspace.backend.tensor_cores import (
    WIDEST_BLOCK,
    add_product,
    block_width,
    load_block,
    reciprocal,
    split,
)
from ilspace.pairs.flash_by_class import ClassBlocks
from ilspace.pairs.statistics import pair_shares
from ilspace.pairs.tiles import refuse_slack

_CHUNK = 64
"""Columns of the chunks into which wider rows are split."""

_FEW_ROWS = 4096

_FAR = 1e30
"""Squared norm of the padding rows of the last block: at such a distance the slope is 0."""


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

    Rows and slopes come in two parts, for the tensor cores. Rows wider than P are split into
    chunks: each program sums the products of its own chunk of columns.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, P)
    own_columns = tl.program_id(1) * P + columns
    if WIDTH == P:
        query = load_block(queries, rows, columns, WIDTH)
        query_rest = load_block(query_rests, rows, columns, WIDTH)
    row_codes = tl.load(codes + rows)
    product = tl.zeros((ROWS, P), tl.float32)
    value = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n_padded, COLUMNS):
        others = start + tl.arange(0, COLUMNS)
        other_codes = tl.load(codes + others)
        key = load_block(keys, others, own_columns, WIDTH)
        key_rest = load_block(key_rests, others, own_columns, WIDTH)
        # β log₂e (d - 1): the scale is in the queries, the norms are two more columns
        excess = tl.zeros((ROWS, COLUMNS), tl.float32)
        if WIDTH == P:
            excess = add_product(query, query_rest, key, key_rest, excess)
        else:
            for first in range(0, WIDTH, P):
                excess = add_product(
                    load_block(queries, rows, first + columns, WIDTH),
                    load_block(query_rests, rows, first + columns, WIDTH),
                    load_block(keys, others, first + columns, WIDTH),
                    load_block(key_rests, others, first + columns, WIDTH),
                    excess,
                )
        same = row_codes[:, None] == other_codes[None, :]
        violation = tl.where(same, excess, -excess)
        weight = tl.where(same, similar, -dissimilar)
        if WEIGHTED:
            weight *= tl.load(weights + others)[None, :]
        decay = tl.exp2(-tl.abs(excess))
        grown = 1.0 + decay
        share = reciprocal(grown)
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
        self._by_class = None
        if weights is None and len(codes) > _FEW_ROWS:
            self._by_class = ClassBlocks.of(codes, reference)
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
        refuse_slack(slack)
        sharpness = getattr(hinge, "sharpness", None)
        if sharpness is None:
            raise TypeError(f"Only a smooth hinge is fused, but this is {hinge!r}: use AllPairs.")
        beta = float(sharpness)
        # weights near 1 suit single precision; the true ones are about 1 / n²
        unit = max(self._similar, self._dissimilar) or 1.0
        shares = (self._similar / unit, self._dissimilar / unit)
        stretched = latent @ metric
        norms = torch.sum(stretched * latent, dim=1)
        scale = beta * math.log2(math.e)
        if self._by_class is not None and self._by_class.fits(latent):
            values, product, degrees = self._by_class.sum(latent, stretched, norms, scale, shares)
        else:
            values, product, degrees = self._sum(latent, stretched, norms, scale, shares)
        total = torch.sum(values, dtype=torch.float64) * (math.log(2) / beta)
        # a row with itself is a similar pair at distance 0: no gradient, and a known loss
        total = total - self._alone * shares[0] * math.log1p(math.exp(-beta)) / beta
        laplacian = (degrees * latent - product).to(latent.dtype) * unit
        return PairSum(
            (total * (unit / 2)).to(latent.dtype), 2 * laplacian @ metric, latent.mT @ laplacian
        )

    def _sum(
        self,
        latent: torch.Tensor,
        stretched: torch.Tensor,
        norms: torch.Tensor,
        scale: float,
        shares: tuple[float, float],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Losses of the rows in units of log 2 / β, products of the slopes with them, degrees."""
        (n, p), n_padded = latent.shape, self._codes.shape[0]
        chunk = block_width(p + 2)
        chunk = chunk if chunk <= WIDEST_BLOCK else _CHUNK
        width = triton.cdiv(p + 2, chunk) * chunk
        queries = latent.new_zeros((n_padded, width), dtype=torch.float32)
        keys = torch.zeros_like(queries)
        queries[:n, :p], queries[:n, p] = -2 * scale * stretched, scale
        queries[:n, p + 1] = scale * (norms - 1)
        keys[:n, :p], keys[:n, p], keys[:n, p + 1] = latent, norms, 1
        queries[n:, p], keys[n:, p] = scale, _FAR
        values, products = torch.empty_like(queries[:, 0]), torch.empty_like(keys)
        kernel: Any = _pass_over_pairs
        kernel[(n_padded // 64, width // chunk)](
            *split(queries),
            *split(keys),
            self._codes,
            self._weights,
            values,
            products,
            n_padded,
            *shares,
            WIDTH=width,
            P=chunk,
            WEIGHTED=self._weights is not None,
            FEW_ROWS=n <= _FEW_ROWS,
            ROWS=64,
            COLUMNS=32,
            num_warps=4,
            num_stages=3 if width == chunk else 2,
        )
        if self._weights is not None:
            values, products = values * self._weights, products * self._weights[:, None]
        return values[:n], products[:n, :p], products[:n, p + 1 : p + 2]
