"""The span of the rows: an exact change of coordinates, and the principal axes on the way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import orthonormal
from scipy import sparse

from ilspace.manifolds import SPD, Product, Stiefel
from ilspace.objective import DomainData, ILSObjective, SmoothHinge
from ilspace.optimizers import Problem, solve
from ilspace.pairs import AllPairs, RowPairs
from ilspace.scale import row_space, rowspan, weighted_mean

SHAPES = {"wide": (9, 20), "tall": (40, 8), "square": (12, 12)}


@pytest.fixture(params=SHAPES)
def rows(request):
    n, d = SHAPES[request.param]
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) * np.geomspace(3.0, 0.1, d) + rng.uniform(-2, 2, d)


def basis(space):
    assert space.basis is not None
    return space.basis


def svd(rows, weights=None):
    """Mean, variances and axes by NumPy's SVD of the centred rows."""
    weights = np.ones(len(rows)) if weights is None else weights
    mean = np.average(rows, axis=0, weights=weights)
    scaled = np.sqrt(weights / weights.sum())[:, None] * (rows - mean)
    _, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    kept = sizes > 1e-7 * sizes[0]
    return mean, sizes[kept] ** 2, right[kept].T


def assert_same_axes(met, wanted, tol=1e-7):
    """Equal up to the sign of each column."""
    assert met.shape == wanted.shape
    np.testing.assert_allclose(np.abs(np.sum(met * wanted, axis=0)), 1, atol=tol)


@pytest.mark.parametrize("weighted", [False, True])
def test_axes_are_those_of_the_svd(rows, weighted):
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(rows)) if weighted else None
    mean, variances, axes = svd(rows, weights)
    space = row_space(rows, weights, n_axes=3)
    np.testing.assert_allclose(space.mean, mean, atol=1e-13)
    np.testing.assert_allclose(space.variances, variances, rtol=1e-8)
    assert_same_axes(space.axes, axes)
    assert space.rank == len(variances)
    assert space.n_features == rows.shape[1]
    total = np.sum(np.var(rows, axis=0)) if weights is None else np.sum(variances)
    assert space.total_variance == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(space.axes.T @ space.axes, np.eye(space.rank), atol=1e-10)
    np.testing.assert_array_equal(space.covariance, space.variances)


@pytest.mark.parametrize("reduce", [True, False])
def test_the_covariance_of_the_columns_whatever_the_coordinates(rows, reduce):
    space = row_space(rows, n_axes=3, reduce=reduce)
    np.testing.assert_allclose(space.column_covariance, np.cov(rows.T, bias=True), atol=1e-12)
    joined = space.joined(orthonormal(np.random.default_rng(0), rows.shape[1], 2))
    np.testing.assert_allclose(joined.column_covariance, np.cov(rows.T, bias=True), atol=1e-12)


def test_axes_of_small_variance_are_orthonormal_too():
    rng = np.random.default_rng(2)
    for shape in [(15, 40), (40, 15)]:
        rows = rng.standard_normal(shape) @ np.diag(np.geomspace(1.0, 1e-5, shape[1]))
        space = row_space(rows, n_axes=3)
        np.testing.assert_allclose(space.axes.T @ space.axes, np.eye(space.rank), atol=1e-10)
        # the covariance is diagonal there, in truth and not only by name
        seen = space.coordinates(rows)
        met = seen.T @ seen / len(rows)
        np.testing.assert_allclose(met, np.diag(space.covariance), atol=1e-12)


def test_the_columns_themselves(rows):
    space = row_space(rows, n_axes=3, reduce=False)
    assert space.basis is None
    np.testing.assert_allclose(space.covariance, np.cov(rows.T, bias=True), atol=1e-13)
    assert_same_axes(space.axes, svd(rows)[2][:, :3])
    np.testing.assert_allclose(space.coordinates(rows), rows - rows.mean(axis=0))
    projection = orthonormal(np.random.default_rng(0), rows.shape[1], 2)
    assert space.joined(projection) is space
    assert space.lift(space.restrict(projection)) is projection


def test_coordinates_lose_nothing(rows):
    space = row_space(rows, n_axes=3)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(space.coordinates(rows) @ basis(space).T, centred, atol=1e-8)
    inner = space.lift(orthonormal(np.random.default_rng(0), space.rank, 2))
    np.testing.assert_allclose(space.lift(space.restrict(inner)), inner, atol=1e-12)
    # a projection means the same on coordinates as on rows
    np.testing.assert_allclose(
        space.coordinates(rows) @ space.restrict(inner), centred @ inner, atol=1e-9
    )


def test_rows_never_seen_are_centred_alike(rows):
    space = row_space(rows, n_axes=3)
    fresh = np.random.default_rng(3).standard_normal((4, rows.shape[1]))
    np.testing.assert_allclose(
        space.coordinates(fresh), (fresh - rows.mean(axis=0)) @ space.basis, atol=1e-12
    )


def test_weights_are_repetitions(rows):
    counts = np.random.default_rng(4).integers(1, 4, len(rows))
    met = row_space(rows, counts.astype(float), n_axes=3)
    wanted = row_space(np.repeat(rows, counts, axis=0), n_axes=3)
    np.testing.assert_allclose(met.mean, wanted.mean, atol=1e-13)
    np.testing.assert_allclose(met.variances, wanted.variances, rtol=1e-7)
    assert_same_axes(met.axes, wanted.axes)
    assert met.rank == wanted.rank


def test_a_row_of_weight_zero_is_absent(rows):
    weights = np.ones(len(rows))
    weights[2] = 0.0
    met, wanted = row_space(rows, weights, n_axes=3), row_space(np.delete(rows, 2, 0), n_axes=3)
    np.testing.assert_allclose(met.variances, wanted.variances, rtol=1e-7)
    assert_same_axes(met.axes, wanted.axes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduce", [True, False])
def test_sparse_is_dense(rows, reduce, weighted):
    rng = np.random.default_rng(5)
    rows = rows * (rng.random(rows.shape) < 0.5)
    weights = rng.uniform(0.5, 2.0, len(rows)) if weighted else None
    wanted = row_space(rows, weights, n_axes=3, reduce=reduce)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        thin = kind(rows)
        met = row_space(thin, weights, n_axes=3, reduce=reduce)
        assert met.rank == wanted.rank
        np.testing.assert_allclose(met.mean, wanted.mean, atol=1e-13)
        np.testing.assert_allclose(met.covariance, wanted.covariance, atol=1e-10)
        assert met.total_variance == pytest.approx(wanted.total_variance)
        assert_same_axes(met.axes, wanted.axes, tol=1e-6)
        seen = met.coordinates(thin)
        assert isinstance(seen, np.ndarray)
        np.testing.assert_allclose(
            seen @ seen.T, wanted.coordinates(rows) @ wanted.coordinates(rows).T, atol=1e-8
        )


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 12), n=st.integers(3, 12))
def test_wide_and_tall_agree(seed, d, n):
    # the same rows, more often: the other side of the product is the smaller one
    rows = np.random.default_rng(seed).standard_normal((n, d))
    many = np.tile(rows, (-(-2 * d // n), 1))
    first, second = row_space(rows, n_axes=2), row_space(many, n_axes=2)
    assert first.rank == second.rank == min(n - 1, d)
    np.testing.assert_allclose(first.variances, second.variances, rtol=1e-6, atol=1e-12)
    reach = basis(first) @ basis(first).T - basis(second) @ basis(second).T
    assert np.max(np.abs(reach)) < 1e-5


@pytest.mark.parametrize("shape", [(30, 10), (8, 30)])
def test_rank(shape):
    rng = np.random.default_rng(6)
    rows = rng.standard_normal(shape)
    full = min(shape[0] - 1, shape[1])
    assert row_space(rows, n_axes=2).rank == full
    constant = rows.copy()
    constant[:, :2] = [7.0, -1e3]
    assert row_space(constant, n_axes=2).rank == min(full, shape[1] - 2)
    doubled = np.concatenate([rows, rows, rows])
    assert row_space(doubled, n_axes=2).rank == full
    copied = np.concatenate([rows, rows], axis=1)
    assert row_space(copied, n_axes=2).rank == full
    low = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + 5.0
    space = row_space(low, n_axes=2)
    assert space.rank == 3
    np.testing.assert_allclose(space.axes.T @ space.axes, np.eye(3), atol=1e-10)


def test_rank_without_reduction_is_what_the_axes_show():
    rows = np.zeros((10, 6))
    rows[:, 0] = np.arange(10)
    assert row_space(rows, n_axes=3, reduce=False).rank == 1
    assert (
        row_space(np.random.default_rng(0).standard_normal((5, 6)), n_axes=3, reduce=False).rank
        == 4
    )


@pytest.mark.parametrize("shape", [(10, 4), (4, 10)])
def test_identical_rows_span_nothing(shape):
    space = row_space(np.full(shape, 0.1), n_axes=2)
    assert space.total_variance == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_joined_spans_the_directions(size):
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((9, 20))
    space = row_space(rows, n_axes=3)
    inside = space.lift(orthonormal(rng, space.rank, 2))
    assert space.joined(inside) is space
    # mostly inside, a little outside: what is outside must still come out orthonormal
    directions = np.linalg.qr(inside + size * rng.standard_normal((20, 2)))[0]
    wider = space.joined(directions)
    k = space.rank + 2
    assert basis(wider).shape == (20, k)
    np.testing.assert_allclose(basis(wider).T @ basis(wider), np.eye(k), atol=1e-10)
    np.testing.assert_allclose(wider.lift(wider.restrict(directions)), directions, atol=1e-10)
    np.testing.assert_array_equal(wider.covariance[-2:], 0)
    assert wider.joined(directions) is wider
    np.testing.assert_allclose(wider.coordinates(rows)[:, -2:], 0, atol=1e-9)


def test_joined_in_single_precision_takes_rounding_for_nothing():
    rng = np.random.default_rng(8)
    space = row_space(rng.standard_normal((9, 200)).astype(np.float32), n_axes=3)
    inside = space.lift(orthonormal(rng, space.rank, 3).astype(np.float32))
    assert space.joined(inside) is space


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-8), (np.float32, 1e-4)])
def test_joined_takes_a_basis_that_is_nearly_orthonormal_for_itself(dtype, error):
    # single precision leaves axes like this, and what they lack lies in their own span
    rng = np.random.default_rng(9)
    space = row_space(rng.standard_normal((60, 40)), n_axes=10, leading=True)
    bent = (space.axes @ (np.eye(10) + error * rng.standard_normal((10, 10)))).astype(dtype)
    space = replace(space, axes=bent, basis=bent)
    assert space.joined(bent) is space


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
def test_shrinkage_is_that_of_the_full_width(rows, shrinkage):
    # projected onto the span, the shrunk covariance of the columns is that of the coordinates
    space, full = row_space(rows, n_axes=3), row_space(rows, n_axes=3, reduce=False)
    directions = orthonormal(np.random.default_rng(0), rows.shape[1], 2)
    space = space.joined(directions)
    met = np.diag(space.shrunk_covariance(shrinkage))
    wanted = basis(space).T @ full.shrunk_covariance(shrinkage) @ basis(space)
    np.testing.assert_allclose(met, wanted, atol=1e-10)
    trace = np.trace(full.shrunk_covariance(shrinkage))
    assert trace == pytest.approx(full.total_variance)


def test_weighted_mean_of_sparse_rows():
    numbers = np.random.default_rng(0).random((7, 4))
    rows = sparse.csr_array(np.where(numbers < 0.5, numbers, 0.0))
    weights = np.arange(7.0)
    np.testing.assert_allclose(
        weighted_mean(rows, weights), np.average(rows.toarray(), axis=0, weights=weights)
    )


def shared_start_problem(
    *,
    reduce,
    retraction,
    shrinkage,
    supervised,
    leading=False,
    seed=0,
    p=4,
    anchor_weights=(1.0, 4.0),
):
    """An anchored ILS problem from a shared start: 30 source rows, 50 target rows, 60 columns.

    The start is the target's principal axes, most of which lie outside the source's span.
    """
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((3, 60)) / 2
    source_codes, target_codes = np.arange(30) % 3, np.arange(50) % 3
    source = centres[source_codes] + rng.standard_normal((30, 60)) / 3 + 1.0
    target = centres[target_codes] + rng.standard_normal((50, 60)) / 3 + 0.2 * rng.random(60)
    labelled = target[:9] if supervised else target[:0]
    spaces = [
        row_space(source, n_axes=p, reduce=reduce),
        row_space(target, n_axes=p, reduce=reduce, leading=leading),
    ]
    start = row_space(target, n_axes=p).axes[:, :p]
    spaces = [space.joined(start) for space in spaces]
    domains = tuple(
        DomainData(space.shrunk_covariance(shrinkage), space.restrict(start), weight)
        for space, weight in zip(spaces, anchor_weights, strict=True)
    )
    rows = tuple(
        space.coordinates(each) for space, each in zip(spaces, (source, labelled), strict=True)
    )
    codes = np.concatenate([source_codes, target_codes[: len(labelled)]])
    pairs = RowPairs(rows, AllPairs(codes, reference=rows[0]), SmoothHinge(0.5))
    manifold = Product((*(Stiefel(each.shape[1], p, retraction) for each in rows), SPD(p)))
    objective = ILSObjective(domains, pairs, metric_weight=10.0)
    point = (*(each.anchor for each in domains), np.eye(p))
    return spaces, Problem(manifold, objective), point


@pytest.mark.parametrize(("supervised", "leading"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_reduction_is_the_full_run_in_fewer_numbers(retraction, shrinkage, supervised, leading):
    # every iteration doubles what rounding does, and threads round differently: 30 of them may tell
    # the two apart
    stop = {"tol": 0.0, "gradient_tol": 0.0, "max_iter": 20}
    runs = []
    for reduce in (True, False):
        spaces, problem, start = shared_start_problem(
            reduce=reduce,
            retraction=retraction,
            shrinkage=shrinkage,
            supervised=supervised,
            leading=leading and reduce,
        )
        solution = solve(problem, start, **stop)
        *projections, metric = solution.point
        lifted = [space.lift(each) for space, each in zip(spaces, projections, strict=True)]
        runs.append((solution, [*lifted, metric]))
    (short, small), (long, large) = runs
    assert short.n_iter == long.n_iter == 20
    assert np.shape(short.point[0])[0] < np.shape(long.point[0])[0] == 60
    assert np.shape(short.point[1])[0] == (4 if leading else 49)
    assert short.history[-1].value < short.history[0].value - 1e-3
    values = [each.value for each in long.history]
    assert [each.value for each in short.history] == pytest.approx(values, rel=1e-8)
    for met, wanted in zip(small, large, strict=True):
        np.testing.assert_allclose(met, wanted, rtol=0, atol=2e-9)


@pytest.mark.parametrize("error", [0.0, 1e-12, 1e-9, 1e-3, 0.5])
def test_axes_are_mended_to_rounding(error):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(60, 20)))[0]
    corrected = rowspan._orthonormal(axes + error * rng.normal(size=axes.shape))
    np.testing.assert_allclose(corrected.T @ corrected, np.eye(20), atol=1e-14)
    outside = corrected - axes @ (axes.T @ corrected)
    assert np.abs(outside).max() <= 10 * error + 1e-14
