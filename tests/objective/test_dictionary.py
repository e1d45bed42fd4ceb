"""Sparse codes and dictionaries: optimality, another library, loops and orders."""

import numpy as np
import pytest
from laws.taylor import taylor_order
from reference import naive
from sklearn.linear_model import Lasso

from ilspace.manifolds import Oblique
from ilspace.objective import dictionary_loss, sparse_codes


def case(seed=0, n=15, p=4, k=7):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), Oblique(p, k).project(rng.standard_normal((p, k)))


@pytest.mark.parametrize("penalty", [0.05, 0.5])
def test_codes_are_optimal(penalty):
    rows, atoms = case()
    codes = sparse_codes(rows, atoms, penalty, n_steps=5000)
    slope = (rows - codes @ atoms.T) @ atoms  # of the quadratic part, negative
    used = codes != 0
    np.testing.assert_allclose(slope[used], penalty * np.sign(codes[used]), atol=1e-8)
    assert np.all(np.abs(slope[~used]) <= penalty + 1e-8)
    assert 0.1 < used.mean() < 0.9


def test_codes_are_those_of_scikit_learn():
    rows, atoms = case(1, k=3)  # fewer atoms than columns: one minimum only
    lasso = Lasso(0.3 / len(atoms), fit_intercept=False, tol=1e-12, max_iter=10_000)
    wanted = lasso.fit(atoms, rows.T).coef_
    np.testing.assert_allclose(sparse_codes(rows, atoms, 0.3, n_steps=500), wanted, atol=1e-6)


def test_the_default_number_of_steps_suffices():
    rows, atoms = case(2, n=50, p=20, k=60)
    value, _ = dictionary_loss(rows, atoms, 1.0)
    best, _ = dictionary_loss(rows, atoms, 1.0, n_steps=1500)
    assert best <= value <= best * (1 + 1e-4)


def test_a_large_penalty_leaves_nothing():
    rows, atoms = case(3)
    assert not np.any(sparse_codes(rows, atoms, 1.01 * np.max(np.abs(rows @ atoms))))


def test_loss_is_that_of_loops():
    rows, atoms = case(4)
    codes = sparse_codes(rows, atoms, 0.3, n_steps=5000)
    value, _ = dictionary_loss(rows, atoms, 0.3, n_steps=5000)
    assert float(value) == pytest.approx(naive.dictionary_loss(rows, atoms, codes, 0.3), rel=1e-10)
    other = codes + 0.01 * np.random.default_rng(0).standard_normal(codes.shape)
    assert float(value) < naive.dictionary_loss(rows, atoms, other, 0.3)


def test_gradient_is_of_second_order():
    rows, atoms = case(5)
    towards = np.random.default_rng(0).standard_normal(atoms.shape)
    _, gradient = dictionary_loss(rows, atoms, 0.4, n_steps=2000)

    def along(t):
        return float(dictionary_loss(rows, atoms + t * towards, 0.4, n_steps=2000)[0])

    order = taylor_order(along, float(np.sum(gradient * towards)), np.logspace(-2, -3.5, 5))
    assert order == pytest.approx(2, abs=0.15)
