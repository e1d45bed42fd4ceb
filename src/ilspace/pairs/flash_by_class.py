"""All pairs of many rows on a GPU, sorted by class: a block has pairs of one kind only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ilspace._typing import Array
from ilspace.backend import like
from ilspace.backend.tensor_cores import (
    add_product,
    block_width,
    class_slots,
    load_block,
    power_of_two,
    reciprocal,
    split,
)

_ALIGN = 128
"""Rows to a multiple of which each class is padded; blocks are no larger."""

_MOST_PADDING = 0.2
"""Most padding rows, as a share of the rows: beyond, mixed blocks are faster."""

_WIDEST = 32
"""Widest block that is kept on the chip, with its products, in every size of GPU."""

_FAR = 1e30
"""Squared norm of the padding rows: at such a distance the slope of a dissimilar pair is 0."""

_LIFT = 2048.0
"""Factor of the second halves: half precision has few bits for small numbers."""

LAUNCH = {"ROWS": 64, "COLUMNS": 64, "STEPS": 32, "num_warps": 4, "num_stages": 3}
"""Sizes of the blocks, and how the kernel is run."""


@triton.jit
def _sweep(
    query,
    query_rest,
    keys,
    key_rests,
    halves,
    first,
    last,
    n_real,
    product,
    value,
    WIDTH: tl.constexpr,
    SIMILAR: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Add the losses of a block of rows with the rows from first to last, and the products."""
    columns = tl.arange(0, WIDTH)
    wide = tl.arange(0, 2 * WIDTH)
    for start in range(first, last, COLUMNS * STEPS):
        # Σ log(1 + e) is the logarithm of a product, which cannot overflow in so few steps
        grown = tl.full((ROWS, COLUMNS), 1.0, tl.float32)
        # the tensor cores round down when they add: in so few steps that is little
        part = tl.zeros((ROWS, 2 * WIDTH), tl.float32)
        for here in range(start, tl.minimum(start + COLUMNS * STEPS, last), COLUMNS):
            others = here + tl.arange(0, COLUMNS)
            key = load_block(keys, others, columns, WIDTH)
            key_rest = load_block(key_rests, others, columns, WIDTH)
            half = load_block(halves, others, wide, 2 * WIDTH)
            # β log₂e (d - 1): the scale is in the queries, the norms are two more columns
            excess = tl.zeros((ROWS, COLUMNS), tl.float32)
            excess = add_product(query, query_rest, key, key_rest, excess)
            violation = -excess
            if SIMILAR:
                violation = tl.where((others < n_real)[None, :], excess, -1e30)
            decay = power_of_two(-tl.abs(violation))
            more = 1.0 + decay
            share = reciprocal(more)
            slope = tl.where(violation > 0, share, decay * share)
            grown *= more
            value += tl.maximum(violation, 0.0)
            part = tl.dot(slope.to(tl.float16), half, part)
        product += part
        value += tl.log2(grown)
    return product, value


@triton.jit
def _pass_by_class(
    queries,
    query_rests,
    keys,
    key_rests,
    halves,
    bounds,
    ends,
    owners,
    values,
    products,
    n_padded,
    similar,
    dissimilar,
    WIDTH: tl.constexpr,
    ALIGN: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """One block of rows of one class against the rows before, in and after its class."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    query = load_block(queries, rows, columns, WIDTH)
    query_rest = load_block(query_rests, rows, columns, WIDTH)
    code = tl.load(owners + tl.program_id(0) * ROWS // ALIGN)
    start, stop = tl.load(bounds + code), tl.load(bounds + code + 1)
    n_real = tl.load(ends + code)
    product = tl.zeros((ROWS, 2 * WIDTH), tl.float32)
    value = tl.zeros((ROWS, COLUMNS), tl.float32)
    product, value = _sweep(
        query, query_rest, keys, key_rests, halves, 0, start, n_real, product, value,
        WIDTH, False, ROWS, COLUMNS, STEPS,
    )  # fmt: skip
    product, value = _sweep(
        query, query_rest, keys, key_rests, halves, stop, n_padded, n_real, product, value,
        WIDTH, False, ROWS, COLUMNS, STEPS,
    )  # fmt: skip
    # in units of the weight of a similar pair, until the end
    ratio = dissimilar / similar
    product, value = _sweep(
        query, query_rest, keys, key_rests, halves, start, stop, n_real,
        -ratio * product, ratio * value, WIDTH, True, ROWS, COLUMNS, STEPS,
    )  # fmt: skip
    wide = tl.arange(0, 2 * WIDTH)
    tl.store(products + rows[:, None] * (2 * WIDTH) + wide[None, :], similar * product)
    tl.store(values + rows, similar * tl.sum(value, 1))


@dataclass(frozen=True)
class ClassBlocks:
    """Where rows lie that are sorted by class, each class padded to full blocks.

    Attributes
    ----------
    slots : Tensor of int64, shape (n,)
        Place of each row.
    bounds, ends : Tensor of int32
        First place of each class, with the number of places; end of the rows of each class.
    owners : Tensor of int32
        Class of each block.
    n_padded : int
        Number of places.
    """

    slots: torch.Tensor
    bounds: torch.Tensor
    ends: torch.Tensor
    owners: torch.Tensor
    n_padded: int

    @classmethod
    def of(cls, codes: np.ndarray, reference: Array) -> ClassBlocks | None:
        """Sort rows by class.

        Parameters
        ----------
        codes : ndarray of shape (n,)
            Class of each row, from 0.
        reference : Tensor
            A tensor of the device to work on.

        Returns
        -------
        ClassBlocks or None
            None where the classes are so small that they would be mostly padding, or where there
            is none with two rows, and so no similar pair.
        """
        counts = np.bincount(codes)
        bounds, slots = class_slots(codes, len(counts), _ALIGN)
        if bounds[-1] > (1 + _MOST_PADDING) * len(codes) or np.max(counts) < 2:
            return None
        owners = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(bounds) // _ALIGN)
        ends = (bounds[:-1] + counts).astype(np.int32)
        places, starts, stops, classes = (
            like(each, reference) for each in (slots, bounds, ends, owners)
        )
        return cls(places, starts, stops, classes, int(bounds[-1]))

    def fits(self, latent: torch.Tensor) -> bool:
        """Tell whether rows are narrow enough.

        Parameters
        ----------
        latent : Tensor of shape (n, p)
            Rows in the latent space.

        Returns
        -------
        bool
            True where the products of a block stay in registers.
        """
        return block_width(latent.shape[1] + 2) <= _WIDEST

    def sum(
        self,
        latent: torch.Tensor,
        stretched: torch.Tensor,
        norms: torch.Tensor,
        scale: float,
        shares: tuple[float, float],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        r"""Sum the smooth hinge over all pairs.

        The slopes are rounded to half precision, whose rounding errors average out over many
        rows; the rows they are multiplied with come in two halves.

        Parameters
        ----------
        latent, stretched : Tensor of shape (n, p)
            The rows Z, and ZM.
        norms : Tensor of shape (n,)
            Their squared norms under the metric M.
        scale : float
            :math:`\beta\log_2 e`.
        shares : tuple of float
            Weights of a similar and of a dissimilar pair.

        Returns
        -------
        values : Tensor of shape (n,)
            Losses of the pairs of each row, that with itself included, in units of
            :math:`\log 2/\beta`.
        product : Tensor of shape (n, p)
            CZ, with C the matrix of weighted slopes.
        degrees : Tensor of shape (n, 1)
            Row sums of C.
        """
        p, where, n_padded = latent.shape[1], self.slots, self.n_padded
        width = block_width(p + 2)
        queries = latent.new_zeros((n_padded, width), dtype=torch.float32)
        keys = torch.zeros_like(queries)
        queries[:, p], keys[:, p] = scale, _FAR
        queries[where, :p], queries[where, p + 1] = -2 * scale * stretched, scale * (norms - 1)
        keys[where, :p], keys[where, p], keys[where, p + 1] = latent, norms, 1
        # to less than 512, by a power of two: no overflow in half precision, and no rounding
        largest = torch.clamp(torch.amax(torch.abs(latent)), min=1e-30)
        factor = torch.exp2(8 - torch.floor(torch.log2(largest)))
        scaled = latent * factor
        upper = scaled.to(torch.float16)
        halves = latent.new_zeros((n_padded, 2 * width), dtype=torch.float16)
        halves[where, :p], halves[where, p] = upper, 1
        halves[where, width : width + p] = ((scaled - upper) * _LIFT).to(torch.float16)
        values = torch.empty_like(queries[:, 0])
        products = latent.new_empty((n_padded, 2 * width))
        kernel: Any = _pass_by_class
        kernel[(n_padded // LAUNCH["ROWS"],)](
            *split(queries),
            *split(keys),
            halves,
            self.bounds,
            self.ends,
            self.owners,
            values,
            products,
            n_padded,
            *shares,
            WIDTH=width,
            ALIGN=_ALIGN,
            **LAUNCH,
        )
        found = products[where]
        product = (found[:, :p] + found[:, width : width + p] / _LIFT) / factor
        return values[where], product, found[:, p : p + 1]
