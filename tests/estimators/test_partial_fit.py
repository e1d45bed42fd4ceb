"""Data that comes in pieces: what is kept, what is learned, and what is refused."""

import pickle
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from shifted import shifted
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ilspace
from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.backend import to_numpy
from ilspace.domains import Domain, Domains
from ilspace.ils import online, seen
from ilspace.ils.seen import Reservoir, SeenDomain
from ilspace.pairs.statistics import pair_totals
from ilspace.scale import row_moments

DATA = shifted(n=240, nt=150, d=8)
X, y, Xt, yt = DATA
CLASSES = [0, 1, 2]
ONE = row_moments(np.eye(1))


def pieces(n_pieces, yt=None, seed=0):
    """Rows of both domains in random order, cut into pieces."""
    rng = np.random.default_rng(seed)
    yt = [None] * len(Xt) if yt is None else yt
    source = np.array_split(rng.permutation(len(X)), n_pieces)
    target = np.array_split(rng.permutation(len(Xt)), n_pieces)
    for s, t in zip(source, target, strict=True):
        yield X[s], y[s], Xt[t], [yt[i] for i in t]


def learned(model, stream):
    for piece in stream:
        model.partial_fit(*piece)
    return model


def rule_of(model) -> Any:
    """The rule, of the kind that the test expects."""
    return model._rule


# -- moments and memory --------------------------------------------------------------------------


@given(cuts=st.lists(st.integers(1, 39), max_size=4), seed=st.integers(0, 9), offset=st.booleans())
def test_moments_merge_exactly(cuts, seed, offset):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 3)) + 1e3 * offset
    weights = rng.uniform(0.1, 3.0, 40)
    merged = None
    for part in np.split(np.arange(40), sorted(set(cuts))):
        some = row_moments(rows[part], weights[part])
        merged = some if merged is None else merged.merged(some)
    assert merged is not None
    assert merged.n_rows == 40
    np.testing.assert_allclose(merged.weight, weights.sum())
    np.testing.assert_allclose(merged.mean, np.average(rows, axis=0, weights=weights), rtol=1e-12)
    wanted = np.cov(rows.T, aweights=weights, bias=True)
    np.testing.assert_allclose(merged.covariance, wanted, atol=1e-9)


def remembered(codes, n_pieces, most, seed=0, weights=None):
    """Row numbers as rows, through a memory that is trimmed after each piece."""
    rng = np.random.default_rng(seed)
    memory = None
    for part in np.array_split(np.arange(len(codes)), n_pieces):
        own = None if weights is None else weights[part]
        piece = Reservoir.of(Domain(part[:, None] + 0.0, codes[part], own), rng)
        memory = (piece if memory is None else memory.joined(piece)).trimmed(most)
    assert memory is not None
    return memory


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    n_pieces=st.integers(1, 5),
    most=st.integers(2, 20),
)
@settings(max_examples=50)
def test_memory_is_bounded_and_keeps_the_weight_of_each_class(sizes, n_pieces, most):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    weights = rng.uniform(0.5, 2.0, len(codes))
    memory = remembered(codes, n_pieces, most, weights=weights)
    np.testing.assert_array_equal(np.bincount(memory.codes), np.minimum(sizes, most))
    np.testing.assert_allclose(
        np.bincount(memory.codes, memory.weights), np.bincount(codes, weights)
    )
    rows = memory.X[:, 0].astype(int)
    assert len(set(rows.tolist())) == len(rows)
    np.testing.assert_array_equal(memory.codes, codes[rows])


def test_memory_favours_no_row():
    # each of 30 rows stays with probability 10 / 30, whichever of 3 pieces it came in
    times = np.zeros(30)
    for seed in range(300):
        times[remembered(np.zeros(30, dtype=int), 3, 10, seed).X[:, 0].astype(int)] += 1
    assert np.max(np.abs(times / 300 - 1 / 3)) < 4.5 * np.sqrt(2 / 9 / 300)


def test_rows_without_a_label_are_not_remembered():
    memory = Reservoir.of(Domain(np.eye(3), np.array([1, -1, 0])), np.random.default_rng(0))
    np.testing.assert_array_equal(memory.X, np.eye(3)[[0, 2]])
    assert np.all(memory.weights == 1)


def test_remembered_rows_are_no_repeated_rows():
    # each stands for others of its class: weights count up to a factor, and none makes twins
    codes = np.repeat([0, 1], [30, 12])
    memory = remembered(codes, 3, 10)
    domain, scaled = (
        online.kept_domains(Domains((None,), None, np.arange(2)), (SeenDomain(ONE, each),)).sources[
            0
        ]
        for each in (memory, replace(memory, weights=0.01 * memory.weights))
    )
    assert domain.weights is not None
    assert scaled.weights is not None
    np.testing.assert_allclose(domain.weights, scaled.weights)
    similar, dissimilar = pair_totals(domain.codes, domain.weights)
    apart = np.triu(np.outer(domain.weights, domain.weights), k=1)
    alike = domain.codes[:, None] == domain.codes[None, :]
    assert similar == pytest.approx(apart[alike].sum())
    assert dissimilar == pytest.approx(apart[~alike].sum())


# -- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_pieces", "solver", "n_labelled"),
    [(1, "sgd", 0), (3, "sgd", 0), (3, "adam", 0), (3, "adam", 12), (3, "lbfgs", 12)],
)
def test_all_pieces_give_what_fit_gives(n_pieces, solver, n_labelled):
    marked = DATA.marked(None, n_labelled)
    objective = ObjectiveSettings(reduce=False)
    at_once = ILSClassifier(4, self_training=0, objective=objective).fit(X, y, Xt, marked)
    model = ILSClassifier(4, solver=solver, batch_size=60, random_state=0)
    learned(model, pieces(n_pieces, marked))
    np.testing.assert_allclose(model.source_mean_, at_once.source_mean_, rtol=1e-12)
    np.testing.assert_allclose(model.target_mean_, at_once.target_mean_, rtol=1e-12)
    assert model.source_scale_ == pytest.approx(at_once.source_scale_)
    assert model.sharpness_ == pytest.approx(at_once.sharpness_)
    # nothing was forgotten, so the objective is the same function
    ends = [each.solution_.history[-1].value for each in (model, at_once)]
    assert ends[0] <= 1.01 * ends[1]
    assert abs(model.score(Xt, yt) - at_once.score(Xt, yt)) < 0.03
    assert model._n_rows == (240, 150)


def test_a_small_memory_is_enough(monkeypatch):
    monkeypatch.setattr(seen, "RESERVOIR", 60)
    model = learned(ILSClassifier(4, random_state=0), pieces(5, DATA.marked(None, 30)))
    counts = [np.bincount(codes) for _, codes in rule_of(model).labelled]
    np.testing.assert_array_equal(counts[0], 20)
    np.testing.assert_array_equal(counts[1], 10)
    at_once = ILSClassifier(4, self_training=0).fit(X, y, Xt, DATA.marked(None, 30))
    assert model.score(Xt, yt) > at_once.score(Xt, yt) - 0.03
    # the memory stands for all rows: a domain of which some were forgotten weighs as before
    source, target = (each.reservoir.weights.sum() for each in model._online.seen)
    assert (source, target) == pytest.approx((240, 30))


def test_pieces_of_one_domain():
    model = ILSClassifier(4, random_state=0)
    model.partial_fit(X[:60], y[:60], Xt[:50])
    model.partial_fit(X[60:], y[60:])
    np.testing.assert_allclose(model.source_mean_, X.mean(axis=0))
    np.testing.assert_allclose(model.target_mean_, Xt[:50].mean(axis=0))
    model.partial_fit(Xt=Xt[50:])
    np.testing.assert_allclose(model.target_mean_, Xt.mean(axis=0))
    model.partial_fit(Xt=Xt[:1], yt=yt[:1])
    assert model._n_rows == (240, 151)
    assert [len(codes) for _, codes in rule_of(model).labelled] == [240, 1]
    assert model.score(Xt, yt) > 0.95


def test_one_domain_alone():
    model = ILSClassifier(3, random_state=0).partial_fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:])
    assert model.score(X, y, domain="source") > 0.95
    with pytest.raises(ValueError, match="from the first call of partial_fit on, but that had"):
        model.partial_fit(Xt=Xt)


def test_domains_of_different_columns():
    marked = DATA.marked(None, 30)
    model = ILSClassifier(3, random_state=0)
    model.partial_fit(X[:120], y[:120], Xt[:75, :5], marked[:75])
    model.partial_fit(X[120:], y[120:], Xt[75:, :5], marked[75:])
    assert rule_of(model).source_vote == 0.3
    assert model.score(Xt[:, :5], yt) > 0.9


def test_classes_that_come_later():
    first, later = y < 2, y == 2
    model = ILSClassifier(4, random_state=0)
    # a target row of a class that the source has not shown yet
    label = int(np.flatnonzero(yt == 2)[0])
    marked = [2 if i == label else None for i in range(len(Xt))]
    model.partial_fit(X[first], y[first], Xt, marked, classes=CLASSES)
    np.testing.assert_array_equal(model.classes_, CLASSES)
    assert model.predict_proba(Xt).shape == (150, 3)
    model.partial_fit(X[later], y[later], classes=[2, 1, 0])
    assert model.score(Xt, yt) > 0.95


def test_weights():
    # a row of weight zero is absent, and moments are weighted
    weights = np.where(np.arange(240) % 3 == 0, 0.0, 1.5)
    model = ILSTransformer(4, random_state=0)
    model.partial_fit(X[:120], y[:120], Xt, sample_weight=weights[:120])
    model.partial_fit(X[120:], y[120:], sample_weight=weights[120:])
    np.testing.assert_allclose(model.source_mean_, np.average(X, axis=0, weights=weights))
    assert model._n_rows == (160, 150)
    model.partial_fit(X[:1], y[:1], Xt[:2], sample_weight=[0.0, 1.0, 0.0])
    assert model._n_rows == (160, 151)


def test_one_seed_gives_one_result_and_a_copy_goes_on_alike():
    model, again = (
        learned(ILSClassifier(4, random_state=3, batch_size=60), pieces(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(model.transform(Xt), again.transform(Xt))
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X[:30], y[:30], Xt[:10])
    np.testing.assert_array_equal(model.transform(Xt), copy.transform(Xt))
    assert not hasattr(clone(model), "_online")


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, pd.DataFrame])
def test_other_containers(make):
    wanted = learned(ILSTransformer(4, random_state=0), pieces(3)).transform(Xt)
    model = ILSTransformer(4, random_state=0)
    for Xs, ys, Xts, _ in pieces(3):
        model.partial_fit(make(Xs), ys, make(Xts))
    # moments of sparse rows are summed in another order
    met, wanted = (each @ each.T for each in (model.transform(make(Xt)), wanted))
    np.testing.assert_allclose(met, wanted, atol=1e-4 * np.max(wanted))


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_tensors(library):
    asarray = pytest.importorskip(library).asarray
    wanted = learned(ILSClassifier(4, random_state=0), pieces(2))
    model = ILSClassifier(4, random_state=0)
    for Xs, ys, Xts, _ in pieces(2):
        model.partial_fit(asarray(Xs), ys, asarray(Xts))
    met = model.transform(asarray(Xt.copy()))
    assert type(met) is type(asarray(X.copy()))
    np.testing.assert_allclose(to_numpy(met), wanted.transform(Xt), atol=1e-6)
    model.partial_fit(X[:9], y[:9])  # rows of another library move to that of the first
    assert type(model.source_mean_) is type(met)


def test_a_dense_piece_joins_sparse_ones_and_types_stay():
    model = ILSTransformer(4, random_state=0)
    model.partial_fit(
        sparse.csr_array(X[:99].astype("f4")), y[:99], sparse.csr_array(Xt.astype("f4"))
    )
    model.partial_fit(X[99:], y[99:])
    assert model.source_projection_.dtype == np.float32
    dense = ILSTransformer(4, random_state=0).partial_fit(X[:99], y[:99], Xt)
    dense.partial_fit(sparse.csr_matrix(X[99:]), y[99:])
    np.testing.assert_allclose(model.source_mean_, X.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(dense.source_mean_, X.mean(axis=0))


def test_free_projections_stay_free():
    model = learned(
        ILSTransformer(4, objective=ObjectiveSettings(orthonormal=False), random_state=0), pieces(3)
    )
    gram = model.source_projection_.T @ model.source_projection_
    assert np.max(np.abs(gram - np.eye(4))) > 1e-3


def test_axes_that_turn_take_the_point_along():
    # the target's two leading axes are alike in the first piece, and change places in the second
    rng = np.random.default_rng(0)
    spread = np.array([3.0, 2.9, 1.0, 0.3, 0.3, 0.3])
    rows = rng.standard_normal((200, 6)) * spread
    more = rng.standard_normal((200, 6)) * spread[[1, 0, 2, 3, 4, 5]] * 1.2
    labels = (rows[:, 0] > 0).astype(int)
    model = ILSTransformer(3, random_state=0).partial_fit(rows, labels, rows)
    before = model._online
    model.partial_fit(Xt=more)
    # the continuation begins far below a fresh start, close to where it ends
    fresh = ILSTransformer(3, random_state=0, objective=ObjectiveSettings(reduce=False), max_iter=0)
    fresh.fit(rows, labels, np.concatenate([rows, more]))
    first, last = (model.solution_.history[i].value for i in (0, -1))
    assert first - last < 0.1 * (fresh.solution_.history[0].value - last)
    for old, new in zip(before.bases, model._online.bases, strict=True):
        assert np.linalg.norm(old - new) > 0.5


# -- save, fit, and what is refused --------------------------------------------------------------


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_saved_models_predict_and_begin_anew(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(seen, "RESERVOIR", 60)
    model = learned(kind(4, random_state=0), pieces(3, DATA.marked(None, 12)))
    model.save(tmp_path / "model")
    again = ilspace.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(Xt), model.transform(Xt))
    if kind is ILSClassifier:
        np.testing.assert_array_equal(again.predict_proba(Xt), model.predict_proba(Xt))
    with pytest.warns(UserWarning, match="begins anew .* or loaded from a file"):
        again.partial_fit(X[:60], y[:60], Xt)
    assert again._n_rows == (60, 150)


def test_fit_forgets_the_pieces_and_the_first_piece_forgets_a_fit():
    model = learned(ILSClassifier(4, random_state=0), pieces(3))
    wanted = ILSClassifier(4, random_state=0).fit(X, y, Xt)
    np.testing.assert_array_equal(model.fit(X, y, Xt).transform(Xt), wanted.transform(Xt))
    assert vars(model).keys() == vars(wanted).keys()
    with pytest.warns(UserWarning, match="partial_fit begins anew with this batch") as caught:
        model.partial_fit(X[:50], y[:50], Xt[:40])
    assert caught[0].filename == __file__
    assert model._n_rows == (50, 40)


REFUSED = [
    ((X[:, :5], y, np.full_like(Xt, np.nan)), "must be finite"),
    ((X[:, :5], y, Xt), "Domains of different features"),
    ((pd.DataFrame(X).add_prefix("x"), np.zeros(240), Xt), "At least 2 classes"),
]


@pytest.mark.parametrize(("piece", "message"), REFUSED)
@pytest.mark.parametrize("how", ["fit", "load"])
def test_a_first_piece_that_is_refused_leaves_the_model_as_it_was(how, piece, message, tmp_path):
    frames = [pd.DataFrame(each, columns=list("abcdefgh")) for each in (X, Xt)]
    model = ILSClassifier(4, random_state=0).fit(frames[0], y, frames[1])
    if how == "load":
        model.save(tmp_path / "model")
        model = ilspace.load(tmp_path / "model")
    before = vars(model).copy()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*piece)
    assert vars(model) == before


@pytest.mark.parametrize("how", ["fit", "partial_fit", "nothing"])
def test_an_interruption_leaves_the_model_as_it_was(how):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = ILSClassifier(4, random_state=0)
    if how != "nothing":
        getattr(model, how)(X[:99], y[:99], Xt)
    before = vars(model.set_params(callback=interrupt)).copy()
    warned = pytest.warns(UserWarning, match="begins anew") if how == "fit" else nullcontext()
    with warned, pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[99:], y[99:], Xt)
    assert vars(model) == before


def test_a_batch_that_fails_does_not_move_the_generator():
    def interrupt(*_):
        raise KeyboardInterrupt

    models = [ILSClassifier(4, random_state=0, batch_size=30) for _ in range(2)]
    for model in models:
        model.partial_fit(X[:99], y[:99], Xt)
    with pytest.raises(KeyboardInterrupt):
        models[0].set_params(callback=interrupt).partial_fit(X[99:150], y[99:150])
    models[0].set_params(callback=None)
    for model in models:
        model.partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(*(model.transform(Xt) for model in models))


BAD_FIRST = [
    ((None, None, Xt, None), {}, "first call of partial_fit must bring labelled source rows"),
    ((X, None, Xt, None), {}, "requires y to be passed"),
    ((X, y, Xt, None), {"classes": [0, 1]}, r"all labels of y, but \[2\] is not among \[0, 1\]"),
    ((X, np.zeros(240), Xt, None), {"classes": CLASSES}, "At least 2 classes are needed in y"),
]


@pytest.mark.parametrize(("args", "kwargs", "message"), BAD_FIRST)
def test_a_first_piece_that_will_not_do(args, kwargs, message):
    model = ILSClassifier(4)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*args, **kwargs)
    with pytest.raises(NotFittedError):
        model.predict(Xt)


BAD_NEXT = [
    ((), {}, "must bring rows of a domain, but X and Xt are None"),
    ((X, None), {}, "requires y to be passed"),
    ((None, y), {}, "y labels the rows of X, but X is None"),
    ((None, None, None, yt), {}, "yt labels the rows of Xt, but Xt is None"),
    ((X, np.full(240, 7)), {}, r"only the classes of the first call .* \[7\] is not among"),
    ((X, y), {"classes": [0, 1, 2, 3]}, "classes must be those of the first call"),
    ((X[:, :5], y), {}, "X has 5 features, but ILSClassifier is expecting 8 features"),
    ((None, None, Xt[:, :5]), {}, "X has 5 features, but ILSClassifier is expecting 8 features"),
    ((X, y[:9]), {}, "y must have one entry per row of X"),
    ((None, None, Xt, yt[:9]), {}, "yt must have one entry per row of Xt"),
    ((X, np.where(y == 0, np.nan, y)), {}, "Every source row must have a label"),
    ((X, y), {"sample_weight": np.ones(7)}, "sample_weight must have one entry per source row"),
    ((np.full_like(X, np.inf), y), {}, "infinity"),
]


@pytest.mark.parametrize(("args", "kwargs", "message"), BAD_NEXT)
def test_a_later_piece_that_will_not_do_leaves_the_model_as_it_was(args, kwargs, message):
    model = ILSClassifier(4, random_state=0).partial_fit(X[:90], y[:90], Xt[:90])
    before = model.transform(Xt)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*args, **kwargs)
    np.testing.assert_array_equal(model.transform(Xt), before)
    assert model._n_rows == (90, 90)


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_dask_collections_are_refused_with_a_remedy(kind, in_dask):
    def refused(name):
        message = rf"partial_fit takes rows in memory, but {name} is a Dask .*, or all of it to fit"
        return pytest.raises(ValueError, match=message)

    for name, piece in (("X", (in_dask(X), y, Xt)), ("Xt", (X, y, in_dask(Xt)))):
        with refused(name):
            kind(4).partial_fit(*piece)
    model = kind(4, random_state=0).partial_fit(X[:90], y[:90], Xt[:90])
    before = model.transform(Xt)
    for name, piece in (("X", (in_dask(X), y)), ("Xt", (None, None, in_dask(Xt)))):
        with refused(name):
            model.partial_fit(*piece)
    np.testing.assert_array_equal(model.transform(Xt), before)
    assert model._n_rows == (90, 90)


def test_the_blocks_of_a_dask_array_one_after_another():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(80, 3))
    expected = learned(ILSClassifier(4, random_state=0), [(X[:80], y[:80], Xt)])
    found = ILSClassifier(4, random_state=0).partial_fit(rows.partitions[0].compute(), y[:80], Xt)
    for start in (80, 160):
        labels = y[start : start + 80]
        expected.partial_fit(X[start : start + 80], labels)
        found.partial_fit(rows.partitions[start // 80].compute(), labels)
    np.testing.assert_array_equal(found.transform(Xt), expected.transform(Xt))


def test_sampled_pairs_are_refused():
    with pytest.raises(
        ValueError, match='A stochastic solver compares all pairs .* but pairs is "sampled"'
    ):
        ILSClassifier(objective=ObjectiveSettings(pairs="sampled")).partial_fit(X, y, Xt)


def test_classes_of_two_kinds():
    mixed = ["a", "b", 3]
    with pytest.raises(ValueError, match="some are int and others str: convert"):
        ILSClassifier(2).partial_fit(X, y, Xt, classes=mixed)
    model = ILSClassifier(2).partial_fit(X, y, Xt)
    with pytest.raises(ValueError, match="some are int and others str: convert"):
        model.partial_fit(X, y, classes=mixed)
