"""Rows as numbers, against scikit-learn and the preprocessings of the benchmark."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables.small_tables import COLOURS, NUMBERS, small_tables

from ilspace import TableClassifier
from ilspace.datasets import preprocess
from ilspace.tables import TableError, encoding
from ilspace.tables.columns import ColumnPlan, plan_columns
from ilspace.tables.encoding import (
    SCALINGS,
    WIDE,
    DomainScaler,
    Encoded,
    TableEncoder,
    default_scaling,
)

X, Y, XT = small_tables(missing=0.3).features
WORDS = ["it", "was", "really", "and", "so", "quite", "whole", "time", "great", "awful", "boring"]


def sentences(n, seed, column="said"):
    rng = np.random.default_rng(seed)
    texts = [f"{' '.join(rng.choice(WORDS, 7))} {i}" for i in range(n)]
    return pd.DataFrame({column: texts})


def fitted(source, target, **options):
    """An encoder of both tables, and their rows."""
    encoder = TableEncoder(plan_columns(source, target, **options))
    return (encoder, *encoder.fit_transform(source, target))


@pytest.fixture
def no_vectors(monkeypatch):
    """As without the extra `sentences`."""
    monkeypatch.setattr(encoding, "why_unavailable", lambda: "not installed")


# -- mixed columns ---------------------------------------------------------------------------------


def test_numbers_alone_are_taken_as_they_are():
    encoder, source, target = fitted(X[list(NUMBERS)], XT[list(NUMBERS)])
    assert encoder.vectorizer_ is None
    np.testing.assert_array_equal(source, X[list(NUMBERS)])
    np.testing.assert_array_equal(target, XT[list(NUMBERS)])
    assert encoder.names_ == list(NUMBERS)
    assert encoder.blocks_ == {name: [i] for i, name in enumerate(NUMBERS)}


def test_there_is_one_encoding_for_both_tables():
    here, there = X.assign(colour="red"), XT.copy()
    there["colour"] = np.where(np.arange(24) < 14, "red", there["colour"])
    encoder, source, target = fitted(here, there)
    assert [encoder.names_[i] for i in encoder.blocks_["colour"]] == [
        f"colour_{each}" for each in sorted(COLOURS)
    ]
    for rows, table in ((source, here), (target, there)):
        single = table[list(NUMBERS)].astype("float32")  # as skrub has it
        np.testing.assert_array_equal(rows[:, : len(NUMBERS)], single)
        for i, colour in zip(encoder.blocks_["colour"], sorted(COLOURS), strict=True):
            assert rows[:, i].tolist() == (table["colour"] == colour).tolist()


def test_tables_that_share_columns_share_an_encoder():
    assert list(TableClassifier("ils").fit(X, Y, XT).encoders_) == ["target"]
    alone = TableClassifier("ils", matching="none").fit(X, Y, XT, [*Y[:12], *[None] * 12])
    assert set(alone.encoders_) == {"source", "target"}


def everything(table, seed):
    """A table with each kind of column that there is."""
    n = len(table)
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(37 * np.arange(n), "h")
    return table.assign(
        when=when,
        written=when.strftime("%Y-%m-%d"),
        many=[f"{'ab'[i % 2]}{(7 * i + seed) % 50:02d}" for i in range(n)],
        said=sentences(n, seed)["said"],
    )


TABLES = small_tables(n=60, nt=57, missing=0.1)
SOURCE = everything(TABLES.features[0], 0)
TARGET = everything(TABLES.target, 1)
ENCODER, OF_SOURCE, OF_TARGET = fitted(SOURCE, TARGET)


def test_each_kind_of_column_has_its_numbers():
    assert ENCODER.plan.texts == ("said",)
    assert set(ENCODER.blocks_) == {*NUMBERS, "colour", "when", "written", "many", "said"}
    assert all(ENCODER.blocks_.values())
    places = [i for block in ENCODER.blocks_.values() for i in block]
    assert sorted(places) == list(range(OF_SOURCE.shape[1])) == list(range(len(ENCODER.names_)))
    for name in ("when", "written"):
        parts = {ENCODER.names_[i] for i in ENCODER.blocks_[name]}
        assert parts >= {f"{name}_month", f"{name}_day", f"{name}_total_seconds"}
        (days,) = (i for i in ENCODER.blocks_[name] if ENCODER.names_[i] == f"{name}_day")
        assert OF_TARGET[:, days].tolist() == TARGET["when"].dt.day.tolist()
    assert len(ENCODER.blocks_["many"]) == encoding.TEXT_COMPONENTS


@settings(max_examples=5, deadline=None)
@given(cuts=st.lists(st.integers(0, len(TARGET)), max_size=4))
def test_rows_are_encoded_each_by_itself_as_at_the_fit(cuts):
    ends = [0, *sorted(cuts), len(TARGET)]
    blocks = [TARGET[a:b] for a, b in zip(ends, ends[1:], strict=False) if b > a]
    parts = np.concatenate([ENCODER.transform(each) for each in blocks])
    np.testing.assert_allclose(parts, OF_TARGET, rtol=0, atol=1e-6)  # float32 of the components
    exact = [i for name in (*NUMBERS, "colour", "when", "written") for i in ENCODER.blocks_[name]]
    np.testing.assert_array_equal(parts[:, exact], OF_TARGET[:, exact])


def test_order_of_columns_others_and_the_index_do_not_matter():
    rows = SOURCE[SOURCE.columns[::-1]].assign(other=1).set_axis(np.arange(60)[::-1])
    np.testing.assert_allclose(ENCODER.transform(rows), OF_SOURCE, rtol=0, atol=1e-6)


def test_missing_values_stay_missing_or_are_no_category():
    empty = pd.DataFrame({each: [None] for each in SOURCE})
    rows = ENCODER.transform(empty)[0]
    blocks = ENCODER.blocks_
    for name in (*NUMBERS, "when", "written"):
        assert np.isnan(rows[blocks[name]]).all()
    assert not rows[blocks["colour"]].any()


@pytest.mark.parametrize("colour", ["mauve", "", None, "NA"])
def test_a_category_never_seen_is_none_and_nobody_is_warned(colour):
    rows = ENCODER.transform(TARGET.assign(colour=colour))
    assert not rows[:, ENCODER.blocks_["colour"]].any()
    others = np.setdiff1d(np.arange(rows.shape[1]), ENCODER.blocks_["colour"])
    np.testing.assert_allclose(rows[:, others], OF_TARGET[:, others], rtol=0, atol=1e-6)


def test_spaces_around_a_category_mean_nothing():
    rows = ENCODER.transform(TARGET.assign(colour=" " + TARGET["colour"] + "  "))
    np.testing.assert_allclose(rows, OF_TARGET, rtol=0, atol=1e-6)


def test_a_column_of_blanks_that_was_asked_for_has_no_numbers():
    encoder, source, _ = fitted(X.assign(t=" "), XT.assign(t=" "), keep=["t"])
    assert encoder.blocks_["t"] == []
    assert source.shape[1] == len(NUMBERS) + len(COLOURS)


def test_some_rows_of_encoded_tables():
    some = Encoded(OF_SOURCE, OF_TARGET).take([2, 1], slice(3))
    np.testing.assert_array_equal(some.source, OF_SOURCE[[2, 1]])
    np.testing.assert_array_equal(some.target, OF_TARGET[:3])
    assert Encoded(OF_SOURCE, OF_TARGET).take([0]).target.shape == OF_TARGET.shape


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_vectors")
@pytest.mark.parametrize(("n_rows", "beside", "expected"), [(90, 0, 150), (90, 1, 30), (20, 0, 39)])
def test_texts_have_more_components_where_they_are_all_there_is(n_rows, beside, expected):
    source, target = sentences(n_rows, 0), sentences(n_rows, 1)
    if beside:
        source, target = source.assign(x=1.0), target.assign(x=np.arange(n_rows))
    encoder, rows, _ = fitted(source, target)
    assert len(encoder.blocks_["said"]) == expected  # of few rows there are no more
    assert rows.shape == (n_rows, expected + beside)


@pytest.mark.usefixtures("no_vectors")
def test_two_columns_of_text_have_components_of_their_own():
    tables = [sentences(90, i).join(sentences(90, i + 5, "meant")) for i in range(2)]
    encoder, rows, _ = fitted(*tables)
    assert encoder.plan.texts == ("said", "meant")
    assert [len(encoder.blocks_[name]) for name in ("said", "meant")] == [150, 150]
    assert rows.shape == (90, 300)


@pytest.mark.usefixtures("no_vectors")
def test_components_are_of_n_grams_of_both_tables():
    """Words that one table alone has are told apart too."""
    tables = [
        pd.DataFrame({"t": [f"the {word} was here {i}" for i in range(40) for word in words]})
        for words in (("lamp", "chair"), ("xyzzy", "quux"))
    ]
    _, _, rows = fitted(*tables)
    between = np.linalg.norm(rows[::2].mean(axis=0) - rows[1::2].mean(axis=0))
    assert between > np.linalg.norm(rows[::2] - rows[::2].mean(axis=0), axis=1).mean()


# -- scaling by domain -----------------------------------------------------------------------------


def test_numbers_are_imputed_and_scaled_as_scikit_learn_does():
    rows, further = X[list(NUMBERS)].to_numpy(), XT[list(NUMBERS)].to_numpy()
    scaler = DomainScaler().fit(rows)
    reference = make_pipeline(SimpleImputer(), StandardScaler()).fit(rows)
    for each in (rows, further):
        expected = reference.transform(each)
        np.testing.assert_allclose(scaler.transform(each), expected, rtol=1e-12, atol=1e-14)


def test_weighted_rows_are_repeated_rows():
    rows = X[list(NUMBERS)].to_numpy()
    counts = np.random.default_rng(0).integers(1, 5, len(rows))
    weighted = DomainScaler().fit(rows, sample_weight=counts / counts.sum())
    repeated = DomainScaler().fit(np.repeat(rows, counts, axis=0))
    for name in ("fill_", "center_", "scale_"):
        expected = getattr(repeated, name)
        np.testing.assert_allclose(getattr(weighted, name), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_chains_of_steps_are_those_of_the_benchmark(scaling):
    rows = X[list(NUMBERS)].abs().fillna(1.0).assign(constant=0.1).to_numpy()
    scaler = DomainScaler(scaling).fit(rows)
    expected = preprocess(rows, scaling)
    np.testing.assert_allclose(scaler.transform(rows), expected, rtol=1e-12, atol=1e-14)
    parts = [scaler.transform(rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(np.concatenate(parts), scaler.transform(rows))


def test_a_column_that_did_not_vary_says_nothing_later():
    rows = np.c_[X[list(NUMBERS)].fillna(0), np.full(len(X), 2020.1)]
    scaler = DomainScaler().fit(rows)
    later = rows.copy()
    later[:, -1] = 1e9
    scaled = scaler.transform(later)
    assert np.abs(scaled[:, -1]).max() < 1e-100
    np.testing.assert_array_equal(scaled[:, :-1], scaler.transform(rows)[:, :-1])


def test_a_column_without_values_is_filled_by_zeros():
    rows = np.c_[np.arange(5.0), np.full(5, np.nan)]
    assert not DomainScaler().fit(rows).transform(rows)[:, 1].any()


def test_roots_of_negative_numbers_are_refused():
    with pytest.raises(TableError, match="negative numbers: choose another scaling"):
        DomainScaler("sqrt-zscore-l2").fit(X[list(NUMBERS)].to_numpy())


def test_the_default_depends_on_the_columns():
    rng = np.random.default_rng(0)

    def chosen(source, target, held="number"):
        columns = {f"c{i}": held for i in range(source.shape[1])}
        return default_scaling(ColumnPlan("features", columns, columns), Encoded(source, target))

    measured = rng.normal(size=(20, WIDE))
    counts = rng.poisson(np.arange(1, WIDE + 1), size=(20, WIDE)).astype(float)
    pixels = np.minimum(rng.integers(0, 30, size=(20, WIDE)), 16).astype(float)
    with_gaps = np.where(rng.random((20, WIDE)) < 0.1, np.nan, counts)
    assert chosen(measured, measured) == "zscore-l2"
    assert chosen(measured[:, 1:], measured[:, 1:]) == "zscore"
    assert chosen(counts, with_gaps) == "sqrt-zscore-l2"
    assert chosen(counts, counts + 0.5) == "zscore-l2"
    assert chosen(pixels, pixels / 16) == "l2"
    assert chosen(pixels, counts) == "sqrt-zscore-l2"
    assert chosen(pixels, -pixels) == "zscore-l2"
    assert chosen(pixels, pixels, held="string") == "zscore-l2"  # indicators are no pixels
