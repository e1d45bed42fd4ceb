"""Third and fourth cumulants of the latent domains: loops, orders and closed forms."""

import math

import numpy as np
import pytest
from laws.taylor import line, taylor_order
from problems import ils_case, orthonormal, positive_definite
from reference import naive
from scipy.stats import norm

from ilspace.objective import CumulantTerm, cumulants, latent_directions
from ilspace.scale import HeldRows, power_moments, row_space


class Case:
    """Skewed domains of several widths, their weights, and a random point."""

    def __init__(self, seed=0, widths=(6, 5, 7), sizes=(11, 9, 13), p=3, n_sketched=4):
        rng = np.random.default_rng(seed)
        self.rows = [rng.gamma(1.5, size=(n, d)) for n, d in zip(sizes, widths, strict=True)]
        self.weights = [None, rng.uniform(0.5, 2.0, sizes[1]), None]
        self.scales = (1.3, 0.7, 1.1)
        pairs = zip(self.rows, self.weights, strict=True)
        spaces = [row_space(X, w, n_axes=3, reduce=False) for X, w in pairs]
        held = HeldRows.placed(self.rows, self.weights, spaces=spaces, scales=self.scales)
        self.directions = latent_directions(positive_definite(rng, p), n_sketched)
        self.term = CumulantTerm(held, self.directions)
        self.point = tuple(orthonormal(rng, d, p) for d in widths)
        self.towards = tuple(rng.standard_normal(each.shape) for each in self.point)


@pytest.mark.parametrize("n_sketched", [0, 4])
def test_value_is_that_of_loops(n_sketched):
    case = Case(n_sketched=n_sketched)
    shares = (0.4, 0.6)
    value, _ = case.term(case.point, shares)
    wanted = naive.cumulant_loss(
        case.rows,
        case.weights,
        case.point,
        case.directions,
        scales=case.scales,
        shares=shares,
    )
    assert float(value) == pytest.approx(wanted, rel=1e-11)


def test_gradient_is_of_second_order():
    case = Case(1)
    shares = (0.3, 0.7)
    _, gradients = case.term(case.point, shares)
    slope = sum(float(np.sum(g * u)) for g, u in zip(gradients, case.towards, strict=True))

    def along(t):
        return float(case.term(line(case.point, case.towards, t), shares)[0])

    assert taylor_order(along, slope) == pytest.approx(2, abs=0.1)


def test_gradient_of_the_whole_objective_is_of_second_order():
    case = Case(2, widths=(9, 8, 7), sizes=(12, 10, 9))
    ils = ils_case(
        3, widths=(9, 8, 7), sizes=(12, 10, 9), engine="all", anchor_weights=(0.5, 0.5, 2.0),
        moment_weight=0.8, cumulant_loss=case.term,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    _, gradients = ils.objective(ils.point)
    towards = [rng.standard_normal(each.shape) for each in ils.point]
    towards[-1] = towards[-1] + towards[-1].T
    slope = sum(float(np.sum(g * u)) for g, u in zip(gradients, towards, strict=True))
    order = taylor_order(lambda t: float(ils.objective(line(ils.point, towards, t))[0]), slope)
    assert order == pytest.approx(2, abs=0.1)
    plain, _ = ils_case(
        3, widths=(9, 8, 7), sizes=(12, 10, 9), engine="all", anchor_weights=(0.5, 0.5, 2.0)
    ).objective(ils.point)
    own, _ = case.term(ils.point[:3], (1.0, 1.0))
    assert float(ils.objective(ils.point)[0]) == pytest.approx(float(plain + 0.8 * own), rel=1e-12)


def test_cumulants_of_known_distributions():
    # exponential of rate 1: cumulants 2 and 6; uniform on (-1, 1): 0 and -2/15; both by quadrature
    n = 400_000
    uniform = (np.arange(n) + 0.5) / n
    for rows, wanted in (
        (-np.log(uniform), (2.0, 6.0)),
        (2 * uniform - 1, (0.0, -2 / 15)),
        (math.sqrt(2) * norm.ppf(uniform), (0.0, 0.0)),
    ):
        centred = (rows - rows.mean())[:, None]
        found = power_moments(centred, np.ones((1, 1)), np.full(n, 1 / n))
        third, fourth, *_ = cumulants(found, np.ones((1, 1)))
        np.testing.assert_allclose((third[0], fourth[0]), wanted, atol=0.02)


def test_equal_domains_have_no_discrepancy():
    rng = np.random.default_rng(4)
    X, turn = rng.gamma(1.0, size=(20, 5)), orthonormal(rng, 5, 5)
    rows = [X, X @ turn + 3]  # the same domain, turned and moved
    spaces = [row_space(rows[0], n_axes=3, reduce=False), row_space(rows[1], n_axes=3)]
    held = HeldRows.placed(rows, [None, None], spaces=spaces, scales=(1.0, 1.0))
    W = orthonormal(rng, 5, 3)
    term = CumulantTerm(held, latent_directions(np.eye(3), 6))
    value, gradients = term((W, spaces[1].restrict(turn.T @ W)), (1.0,))
    assert float(value) == pytest.approx(0, abs=1e-20)
    for gradient in gradients:
        np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_directions_have_variance_one_and_are_the_same_each_time():
    covariance = positive_definite(np.random.default_rng(5), 4)
    found = latent_directions(covariance, 7)
    assert found.shape == (4, 11)
    np.testing.assert_allclose(np.diag(found.T @ covariance @ found), 1)
    assert np.count_nonzero(found[:, :4]) == 4
    np.testing.assert_array_equal(found, latent_directions(covariance, 7))
    np.testing.assert_array_equal(found[:, :4], latent_directions(covariance, 0))


def test_a_sketch_sees_what_the_axes_do_not():
    # u, v and their product of signs: skewed along no axis, but jointly
    rng = np.random.default_rng(6)
    signs = rng.choice([-1.0, 1.0], size=(4000, 2))
    joint = np.column_stack([signs, signs[:, 0] * signs[:, 1]])
    apart = rng.choice([-1.0, 1.0], size=(4000, 3))
    spaces = [row_space(each, n_axes=3, reduce=False) for each in (joint, apart)]
    held = HeldRows.placed([joint, apart], [None, None], spaces=spaces, scales=(1.0, 1.0))
    point = (np.eye(3), np.eye(3))
    by_axis, _ = CumulantTerm(held, latent_directions(np.eye(3), 0))(point, (1.0,))
    sketched, _ = CumulantTerm(held, latent_directions(np.eye(3), 500))(point, (1.0,))
    # along (a, b, c) the third cumulant is 6abc, whose mean square on the sphere is 36/105
    assert float(by_axis) == pytest.approx(0, abs=1e-3)
    assert float(sketched) == pytest.approx(36 / 105 / 12, rel=0.2)
