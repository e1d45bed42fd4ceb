"""Kernel ridge with a graph Laplacian: the minimiser of what its docstring states, found anew."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_backends import Library, present

from ilspace.rules import ridge as module
from ilspace.rules.ridge import (
    DenseRidge,
    KernelExpansion,
    LandmarkRidge,
    gaussian_kernel,
    graph_laplacian,
    laplacian_ridge,
    mean_squared_distance,
    unit_rows,
)


def problem(seed=0, *, n=40, q=4, n_classes=3):
    """Rows, weights of which some are 0, and targets."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, q)) + 0.5
    weights = rng.uniform(0.2, 2.0, n) * (rng.random(n) < 0.7)
    return rows, weights, rng.standard_normal((n, n_classes))


# -- by loops ------------------------------------------------------------------------------------


def squared_distance(x, z):
    return sum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def mean_distance(rows):
    return np.mean([squared_distance(x, z) for x in rows for z in rows])


def kernel_by_loops(rows, others, bandwidth):
    return np.array(
        [[np.exp(-squared_distance(x, z) / bandwidth) + 0.05 for z in others] for x in rows]
    )


def laplacian_by_loops(rows, n_neighbors=10):
    n = len(rows)
    lengths = [np.sqrt(sum(x**2)) for x in rows]
    directions = [x / length if length else x for x, length in zip(rows, lengths, strict=True)]
    near = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        others.sort(key=lambda j: squared_distance(directions[i], directions[j]))
        near.append(others[:n_neighbors])
    graph = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if j in near[i] or i in near[j]:
                graph[i, j] = max(0.0, sum(directions[i] * directions[j]))
    laplacian = np.eye(n)
    for i in range(n):
        for j in range(n):
            if graph[i, j]:
                laplacian[i, j] -= graph[i, j] / np.sqrt(graph[i].sum() * graph[j].sum())
    return laplacian


def objective_by_loops(rows, weights, targets, expansion):
    """The functional of the docstring of LaplacianRidge, of an expansion over any landmarks."""
    bandwidth, laplacian = mean_distance(rows), laplacian_by_loops(rows)
    centres, beta = expansion.landmarks, expansion.coefficients
    among = kernel_by_loops(centres, centres, bandwidth)
    values = kernel_by_loops(rows, centres, bandwidth) @ beta
    total = 0.0
    for w, f, y in zip(weights, values, targets, strict=True):
        total += w * sum((f - y) ** 2)
    for c in range(targets.shape[1]):
        norm = sum(
            beta[i, c] * beta[j, c] * among[i, j]
            for i in range(len(beta))
            for j in range(len(beta))
        )
        rough = sum(
            laplacian[i, j] * values[i, c] * values[j, c]
            for i in range(len(rows))
            for j in range(len(rows))
        )
        total += 0.1 * (norm + 0.5 * rough)
    return total


def deformed(rows, weights, targets, queries):
    """Weighted kernel ridge in the kernel that Sindhwani et al. deform by the Laplacian."""
    n, bandwidth, laplacian = len(rows), mean_distance(rows), laplacian_by_loops(rows)
    kernel = kernel_by_loops(rows, rows, bandwidth)
    inner = np.linalg.inv(np.eye(n) / 0.5 + laplacian @ kernel) @ laplacian

    def changed(these):
        plain = kernel_by_loops(these, rows, bandwidth)
        return plain - plain @ inner @ kernel

    dual = np.linalg.solve(
        weights[:, None] * changed(rows) + 0.1 * np.eye(n), weights[:, None] * targets
    )
    return changed(queries) @ dual


# -- the minimiser -------------------------------------------------------------------------------


def test_the_objective_is_stationary_at_the_exact_minimiser():
    rows, weights, targets = problem(1, n=18, n_classes=2)
    found, _ = DenseRidge(rows).fit(weights, targets)
    rng = np.random.default_rng(1)

    def objective(change):
        moved = KernelExpansion(found.landmarks, found.coefficients + change, found.bandwidth)
        return objective_by_loops(rows, weights, targets, moved)

    least = objective(0.0)
    for _ in range(4):
        way = rng.standard_normal(found.coefficients.shape)
        forth, back = objective(way), objective(-way)
        # of a quadratic function the difference is the slope, whatever the step
        assert abs(forth - back) < 1e-9 * (forth + back)
        assert forth > least


def test_it_is_the_minimiser_among_all_functions_not_only_expansions_over_the_rows():
    # the derivative along k(., z) of the functional is 0 wherever z is
    rows, weights, targets = problem(2)
    found, scores = DenseRidge(rows).fit(weights, targets)
    points = np.random.default_rng(2).standard_normal((7, 4))
    across = kernel_by_loops(rows, points, mean_distance(rows))
    loss = across.T @ (weights[:, None] * (scores - targets))
    rough = across.T @ (laplacian_by_loops(rows) @ scores)
    np.testing.assert_allclose(loss + 0.1 * (found.scores(points) + 0.5 * rough), 0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 5, 12, 50])
def test_scores_are_those_of_ridge_in_the_deformed_kernel(n):
    rows, weights, targets = problem(3, n=n)
    queries = np.random.default_rng(3).standard_normal((9, 4))
    found, scores = DenseRidge(rows).fit(weights, targets)
    np.testing.assert_allclose(scores, deformed(rows, weights, targets, rows), atol=1e-8)
    np.testing.assert_allclose(
        found.scores(queries), deformed(rows, weights, targets, queries), atol=1e-8
    )


def test_larger_weights_bring_the_scores_nearer_to_the_targets():
    rows, weights, targets = problem(4)
    prepared, on = DenseRidge(rows), weights > 0
    errors = []
    for factor in (1.0, 2.0, 1e9):
        _, scores = prepared.fit(factor * weights, targets)
        errors.append(np.sum(weights[on, None] * (scores - targets)[on] ** 2))
    assert errors[0] > errors[1] > 1e3 * errors[2]


def test_prepared_once_it_can_be_fitted_again():
    rows, weights, targets = problem(5)
    for make in (DenseRidge, lambda each: LandmarkRidge(each, np.arange(0, 40, 2))):
        prepared = make(rows)
        _, first = prepared.fit(weights, targets)
        prepared.fit(weights[::-1].copy(), -targets)
        _, again = prepared.fit(weights, targets)
        assert first.tobytes() == again.tobytes()


def test_rows_without_weight_do_not_need_a_target():
    rows, weights, targets = problem(6)
    other = np.where(weights[:, None] > 0, targets, 1e6)
    for prepared in (DenseRidge(rows), LandmarkRidge(rows, np.arange(12))):
        _, scores = prepared.fit(weights, targets)
        _, met = prepared.fit(weights, other)
        np.testing.assert_allclose(met, scores, atol=1e-10)


# -- landmarks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffled", [False, True])
def test_with_all_rows_as_landmarks_it_is_exact(shuffled):
    rows, weights, targets = problem(7)
    order = np.random.default_rng(7).permutation(40) if shuffled else np.arange(40)
    queries = np.random.default_rng(8).standard_normal((11, 4))
    exact, scores = DenseRidge(rows).fit(weights, targets)
    found, met = LandmarkRidge(rows, order).fit(weights, targets)
    np.testing.assert_allclose(met, scores, atol=1e-8)
    np.testing.assert_allclose(found.scores(queries), exact.scores(queries), atol=1e-8)
    np.testing.assert_array_equal(found.landmarks, rows[order])


def test_more_landmarks_come_nearer():
    rows, weights, targets = problem(8, n=24, n_classes=2)
    exact, scores = DenseRidge(rows).fit(weights, targets)
    order = np.random.default_rng(8).permutation(24)
    found = [LandmarkRidge(rows, order[:m]).fit(weights, targets) for m in (2, 6, 12, 24)]
    values = [objective_by_loops(rows, weights, targets, each) for each, _ in found]
    least = objective_by_loops(rows, weights, targets, exact)
    # minimisers over larger and larger spaces
    assert all(more > less for more, less in zip(values[:-1], values[1:], strict=True))
    assert values[-1] == pytest.approx(least, rel=1e-9)
    errors = [np.linalg.norm(met - scores) for _, met in found]
    assert errors[0] > 1.3 * errors[2] > 0
    assert errors[3] < 1e-8


def test_scores_at_the_rows_are_those_of_the_expansion():
    rows, weights, targets = problem(9)
    for prepared in (DenseRidge(rows), LandmarkRidge(rows, np.array([3, 30, 11, 7]))):
        found, scores = prepared.fit(weights, targets)
        np.testing.assert_allclose(found.scores(rows), scores, atol=1e-9)


def test_equal_landmarks_do_no_harm():
    rows, weights, targets = problem(10)
    rows[5:15] = rows[4]
    _, scores = DenseRidge(rows).fit(weights, targets)
    found, met = LandmarkRidge(rows, np.arange(40)).fit(weights, targets)
    np.testing.assert_allclose(met, scores, atol=1e-7)
    assert np.isfinite(found.coefficients).all()


@pytest.mark.parametrize(
    ("n_landmarks", "kind", "n_kept"), [(16, DenseRidge, 40), (15, LandmarkRidge, 15)]
)
def test_exact_up_to_so_many_rows(n_landmarks, kind, n_kept):
    rows, weights, targets = problem(11)
    prepared = laplacian_ridge(rows, n_landmarks, np.random.default_rng(0))
    assert type(prepared) is kind
    found, _ = prepared.fit(weights, targets)
    assert found.landmarks.shape == (n_kept, 4)
    # different rows, all of them given ones
    assert len({row.tobytes() for row in found.landmarks}) == n_kept
    assert {row.tobytes() for row in found.landmarks} <= {row.tobytes() for row in rows}


def test_landmarks_are_drawn_by_the_generator():
    rows, _, _ = problem(12)
    drawn = [laplacian_ridge(rows, 9, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    landmarks = [each.fit(np.ones(40), np.ones((40, 2)))[0].landmarks for each in drawn]
    np.testing.assert_array_equal(landmarks[0], landmarks[1])
    assert (landmarks[0] != landmarks[2]).any()


# -- the graph -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 3, 10, 50])
def test_the_laplacian_is_that_of_loops(n_neighbors):
    rows, _, _ = problem(13, n=23)
    met = graph_laplacian(rows, n_neighbors).toarray()
    np.testing.assert_allclose(met, laplacian_by_loops(rows, n_neighbors), atol=1e-12)


def test_ten_neighbours_by_default():
    rows, _, _ = problem(14, n=30)
    met = graph_laplacian(rows).toarray()
    np.testing.assert_allclose(met, laplacian_by_loops(rows, 10), atol=1e-12)


@given(
    arrays(float, st.tuples(st.integers(1, 14), st.integers(1, 3)), elements=st.integers(-3, 3)),
    st.integers(1, 6),
)
@settings(max_examples=40, deadline=None)
def test_the_laplacian_is_symmetric_and_positive_semi_definite(rows, n_neighbors):
    # small whole numbers: zero rows, equal rows and ties come often
    laplacian = graph_laplacian(rows, n_neighbors).toarray()
    n = len(rows)
    assert laplacian.shape == (n, n)
    np.testing.assert_allclose(laplacian, laplacian.T, rtol=0, atol=1e-15)
    values = np.linalg.eigvalsh(laplacian)
    assert values.min() > -1e-12
    assert values.max() < 2 + 1e-12
    assert (laplacian - np.diag(np.diag(laplacian)) <= 0).all()
    np.testing.assert_array_equal(np.diag(laplacian), 1.0)


def test_what_is_constant_up_to_the_degrees_is_smooth():
    # L D^(1/2) 1 = 0; all cosines are positive here, and of ten rows all are neighbours
    rows = np.random.default_rng(15).uniform(0.1, 1, (10, 3))
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    degrees = (directions @ directions.T).sum(axis=1) - 1
    np.testing.assert_allclose(graph_laplacian(rows) @ np.sqrt(degrees), 0, atol=1e-12)


def test_the_length_of_a_row_does_not_matter_to_the_graph():
    rows, _, _ = problem(16)
    scaled = rows * np.random.default_rng(16).uniform(0.1, 10, (40, 1))
    np.testing.assert_allclose(
        graph_laplacian(scaled).toarray(), graph_laplacian(rows).toarray(), atol=1e-12
    )


def test_rows_alone():
    assert graph_laplacian(np.ones((1, 3))).toarray().tolist() == [[1.0]]
    assert graph_laplacian(np.ones((0, 3))).shape == (0, 0)
    # a zero row has no neighbours; two equal rows have each other
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(
        graph_laplacian(rows).toarray(), [[1, 0, 0], [0, 1, -1], [0, -1, 1]], atol=1e-12
    )
    # opposite rows are no neighbours, however near the others are
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(graph_laplacian(rows).toarray(), np.eye(2))


def test_one_row():
    found, scores = DenseRidge(np.array([[3.0, 4.0]])).fit(np.ones(1), np.array([[1.0, -1.0]]))
    # k = 1.05, L = 1: (1 + 0.05) * 1.05 * b + 0.1 * b = y
    wanted = 1.05 / (1.05 * 1.05 + 0.1)
    np.testing.assert_allclose(scores, [[wanted, -wanted]], rtol=1e-12)
    assert found.bandwidth == 1.0


# -- small parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_mean_squared_distance_is_that_of_all_pairs(shift):
    rows = problem(17)[0] + shift
    assert mean_squared_distance(rows) == pytest.approx(mean_distance(rows), rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_a_bandwidth(value, dtype):
    assert mean_squared_distance(np.full((7, 3), value, dtype)) == 1.0


def test_nearly_equal_rows_have_one_of_their_own():
    rows = np.ones((2, 3))
    rows[1, 0] += 1e-6
    assert mean_squared_distance(rows) == pytest.approx(1e-12 / 2, rel=1e-3)


def test_unit_rows():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1e-3]])
    rows.setflags(write=False)
    np.testing.assert_allclose(unit_rows(rows), [[0.6, 0.8], [0, 0], [0, -1]], atol=1e-15)
    assert unit_rows(np.ones((0, 3))).shape == (0, 3)


def test_the_kernel_is_that_of_loops():
    rows, others = problem(18, n=6)[0], problem(19, n=5)[0]
    np.testing.assert_allclose(
        gaussian_kernel(rows, others, 1.7), kernel_by_loops(rows, others, 1.7), rtol=1e-12
    )


def test_no_kernel_is_above_that_of_equal_rows():
    # rounding makes squared distances of large equal rows negative
    rows = np.full((3, 5), 1e5 / 3)
    assert gaussian_kernel(rows, rows, 1e-6).max() == 1.05


@pytest.mark.parametrize("tile", [1, 4, 13, 39, 40, 41, 2**22])
def test_tiles_of_any_size_give_the_same_scores(monkeypatch, tile):
    rows, weights, targets = problem(20)
    queries = np.random.default_rng(20).standard_normal((17, 4))
    found, _ = LandmarkRidge(rows, np.arange(13)).fit(weights, targets)
    wanted = kernel_by_loops(queries, rows[:13], mean_distance(rows)) @ found.coefficients
    monkeypatch.setattr(module, "_TILE", tile)
    seen = []
    monkeypatch.setattr(
        module,
        "gaussian_kernel",
        lambda some, *others: seen.append(len(some)) or gaussian_kernel(some, *others),
    )
    np.testing.assert_allclose(found.scores(queries), wanted, rtol=1e-9, atol=1e-9)
    assert sum(seen) == 17
    assert max(seen) <= max(1, tile // 13)


def test_scores_of_no_rows():
    found = KernelExpansion(np.ones((3, 2)), np.ones((3, 4)), 1.0)
    assert found.scores(np.ones((0, 2))).shape == (0, 4)


# -- array libraries -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [each for each in present() if each != "strict-device1"])
@pytest.mark.parametrize("n_landmarks", [40, 15])
def test_other_libraries_give_the_same(name, dtype, n_landmarks):
    library, (rows, weights, targets) = Library(name), problem(21)
    queries = np.random.default_rng(21).standard_normal((11, 4))

    def fitted(rows, queries):
        prepared = laplacian_ridge(rows, n_landmarks, np.random.default_rng(0))
        found, scores = prepared.fit(weights, targets)
        return scores, found.scores(queries), found.scores(queries[:0, :]), found.landmarks

    wanted = fitted(rows, queries)
    met = fitted(library.make(rows, dtype), library.make(queries, dtype))
    library.assert_equal(met, wanted, {"float64": 1e-10, "float32": 2e-3}[dtype], dtype)


@pytest.mark.parametrize("height", [1, 3, 100])
def test_tiles_in_another_library(monkeypatch, height):
    # array-api-strict refuses slices that end beyond an array
    rng = np.random.default_rng(22)
    landmarks, coefficients, rows = (rng.standard_normal(s) for s in ((4, 3), (4, 2), (8, 3)))
    monkeypatch.setattr(module, "_TILE", 4 * height)
    wanted = KernelExpansion(landmarks, coefficients, 1.0).scores(rows)
    moved = [array_api_strict.asarray(each) for each in (landmarks, coefficients, rows)]
    met = KernelExpansion(moved[0], moved[1], 1.0).scores(moved[2])
    np.testing.assert_allclose(np.asarray(met), wanted, rtol=1e-12)
