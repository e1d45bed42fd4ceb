"""Products in single precision on the tensor cores of a GPU; needs torch and Triton.

The tensor cores read 10 bits of the mantissa. So a matrix comes in two parts, what these bits hold
and the rest, and a product of two matrices is the sum of three.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

WIDEST_BLOCK = 128
"""Most columns of a block of rows that stays on the chip."""


@triton.jit
def load_block(matrix, rows, columns, WIDTH: tl.constexpr):
    """Load some rows and columns of a matrix.

    Parameters
    ----------
    matrix : pointer
        Its entries, row by row.
    rows, columns : block of int
        Which ones.
    WIDTH : int
        Its number of columns.

    Returns
    -------
    block of shape (n_rows, n_columns)
        The entries.
    """
    return tl.load(matrix + rows[:, None] * WIDTH + columns[None, :])


@triton.jit
def add_product(query, query_rest, key, key_rest, total):
    """Add the product of two matrices, each in two parts, without the product of the rests.

    Parameters
    ----------
    query, query_rest : block of shape (n, p)
        Both parts of the left one.
    key, key_rest : block of shape (m, p)
        Both parts of the right one, transposed.
    total : block of shape (n, m)
        What to add to.

    Returns
    -------
    block of shape (n, m)
        The sum.
    """
    total = tl.dot(query_rest, tl.trans(key), total, input_precision="tf32")
    total = tl.dot(query, tl.trans(key_rest), total, input_precision="tf32")
    return tl.dot(query, tl.trans(key), total, input_precision="tf32")


@triton.jit
def reciprocal(x):
    """Reciprocal, accurate to a bit or two, in one instruction.

    Parameters
    ----------
    x : block of float
        The numbers.

    Returns
    -------
    block of float
        One result per number.
    """
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def power_of_two(x):
    """2 to the power x, accurate to a bit or two, in one instruction; 0 where it is tiny.

    Parameters
    ----------
    x : block of float
        The numbers.

    Returns
    -------
    block of float
        One result per number.
    """
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


def split(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Split a matrix into what the tensor cores read of it, and the rest.

    Parameters
    ----------
    matrix : Tensor
        In single precision.

    Returns
    -------
    held, rest : Tensor
        What 10 bits of the mantissa hold, and the rest.
    """
    held = (matrix.view(torch.int32) & -(1 << 13)).view(torch.float32)
    return held, matrix - held


def block_width(n_columns: int) -> int:
    """Width of a block that the tensor cores can take.

    Parameters
    ----------
    n_columns : int
        Columns to hold.

    Returns
    -------
    int
        A power of two, 16 at least.
    """
    return max(16, triton.next_power_of_2(n_columns))


def class_slots(codes: np.ndarray, n_classes: int, align: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by class, and pad each class to full blocks: no block has rows of two classes.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, from 0.
    n_classes : int
        How many classes there are.
    align : int
        Rows per block.

    Returns
    -------
    bounds : ndarray of int32, shape (n_classes + 1,)
        First slot of each class, and the number of slots.
    slots : ndarray of int64, shape (n,)
        Slot of each row; slots of no row are padding.
    """
    counts = np.bincount(codes, minlength=n_classes)
    bounds = np.concatenate([[0], np.cumsum(-(-counts // align) * align)])
    starts = np.cumsum(counts) - counts
    order = np.argsort(codes, kind="stable")
    slots = np.empty(len(codes), dtype=np.int64)
    slots[order] = np.arange(len(codes)) + (bounds[:-1] - starts)[codes[order]]
    return bounds.astype(np.int32), slots
