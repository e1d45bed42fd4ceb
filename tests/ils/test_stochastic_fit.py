"""Fits by the stochastic solvers: as good as the batch solver's, whatever the rows are."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from shifted import shifted
from sklearn.base import clone

import ilspace
from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.backend import to_numpy
from ilspace.domains import check_domains
from ilspace.ils import fit, make_problem, problem
from ilspace.optimizers import STOCHASTIC_SOLVERS, Status
from ilspace.pairs import LabelledRows

DATA = shifted(n=240, nt=150, d=8)
SOLVERS = sorted(STOCHASTIC_SOLVERS)


def end(model):
    return model.solution_.history[-1].value


def whole_objective(model, sample_weight=None):
    """The objective over all pairs at the solution of a model that was fitted in full width."""
    domains = check_domains(DATA.X, DATA.y, DATA.Xt, sample_weight=sample_weight)
    whole = make_problem(
        domains,
        ObjectiveSettings(reduce=False),
        n_components=model.n_components_,
        rng=np.random.default_rng(0),
    )
    return whole.problem.evaluate(model.solution_.point).value


@pytest.mark.parametrize("batch_size", [40, 10_000])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_labelled", [0, 12])
def test_the_end_is_that_of_the_batch_solver(solver, batch_size, n_labelled):
    given = (DATA.X, DATA.y, DATA.Xt, DATA.marked(None, n_labelled) if n_labelled else None)
    batch = ILSClassifier(4, self_training=0).fit(*given)
    model = clone(batch).set_params(solver=solver, batch_size=batch_size, random_state=0)
    model.fit(*given)
    assert model.solution_.status is Status.SETTLED
    assert model.solution_.history[0].value == pytest.approx(batch.solution_.history[0].value)
    assert end(model) <= 1.01 * end(batch)
    assert abs(model.score(DATA.Xt, DATA.yt) - batch.score(DATA.Xt, DATA.yt)) < 0.03


@pytest.mark.parametrize("solver", SOLVERS)
def test_classes_of_different_sizes_weigh_what_they_should(solver):
    rows = np.concatenate([np.flatnonzero(DATA.y == k)[:n] for k, n in enumerate((12, 40, 80))])
    given = (DATA.X[rows], DATA.y[rows], DATA.Xt)
    batch = ILSTransformer(4).fit(*given)
    model = ILSTransformer(4, solver=solver, batch_size=36, random_state=0).fit(*given)
    assert end(model) <= 1.01 * end(batch)


def test_rows_have_weights_in_mini_batches_too():
    weights = np.where(np.arange(240) % 4 == 0, 3.0, 0.5)
    given = (DATA.X, DATA.y, DATA.Xt)
    batch = ILSTransformer(4).fit(*given, sample_weight=weights)
    model = ILSTransformer(
        4, solver="adam", batch_size=48, random_state=0, objective=ObjectiveSettings(reduce=False)
    )
    model.fit(*given, sample_weight=weights)
    assert end(model) <= 1.01 * end(batch)
    assert end(model) == pytest.approx(whole_objective(model, weights))


def test_mini_batches_of_weighted_rows_are_unbiased():
    # rows far out weigh most, and classes are of different sizes
    rows = np.concatenate([np.flatnonzero(DATA.y == k)[:n] for k, n in enumerate((20, 40, 80))])
    weights = np.linalg.norm(DATA.X[rows] - DATA.X.mean(axis=0), axis=1) ** 3
    domains = check_domains(
        DATA.X[rows], DATA.y[rows], DATA.Xt, sample_weight=weights / weights.max()
    )
    made = make_problem(
        domains,
        ObjectiveSettings(),
        n_components=4,
        batch_size=45,
        rng=np.random.default_rng(0),
    )
    objective, projections, metric = made.problem.objective, made.bases, made.start[2]
    batches = made.rows.mini_batches(made.hinge, 45, np.random.default_rng(1), n_components=4)
    met = [float(batch(projections, metric).value) for batch in islice(batches, 400)]
    wanted = float(made.rows.all_pairs(made.hinge, n_components=4)(projections, metric).value)
    assert abs(np.mean(met) - wanted) < 4 * np.std(met) / 20 + 0.01 * wanted
    unweighted = replace(made.rows, weights=None).all_pairs(made.hinge, n_components=4)
    assert abs(float(unweighted(projections, metric).value) / wanted - 1) > 0.05
    # the mini-batches of the problem are the same objective with other pairs
    assert made.problem.batches is not None
    values = [float(each(made.start)[0]) for each in islice(made.problem.batches, 400)]
    assert np.mean(values) == pytest.approx(float(objective(made.start)[0]), rel=0.05)


@pytest.mark.parametrize("judged", [60, 100_000])
def test_the_last_line_of_history_is_the_whole_objective(monkeypatch, judged):
    for module in (fit, problem):
        monkeypatch.setattr(module, "EVALUATION_ROWS", judged)
    model = ILSTransformer(
        4, solver="sgd", batch_size=40, random_state=0, objective=ObjectiveSettings(reduce=False)
    )
    given = (DATA.X, DATA.y, DATA.Xt)
    model.fit(*given)
    assert end(model) == pytest.approx(whole_objective(model), rel=1e-10)
    assert end(model) <= 1.01 * end(ILSTransformer(4).fit(*given))


def test_where_all_pairs_are_too_many_a_sample_judges(monkeypatch):
    for module in (fit, problem):
        monkeypatch.setattr(module, "EVALUATION_ROWS", 90)
    monkeypatch.setattr(fit, "EXACT_ROWS", 200)
    monkeypatch.setattr(LabelledRows, "all_pairs", None)  # must not be asked for
    given = (DATA.X, DATA.y, DATA.Xt)
    model = ILSTransformer(
        4, solver="sgd", batch_size=40, random_state=0, objective=ObjectiveSettings(reduce=False)
    ).fit(*given)
    monkeypatch.undo()
    whole = whole_objective(model)
    assert end(model) == pytest.approx(whole, rel=0.1)
    assert end(model) != whole


def test_one_seed_gives_one_result():
    first, again, other = (
        ILSTransformer(4, solver="sgd", batch_size=40, random_state=seed).fit(*DATA[:3])
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.transform(DATA.Xt), again.transform(DATA.Xt))
    assert not np.array_equal(first.transform(DATA.Xt), other.transform(DATA.Xt))
    assert end(other) == pytest.approx(end(first), rel=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
def test_domains_of_different_columns_and_one_domain(solver):
    yt = DATA.marked(None, 15)
    model = ILSClassifier(3, solver=solver, batch_size=40, random_state=0)
    assert model.fit(DATA.X, DATA.y, DATA.Xt[:, :5], yt).score(DATA.Xt[:, :5], DATA.yt) > 0.9
    assert model.fit(DATA.X, DATA.y).score(DATA.X, DATA.y, domain="source") > 0.9


def test_sparse_rows():
    dense, sparse_rows = (
        ILSTransformer(4, solver="sgd", batch_size=40, random_state=0)
        .fit(make(DATA.X), DATA.y, make(DATA.Xt))
        .transform(DATA.Xt)
        for make in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_allclose(sparse_rows, dense, atol=1e-6)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_tensors(library, solver):
    asarray = pytest.importorskip(library).asarray
    model = ILSTransformer(4, solver=solver, batch_size=40, random_state=0)
    wanted = model.fit(*DATA[:3]).transform(DATA.Xt)
    Xt = asarray(DATA.Xt.copy())
    met = model.fit(asarray(DATA.X.copy()), DATA.y, Xt).transform(Xt)
    assert type(met) is type(Xt)
    np.testing.assert_allclose(to_numpy(met), wanted, atol=1e-6)


def test_sampled_pairs_are_refused():
    with pytest.raises(ValueError, match='but pairs is "sampled": use pairs="all"'):
        ILSClassifier(solver="sgd", objective=ObjectiveSettings(pairs="sampled")).fit(*DATA[:3])
    with pytest.raises(ValueError, match="'batch_size' parameter"):
        ILSClassifier(batch_size=1).fit(*DATA[:3])


def test_it_goes_to_disk_and_back(tmp_path):
    model = ILSClassifier(4, solver="adam", batch_size=40, random_state=0).fit(*DATA[:3])
    model.save(tmp_path / "model")
    again = ilspace.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(DATA.Xt), model.predict(DATA.Xt))
    assert again.get_params() == model.get_params()
