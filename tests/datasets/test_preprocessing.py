"""Named preprocessings: what each step promises, and how chains are read."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import Normalizer, StandardScaler

from ilspace.datasets import PREPROCESSINGS, preprocess

counts = hnp.arrays(
    np.uint8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9),
    elements=st.integers(0, 40),
)


@given(counts)
def test_l1_rows_sum_to_one_or_stay_zero(X):
    out = preprocess(X, "l1")
    assert_allclose(out.sum(axis=1), X.any(axis=1), atol=1e-12)


@given(counts)
def test_l2_rows_have_unit_length_or_stay_zero(X):
    assert_allclose(np.linalg.norm(preprocess(X, "l2"), axis=1), X.any(axis=1), atol=1e-12)


@given(counts)
def test_zscore_columns_are_standard_or_zero(X):
    out = preprocess(X, "zscore")
    varies = np.ptp(X, axis=0) > 0
    assert_allclose(out.mean(axis=0), 0, atol=1e-12)
    assert_allclose((out**2).mean(axis=0), varies, atol=1e-9)


@given(counts)
def test_sqrt_is_the_square_root_of_proportions_normalised_or_not(X):
    out = preprocess(X, "sqrt")
    assert_allclose(out**2, preprocess(X, "l1"), atol=1e-12)
    assert_allclose(preprocess(X, "l1-sqrt"), out, atol=1e-12)


@given(counts, st.sampled_from(PREPROCESSINGS))
def test_input_is_untouched_and_output_is_new(X, name):
    X = X.astype(np.float64)
    before = X.copy()
    X.setflags(write=False)
    out = preprocess(X, name)
    assert_array_equal(X, before)
    assert not np.shares_memory(out, X)
    assert np.isfinite(out).all()
    assert out.shape == X.shape


@given(counts, st.integers(0, 2**32 - 1), st.sampled_from(PREPROCESSINGS))
def test_row_order_does_not_matter(X, seed, name):
    order = np.random.default_rng(seed).permutation(len(X))
    assert_allclose(preprocess(X[order], name), preprocess(X, name)[order], atol=1e-7)


def scaled(*transformers, X):
    for transformer in transformers:
        X = np.asarray(transformer.fit_transform(X))
    return X


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_chains_agree_with_scikit_learn(norm):
    X = np.random.default_rng(0).normal(size=(30, 7))
    expected = scaled(Normalizer(norm), StandardScaler(), X=X)
    assert_allclose(preprocess(X, f"{norm}-zscore"), expected, atol=1e-10)
    assert_allclose(
        preprocess(X, f"{norm}-zscore-l2"), scaled(Normalizer(), X=expected), atol=1e-10
    )


def test_sqrt_zscore_l2_by_hand():
    X = np.array([[1, 3], [4, 0], [0, 0]])
    roots = np.array([[0.5, 0.75**0.5], [1, 0], [0, 0]])
    expected = scaled(StandardScaler(), Normalizer(), X=roots)
    assert_allclose(preprocess(X, "sqrt-zscore-l2"), expected)


@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, -1e-9])
@pytest.mark.parametrize("n_rows", [1, 7, 1000])
def test_constant_column_becomes_zero_in_spite_of_rounding(value, n_rows):
    assert not preprocess(np.full((n_rows, 2), value), "zscore").any()


def test_none_copies():
    X = np.array([[1.0, -2.0]])
    assert_array_equal(preprocess(X, "none"), X)


@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("uint8", "float64")],
)
def test_output_dtype(given_dtype, expected):
    assert preprocess(np.eye(3, dtype=given_dtype), "l1-zscore").dtype == expected


@pytest.mark.parametrize("name", ["", "l3", "l1-whiten", "l1_zscore", "L1"])
def test_unknown_step_names_the_known_ones(name):
    with pytest.raises(ValueError, match="l1, l2, sqrt, zscore, none"):
        preprocess(np.eye(2), name)


def test_negative_counts_have_no_root():
    with pytest.raises(ValueError, match=r"sqrt needs counts or proportions >= 0, got -1"):
        preprocess([[1.0, -1.0]], "sqrt")


@pytest.mark.parametrize("X", [np.ones(3), np.ones((0, 3)), np.ones((1, 1, 1))])
def test_shape_must_be_a_table(X):
    with pytest.raises(ValueError, match="2-d array of at least one row"):
        preprocess(X, "l1")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_entries_are_refused(bad):
    with pytest.raises(ValueError, match="finite numbers, got 1 entries"):
        preprocess([[1.0, bad]], "none")


def test_scores_of_other_rows():
    rng = np.random.default_rng(0)
    X, known = rng.random((7, 4)) + 2, rng.random((20, 4))
    scaler = StandardScaler().fit(Normalizer("l1").fit_transform(known))
    wanted = Normalizer().fit_transform(scaler.transform(Normalizer("l1").fit_transform(X)))
    assert_allclose(preprocess(X, "l1-zscore-l2", fitted_on=known), wanted)
    assert_allclose(preprocess(known, "l1-zscore", fitted_on=known), preprocess(known, "l1-zscore"))
    # each row on its own: others beside it change nothing
    assert_array_equal(
        preprocess(X[:2], "sqrt-zscore-l2", fitted_on=known),
        preprocess(X, "sqrt-zscore-l2", fitted_on=known)[:2],
    )
    assert_array_equal(preprocess(X, "l2", fitted_on=known), preprocess(X, "l2"))
