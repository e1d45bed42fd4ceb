"""Correlation alignment, against SKADA, the authors' formula and what it is to achieve."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from shifted import shifted
from sklearn.covariance import shrunk_covariance
from sklearn.svm import LinearSVC

from ilspace.baselines.coral import CORAL, covariance_axes, symmetric_power

X, y, Xt, yt = shifted()
RNG = np.random.default_rng(0)
WIDE = RNG.standard_normal((12, 20)) @ RNG.standard_normal((20, 20))  # fewer rows than columns

_SKADA = """
import numpy as np
from shifted import shifted
from skada._mapping import CORALAdapter
from ilspace.baselines.coral import CORAL

def compare(X, y, Xt, reg, shrinkage):
    rows, domain = np.vstack([X, Xt]), np.repeat([1, -2], [len(X), len(Xt)])
    theirs = CORALAdapter(reg=reg).fit_transform(rows, sample_domain=domain)
    ours = CORAL(shrinkage).fit(X, y, Xt).transform(rows, sample_domain=domain)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert np.abs(ours[: len(X)] - (X - X.mean(axis=0))).max() > 0.1  # it does something

for case in (shifted(), shifted(1, n=60, nt=50, d=9)):
    for reg, shrinkage in ((None, 0.0), (0.3, 0.3), (1e-3, 1e-3), ("auto", "auto")):
        compare(case.X, case.y, case.Xt, reg, shrinkage)
case = shifted(2, d=40)  # more columns than rows
for reg, shrinkage in ((0.3, 0.3), ("auto", "auto")):
    compare(case.X, case.y, case.Xt * np.arange(1, 41), reg, shrinkage)
"""


@pytest.mark.skipif(find_spec("skada") is None, reason="SKADA is not installed")
@pytest.mark.slow
def test_the_map_is_that_of_skada():
    path = [str(Path(__file__).parents[1]), *sys.path]  # importing SKADA changes scikit-learn
    script = f"import sys; sys.path[:] = {path!r}\n{_SKADA}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def covariance(rows, shrinkage=0.0, regularization=0.0):
    shrunk = shrunk_covariance(np.cov(rows.T, bias=True), shrinkage=shrinkage)
    return shrunk + regularization * np.eye(rows.shape[1])


class TestCovariance:
    @pytest.mark.parametrize("rows", [X, WIDE], ids=["tall", "wide"])
    @pytest.mark.parametrize(("shrinkage", "ridge"), [(0.5, 0.0), (0.0, 1.0), (0.2, 3.0), (1, 0)])
    def test_powers_are_those_of_the_regularised_matrix(self, rows, shrinkage, ridge):
        axes = covariance_axes(rows - rows.mean(axis=0), shrinkage, ridge)
        expected = covariance(rows, shrinkage, ridge)
        np.testing.assert_allclose(symmetric_power(*axes, 1.0), expected, atol=1e-10)
        for power in (0.5, -0.5):
            np.testing.assert_allclose(
                symmetric_power(*axes, power),
                fractional_matrix_power(expected, power),
                atol=1e-8,
            )

    @pytest.mark.parametrize("rows", [WIDE, WIDE[:, :2] @ np.ones((2, 5))], ids=["wide", "tall"])
    def test_without_variance_the_inverse_is_that_of_the_rest(self, rows):
        axes = covariance_axes(rows - rows.mean(axis=0), 0.0, 0.0)
        expected = np.linalg.pinv(covariance(rows), rcond=1e-10, hermitian=True)
        root = symmetric_power(*axes, -0.5)
        np.testing.assert_allclose(root @ root, expected, atol=1e-8)

    def test_ledoit_and_wolf_do_not_see_the_units_of_the_columns(self):
        units = np.array([1.0, 10.0, 0.1, 3.0, 1.0, 100.0])
        offsets = X - X.mean(axis=0)
        plain = symmetric_power(*covariance_axes(offsets, "auto", 0.0), 1.0)
        scaled = symmetric_power(*covariance_axes(offsets * units, "auto", 0.0), 1.0)
        np.testing.assert_allclose(scaled, plain * np.outer(units, units), rtol=1e-8)


class TestMap:
    @pytest.mark.parametrize("shrinkage", [0.0, 0.5, "auto"])
    def test_the_source_gets_the_covariance_of_the_target(self, shrinkage):
        A = CORAL(shrinkage).fit(X, y, Xt).alignment_
        source, target = (
            symmetric_power(*covariance_axes(rows - rows.mean(axis=0), shrinkage, 0.0), 1.0)
            for rows in (X, Xt)
        )
        np.testing.assert_allclose(A.T @ source @ A, target, atol=1e-8)
        assert np.linalg.norm(source - target) > 1

    def test_moments_of_the_mapped_rows(self):
        fitted = CORAL(0.0).fit(X, y, Xt)
        mapped, kept = fitted.transform(X, "source"), fitted.transform(Xt)
        np.testing.assert_allclose(np.cov(mapped.T, bias=True), np.cov(Xt.T, bias=True), atol=1e-8)
        np.testing.assert_allclose(mapped.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(kept, Xt - Xt.mean(axis=0), atol=1e-12)

    def test_the_authors_formula(self):
        A = CORAL(0.0, regularization=1.0).fit(X, y, Xt).alignment_
        source, target = covariance(X, regularization=1.0), covariance(Xt, regularization=1.0)
        expected = fractional_matrix_power(source, -0.5) @ fractional_matrix_power(target, 0.5)
        np.testing.assert_allclose(A, expected, atol=1e-8)

    def test_the_default_is_the_authors_for_columns_of_unit_variance(self):
        rows, target = X / X.std(axis=0), Xt / Xt.std(axis=0)
        ours = CORAL().fit(rows, y, target).alignment_
        theirs = CORAL(0.0, regularization=1.0).fit(rows, y, target).alignment_
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
        assert np.abs(theirs - CORAL(0.0).fit(rows, y, target).alignment_).max() > 0.1

    @pytest.mark.parametrize("shrinkage", [0.0, 0.5, "auto"])
    def test_one_domain_alone_stays(self, shrinkage):
        np.testing.assert_allclose(CORAL(shrinkage).fit(X, y).alignment_, np.eye(6), atol=1e-10)

    def test_a_turned_domain_turns_the_map(self):
        turn = np.linalg.qr(RNG.standard_normal((6, 6)))[0]
        plain = CORAL().fit(X, y, Xt).alignment_
        turned = CORAL().fit(X @ turn, y, Xt @ turn).alignment_
        np.testing.assert_allclose(turned, turn.T @ plain @ turn, atol=1e-10)

    def test_more_columns_than_rows_without_regularisation(self):
        labels = np.arange(12) % 2
        fitted = CORAL(0.0).fit(WIDE, labels, WIDE[:, ::-1])
        assert np.isfinite(fitted.alignment_).all()
        assert np.abs(fitted.transform(WIDE, "source")).max() < 1e3


class TestClassifier:
    def test_it_is_a_linear_machine_on_rows_of_unit_length(self):
        fitted = CORAL(C=0.7).fit(X, y, Xt)
        length = np.sqrt(np.sum(Xt.var(axis=0)))
        machine = LinearSVC(C=0.7, random_state=0, max_iter=20_000)
        machine.fit(fitted.transform(X, "source") / length, y)
        expected = machine.decision_function(fitted.transform(Xt) / length)
        np.testing.assert_allclose(fitted.decision_function(Xt), expected, atol=1e-3)

    @pytest.mark.parametrize("factor", [1e-3, 1e3])
    def test_the_unit_of_the_columns_does_not_matter(self, factor):
        plain, scaled = CORAL().fit(X, y, Xt), CORAL().fit(factor * X, y, factor * Xt)
        np.testing.assert_allclose(scaled.alignment_, plain.alignment_, atol=1e-10)
        np.testing.assert_allclose(
            scaled.decision_function(factor * Xt), plain.decision_function(Xt), atol=1e-6
        )

    def test_target_labels_are_used(self):
        few = np.where(np.arange(len(yt)) < 9, (yt + 1) % 3, -1)  # wrong ones, to see their effect
        without, with_labels = CORAL().fit(X, y, Xt), CORAL().fit(X, y, Xt, few)
        np.testing.assert_array_equal(without.alignment_, with_labels.alignment_)
        changed = with_labels.decision_function(Xt) - without.decision_function(Xt)
        assert np.abs(changed).max() > 0.1

    def test_another_classifier(self):
        fitted = CORAL(classifier="1nn").fit(X, y, Xt)
        mapped = fitted.transform(X, "source")
        for row, predicted in zip(fitted.transform(Xt), fitted.predict(Xt), strict=True):
            assert predicted == y[np.argmin(np.linalg.norm(mapped - row, axis=1))]

    def test_better_than_the_source_alone_where_a_column_has_another_unit(self):
        rng = np.random.default_rng(1)
        labels = np.arange(400) % 2
        signal = 2 * np.outer(labels - 0.5, [1, 1])
        source, target = (signal + rng.standard_normal((400, 2)) for _ in range(2))
        target *= [10, 1]
        adapted = CORAL(0.0).fit(source, labels, target).score(target, labels)
        plain = LinearSVC().fit(source - source.mean(axis=0), labels)
        assert adapted > plain.score(target - target.mean(axis=0), labels) + 0.03
