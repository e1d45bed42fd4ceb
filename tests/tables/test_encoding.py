"""Rows as numbers, against scikit-learn and the preprocessings of the benchmark."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables.small_tables import NUMBERS, small_tables

from ilspace.datasets import preprocess
from ilspace.tables import TableError
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import SCALINGS, WIDE, default_scaling, fit_encoder
from ilspace.tables.kinds import Number

X, _, XT = small_tables(missing=0.3).features
COLUMNS = tuple(map(Number, NUMBERS))
MIXED = plan_columns(X, XT).source


def test_numbers_are_imputed_and_scaled_as_scikit_learn_does():
    encoder, rows = fit_encoder(X, COLUMNS, scaling="zscore")
    reference = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[list(NUMBERS)])
    np.testing.assert_allclose(rows, reference.transform(X[list(NUMBERS)]), rtol=1e-12, atol=1e-14)
    further = XT[list(NUMBERS)]
    np.testing.assert_allclose(
        encoder.encode(XT), reference.transform(further), rtol=1e-12, atol=1e-14
    )


def test_categories_are_spelled_out_and_weigh_as_one_column():
    encoder, rows = fit_encoder(X, MIXED, scaling="zscore")
    expected = OneHotEncoder(sparse_output=False).fit_transform(X[["colour"]])
    names = encoder.names[len(NUMBERS) :]
    assert names == ["colour=blå", "colour=green", "colour=red"]
    block = rows[:, len(NUMBERS) :]
    np.testing.assert_allclose(
        block * np.sqrt(expected.var(axis=0).sum()), expected - expected.mean(axis=0), atol=1e-14
    )
    assert block.var(axis=0).sum() == pytest.approx(1)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_chains_of_steps_are_those_of_the_benchmark(scaling):
    table = X[list(NUMBERS)].abs().fillna(1.0).assign(constant=0.1)
    columns = [*COLUMNS, Number("constant")]
    encoder, rows = fit_encoder(table, columns, scaling=scaling)
    np.testing.assert_allclose(rows, preprocess(table.to_numpy(), scaling), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(encoder.encode(table), rows)


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, len(XT)), max_size=5), scaling=st.sampled_from(SCALINGS))
def test_rows_are_encoded_each_by_itself_bit_for_bit(cuts, scaling):
    positive = XT.assign(**{each: XT[each].abs() for each in NUMBERS})
    encoder, _ = fit_encoder(positive, MIXED, scaling=scaling)
    ends = [0, *sorted(cuts), len(XT)]
    blocks = [positive[a:b] for a, b in zip(ends, ends[1:], strict=False) if b > a]
    pieces = np.concatenate([encoder.encode(each) for each in blocks])
    np.testing.assert_array_equal(pieces, encoder.encode(positive))


def test_order_of_columns_and_others_do_not_matter():
    encoder, rows = fit_encoder(X, MIXED, scaling="zscore")
    np.testing.assert_array_equal(encoder.encode(X[X.columns[::-1]].assign(other=1)), rows)


def test_gaps_pull_nowhere():
    encoder, _ = fit_encoder(X, MIXED, scaling="zscore")
    empty = pd.DataFrame({each: [None] for each in (*NUMBERS, "colour")})
    encoded = encoder.encode(empty)[0]
    assert np.abs(encoded[: len(NUMBERS)]).max() < 1e-14
    unseen = encoder.encode(empty.assign(colour="mauve"))[0]
    np.testing.assert_array_equal(unseen, encoded)  # a new category is none


def test_a_column_that_did_not_vary_says_nothing_later():
    encoder, _ = fit_encoder(X.assign(year=2020), [*COLUMNS, Number("year")], scaling="zscore")
    encoded = encoder.encode(X.assign(year=1e9))
    assert np.abs(encoded[:, -1]).max() < 1e-100
    np.testing.assert_array_equal(encoded[:, :-1], encoder.encode(X.assign(year=2020))[:, :-1])


def test_spaces_around_a_category_mean_nothing():
    encoder, rows = fit_encoder(X, MIXED, scaling="none")
    np.testing.assert_array_equal(encoder.encode(X.assign(colour=" " + X["colour"] + "  ")), rows)


def test_missing_columns_are_named():
    encoder, _ = fit_encoder(X, MIXED, scaling="zscore")
    with pytest.raises(TableError, match="must have the column 'depth'.* and 1 others"):
        encoder.encode(X.drop(columns=["depth", "width"]))


def test_roots_of_negative_numbers():
    with pytest.raises(TableError, match="negative numbers: choose another scaling"):
        fit_encoder(X, COLUMNS, scaling="sqrt-zscore-l2")


def test_the_default_depends_on_the_columns():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(WIDE)]
    wide = [Number(each) for each in names]

    def chosen(*tables, n=WIDE):
        frames = [pd.DataFrame(each, columns=names) for each in tables]
        return default_scaling(*((each, wide[:n]) for each in frames))

    measured = rng.normal(size=(20, WIDE))
    counts = rng.poisson(np.arange(1, WIDE + 1), size=(20, WIDE)).astype(float)
    pixels = np.minimum(rng.integers(0, 30, size=(20, WIDE)), 16).astype(float)
    gaps = np.where(rng.random((20, WIDE)) < 0.1, np.nan, counts)
    assert chosen(measured, measured) == "zscore-l2"
    assert chosen(measured, measured, n=WIDE - 1) == "zscore"
    assert chosen(counts, gaps) == "sqrt-zscore-l2"
    assert chosen(counts, counts + 0.5) == "zscore-l2"
    assert chosen(pixels, pixels / 16) == "l2"
    assert chosen(pixels, counts) == "sqrt-zscore-l2"
    assert chosen(pixels, -pixels) == "zscore-l2"
