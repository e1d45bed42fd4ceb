"""What may be passed as rows: containers, types, domains."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from shifted import shifted

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA
NAMES = list("abcdef")


def frame(rows, names=NAMES):
    return pd.DataFrame(rows, columns=names)


def same(actual, expected):
    """Equal but for the order of summation, which follows the layout of the rows in memory."""
    np.testing.assert_allclose(actual, expected, atol=1e-8)


# -- the caller's arrays -------------------------------------------------------------------------


def mapped(rows, folder):
    path = folder / f"{len(rows)}.npy"
    np.save(path, rows)
    return np.load(path, mmap_mode="c")  # can be written to, though the file would not change


def read_only(rows, _):
    rows = rows.copy()
    rows.setflags(write=False)
    return rows


KEPT = {
    "plain": lambda rows, _: rows.copy(),
    "read-only": read_only,
    "columns first": lambda rows, _: np.asfortranarray(rows),
    "every other row": lambda rows, _: np.repeat(rows, 2, axis=0)[::2],
    "mapped": mapped,
    "sparse": lambda rows, _: sparse.csr_array(rows),
}
PARAMETERS = {
    "default": {},
    "given": {"init": np.eye(6)[:, :2], "n_components": 2},
    "joint": {"init": "joint-pca"},
    "pls": {"init": "pls"},
    "sampled": {"objective": ObjectiveSettings(pairs="sampled"), "random_state": 0},
    "columns": {"objective": ObjectiveSettings(reduce=False)},
    "stochastic": {"solver": "adam", "batch_size": 9, "random_state": 0},
}


def content(array):
    if sparse.issparse(array):
        return [content(each) for each in (array.data, array.indices, array.indptr)]
    return array.tolist()


SOME = np.array(DATA.marked(None), dtype=object)
WIDER = np.random.default_rng(0).standard_normal((6, 40))
SETTINGS = {
    "one domain": {"X": X},
    "unlabelled": {"X": X, "Xt": Xt},
    "some labels": {"X": X, "Xt": Xt, "yt": SOME},
    "all labels": {"X": X, "Xt": Xt, "yt": yt},
    "other columns": {"X": X, "Xt": Xt[:, :4], "yt": SOME},
    "more columns than rows": {"X": X @ WIDER, "Xt": Xt @ WIDER, "yt": yt},
}
IMPOSSIBLE = {
    *product(["other columns"], ["given", "joint", "pls"]),  # one basis cannot be that of both
    ("more columns than rows", "given"),  # which has six rows
}
POSSIBLE = [each for each in product(SETTINGS, PARAMETERS) if each not in IMPOSSIBLE]


def given_as(kind, setting, folder):
    """Arrays for fit: rows of one kind, their labels, and no weight, as one of 0 has all copied."""
    keep = KEPT[kind]
    rows = {name: keep(each, folder) for name, each in SETTINGS[setting].items() if name != "yt"}
    labels = {name: each.copy() for name, each in SETTINGS[setting].items() if name == "yt"}
    return {"y": y.copy(), **rows, **labels}


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize(("setting", "parameters"), POSSIBLE)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_arrays_of_the_caller_are_not_touched(kind, setting, parameters, weighted, tmp_path):
    given = given_as(kind, setting, tmp_path)
    if weighted:
        given["sample_weight"] = np.linspace(0.5, 2, len(X))
    before = {name: content(array) for name, array in given.items()}
    fitted = ILSClassifier(max_iter=2).set_params(**PARAMETERS[parameters]).fit(**given)
    fitted.predict_proba(given.get("Xt", given["X"]))
    fitted.transform(given["X"], "source")
    assert {name: content(array) for name, array in given.items()} == before


@pytest.mark.parametrize("kind", KEPT)
def test_pieces_of_the_caller_are_not_touched(kind, tmp_path):
    given = given_as(kind, "some labels", tmp_path)
    before = {name: content(array) for name, array in given.items()}
    model = ILSClassifier(max_iter=2, random_state=0)
    model.partial_fit(**given).partial_fit(**given)
    assert {name: content(array) for name, array in given.items()} == before


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("max_iter", [0, 2])
@pytest.mark.parametrize("start", ["target-pca", "joint-pca", "pls", "array", "arrays"])
def test_what_is_learned_is_nobody_elses(start, max_iter, reduce):
    bases = np.eye(6)[:, :2], np.eye(6)[:, 1:3]
    given: Any = {"array": bases[0], "arrays": bases}.get(start, start)
    metric: Any = np.diag([1.0, 2.0])
    model = ILSTransformer(
        2,
        init=given,
        objective=ObjectiveSettings(metric_init=metric, reduce=reduce),
        max_iter=max_iter,
    )
    model.fit(X, y, Xt)
    learned = model.source_projection_, model.target_projection_, model.metric_
    for one, other in combinations((*learned, *bases, metric, X, Xt), 2):
        assert not np.shares_memory(one, other)


@pytest.mark.parametrize("mark", [-1, None], ids=["int", "object"])
def test_labels_of_mixed_rows_are_not_touched(mark):
    rows, labels, domain = DATA.mixed
    if mark is None:
        labels = np.array([None if each == -1 else each for each in labels])
    before = rows.tobytes(), labels.tolist(), domain.tobytes()
    ILSClassifier().fit(rows, labels, sample_domain=domain).predict(rows, sample_domain=domain)
    assert (rows.tobytes(), labels.tolist(), domain.tobytes()) == before


# -- DataFrames ----------------------------------------------------------------------------------


def test_names_of_both_domains_are_remembered():
    fitted = ILSClassifier().fit(frame(X), y, frame(Xt))
    assert list(fitted.feature_names_in_) == NAMES
    assert list(fitted.target_feature_names_in_) == NAMES
    assert (fitted.n_features_in_, fitted.n_target_features_in_) == (6, 6)
    plain = ILSClassifier().fit(X, y, Xt)
    assert not hasattr(plain, "target_feature_names_in_")
    same(fitted.predict_proba(frame(Xt)), plain.predict_proba(Xt))


def test_names_in_another_order_are_an_error():
    turned = NAMES[::-1]
    with pytest.raises(ValueError, match=r"same names in another order: pass Xt\[X.columns\]"):
        ILSClassifier().fit(frame(X), y, frame(Xt)[turned])
    fitted = ILSClassifier().fit(frame(X), y, frame(Xt))
    with pytest.raises(ValueError, match="in the same order"):
        fitted.predict(frame(Xt)[turned])


def test_other_names_are_other_features():
    upper = frame(Xt, [each.upper() for each in NAMES])
    with pytest.raises(ValueError, match="different features.*label a few target rows"):
        ILSClassifier().fit(frame(X), y, upper)
    fitted = ILSClassifier().fit(frame(X), y, upper, yt)
    assert list(fitted.target_feature_names_in_) == list(upper.columns)
    assert fitted.score(upper, yt) > 0.9
    with pytest.raises(ValueError, match="match those of Xt at fit.*target_feature_names_in_"):
        fitted.predict(frame(Xt))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(upper, domain="source")


@pytest.mark.parametrize(
    ("source", "target"), [(frame(X), Xt), (X, frame(Xt))], ids=["source", "target"]
)
def test_names_of_one_domain_alone_bind_that_domain_alone(source, target):
    fitted = ILSClassifier().fit(source, y, target)
    expected = ILSClassifier().fit(X, y, Xt)
    same(fitted.predict_proba(target), expected.predict_proba(Xt))
    same(fitted.predict_proba(source, "source"), expected.predict_proba(X, "source"))


def test_mixed_rows_of_a_frame():
    rows, labels, domain = DATA.mixed
    fitted = ILSClassifier().fit(frame(rows), pd.Series(labels), sample_domain=pd.Series(domain))
    assert list(fitted.target_feature_names_in_) == NAMES
    expected = ILSClassifier().fit(X, y, Xt)
    same(fitted.predict_proba(frame(Xt)), expected.predict_proba(Xt))


# -- sparse rows and other types -----------------------------------------------------------------


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("width", [6, 4])
def test_sparse_rows_give_the_result_of_dense_ones(kind, width):
    rows, target = np.where(abs(X) > 1, X, 0.0), np.where(abs(Xt) > 1, Xt, 0.0)[:, :width]
    dense = ILSClassifier().fit(rows, y, target, yt)
    thin = ILSClassifier().fit(kind(rows), y, kind(target), yt)
    np.testing.assert_allclose(
        thin.predict_proba(kind(target)), dense.predict_proba(target), atol=1e-8
    )
    np.testing.assert_allclose(
        thin.transform(kind(rows), "source"), dense.transform(rows, "source"), atol=1e-8
    )


def test_sparse_rows_wider_than_long():
    case = shifted(n=12, nt=9, d=40)
    dense = ILSTransformer().fit(case.X, case.y, case.Xt)
    thin = ILSTransformer().fit(sparse.csr_array(case.X), case.y, sparse.csr_array(case.Xt))
    np.testing.assert_allclose(thin.transform(case.Xt), dense.transform(case.Xt), atol=1e-8)


def test_mixed_sparse_rows():
    rows, labels, domain = DATA.mixed
    thin = sparse.coo_array(rows)
    fitted = ILSClassifier().fit(thin, labels, sample_domain=domain)
    expected = ILSClassifier().fit(X, y, Xt)
    np.testing.assert_allclose(
        fitted.transform(thin, sample_domain=domain),
        expected.transform(rows, sample_domain=domain),
        atol=1e-8,
    )


@pytest.mark.parametrize("width", [6, 4])
def test_single_precision_in_single_precision_out(width):
    source, target = X.astype(np.float32), Xt[:, :width].astype(np.float32)
    fitted = ILSClassifier().fit(source, y, target, yt)
    for name in ("source_projection_", "target_projection_", "metric_", "target_mean_"):
        assert getattr(fitted, name).dtype == np.float32
    assert fitted.transform(target).dtype == np.float32
    assert fitted.transform(source, "source").dtype == np.float32
    assert fitted.predict_proba(target).dtype == np.float32
    double = ILSClassifier().fit(X, y, Xt[:, :width], yt)
    np.testing.assert_allclose(
        fitted.predict_proba(target), double.predict_proba(Xt[:, :width]), atol=1e-3
    )
    assert double.predict_proba(target).dtype == np.float32
    assert fitted.predict_proba(Xt[:, :width]).dtype == np.float64


def test_integers_and_lists():
    whole = np.rint(10 * X).astype(int), np.rint(10 * Xt).astype(int)
    fitted = ILSClassifier().fit(whole[0], y, whole[1])
    listed = ILSClassifier().fit(whole[0].tolist(), y.tolist(), whole[1].tolist())
    assert fitted.transform(whole[1]).dtype == np.float64
    np.testing.assert_array_equal(
        fitted.predict_proba(whole[1]), listed.predict_proba(whole[1].tolist())
    )


def _libraries():
    for name in ("array_api_strict", "torch"):
        yield pytest.param(name, id=name)


@pytest.fixture(params=_libraries())
def xp(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.mark.parametrize("width", [6, 4], ids=["same", "widths"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_tensors_give_the_result_of_numpy(xp, width, preset):
    target = Xt[:, :width].copy()
    few = np.where(np.arange(len(yt)) < 9, yt, -1)
    make = ILSClassifier if preset == "default" else ILSClassifier.as_in_paper
    expected = make(3, random_state=0).fit(X, y, target, few)
    tensors = [xp.asarray(each.copy()) for each in (X, y, target, few)]
    fitted = make(3, random_state=0).fit(*tensors)
    assert type(fitted.transform(tensors[2])) is type(tensors[2])
    np.testing.assert_allclose(
        np.asarray(fitted.predict_proba(tensors[2])), expected.predict_proba(target), atol=1e-8
    )
    np.testing.assert_array_equal(fitted.predict(tensors[2]), expected.predict(target))
    assert fitted.score(tensors[2], yt) == expected.score(target, yt)
    # rows of another library are moved to the model's
    np.testing.assert_array_equal(fitted.predict(target), expected.predict(target))
    np.testing.assert_array_equal(expected.predict(tensors[2]), expected.predict(target))
    np.testing.assert_array_equal(fitted.predict(sparse.csr_array(target)), fitted.predict(target))
    assert fitted.get_mahalanobis_matrix().shape == (width, width)


def test_mixed_rows_in_a_tensor(xp):
    rows, labels, domain = DATA.mixed
    fitted = ILSClassifier().fit(
        xp.asarray(rows), xp.asarray(labels), sample_domain=xp.asarray(domain)
    )
    expected = ILSClassifier().fit(X, y, Xt)
    np.testing.assert_allclose(
        np.asarray(fitted.transform(xp.asarray(rows), sample_domain=xp.asarray(domain))),
        expected.transform(rows, sample_domain=domain),
        atol=1e-8,
    )


def test_tensors_in_single_precision_with_weights(xp):
    tensors = [xp.asarray(each.astype(np.float32)) for each in (X, Xt)]
    weights = np.ones(len(X) + len(Xt))
    weights[[3, -2]] = 0
    fitted = ILSClassifier().fit(tensors[0], y, tensors[1], sample_weight=weights)
    assert fitted.transform(tensors[1]).dtype == tensors[1].dtype
    assert fitted.predict_proba(tensors[1]).dtype == tensors[1].dtype
    expected = ILSClassifier().fit(X, y, Xt, sample_weight=weights)
    np.testing.assert_allclose(
        np.asarray(fitted.predict_proba(tensors[1])), expected.predict_proba(Xt), atol=0.05
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda xp, a: (a * np.inf, y, None), "must be finite.*impute or drop"),
        (lambda xp, a: (a, y, a[:1, :]), "Xt must have at least 2 rows, but has 1"),
        (lambda xp, a: (a[:1, :], y[:1], None), "X must have at least 2 rows, but has 1"),
        (lambda xp, a: (a[0, :], y, None), "must be 2-d"),
        (lambda xp, a: (xp.asarray(np.ones((30, 6), int)), y, None), "real floating type"),
        (lambda xp, a: (a, y, Xt), "one array library.*convert one"),
        (lambda xp, a: (X, y, a), "one array library.*convert one"),
        (lambda xp, a: (a, np.where(y == 0, np.nan, y), None), "must have a label"),
        (lambda xp, a: (a, y[:3], None), "inconsistent numbers of samples"),
    ],
)
def test_bad_tensors(xp, spoil, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier().fit(*spoil(xp, xp.asarray(X.copy())))


# -- domains -------------------------------------------------------------------------------------


def test_mixed_rows_are_the_two_domains_exactly():
    rows, labels, domain = DATA.mixed
    apart, together = ILSClassifier().fit(X, y, Xt), ILSClassifier()
    together.fit(rows, labels, sample_domain=domain)
    np.testing.assert_array_equal(together.predict_proba(Xt), apart.predict_proba(Xt))
    both = apart.predict_proba(rows, sample_domain=domain)
    # but for the rounding of a product with more rows
    by_domain = apart.predict_proba(X, domain="source"), apart.predict_proba(Xt)
    np.testing.assert_allclose(both, np.concatenate(by_domain), rtol=1e-12)
    assert apart.score(rows, np.r_[y, yt], sample_domain=domain) == np.mean(
        apart.predict(rows, sample_domain=domain) == np.r_[y, yt]
    )


def test_mixed_rows_in_any_order():
    rows, labels, domain = DATA.mixed
    order = np.random.default_rng(0).permutation(len(rows))
    fitted = ILSClassifier().fit(rows[order], labels[order], sample_domain=domain[order])
    expected = ILSClassifier().fit(X, y, Xt)
    np.testing.assert_allclose(fitted.predict_proba(Xt), expected.predict_proba(Xt), atol=1e-8)


def test_one_number_as_the_domain_of_all_rows():
    fitted = ILSClassifier().fit(X, y, Xt)
    for number, rows, domain in ((1, X, "source"), (3, X, "source"), (-2, Xt, "target")):
        np.testing.assert_array_equal(
            fitted.predict_proba(rows, sample_domain=number), fitted.predict_proba(rows, domain)
        )
    alone = ILSClassifier().fit(X, y, sample_domain=1)
    np.testing.assert_array_equal(
        alone.predict_proba(X), ILSClassifier().fit(X, y).predict_proba(X)
    )


def test_one_domain_alone_has_one_projection():
    fitted = ILSClassifier().fit(X, y)
    np.testing.assert_array_equal(fitted.source_projection_, fitted.target_projection_)
    np.testing.assert_array_equal(fitted.transform(X), fitted.transform(X, domain="source"))
    assert fitted.n_target_features_in_ == 6
    assert fitted.score(X, y) == 1


@pytest.mark.parametrize("width", [4, 9])
def test_domains_of_different_widths(width):
    wide = np.hstack([Xt, Xt[:, :3] ** 2])[:, :width]
    few = DATA.marked(None, 9)
    fitted = ILSClassifier().fit(X, y, wide, few)
    assert fitted.source_projection_.shape == (6, fitted.n_components_)
    assert fitted.target_projection_.shape == (width, fitted.n_components_)
    assert fitted.transform(X, "source").shape == (len(X), fitted.n_components_)
    assert fitted.score(wide, yt) > 0.8


def test_rows_never_seen():
    later = shifted(nt=60)
    fitted = ILSClassifier().fit(X, y, later.Xt[:24])
    rows = later.Xt[24:]
    assert fitted.score(rows, later.yt[24:]) > 0.9
    # one at a time or all at once
    np.testing.assert_allclose(
        np.vstack([fitted.transform(row[None]) for row in rows]), fitted.transform(rows), atol=1e-12
    )


@pytest.mark.parametrize("fitted_on", ["one", "two", "widths"])
def test_probabilities(fitted_on):
    target = {"one": None, "two": Xt, "widths": Xt[:, :4]}[fitted_on]
    rows = X if target is None else target
    fitted = ILSClassifier().fit(X, y, target, None if target is None else DATA.marked(-1))
    probabilities = fitted.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert (probabilities >= 0).all()
    np.testing.assert_array_equal(
        fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(rows)
    )


def test_some_constant_columns():
    plain = ILSClassifier().fit(X, y, Xt)
    for constant in (0.0, 1 / 3, 1e10 / 3):
        source, target = (np.c_[each, np.full(len(each), constant)] for each in (X, Xt))
        fitted = ILSClassifier().fit(source, y, target)
        assert fitted.n_components_ == plain.n_components_
        np.testing.assert_array_equal(fitted.predict(target), plain.predict(Xt))


def test_duplicate_rows():
    fitted = ILSClassifier().fit(
        np.repeat(X[:6], 5, axis=0), np.repeat(y[:6], 5), np.repeat(Xt[:6], 4, axis=0)
    )
    assert fitted.score(Xt[:6], yt[:6]) == 1
    assert np.isfinite(fitted.predict_proba(Xt)).all()


@pytest.mark.parametrize("pairs", ["all", "sampled"])
@pytest.mark.parametrize("metric_start", ["identity", "kissme"])
def test_one_row_a_class(pairs, metric_start):
    fitted = ILSClassifier(
        objective=ObjectiveSettings(pairs=pairs, metric_init=metric_start), random_state=0
    )
    assert np.isfinite(fitted.fit(X[:3], y[:3], Xt).predict_proba(Xt)).all()


@pytest.mark.parametrize("factor", [1e-50, 1e-8, 1e8, 1e50])
def test_a_common_unit_changes_nothing(factor):
    plain = ILSClassifier().fit(X, y, Xt)
    scaled = ILSClassifier().fit(factor * X, y, factor * Xt)
    np.testing.assert_allclose(
        scaled.predict_proba(factor * Xt), plain.predict_proba(Xt), atol=1e-6
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(2, 12),
    nt=st.integers(2, 12),
    d=st.integers(1, 6),
    dt=st.integers(1, 6),
    n_classes=st.integers(2, 4),
    labelled=st.integers(0, 3),
    weighted=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64, np.int64]),
    pairs=st.sampled_from(["all", "sampled"]),
    exponent=st.integers(-6, 6),
)
def test_any_valid_input_gives_finite_numbers_and_source_classes(
    seed, n, nt, d, dt, n_classes, labelled, weighted, dtype, pairs, exponent
):
    rng = np.random.default_rng(seed)
    dt = d if labelled == 0 else dt
    scale = 10.0 ** (exponent if dtype is not np.int64 else 2)
    rows, target = (
        (scale * rng.standard_normal(shape)).astype(dtype) for shape in ((n, d), (nt, dt))
    )
    rows[0] += 1  # integers may have come out equal
    target[0] += 1
    labels = np.arange(n) % n_classes
    classes = np.unique(labels)
    assume(len(classes) > 1 and (target != target[0]).any() and (rows != rows[0]).any())
    marks = np.full(nt, -1)
    marks[:labelled] = rng.choice(classes, min(labelled, nt))
    weights = rng.uniform(0.1, 3, n + nt) if weighted else None
    fitted = ILSClassifier(objective=ObjectiveSettings(pairs=pairs), random_state=0)
    fitted.fit(rows, labels, target, marks, sample_weight=weights)
    for domain, some in (("source", rows), ("target", target)):
        assert np.isfinite(fitted.transform(some, domain)).all()
        probabilities = fitted.predict_proba(some, domain)
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        predicted = fitted.predict(some, domain)
        assert np.isin(predicted, classes).all()
        chosen = np.searchsorted(classes, predicted)
        largest = probabilities.max(axis=1)
        np.testing.assert_allclose(probabilities[np.arange(len(some)), chosen], largest, rtol=1e-6)
    for name in ("source_projection_", "target_projection_"):
        projection = getattr(fitted, name).astype(float)
        gram = projection.T @ projection
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)


def test_maps_have_the_type_that_holds_the_rows_of_both_domains():
    far = Xt + 3e6  # single precision would lose the target's mean
    single, double = (
        ILSTransformer(3).fit(X.astype(dtype), y, far) for dtype in (np.float32, np.float64)
    )
    assert single.target_mean_.dtype == np.float64
    for model in (single, double):
        assert np.abs(model.transform(far).mean(axis=0)).max() < 1e-6
