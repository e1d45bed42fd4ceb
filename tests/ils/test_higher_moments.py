"""Fits that also match third and fourth cumulants, wherever the rows are."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from shifted import shifted

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, load
from ilspace.domains import check_domains
from ilspace.ils.problem import make_problem

RNG = np.random.default_rng(0)
DATA = shifted(n=60, nt=50)
X, Y = np.exp(0.4 * DATA.X), DATA.y
XT = np.exp(0.3 * DATA.Xt)
SOURCES = [X[:24], X[24:42] + 1, X[42:] ** 0.9]
LABELS = [Y[:24], Y[24:42], Y[42:]]


def fitted(rows, labels, target, weight: float = 5.0, **parameters):
    objective = ObjectiveSettings(moment_weight=weight, moment_sketch=10)
    model = ILSTransformer(3, objective=objective, tol=1e-6, max_iter=15, **parameters)
    return model.fit(rows, labels, target)


def discrepancy(model, rows, target):
    """Mean squared difference of skewness and kurtosis of all axes, from the latent rows."""
    moments = []
    for each, domain in ((rows, "source"), (target, "target")):
        Z = (each - each.mean(axis=0)) @ getattr(model, f"{domain}_projection_")
        Z = Z / np.sqrt(np.mean(Z**2, axis=0))
        moments.append(np.concatenate([np.mean(Z**3, axis=0), np.mean(Z**4, axis=0)]))
    return float(np.mean((moments[0] - moments[1]) ** 2))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestFits:
    def test_a_positive_weight_brings_the_moments_together(self):
        apart = discrepancy(fitted(X, Y, XT, 0.0), X, XT)
        assert discrepancy(fitted(X, Y, XT, 20.0), X, XT) < 0.5 * apart

    def test_weight_zero_is_the_plain_objective_bit_for_bit(self):
        plain = ILSTransformer(3, tol=1e-6, max_iter=15).fit(X, Y, XT)
        zero = fitted(X, Y, XT, 0.0)
        np.testing.assert_array_equal(zero.map_.maps[0], plain.map_.maps[0])
        np.testing.assert_array_equal(zero.map_.maps[1], plain.map_.maps[1])
        assert zero.solution_.history == plain.solution_.history

    def test_one_domain_alone_has_nothing_to_match(self):
        plain = ILSTransformer(3, tol=1e-6, max_iter=15).fit(X, Y)
        found = fitted(X, Y, None)
        np.testing.assert_array_equal(found.map_.maps[0], plain.map_.maps[0])

    def test_sparse_rows_give_the_same(self):
        wanted = fitted(X, Y, XT).transform(XT)
        found = fitted(sparse.csr_array(X), Y, sparse.csr_array(XT)).transform(XT)
        np.testing.assert_allclose(found, wanted, atol=1e-8)

    def test_a_basis_of_the_rows_gives_the_same(self):
        # fewer rows than columns: the coordinates are those of the span of the rows
        wide = RNG.gamma(1.0, size=(6, 40))
        rows, target = X @ wide, XT[:20] @ wide
        settings: dict[str, Any] = {"moment_weight": 5.0, "shrinkage": 1e-2}
        found = [
            ILSTransformer(
                3, objective=ObjectiveSettings(reduce=reduce, **settings), max_iter=15, tol=0
            )
            .fit(rows[:25], Y[:25], target)
            .transform(target)
            for reduce in (True, False)
        ]
        np.testing.assert_allclose(*found, atol=1e-7)

    def test_a_row_of_weight_two_counts_as_two(self):
        weights = np.r_[np.full(10, 2.0), np.ones(50)]
        objective = ObjectiveSettings(moment_weight=5.0)
        model = ILSTransformer(3, objective=objective, tol=1e-6, max_iter=15)
        wanted = model.fit(np.r_[X[:10], X], np.r_[Y[:10], Y], XT).transform(XT)
        found = model.fit(X, Y, XT, sample_weight=weights).transform(XT)
        np.testing.assert_allclose(found, wanted, atol=1e-6)

    @pytest.mark.parametrize("several", [False, True])
    @pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
    def test_dask_gives_the_same(self, several, shares):
        da = pytest.importorskip("dask.array")
        dask = pytest.importorskip("dask")

        def blocks(rows):
            return da.from_array(rows, chunks=(7, *rows.shape[1:]))

        rows, labels = (SOURCES, LABELS) if several else (X, Y)
        wanted = fitted(rows, labels, XT, class_prior=shares)
        with dask.config.set(scheduler="synchronous"):
            there = [blocks(each) for each in rows] if several else blocks(rows)
            found = fitted(there, labels, blocks(XT), class_prior=shares)
        for met, expected in zip(found.map_.maps, wanted.map_.maps, strict=True):
            np.testing.assert_allclose(met, expected, atol=1e-8)

    @pytest.mark.parametrize("several", [False, True])
    def test_torch_gives_the_same(self, several):
        torch = pytest.importorskip("torch")
        rows, labels = (SOURCES, LABELS) if several else (X, Y)
        wanted = fitted(rows, labels, XT)
        there = [torch.tensor(each) for each in SOURCES] if several else torch.tensor(X)
        found = fitted(there, labels, torch.tensor(XT))
        for met, expected in zip(found.map_.maps, wanted.map_.maps, strict=True):
            np.testing.assert_allclose(met.numpy(), expected, atol=1e-8)

    def test_a_stochastic_solver_lowers_the_same_objective(self):
        model = fitted(X, Y, XT, 20.0, solver="adam", batch_size=20, random_state=0)
        history = [each.value for each in model.solution_.history]
        assert history[-1] < 0.9 * history[0]
        best = fitted(X, Y, XT, 20.0).solution_.history[-1].value
        assert history[-1] < 1.5 * best

    def test_models_are_saved(self, tmp_path):
        model = fitted(X, Y, XT)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.objective.moment_weight == 5.0
        np.testing.assert_array_equal(again.transform(XT), model.transform(XT))

    def test_self_training_uses_it(self):
        def probabilities(weight):
            objective = ObjectiveSettings(moment_weight=weight)
            return ILSClassifier(3, objective=objective).fit(X, Y, XT).predict_proba(XT)

        assert np.max(np.abs(probabilities(20.0) - probabilities(0.0))) > 1e-4


def test_batches_are_refused():
    model = ILSTransformer(3, objective=ObjectiveSettings(moment_weight=1.0))
    with pytest.raises(ValueError, match=r"moment_weight is 1.0.*fit all rows at once"):
        model.partial_fit(X, Y, XT)
    assert not hasattr(model, "map_")


@pytest.mark.parametrize("value", [-1.0, "many"])
def test_weights_are_not_negative(value):
    model = ILSTransformer(3, objective=ObjectiveSettings(moment_weight=value))
    with pytest.raises(ValueError, match="moment_weight"):
        model.fit(X, Y, XT)


def test_target_coordinates_are_not_cut_to_the_leading_axes():
    # the gradient of cumulants leaves the span of the initial axes
    domains = check_domains(X, Y, XT)
    stated = [
        make_problem(domains, ObjectiveSettings(moment_weight=w), n_components=2, rng=RNG)
        for w in (0.0, 1.0)
    ]
    assert [each.start[1].shape[0] for each in stated] == [2, 6]
    objective: Any = stated[0].problem.objective
    assert objective.cumulant_loss is None
