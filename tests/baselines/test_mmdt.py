"""Max-margin domain transforms: the alternation against theory, and its limits."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ortho_group
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ilspace.baselines import _max_margin
from ilspace.baselines.mmdt import MMDT

DATA = shifted()
X, y, Xt, yt = DATA.X, DATA.y, DATA.Xt, DATA.yt
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)
SIDES = {"shared": slice(None), "different": slice(0, 4)}


def labelled_parts(fitted, columns):
    """Projected labelled rows of both domains with a one appended, and their sides."""
    few = FEW >= 0
    parts = []
    for rows, codes, mean, axes in (
        (X, y, fitted.source_mean_, fitted.source_projection_),
        (Xt[few][:, columns], FEW[few], fitted.target_mean_, fitted.target_projection_),
    ):
        inner = np.column_stack([(rows - mean) @ axes, np.ones(len(rows))])
        parts.append((inner, np.where(codes[:, None] == np.arange(3), 1, -1)))
    return parts


@pytest.mark.parametrize("columns", SIDES.values(), ids=SIDES)
class TestAlternation:
    def anchor(self, fitted):
        shape = fitted.transformation_.shape
        return np.eye(*shape) if shape[0] == shape[1] else np.zeros(shape)

    @pytest.mark.parametrize("weight", [None, 0.3, 50.0])
    def test_no_step_increases_the_published_objective(self, columns, weight):
        fitted = MMDT(transform_weight=weight, max_iter=12, tol=0.0)
        values = fitted.fit(X, y, Xt[:, columns], FEW).objective_
        assert len(values) == 2 * fitted.n_iter_ + 1
        assert values[1] < values[0]
        assert (np.diff(values) <= 1e-10 * values[0]).all()

    def test_the_objective_is_the_formula(self, columns):
        fitted = MMDT(transform_weight=3.0, source_cost=0.2).fit(X, y, Xt[:, columns], FEW)
        (source, signs), (target, target_signs) = labelled_parts(fitted, columns)
        planes, transform = fitted.hyperplanes_, fitted.transformation_
        value = 1.5 * np.linalg.norm(transform - self.anchor(fitted)) ** 2
        value += sum(plane @ plane / 2 for plane in planes)
        for k, plane in enumerate(planes):
            for row, sign in zip(source, signs[:, k], strict=True):
                value += 0.2 * max(0, 1 - sign * plane @ row) ** 2
            for row, sign in zip(target, target_signs[:, k], strict=True):
                value += max(0, 1 - sign * plane @ transform @ row) ** 2
        np.testing.assert_allclose(fitted.objective_[-1], value)

    def test_optimality_of_both_steps(self, columns):
        """Each unknown is the combination of rows that its multipliers, 2c times slack, give."""
        fitted = MMDT(transform_weight=3.0, max_iter=1).fit(X, y, Xt[:, columns], FEW)
        (source, signs), (target, target_signs) = labelled_parts(fitted, columns)
        planes, transform, anchor = (
            fitted.hyperplanes_,
            fitted.transformation_,
            self.anchor(fitted),
        )
        rows = np.vstack([source, target @ anchor.T])  # the first round starts from the anchor
        sides = np.vstack([signs, target_signs])
        costs = np.repeat([0.05, 1.0], [len(source), len(target)])[:, None]
        multipliers = 2 * costs * np.maximum(0, 1 - sides * (rows @ planes.T))
        np.testing.assert_allclose(planes, (multipliers * sides).T @ rows, atol=1e-5)
        slack = np.maximum(0, 1 - target_signs * (target @ transform.T @ planes.T))
        pull = np.einsum("ik,kp,iq->pq", 2 * slack * target_signs, planes, target)
        np.testing.assert_allclose(transform - anchor, pull / 3.0, atol=1e-5)

    def test_turning_the_target_changes_nothing_but_the_axes(self, columns):
        turn = ortho_group.rvs(Xt[:, columns].shape[1], random_state=0)
        plain, turned = Xt[:, columns], Xt[:, columns] @ turn
        rows = X @ turn if plain.shape[1] == X.shape[1] else X
        expected = MMDT().fit(X, y, plain, FEW).decision_function(plain)
        found = MMDT().fit(rows, y, turned, FEW).decision_function(turned)
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_shifting_both_domains_changes_nothing(self, columns):
        expected = MMDT().fit(X, y, Xt[:, columns], FEW).decision_function(Xt[:, columns])
        moved = Xt[:, columns] + 7
        found = MMDT().fit(X + 7, y, moved, FEW).decision_function(moved)
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_scores_are_those_of_transformed_rows(self, columns):
        fitted = MMDT(transform_weight=1.0).fit(X, y, Xt[:, columns], FEW)
        (source, _), (target, _) = labelled_parts(fitted, columns)
        expected = target @ fitted.transformation_.T @ fitted.hyperplanes_.T
        rows = Xt[FEW >= 0][:, columns]
        np.testing.assert_allclose(fitted.decision_function(rows), expected, atol=1e-10)
        np.testing.assert_allclose(
            fitted.decision_function(sparse.csr_array(rows)), expected, atol=1e-10
        )
        np.testing.assert_allclose(
            fitted.decision_function(X, "source"), source @ fitted.hyperplanes_.T, atol=1e-10
        )
        predicted = fitted.classes_[fitted.decision_function(rows).argmax(axis=1)]
        np.testing.assert_array_equal(fitted.predict(rows), predicted)


def test_a_transform_held_to_the_identity_is_a_machine_on_the_rows_as_they_are():
    fitted = MMDT(6, transform_weight=1e12).fit(X, y, Xt, FEW)
    np.testing.assert_allclose(fitted.transformation_, np.eye(7), atol=1e-9)
    few = FEW >= 0
    rows = np.vstack([X, Xt[few]]) - np.vstack([X, Xt]).mean(axis=0)
    costs = np.repeat([0.05, 1.0], [len(X), few.sum()])
    labels = np.concatenate([y, FEW[few]])
    machine = LinearSVC(dual=False, fit_intercept=False, tol=1e-12, max_iter=100_000)
    ones = np.ones((len(rows), 1))
    machine.fit(np.hstack([rows, ones]), labels, sample_weight=costs)
    new = np.hstack([Xt - np.vstack([X, Xt]).mean(axis=0), np.ones((len(Xt), 1))])
    np.testing.assert_allclose(
        fitted.decision_function(Xt), machine.decision_function(new), atol=1e-5
    )


def test_two_classes_have_one_score():
    rows, target = y < 2, yt < 2
    fitted = MMDT().fit(X[rows], y[rows], Xt[target], FEW[target])
    scores = fitted.decision_function(Xt[target])
    assert scores.shape == (target.sum(),)
    np.testing.assert_array_equal(fitted.predict(Xt[target]), (scores > 0).astype(int))
    np.testing.assert_allclose(fitted.hyperplanes_[0], -fitted.hyperplanes_[1], atol=1e-6)


def test_the_domain_with_fewer_columns_keeps_them_all():
    fitted = MMDT(5).fit(X, y, Xt[:, :2], FEW)
    assert fitted.source_projection_.shape == (6, 5)
    assert fitted.target_projection_.shape == (2, 2)
    assert fitted.transformation_.shape == (6, 3)


def test_it_stops_once_a_round_gains_little():
    assert MMDT(max_iter=50, tol=0.5).fit(X, y, Xt, FEW).n_iter_ < 4
    assert MMDT(max_iter=4, tol=0.0, transform_weight=1.0).fit(X, y, Xt, FEW).n_iter_ == 4


def test_a_mirrored_target_is_learned_from_few_labels():
    fitted = MMDT().fit(X, y, -Xt[:, ::-1][:, :5], FEW)
    assert fitted.score(-Xt[:, ::-1][:, :5], yt) > 0.8


def test_a_step_that_does_not_converge_is_named_with_a_remedy(monkeypatch):
    monkeypatch.setattr(_max_margin, "_MAX_NEWTON_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        MMDT().fit(X, y, Xt, FEW)
