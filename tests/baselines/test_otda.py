"""Optimal transport, against POT called directly and what a plan must be."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from ilspace.baselines import OTDA

ot = pytest.importorskip("ot", reason="the package POT (extra pot) is not installed")

X, y, Xt, yt = shifted()
LONG = 20_000
FEW = np.where(np.arange(24) < 6, yt, -1)


def direct(known=None, *, reg_e=1.0, reg_cl=0.1, norm="median", max_inner_iter=200):
    options = {"norm": norm, "max_inner_iter": max_inner_iter, "limit_max": 10}
    solver = ot.da.SinkhornLpl1Transport(reg_e=reg_e, reg_cl=reg_cl, **options)
    return solver.fit(Xs=X, ys=y, Xt=Xt, yt=known)


class TestPlan:
    @pytest.mark.parametrize("known", [None, FEW], ids=["unsupervised", "semi-supervised"])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"reg_e": 0.5, "reg_cl": 0.2, "max_inner_iter": LONG},
            {"norm": "max"},
            {"reg_e": 50.0, "norm": None, "max_inner_iter": LONG},
        ],
    )
    def test_it_is_that_of_pot(self, known, options):
        ours, theirs = OTDA(**options).fit(X, y, Xt, known), direct(known, **options)
        np.testing.assert_array_equal(ours.coupling_, theirs.coupling_)
        np.testing.assert_allclose(ours.transform(X, "source"), theirs.transform(Xs=X), atol=1e-12)
        new = X[:7] + 0.3
        moved = ours.transform(new, "source")
        np.testing.assert_allclose(moved, theirs.transform(Xs=new), atol=1e-12)
        np.testing.assert_array_equal(ours.transform(Xt), Xt)

    def test_every_row_sends_and_receives_its_share(self):
        plan = OTDA(reg_e=0.5).fit(X, y, Xt).coupling_
        assert (plan >= 0).all()
        np.testing.assert_allclose(plan.sum(axis=1), 1 / 30, rtol=1e-5)
        np.testing.assert_allclose(plan.sum(axis=0), 1 / 24, rtol=1e-5)

    def test_without_classes_it_solves_the_entropic_problem(self):
        plan = OTDA(0.2, 0.0, max_inner_iter=LONG).fit(X, y, Xt).coupling_
        costs = np.sum((X[:, None] - Xt) ** 2, axis=2)
        rest = np.log(plan) + costs / np.median(costs) / 0.2  # a term per row and one per column
        rest = rest - rest[:1] - rest[:, :1] + rest[0, 0]
        np.testing.assert_allclose(rest, 0, atol=1e-8)

    def test_class_term_parts_the_classes(self):
        def n_classes(reg_cl):
            plan = OTDA(0.5, reg_cl, max_inner_iter=LONG).fit(X, y, Xt).coupling_
            masses = np.array([plan[y == code].sum(axis=0) for code in range(3)])
            return np.exp(-np.sum(masses * np.log(24 * masses + 1e-300)))  # on average, 1 to 3

        assert n_classes(0.2) < n_classes(0.0)

    def test_rows_of_different_labels_are_hardly_coupled(self):
        plan = OTDA(reg_e=0.5, max_inner_iter=LONG).fit(X, y, Xt, FEW).coupling_
        known = FEW >= 0
        assert plan[:, known][y[:, None] != FEW[known]].sum() < 1e-9
        assert OTDA(reg_e=0.5, max_inner_iter=LONG).fit(X, y, Xt).coupling_[:, known].sum() > 0.1

    @pytest.mark.parametrize("factor", [1e-3, 1e3])
    def test_the_unit_of_the_columns_does_not_matter(self, factor):
        plain, scaled = OTDA().fit(X, y, Xt), OTDA().fit(factor * X, y, factor * Xt)
        np.testing.assert_allclose(scaled.coupling_, plain.coupling_, rtol=1e-6)

    def test_one_domain_alone_stays(self):
        np.testing.assert_array_equal(OTDA().fit(X, y).transform(X, "source"), X)

    def test_fewer_target_rows_than_classes(self):
        fitted = OTDA().fit(X, y, Xt[:2])
        assert fitted.coupling_.shape == (30, 2)
        assert np.isfinite(fitted.transported_).all()

    def test_a_class_without_target_rows_where_all_have_labels(self):
        known = yt % 2  # no row of class 2, and rows of the source must go somewhere
        with pytest.warns(ConvergenceWarning, match="larger max_inner_iter or reg_e"):
            fitted = OTDA().fit(X, y, Xt, known)
        assert np.isfinite(fitted.transported_).all()

    def test_other_warnings_of_pot_pass_and_are_no_lack_of_convergence(self, monkeypatch):
        solve = ot.da.SinkhornLpl1Transport.fit

        def fit(self, *given):
            warnings.warn("of something else", FutureWarning, stacklevel=1)
            return solve(self, *given)

        monkeypatch.setattr(ot.da.SinkhornLpl1Transport, "fit", fit)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            OTDA().fit(X, y, Xt)
        assert [each.category for each in caught] == [FutureWarning]

    def test_too_little_entropy_is_refused_with_a_remedy(self):
        with pytest.raises(ValueError, match="reg_e must be large enough.*is 1e-06: choose"):
            OTDA(reg_e=1e-6).fit(X, y, Xt)


class TestClassifier:
    def test_it_learns_from_transported_rows_and_labelled_target_rows(self):
        fitted = OTDA(reg_e=0.5, max_inner_iter=LONG).fit(X, y, Xt, FEW)
        rows = np.vstack([fitted.transported_, Xt[:6]])
        nearest = KNeighborsClassifier(1).fit(rows, np.append(y, yt[:6]))
        np.testing.assert_array_equal(fitted.predict(Xt), nearest.predict(Xt))
        np.testing.assert_array_equal(fitted.predict(Xt[:6]), yt[:6])

    def test_known_labels_stay_even_if_wrong(self):
        wrong = np.where(np.arange(24) < 6, (yt + 1) % 3, -1)
        fitted = OTDA(reg_e=0.5, max_inner_iter=LONG).fit(X, y, Xt, wrong)
        np.testing.assert_array_equal(fitted.predict(Xt[:6]), wrong[:6])


class TestOptional:
    def test_importing_the_baselines_does_not_import_pot(self):
        script = f"import sys; sys.path[:] = {sys.path!r}\nimport ilspace.baselines\n"
        script += "sys.exit('ot' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script]).returncode == 0

    def test_without_pot_the_error_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ot.da", None)
        with pytest.raises(ImportError, match=r'needs the package POT.*"ilspace\[pot\]"'):
            OTDA().fit(X, y, Xt)

    def test_a_fitted_one_works_without_pot(self, monkeypatch):
        fitted = OTDA().fit(X, y, Xt)
        monkeypatch.setitem(sys.modules, "ot", None)
        monkeypatch.setitem(sys.modules, "ot.da", None)
        assert fitted.predict(Xt).shape == (24,)
