"""Dask collections under the same estimators: the same result, and nothing computed too soon."""

import pickle
import re
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from shifted import shifted
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, load
from ilspace.dask import DaskDomains, check_dask_domains, partitions
from ilspace.domains import check_domains
from ilspace.ils import fit_ils

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")

DATA = shifted(n=90, nt=72)
WIDER = DATA.Xt @ np.random.default_rng(0).normal(size=(6, 9))
NAMES = [f"column {i}" for i in range(6)]


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def few_labels(mark=-1, n_labelled=12):
    return DATA.marked(mark, n_labelled)


def assert_same_fit(found: Any, expected: Any, atol: float = 1e-8):
    assert found.n_iter_ == expected.n_iter_
    assert found.solution_.status == expected.solution_.status
    for name in ("source_projection_", "target_projection_", "metric_", "source_mean_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=atol)
    np.testing.assert_allclose(found.map_.maps[-1], expected.map_.maps[-1], atol=atol)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.classes_.dtype == expected.classes_.dtype
    assert found._n_rows == expected._n_rows
    np.testing.assert_array_equal(found._class_counts, expected._class_counts)
    if not hasattr(expected, "predict"):
        return
    assert found._rule.source_vote == expected._rule.source_vote
    kept, others_kept = (each._rule.labelled for each in (found, expected))
    for (rows, codes), (others, other_codes) in zip(kept, others_kept, strict=True):
        np.testing.assert_allclose(rows, others, atol=10 * atol)
        np.testing.assert_array_equal(codes, other_codes)


# -- the same result -----------------------------------------------------------------------------


def cuts(n):
    return st.lists(st.integers(1, n - 1), max_size=6, unique=True).map(
        lambda inner: tuple(np.diff([0, *sorted(inner), n]).tolist())
    )


@cache
def fitted_in_memory(setting):
    """The case of a setting: target rows, their labels, and the fit to rows in memory."""
    Xt = WIDER if setting == "different columns" else DATA.Xt
    yt = None if setting == "unsupervised" else few_labels()
    return Xt, yt, ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, Xt, yt)


@settings(deadline=None, max_examples=8)
@given(source=cuts(90), target=cuts(72), labels=cuts(72), width=st.integers(1, 6))
@pytest.mark.parametrize("setting", ["unsupervised", "semi-supervised", "different columns"])
def test_any_chunks_give_the_result_of_rows_in_memory(setting, source, target, labels, width):
    Xt, yt, expected = fitted_in_memory(setting)
    found = ILSClassifier(3, self_training=0).fit(
        da.from_array(DATA.X, chunks=(source, width)),
        da.from_array(DATA.y, chunks=31),
        da.from_array(Xt, chunks=(target, width)),
        None if yt is None else da.from_array(np.array(yt), chunks=(labels,)),
    )
    assert_same_fit(found, expected)
    np.testing.assert_allclose(found.predict_proba(Xt), expected.predict_proba(Xt), atol=1e-8)


@pytest.mark.parametrize("piece", [2, 7, 64])
def test_any_number_of_pieces_gives_the_same(piece, monkeypatch):
    monkeypatch.setattr(partitions, "PARTITION", piece)
    X, Xt = DATA.X[:20], DATA.Xt[:15]
    y, yt = DATA.y[:20], few_labels()[:15]
    expected = ILSClassifier(2, self_training=0).fit(X, y, Xt, yt)
    found = ILSClassifier(2, self_training=0).fit(
        da.from_array(X, chunks=6), y, da.from_array(Xt, chunks=4), yt
    )
    assert_same_fit(found, expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {"init": "joint-pca"},
        {"init": "class-means"},
        {"init": np.eye(6)[:, :3]},
        {"objective": ObjectiveSettings(reduce=False)},
        {"objective": ObjectiveSettings(metric_init="kissme")},
        {"objective": ObjectiveSettings(orthonormal=False), "solver": "lbfgs"},
        {"solver": "alternating", "max_iter": 20, "tol": 1e-2},
        {"solver": "projected-gradient", "tol": 1e-2},
        {"n_components": None, "objective": ObjectiveSettings(sharpness=2.0)},
    ],
    ids=str,
)
def test_settings_mean_the_same(parameters):
    make = partial(ILSTransformer, **({"n_components": 3} | parameters))
    expected = make().fit(DATA.X, DATA.y, DATA.Xt, few_labels())
    found = make().fit(da.from_array(DATA.X, chunks=(40, 6)), DATA.y, DATA.Xt, few_labels())
    assert_same_fit(found, expected)


def test_without_a_choice_there_are_no_rounds_and_the_nearest_row_decides():
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    source, target = da.from_array(DATA.X, chunks=40), da.from_array(DATA.Xt, chunks=30)
    for X, Xt in ((source, target), (source, DATA.Xt), (DATA.X, target)):
        found = ILSClassifier(3).fit(X, DATA.y, Xt)
        assert found.rounds_ == ()
        assert_same_fit(found, expected)


def test_other_rules_on_the_labelled_rows():
    given = da.from_array(DATA.X, chunks=40), DATA.y, da.from_array(DATA.Xt, chunks=30)
    for rule in ("linear", GaussianNB()):
        model = ILSClassifier(3, classifier=rule, self_training=0)
        expected = clone(model).fit(DATA.X, DATA.y, DATA.Xt).predict_proba(DATA.Xt)
        found = clone(model).fit(*given).predict_proba(given[2])
        assert type(found) is da.Array
        np.testing.assert_allclose(found.compute(), expected, atol=1e-6)


def test_one_domain_alone():
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y)
    assert_same_fit(
        ILSClassifier(3, self_training=0).fit(da.from_array(DATA.X, chunks=40), DATA.y), expected
    )


def test_one_row_of_one_class_and_rows_fewer_than_columns():
    X, y, Xt = WIDER[:6], DATA.yt[:6], WIDER[6:13]
    expected = ILSTransformer(2).fit(X, y, Xt)
    assert_same_fit(ILSTransformer(2).fit(da.from_array(X, chunks=4), y, Xt), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_types_of_rows(dtype):
    X, Xt = (10 * DATA.X).astype(dtype), (10 * DATA.Xt).astype(dtype)
    expected = ILSClassifier(3, self_training=0).fit(X, DATA.y, Xt)
    found = ILSClassifier(3, self_training=0).fit(
        da.from_array(X, chunks=40), DATA.y, da.from_array(Xt, chunks=30)
    )
    assert_same_fit(found, expected, atol=1e-8 if dtype is np.int64 else 1e-6)
    assert found.metric_.dtype == expected.metric_.dtype
    latent = found.transform(da.from_array(Xt, chunks=30))
    assert latent.dtype == latent.compute().dtype == expected.transform(Xt).dtype


def test_threads_give_the_same():
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    with dask.config.set(scheduler="threads", num_workers=3):
        found = ILSClassifier(3, self_training=0).fit(
            da.from_array(DATA.X, chunks=11), DATA.y, da.from_array(DATA.Xt, chunks=13)
        )
    assert_same_fit(found, expected)


@pytest.mark.parametrize("again", [False, True], ids=["first fit", "second fit"])
def test_an_interruption_while_labelled_rows_are_gathered_leaves_no_model(again, monkeypatch):
    model = ILSClassifier(3, self_training=0)
    if again:
        model.fit(DATA.X, DATA.y, DATA.Xt)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DaskDomains, "latent_rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(da.from_array(DATA.X, chunks=40), DATA.y, DATA.Xt)
    with pytest.raises(NotFittedError):
        model.predict(DATA.Xt)


def test_the_callback_is_called_and_can_stop():
    seen = []

    def callback(count, now):
        seen.append((count, now.point[0].shape))
        return count == 2

    ILSTransformer(3, callback=callback).fit(da.from_array(DATA.X, chunks=40), DATA.y, DATA.Xt)
    assert seen == [(0, (6, 3)), (1, (6, 3)), (2, (6, 3))]


def test_warnings_name_the_line_of_the_caller():
    X, some = da.from_array(DATA.X, chunks=40), pd.DataFrame(DATA.Xt, columns=NAMES)
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as caught:
        ILSClassifier(3, self_training=0, max_iter=1, tol=0.0).fit(X, DATA.y, DATA.Xt)
    assert caught[0].filename == __file__
    source = dd.from_pandas(some.rename(columns={NAMES[0]: "another"}), npartitions=2)
    with pytest.warns(UserWarning, match="some columns in common") as caught:
        ILSClassifier(3, self_training=0).fit(source, DATA.yt, some, few_labels())
    assert caught[0].filename == __file__


# -- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [None, np.nan, -1])
def test_marks(mark):
    yt = np.array(few_labels(mark), dtype=object)
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt, yt)
    Xt = da.from_array(DATA.Xt, chunks=10)
    for labels in (yt, da.from_array(yt, chunks=7), yt.tolist(), pd.Series(yt)):
        assert_same_fit(ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, Xt, labels), expected)


def test_minus_one_is_a_class_where_another_mark_says_so_in_any_block():
    y = DATA.y - 1
    yt = np.array([each - 1 if i < 30 else None for i, each in enumerate(DATA.yt)], dtype=object)
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, y, DATA.Xt, yt)
    Xt = da.from_array(DATA.Xt, chunks=10)
    assert_same_fit(
        ILSClassifier(3, self_training=0).fit(DATA.X, y, Xt, da.from_array(yt, chunks=10)), expected
    )
    with pytest.raises(ValueError, match="-1 is a source class"):
        ILSClassifier(3, self_training=0).fit(DATA.X, y, Xt, DATA.yt - 1)


def test_labels_that_are_strings():
    names = np.array(["a", "bb", "ccc"])
    y = names[DATA.y]
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, y, DATA.Xt)
    X = da.from_array(DATA.X, chunks=40)
    for labels in (y, da.from_array(y, chunks=7), dd.from_pandas(pd.Series(y), npartitions=4)):
        found = ILSClassifier(3, self_training=0).fit(X, labels, DATA.Xt)
        assert_same_fit(found, expected)
    lazy: Any = found.predict(da.from_array(DATA.Xt, chunks=30))
    assert lazy.dtype == expected.classes_.dtype
    np.testing.assert_array_equal(lazy.compute(), expected.predict(DATA.Xt))


def test_labels_in_dask_of_rows_in_memory():
    yt = np.array(few_labels())
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt, yt)
    for y in (da.from_array(DATA.y, chunks=7), dd.from_pandas(pd.Series(DATA.y), npartitions=4)):
        found = ILSClassifier(3, self_training=0).fit(
            DATA.X, y, DATA.Xt, da.from_array(yt, chunks=7)
        )
        assert_same_fit(found, expected, atol=0)


def test_many_classes_bring_no_warning():
    y = np.arange(90) // 3
    expected = ILSTransformer(3).fit(DATA.X, y, DATA.Xt)
    assert_same_fit(ILSTransformer(3).fit(da.from_array(DATA.X, chunks=40), y, DATA.Xt), expected)


# -- files and frames ----------------------------------------------------------------------------


def test_a_memory_map(tmp_path):
    np.save(tmp_path / "rows.npy", DATA.Xt)
    mapped = da.from_array(np.load(tmp_path / "rows.npy", mmap_mode="r"), chunks=(20, 6))
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    assert_same_fit(ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, mapped), expected)


def test_a_dataset_of_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        stored = file.create_dataset("rows", data=DATA.Xt, chunks=(16, 3))
        rows = da.from_array(stored)
        found = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, rows)
        assert_same_fit(found, expected)
        with dask.config.set(scheduler="threads", num_workers=3):
            np.testing.assert_array_equal(found.predict(rows), expected.predict(DATA.Xt))
        written = file.create_dataset("latent", (72, 3), dtype="f8")
        da.store(found.transform(rows), written)  # block by block
        np.testing.assert_allclose(written[:], expected.transform(DATA.Xt), atol=1e-8)


def test_a_zarr_array(tmp_path):
    pytest.importorskip("zarr")
    path = str(tmp_path / "rows.zarr")
    expected = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    da.to_zarr(da.from_array(DATA.Xt, chunks=(16, 3)), path)
    da.to_zarr(da.from_array(DATA.y, chunks=40), str(tmp_path / "labels.zarr"))
    rows, labels = da.from_zarr(path), da.from_zarr(str(tmp_path / "labels.zarr"))
    found = ILSClassifier(3, self_training=0).fit(DATA.X, labels, rows)
    assert_same_fit(found, expected)
    lazy: Any = found.predict(rows)
    lazy.to_zarr(str(tmp_path / "found.zarr"))  # block by block
    np.testing.assert_array_equal(
        da.from_zarr(str(tmp_path / "found.zarr")), expected.predict(DATA.Xt)
    )


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own reader
def test_parquet_with_names_and_labels(tmp_path):
    source = pd.DataFrame(DATA.X, columns=NAMES).assign(label=np.array(["x", "y", "z"])[DATA.y])
    target = pd.DataFrame(DATA.Xt, columns=NAMES)
    for name, frame in (("source", source), ("target", target)):
        (tmp_path / name).mkdir()
        for part, start in enumerate(range(0, len(frame), 30)):
            rows = frame.iloc[start : start + 30]
            rows.to_parquet(tmp_path / name / f"{part}.parquet", index=False)
    X, Xt = (dd.read_parquet(tmp_path / name) for name in ("source", "target"))
    expected = ILSClassifier(3, self_training=0).fit(source[NAMES], source["label"], target)
    found = ILSClassifier(3, self_training=0).fit(X[NAMES], X["label"], Xt)
    assert_same_fit(found, expected)
    np.testing.assert_array_equal(found.feature_names_in_, NAMES)
    np.testing.assert_array_equal(found.target_feature_names_in_, NAMES)
    np.testing.assert_array_equal(found.predict(Xt), expected.predict(target))
    np.testing.assert_allclose(found.transform(Xt).compute(), expected.transform(target), atol=1e-8)
    assert found.score(X[NAMES], X["label"], domain="source") == expected.score(
        source[NAMES], source["label"], domain="source"
    )
    with pytest.raises(ValueError, match="order"):
        found.predict(Xt[NAMES[::-1]])
    with pytest.raises(ValueError, match="order"):
        ILSClassifier(3, self_training=0).fit(X[NAMES], X["label"], Xt[NAMES[::-1]])
    lazy: Any = found.predict(Xt)
    lazy.to_dask_dataframe(columns="label").to_frame().to_parquet(tmp_path / "labels")
    written = pd.read_parquet(tmp_path / "labels")["label"]
    np.testing.assert_array_equal(written, expected.predict(target))


@pytest.mark.parametrize("method", ["transform", "predict", "predict_proba", "class_distances"])
@pytest.mark.parametrize("domain", ["target", "source"])
def test_names_of_a_dataframe_bind_later_rows_as_in_scikit_learn(method, domain):
    source, target = (pd.DataFrame(rows, columns=NAMES) for rows in (DATA.X, DATA.Xt))
    spread = partial(dd.from_pandas, npartitions=3)
    model = ILSClassifier(3, self_training=0).fit(spread(source), DATA.y, spread(target))
    frame = source if domain == "source" else target
    ask = partial(getattr(model, method), domain=domain)
    np.testing.assert_allclose(ask(spread(frame)).compute(), ask(frame))
    usual = StandardScaler().fit(frame)
    for later in (
        frame[NAMES[::-1]],
        frame[NAMES[:-1]],
        frame.assign(another=0.0),
        frame.rename(columns={NAMES[0]: "another"}),
    ):
        with pytest.raises(ValueError, match="The feature names should match") as expected:
            usual.transform(later)
        for rows in (later, spread(later)):
            with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
                ask(rows)
    for rows in (frame.to_numpy(), da.from_array(frame.to_numpy(), chunks=40)):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            ask(rows)


def test_names_that_differ_between_the_domains():
    source = dd.from_pandas(pd.DataFrame(DATA.X, columns=NAMES), npartitions=3)
    other = [f"other {i}" for i in range(9)]
    target = dd.from_pandas(pd.DataFrame(WIDER, columns=other), npartitions=2)
    model = ILSClassifier(3, self_training=0).fit(source, DATA.y, target, few_labels())
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    np.testing.assert_array_equal(model.target_feature_names_in_, other)
    model.predict(target)
    model.predict(source, domain="source")
    for rows in (target[other[::-1]], target[other[::-1]].compute()):
        with pytest.raises(ValueError, match="should match those of Xt at fit, in the same order"):
            model.predict(rows)
    for rows in (target[other[1:]], target[other[1:]].compute()):
        with pytest.raises(ValueError, match="X has 8 features, but ILSClassifier is expecting 9"):
            model.predict(rows)
    with pytest.raises(ValueError, match="The feature names should match those that were passed"):
        model.predict(source[NAMES[::-1]], domain="source")


def test_pandas_types_of_columns():
    frame = pd.DataFrame(np.round(10 * DATA.Xt), columns=NAMES).astype("Int64")
    found = ILSClassifier(3, self_training=0).fit(
        DATA.X, DATA.y, dd.from_pandas(frame, npartitions=3)
    )
    assert_same_fit(
        found, ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, np.round(10 * DATA.Xt))
    )


# -- laziness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["transform", "predict", "predict_proba", "class_distances"])
def test_nothing_is_computed_before_it_is_asked_for(method):
    touched = []

    def touch(block):
        touched.append(len(block))
        return block

    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    rows = da.from_array(DATA.Xt, chunks=(20, 4)).rechunk((20, 6))
    rows = rows.map_blocks(touch, dtype=float, meta=np.empty((0, 0)))
    lazy = getattr(model, method)(rows)
    assert not touched
    expected = getattr(model, method)(DATA.Xt)
    assert lazy.shape == expected.shape
    assert lazy.chunks[0] == (20, 20, 20, 12)
    assert lazy.dtype == expected.dtype
    np.testing.assert_array_equal(lazy[:20].compute(), expected[:20])
    assert touched == [20]  # one block of four
    np.testing.assert_array_equal(lazy.compute(), expected)
    source = getattr(model, method)(da.from_array(DATA.X, chunks=50), domain="source")
    np.testing.assert_array_equal(source.compute(), getattr(model, method)(DATA.X, "source"))


def test_a_later_fit_does_not_change_what_was_asked_before():
    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    expected = model.transform(DATA.Xt)
    lazy = model.transform(da.from_array(DATA.Xt, chunks=30))
    model.fit(-DATA.X, DATA.y, 5 + DATA.Xt)
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_one_number_as_the_domain_of_all_rows():
    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    rows = da.from_array(DATA.X, chunks=40)
    for number, domain in ((1, "source"), (-2.0, "target")):
        found = model.transform(rows, sample_domain=number)
        np.testing.assert_array_equal(found, model.transform(DATA.X, domain))
    with pytest.raises(ValueError, match="sample_domain must hold positive numbers"):
        model.transform(rows, sample_domain=0)


def test_blocks_without_rows_and_of_unknown_size():
    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    chosen = da.from_array(DATA.Xt, chunks=(30, 6))
    chosen = chosen[chosen[:, 0] > np.sort(DATA.Xt[30:, 0])[-3]]
    expected = DATA.Xt[DATA.Xt[:, 0] > np.sort(DATA.Xt[30:, 0])[-3]]
    np.testing.assert_array_equal(model.predict(chosen), model.predict(expected))
    np.testing.assert_allclose(
        model.transform(chosen).compute(), model.transform(expected), rtol=1e-12
    )


def test_what_is_learned_is_light_and_can_be_saved(tmp_path):
    model = ILSClassifier(3, self_training=0).fit(da.from_array(DATA.X, chunks=9), DATA.y, DATA.Xt)
    assert not any("dask" in type(each).__module__ for each in vars(model).values())
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(DATA.Xt), model.predict(DATA.Xt))
    model.save(tmp_path / "model.ils")
    loaded = load(tmp_path / "model.ils")
    np.testing.assert_array_equal(loaded.predict(DATA.Xt), model.predict(DATA.Xt))


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "keywords", "name"),
    [
        ({"objective": ObjectiveSettings(pairs="sampled")}, {}, "pairs"),
        ({"init": "pls"}, {}, "init"),
        ({"solver": "adam"}, {}, "solver"),
        ({"self_training": 2}, {}, "self_training=2 needs .*: use self_training=0"),
        ({"classifier": "ridge"}, {}, 'classifier="ridge" needs .*: use classifier="nearest"'),
        ({}, {"sample_weight": np.ones(90)}, "sample_weight"),
        ({}, {"sample_domain": np.ones(90)}, "sample_domain"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_needs_all_rows_in_one_place(parameters, keywords, name):
    def block(*_):
        raise AssertionError("a row was read before the refusal")

    X = da.from_array(DATA.X, chunks=40).map_blocks(block, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=f"stay where they are, but {name}.*[:,] "):
        ILSClassifier(3, **parameters).fit(X, DATA.y, **keywords)


def broken(row, value):
    X = DATA.X.copy()
    X[row, 0] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (broken(80, np.nan), DATA.y, "X must be finite"),
        (broken(80, np.inf), DATA.y, "X must be finite"),
        (broken(80, 1e200), DATA.y, "largest magnitude in X"),
        (DATA.X[:, 0], DATA.y, "X must be 2-d"),
        (DATA.X.astype(complex), DATA.y, "real numeric type"),
        (DATA.X[:1], DATA.y[:1], "at least 2 rows"),
        (DATA.X, DATA.y[:-1], "one entry per row of X"),
        (DATA.X, None, "requires y to be passed"),
        (DATA.X, np.zeros(90), "At least 2 classes"),
        (DATA.X, DATA.X[:, 0], "continuous"),
        (DATA.X, np.array([*DATA.y[:-3], None, 1, 1], dtype=object), "first in row 87"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_bad_input(X, y, message):
    rows = da.from_array(X, chunks=20)
    with pytest.raises(ValueError, match=message):
        ILSClassifier(3, self_training=0).fit(
            rows, y if y is None else da.from_array(y, chunks=20), DATA.Xt
        )


def test_bad_targets():
    X, Xt = da.from_array(DATA.X, chunks=40), da.from_array(WIDER, chunks=40)
    with pytest.raises(ValueError, match="Domains of different features"):
        ILSClassifier(3, self_training=0).fit(X, DATA.y, Xt)
    with pytest.raises(ValueError, match="yt may hold only classes"):
        ILSClassifier(3, self_training=0).fit(X, DATA.y, Xt, [7] * 72)
    with pytest.raises(ValueError, match="but Xt is None"):
        ILSClassifier(3, self_training=0).fit(X, DATA.y, None, DATA.yt)
    text = dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), npartitions=1)
    with pytest.raises(ValueError, match=r"numeric columns, but \['a'\]"):
        ILSClassifier(3, self_training=0).fit(X, DATA.y, text)
    with pytest.raises(ValueError, match=r"X must be dense .*: pass X\.toarray\(\)"):
        ILSClassifier(3, self_training=0).fit(
            sparse.csr_array(DATA.X), DATA.y, da.from_array(DATA.Xt, chunks=40)
        )


def test_bad_rows_after_fit():
    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    with pytest.raises(ValueError, match="9 features"):
        model.predict(da.from_array(WIDER, chunks=40))
    with pytest.raises(ValueError, match="of one domain"):
        model.predict(da.from_array(DATA.Xt, chunks=40), sample_domain=np.ones(72))
    with pytest.raises(ValueError, match="NaN"):
        np.asarray(model.predict(da.from_array(broken(80, np.nan), chunks=40)))
    text = pd.DataFrame(DATA.Xt).astype({0: str})
    with pytest.raises(ValueError, match=r"X must have numeric columns, but \['0'\] are not"):
        model.predict(dd.from_pandas(text, npartitions=2))


def test_methods_for_rows_in_memory(in_dask):
    model = ILSClassifier(3, self_training=0).fit(DATA.X, DATA.y, DATA.Xt)
    with pytest.raises(ValueError, match="method of ILSClassifier takes .* or use transform"):
        model.nearest(in_dask(DATA.Xt))
    pairs = da.from_array(np.stack([DATA.Xt[:5], DATA.Xt[5:10]], axis=1))
    with pytest.raises(ValueError, match="method of ILSClassifier takes .* or use transform"):
        model.pair_distance(pairs)


@pytest.mark.parametrize("chunk", [1, 45, 90])
def test_labels_of_two_kinds_in_any_block(chunk):
    labels = np.array(["cat", "dog"] * 20 + [1, 2] * 25, dtype=object)
    with pytest.raises(ValueError, match="some are int and others str: convert"):
        ILSClassifier(2, self_training=0).fit(
            da.from_array(DATA.X, chunks=40), da.from_array(labels, chunks=chunk)
        )


def test_the_method_without_an_estimator():
    X, Xt = da.from_array(DATA.X, chunks=40), da.from_array(DATA.Xt, chunks=40)
    with pytest.raises(ValueError, match="X is a Dask array: check it with .*check_dask_domains"):
        check_domains(X, DATA.y, Xt)
    ils = fit_ils(check_dask_domains(X, DATA.y, Xt, None), n_components=3)
    expected = fit_ils(check_domains(DATA.X, DATA.y, DATA.Xt), n_components=3)
    np.testing.assert_allclose(ils.metric, expected.metric, atol=1e-8)


# -- class shares --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "prior", "n_labelled", "lazy"),
    [
        ("nearest", "source", 7, "both"),
        ("nearest", [0.2, 0.7, 0.1], 7, "target"),
        ("nearest", [0.4, 0.0, 0.6], 0, "both"),
        ("linear", [0.2, 0.7, 0.1], 7, "both"),
        ("linear", [0.4, 0.0, 0.6], 0, "target"),
        (GaussianNB(), [0.2, 0.7, 0.1], 0, "both"),
    ],
)
def test_class_shares_weigh_rows_on_the_workers(monkeypatch, rule, prior, n_labelled, lazy):
    monkeypatch.setattr(partitions, "PARTITION", 40)
    yt = few_labels(n_labelled=n_labelled) if n_labelled else None
    model = ILSClassifier(3, classifier=rule, self_training=0, class_prior=prior)
    expected = clone(model).fit(DATA.X, DATA.y, DATA.Xt, yt)
    X = da.from_array(DATA.X, chunks=(25, 3)) if lazy == "both" else DATA.X
    found = clone(model).fit(X, DATA.y, da.from_array(DATA.Xt, chunks=(30, 6)), yt)
    np.testing.assert_allclose(found.source_mean_, expected.source_mean_)
    np.testing.assert_allclose(found.metric_, expected.metric_, atol=1e-8)
    np.testing.assert_allclose(found.class_prior_, expected.class_prior_)
    np.testing.assert_array_equal(found._class_counts, expected._class_counts)
    np.testing.assert_allclose(
        found.predict_proba(DATA.Xt), expected.predict_proba(DATA.Xt), atol=1e-6
    )


def test_class_shares_are_estimated_from_rows_that_are_drawn():
    model = ILSClassifier(3, self_training=0, class_prior="auto", random_state=0)
    expected = clone(model).fit(DATA.X, DATA.y, DATA.Xt)
    lazy = da.from_array(DATA.X, chunks=(25, 6)), da.from_array(DATA.Xt, chunks=(30, 6))
    found = clone(model).fit(lazy[0], DATA.y, lazy[1])
    np.testing.assert_allclose(found.class_prior_, expected.class_prior_)
    some = np.array(few_labels(n_labelled=40))
    some[np.flatnonzero(some == 2)[3:]] = -1  # fewer of one class: not chosen by class
    counted = clone(model).fit(lazy[0], DATA.y, lazy[1], some)
    assert counted.class_prior_estimate_.counted


def test_a_sample_has_rows_of_each_class():
    y = np.where(np.arange(90) < 88, 0, [1, 2] * 45)
    domains = check_dask_domains(da.from_array(DATA.X, chunks=(20, 6)), y, None, None)
    rows, codes, weights = domains.sources[0].sample(10, np.random.default_rng(0))
    assert set(codes) == {0, 1, 2}
    assert 10 <= len(rows) <= 13
    assert len(weights) == len(rows)
    assert {tuple(each) for each in rows} <= {tuple(each) for each in DATA.X}
