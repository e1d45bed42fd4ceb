"""Easy transfer learning, against its linear program and the authors' accuracies."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from shifted import shifted

from ilspace.baselines import CORAL, EasyTL
from ilspace.baselines.easytl import class_prices, intra_domain_programming
from ilspace.benchmark.protocols import TRANSFERS
from ilspace.datasets import load_office_caltech, preprocess

X, y, Xt, yt = shifted()


def program(distances, known):
    """Least cost of the linear program, by a solver that knows nothing of its structure."""
    n, k = distances.shape
    rows = np.kron(np.eye(n), np.ones(k))
    classes = np.kron(np.ones(n), np.eye(k))
    least = (known[:, None] == np.arange(k)).astype(float).ravel()
    most = np.where(np.repeat(known >= 0, k), least, 1.0)
    bounds = np.column_stack([least, most])
    found = linprog(distances.ravel(), -classes, -np.ones(k), rows, np.ones(n), bounds)
    assert found.status == 0
    return found.fun, found.x.reshape(n, k)


def crowded(rng, n, k):
    """Distances of rows that all like the same few classes."""
    return rng.uniform(1, 2, (n, k)) + 3.0 * (np.arange(k) >= 2)


class TestProgram:
    @pytest.mark.parametrize("seed", range(10))
    def test_least_cost_is_that_of_the_linear_program(self, seed):
        rng = np.random.default_rng(seed)
        distances, known = crowded(rng, 14, 6), np.full(14, -1)
        known[:4] = rng.integers(-1, 6, 4)
        codes = intra_domain_programming(distances, known)
        cost, solution = program(distances, known)
        assert distances[np.arange(14), codes].sum() == pytest.approx(cost)
        np.testing.assert_array_equal(solution.argmax(axis=1), codes)
        assert set(codes) == set(range(6))
        np.testing.assert_array_equal(codes[known >= 0], known[known >= 0])

    def test_no_other_labelling_is_cheaper(self):
        distances = crowded(np.random.default_rng(3), 6, 4)
        costs = {
            codes: distances[np.arange(6), codes].sum()
            for codes in product(range(4), repeat=6)
            if set(codes) == {0, 1, 2, 3}
        }
        best = min(costs, key=lambda codes: costs[codes])
        assert tuple(intra_domain_programming(distances, np.full(6, -1))) == best

    def test_where_no_class_would_be_empty_all_go_to_the_nearest(self):
        distances = np.random.default_rng(0).uniform(size=(40, 3))
        codes = intra_domain_programming(distances, np.full(40, -1))
        np.testing.assert_array_equal(codes, distances.argmin(axis=1))
        np.testing.assert_array_equal(class_prices(distances, codes), 0)

    def test_a_known_row_keeps_its_class_and_fills_it(self):
        distances = np.array([[0.0, 9.0], [1.0, 9.0], [2.0, 8.0]])
        np.testing.assert_array_equal(
            intra_domain_programming(distances, np.full(3, -1)), [0, 0, 1]
        )
        known = np.array([1, -1, -1])
        np.testing.assert_array_equal(intra_domain_programming(distances, known), [1, 0, 0])

    def test_fewer_rows_than_classes_go_to_different_ones(self):
        distances = np.array([[1.0, 2.0, 9.0, 9.0], [1.0, 3.0, 9.0, 9.0]])
        np.testing.assert_array_equal(intra_domain_programming(distances, np.full(2, -1)), [1, 0])

    def test_nothing_to_decide(self):
        known = np.array([1, 0])
        np.testing.assert_array_equal(intra_domain_programming(np.ones((2, 3)), known), known)
        np.testing.assert_array_equal(class_prices(np.empty((0, 3)), np.empty(0, int)), 0)


class TestPrices:
    @pytest.mark.parametrize("n", [4, 6, 7, 20])
    @pytest.mark.parametrize("seed", range(5))
    def test_rows_choose_by_themselves_what_the_program_chose(self, n, seed):
        distances = crowded(np.random.default_rng(seed), n, 6)
        codes = intra_domain_programming(distances, np.full(n, -1))
        prices = class_prices(distances, codes)
        np.testing.assert_array_equal((distances - prices).argmin(axis=1), codes)
        assert (prices >= 0).all()
        assert (prices > 0.5).any()

    def test_they_are_dual_variables(self):
        distances = crowded(np.random.default_rng(1), 20, 6)
        prices = class_prices(distances, intra_domain_programming(distances, np.full(20, -1)))
        dual = prices.sum() + (distances - prices).min(axis=1).sum()
        assert dual == pytest.approx(program(distances, np.full(20, -1))[0])


class TestEstimator:
    def test_map_is_that_of_coral_with_the_identity_added(self):
        expected = CORAL(0.0, regularization=1.0).fit(X, y, Xt).alignment_
        np.testing.assert_allclose(EasyTL().fit(X, y, Xt).alignment_, expected, atol=1e-12)
        np.testing.assert_array_equal(EasyTL(align=False).fit(X, y, Xt).alignment_, np.eye(6))

    @pytest.mark.parametrize("known", [np.full(24, -1), np.where(np.arange(24) < 5, yt, -1)])
    def test_rows_of_the_fit_are_predicted_as_in_the_program(self, known):
        fitted = EasyTL().fit(X, y, Xt, known)
        free = known < 0
        np.testing.assert_array_equal(fitted.predict(Xt)[free], fitted.transduction_[free])
        np.testing.assert_array_equal(fitted.transduction_[~free], known[~free])

    def test_centres_are_means_of_all_labelled_rows(self):
        known = np.where(np.arange(24) < 4, (yt + 1) % 3, -1)  # wrong ones, to see their effect
        fitted = EasyTL(align=False).fit(X, y, Xt, known)
        for code, center in enumerate(fitted.centers_):
            rows = [*(X - X.mean(axis=0))[y == code], *(Xt - Xt.mean(axis=0))[known == code]]
            np.testing.assert_allclose(center, np.mean(rows, axis=0), atol=1e-12)

    def test_a_class_that_is_nobodys_nearest_gets_a_row(self):
        rows = np.vstack([X, X[:3] + 100])
        labels = np.append(y, [7, 7, 7])  # a class far away from all target rows
        fitted = EasyTL(align=False).fit(rows, labels, Xt)
        assert np.sum(fitted.transduction_ == 7) == 1
        np.testing.assert_array_equal(fitted.predict(Xt), fitted.transduction_)
        assert fitted.prices_[3] > 0

    def test_fewer_target_rows_than_classes(self):
        fitted = EasyTL().fit(X, y, Xt[:2])
        assert len(set(fitted.transduction_)) == 2
        np.testing.assert_array_equal(fitted.predict(Xt[:2]), fitted.transduction_)

    def test_two_classes_have_one_decision_value(self):
        two, two_t = y < 2, yt < 2
        fitted = EasyTL().fit(X[two], y[two], Xt[two_t])
        values = fitted.decision_function(Xt[two_t])
        assert values.shape == (16,)
        np.testing.assert_array_equal(values > 0, fitted.predict(Xt[two_t]) == 1)


@pytest.mark.slow
@pytest.mark.usefixtures("ilspace_data")
@pytest.mark.parametrize(
    ("align", "published"),
    [  # of the authors' code, in the order of TRANSFERS
        (True, [43.1, 48.4, 42.3, 38.2, 79.6, 35.4, 38.3, 86.1, 36.1, 52.6, 53.9, 51.6]),
        (False, [40.7, 38.9, 43.0, 35.2, 77.1, 29.7, 31.9, 69.5, 31.2, 50.1, 49.5, 48.4]),
    ],
)
def test_published_accuracies_of_the_full_source(align, published):
    data = {
        name: (preprocess(domain.X, "l1-zscore"), domain.y)
        for name, domain in load_office_caltech("surf").items()
    }
    for (source, target), expected in zip(TRANSFERS, published, strict=True):
        (rows, labels), (there, truth) = data[source], data[target]
        fitted = EasyTL(align=align).fit(rows, labels, there)
        assert 100 * fitted.score(there, truth) == pytest.approx(expected, abs=0.11)
