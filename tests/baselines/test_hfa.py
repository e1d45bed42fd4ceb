"""Heterogeneous feature augmentation: the closed form against the published problem."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag, sqrtm
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ilspace.baselines import hfa
from ilspace.baselines.hfa import HFA, augmented_svm, default_gamma

DATA = shifted()
X, y, Xt, yt = DATA.X, DATA.y, DATA.Xt, DATA.yt
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)
NARROW = Xt[:, :4]  # other columns than the source has


def gaussian(A, B, rows):
    """Kernel with the published width, the mean squared distance between rows."""
    return np.exp(-cdist(A, B, "sqeuclidean") / cdist(rows, rows, "sqeuclidean").mean())


KERNEL = block_diag(gaussian(X, X, X), gaussian(NARROW[:9], NARROW[:9], NARROW[:9]))
CODES = np.concatenate([y, yt[:9]])
SIGNS = np.where(CODES == 0, 1.0, -1.0)
COSTS = np.repeat([1.0, 0.6], [len(X), 9])
BOUND = 3.0


def kernel_root(kernel):
    """Symmetric square root of a kernel matrix; negative eigenvalues are rounding errors."""
    values, vectors = np.linalg.eigh(kernel)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def common_metric(root, coef, bound):
    """H of bounded trace with the largest beta' H beta, beta = root @ coef; 0 where beta is."""
    beta = root @ coef
    size = beta @ beta
    return np.outer(beta, beta) * (bound / size if size > 0 else 0.0)


def saddle_value(root, metric, signs, coef):
    """Published objective, minimised over the metric and maximised over the coefficients."""
    beta = root @ coef
    return float(signs @ coef - beta @ (metric @ beta + beta) / 2)


def largest_over_alpha(kernel):
    """Maximum over alpha of the published objective, for one kernel, and where it is."""
    machine = SVC(kernel="precomputed", tol=1e-8).fit(kernel, SIGNS, sample_weight=COSTS)
    coef = np.zeros(len(SIGNS))
    coef[machine.support_] = machine.dual_coef_[0]
    return SIGNS @ coef - coef @ kernel @ coef / 2, coef


@pytest.fixture(scope="module")
def solution():
    """Root of the kernel, dual coefficients, intercept and metric of one problem."""
    root = kernel_root(KERNEL)
    coef, intercept = augmented_svm(KERNEL, SIGNS, COSTS, BOUND)
    return root, coef, intercept, common_metric(root, coef, BOUND)


class TestSaddlePoint:
    def test_root(self, solution):
        np.testing.assert_allclose(solution[0], np.real(sqrtm(KERNEL)), atol=1e-6)

    def test_metric_is_positive_with_the_trace_at_its_bound(self, solution):
        values = np.linalg.eigvalsh(solution[3])
        assert values[0] > -1e-12
        assert values.sum() <= BOUND + 1e-12
        np.testing.assert_allclose(values[-1], BOUND)  # of rank one

    def test_no_coefficients_no_common_space(self):
        assert not common_metric(np.eye(3), np.zeros(3), 5.0).any()

    def test_optimality_of_the_machine_with_the_learned_metric(self, solution):
        """Karush, Kuhn and Tucker, for the kernel of the augmented features."""
        root, coef, intercept, metric = solution
        alpha = SIGNS * coef
        assert (alpha >= 0).all()
        assert (alpha <= COSTS + 1e-12).all()
        np.testing.assert_allclose(coef.sum(), 0, atol=1e-10)
        margins = SIGNS * (root @ (metric + np.eye(len(coef))) @ root @ coef + intercept)
        free = (alpha > 1e-9) & (alpha < COSTS - 1e-9)
        assert free.any()
        np.testing.assert_allclose(margins[free], 1, atol=1e-4)
        assert (margins[alpha <= 1e-9] >= 1 - 1e-4).all()
        assert (margins[alpha >= COSTS - 1e-9] <= 1 + 1e-4).all()

    def test_it_is_a_saddle(self, solution):
        """No feasible metric has a smaller maximum, no feasible alpha a larger value."""
        root, coef, _, metric = solution
        value = saddle_value(root, metric, SIGNS, coef)
        n = len(SIGNS)
        np.testing.assert_allclose(
            value, largest_over_alpha(root @ (metric + np.eye(n)) @ root)[0], rtol=1e-7
        )
        rng = np.random.default_rng(0)
        for rank in (1, 2, n):
            directions = rng.standard_normal((n, rank))
            other = BOUND * directions @ directions.T / np.sum(directions**2)
            assert largest_over_alpha(root @ (other + np.eye(n)) @ root)[0] > value
        nearby = 0.95 * metric + 0.05 * other
        assert largest_over_alpha(root @ (nearby + np.eye(n)) @ root)[0] > value

    def test_published_iteration_decreases_to_it(self, solution):
        """Minimum over H of the maximum over alpha, with H a mixture of ever more directions.

        Each round learns the weights of the mixture by multiplicative updates and adds the
        direction of the steepest descent; the start is the authors'.
        """
        root, coef, _, metric = solution
        value = saddle_value(root, metric, SIGNS, coef)
        n = len(SIGNS)
        directions, values = np.ones((n, 1)) / np.sqrt(n), []
        weights = np.ones(1)
        for _ in range(12):
            inner = []
            for _ in range(40):
                mixed = BOUND * (directions * weights) @ directions.T
                now, dual = largest_over_alpha(root @ (mixed + np.eye(n)) @ root)
                inner.append(now)
                weights = weights * np.abs(directions.T @ root @ dual)
                weights /= weights.sum()
            assert (np.diff(inner) <= 1e-7).all()
            values.append(inner[-1])
            steepest = root @ dual / np.linalg.norm(root @ dual)
            directions = np.column_stack([directions, steepest])
            weights = np.append(0.5 * weights, 0.5)
        assert (np.diff(values) <= 1e-7).all()
        assert values[0] > 1.02 * value
        assert min(values) >= value - 1e-6
        np.testing.assert_allclose(values[-1], value, rtol=2e-3)

    def test_the_source_enters_through_the_intercept_alone(self, solution):
        """With that intercept, the target's coefficients solve a problem without the source."""
        _, coef, intercept, _ = solution
        kernel = (1 + BOUND) * KERNEL[len(X) :, len(X) :]
        signs, most = SIGNS[len(X) :], COSTS[len(X) :]
        quadratic = signs[:, None] * kernel * signs
        linear = 1 - signs * intercept
        found = minimize(
            lambda a: (a @ quadratic @ a / 2 - linear @ a, quadratic @ a - linear),
            np.zeros(9),
            jac=True,
            bounds=[(0, cost) for cost in most],
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        np.testing.assert_allclose(kernel @ (signs * found.x), kernel @ coef[len(X) :], atol=1e-3)


def published_scores(fitted, rows):
    """Scores of new target rows with the metric H, as the authors compute them."""
    labelled = NARROW[FEW >= 0]
    source, target = gaussian(X, X, X), gaussian(labelled, labelled, labelled)
    root = kernel_root(block_diag(source, target))
    new = gaussian(rows, labelled, labelled) @ np.linalg.pinv(kernel_root(target))
    new = np.hstack([np.zeros((len(rows), len(X))), new])
    scores = []
    for coef, intercept in zip(fitted.dual_coef_, fitted.intercept_, strict=True):
        metric = common_metric(root, coef, fitted.trace_bound)
        scores.append(new @ (metric + np.eye(len(coef))) @ root @ coef + intercept)
    return np.transpose(scores)


class TestEstimator:
    def test_scores_are_the_published_ones(self):
        fitted = HFA().fit(X, y, NARROW, FEW)
        scores = fitted.decision_function(NARROW)
        np.testing.assert_allclose(scores, published_scores(fitted, NARROW), atol=1e-6)
        np.testing.assert_array_equal(fitted.predict(NARROW), scores.argmax(axis=1))

    @pytest.mark.parametrize("bound", [0.0, 1e-9])
    def test_without_a_common_space_it_is_a_machine_on_both_kernels_apart(self, bound):
        fitted = HFA(trace_bound=bound).fit(X, y, NARROW, FEW)
        kernel = np.hstack(
            [np.zeros((len(NARROW), len(X))), gaussian(NARROW, NARROW[:9], NARROW[:9])]
        )
        for k, scores in enumerate(fitted.decision_function(NARROW).T):
            sides = np.where(np.equal(CODES, k), 1, -1)
            machine = SVC(kernel="precomputed", tol=1e-5).fit(KERNEL, sides)
            np.testing.assert_allclose(scores, machine.decision_function(kernel), atol=1e-3)

    def test_linear_kernel(self):
        fitted = HFA("linear", trace_bound=1.0, source_cost=0.01).fit(X, y, NARROW, FEW)
        slopes = 2 * fitted.dual_coef_[:, len(X) :] @ NARROW[:9]
        np.testing.assert_allclose(
            fitted.decision_function(NARROW), NARROW @ slopes.T + fitted.intercept_
        )

    def test_costs_bound_the_coefficients_of_their_domain(self):
        fitted = HFA(trace_bound=0.0, source_cost=0.1, target_cost=0.02).fit(X, y, NARROW, FEW)
        largest = np.abs(fitted.dual_coef_).max(axis=0)
        np.testing.assert_allclose(largest[: len(X)].max(), 0.1)
        np.testing.assert_allclose(largest[len(X) :].max(), 0.02)

    def test_default_gamma_is_the_published_one(self):
        mean = cdist(X, X, "sqeuclidean").mean()
        np.testing.assert_allclose(default_gamma(X), 1 / mean)
        assert default_gamma(np.ones((3, 2))) == 1
        fitted = HFA().fit(X, y, NARROW, FEW)
        np.testing.assert_allclose(fitted.source_gamma_, 1 / mean)
        np.testing.assert_allclose(fitted.target_gamma_, default_gamma(NARROW[:9]))
        assert HFA(gamma=0.3).fit(X, y, NARROW, FEW).target_gamma_ == 0.3

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_turning_the_target_changes_nothing(self, kernel):
        turned = NARROW @ ortho_group.rvs(4, random_state=0)
        expected = HFA(kernel).fit(X, y, NARROW, FEW).decision_function(NARROW)
        found = HFA(kernel).fit(X, y, turned, FEW).decision_function(turned)
        np.testing.assert_allclose(found, expected, atol=1e-3)

    def test_rows_of_both_domains(self):
        fitted = HFA().fit(X, y, Xt, FEW)
        domain = np.tile([1, -1], 12)
        mixed = fitted.decision_function(Xt, sample_domain=domain)
        np.testing.assert_allclose(
            mixed[domain > 0], fitted.decision_function(Xt[::2], "source"), atol=1e-10
        )
        np.testing.assert_allclose(
            mixed[domain < 0], fitted.decision_function(Xt[1::2]), atol=1e-10
        )
        np.testing.assert_allclose(
            fitted.decision_function(sparse.csr_array(Xt)),
            fitted.decision_function(Xt),
            atol=1e-8,
        )

    def test_two_classes_have_one_score(self):
        rows, target = y < 2, yt < 2
        fitted = HFA().fit(X[rows], y[rows], Xt[target], FEW[target])
        scores = fitted.decision_function(Xt[target])
        assert scores.shape == (target.sum(),)
        np.testing.assert_array_equal(fitted.predict(Xt[target]), (scores > 0).astype(int))

    def test_a_machine_that_does_not_converge_is_named_with_a_remedy(self, monkeypatch):
        monkeypatch.setattr(hfa, "_MAX_SOLVER_STEPS", 2)
        with pytest.warns(ConvergenceWarning, match="StandardScaler"):
            HFA().fit(X, y, Xt, FEW)


def test_the_global_generator_is_left_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    before = np.random.get_state(legacy=False)  # noqa: NPY002 - that is what must not move
    HFA().fit(X, y, X[:, :2] + 1, np.where(np.arange(20) < 4, y, -1))
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(before, after)
