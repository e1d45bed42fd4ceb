"""One mathematics on every array library: NumPy's results, of the caller's library and type."""

import importlib
import importlib.util
from dataclasses import replace
from typing import Any

import array_api_compat
import array_api_strict
import numpy as np
import pytest
from laws import checks
from problems import ils_case, orthonormal, positive_definite

from ilspace.backend import (
    array_namespace,
    cholesky_frame,
    identity,
    is_foreign,
    is_linalg_error,
    like,
    logdet_and_inverse,
    on_host,
    principal_axes,
    spectral_map,
    symmetric_exponential,
    symmetric_part,
    to_numpy,
)
from ilspace.ils.dictionary import Dictionary
from ilspace.manifolds import SPD, Euclidean, Oblique, Product, Stiefel
from ilspace.objective import (
    CumulantTerm,
    DomainData,
    ILSObjective,
    SmoothHinge,
    latent_directions,
    sparse_codes,
)
from ilspace.optimizers import SOLVERS, Problem, solve
from ilspace.pairs import AllPairs, RowPairs, SampledPairs
from ilspace.scale import HeldRows, row_space


class Library:
    """An array library, one of its devices, and how its arrays come home."""

    xp: Any
    device: Any

    def __init__(self, name):
        self.name = name
        if name.startswith("numpy"):
            self.xp, self.device = np, "cpu"
        elif name.startswith("strict"):
            self.xp = array_api_strict
            self.device = self.xp.Device("device1" if name == "strict-device1" else "CPU_DEVICE")
        else:
            self.xp = importlib.import_module("array_api_compat.torch")
            self.device = self.xp.device("cuda:0" if name == "torch-cuda" else "cpu")

    def make(self, host, dtype="float64"):
        host = np.asarray(host)
        if host.dtype.kind == "f":
            host = host.astype(dtype)
        if self.xp is np:
            made = host.copy()
            made.flags.writeable = self.name != "numpy-readonly"
            return made
        return self.xp.asarray(host, device=self.device)

    def home(self, array):
        """A host copy; for array-api-strict's pretended devices the detour is ours to make."""
        if self.name == "strict-device1":
            array = array.to_device(self.xp.Device("CPU_DEVICE"))
        return to_numpy(array)

    def assert_ours(self, array, dtype="float64"):
        namespace = array_namespace(array)
        if self.xp is np:
            assert isinstance(array, np.ndarray | np.generic)
        else:
            assert namespace.__name__.split(".")[-1] == self.xp.__name__.split(".")[-1]
            assert array_api_compat.device(array) == self.device
        assert array.dtype == getattr(namespace, dtype)

    def assert_equal(self, met, wanted, tol, dtype="float64"):
        """Compare arrays, or tuples of them, with NumPy's; check where they live."""
        if isinstance(wanted, tuple):
            for a, b in zip(met, wanted, strict=True):
                self.assert_equal(a, b, tol, dtype)
        elif wanted is None:
            assert met is None
        else:
            self.assert_ours(met, dtype)
            scale = np.max(np.abs(wanted), initial=1e-300)
            np.testing.assert_allclose(self.home(met), wanted, rtol=0, atol=tol * scale)


def present():
    """The libraries that can be tried here; torch is optional, a GPU more so."""
    names = ["numpy", "numpy-readonly", "strict", "strict-device1"]
    if importlib.util.find_spec("torch"):
        names.append("torch")
        if importlib.import_module("torch").cuda.is_available():
            names.append("torch-cuda")
    return names


TOLERANCES = {"float64": 1e-10, "float32": 2e-4}


@pytest.fixture(params=present())
def library(request):
    return Library(request.param)


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def test_to_and_fro(library, dtype):
    reference = library.make(np.ones(2), dtype)
    host = np.arange(6.0).reshape(2, 3)[:, ::-1]  # not contiguous
    moved = like(host, reference)
    library.assert_ours(moved, dtype)
    np.testing.assert_array_equal(library.home(moved), host)
    integers = like(np.arange(3), reference)
    np.testing.assert_array_equal(library.home(integers), [0, 1, 2])
    assert library.home(integers).dtype == np.int64
    assert is_foreign(reference) is (library.xp is not np)
    assert not any(is_foreign(each) for each in ([1.0], None, "text", np.float64(1.0)))
    if library.name != "strict-device1":
        assert type(on_host(reference)) is np.ndarray
        np.testing.assert_array_equal(on_host(reference), library.home(reference))
    for other in (np.ones(2), [1.0], None, "text"):
        assert on_host(other) is other


def test_linear_algebra(library, dtype):
    rng = np.random.default_rng(0)
    a, g = 2 * positive_definite(rng, 5, 50.0), rng.standard_normal((5, 5))
    met, raw, tol = library.make(a, dtype), library.make(g, dtype), TOLERANCES[dtype]
    library.assert_equal(symmetric_part(raw), symmetric_part(g), tol, dtype)
    other = library.make(a + np.eye(5), dtype)
    for (size, inverse), b in zip(logdet_and_inverse(met, other), (a, a + np.eye(5)), strict=True):
        library.assert_equal(size, np.asarray(np.log(np.linalg.det(b))), tol, dtype)
        library.assert_equal(inverse, np.linalg.inv(b), tol, dtype)
    framed, unframed = cholesky_frame(met)
    library.assert_equal(framed, np.linalg.cholesky(a), tol, dtype)
    library.assert_equal(unframed @ framed, np.eye(5), tol, dtype)
    library.assert_equal(identity(3, met), np.eye(3), tol, dtype)
    root = spectral_map(met, array_namespace(met).sqrt)
    library.assert_equal(root @ root, a, tol, dtype)


@pytest.mark.parametrize("values", [(1.0, -2.0), (-1.0, -2.0), (0.0, 0.0)])
def test_what_is_not_positive_definite(library, dtype, values):
    outside, inside = library.make(np.diag(values), dtype), library.make(np.eye(2), dtype)
    for size, inverse in logdet_and_inverse(outside, inside):
        library.assert_ours(size, dtype)
        library.assert_ours(inverse, dtype)
        assert np.isnan(library.home(size))
        assert np.all(np.isnan(library.home(inverse)))
    with pytest.raises(Exception, match="definite") as refusal:
        cholesky_frame(outside)
    assert is_linalg_error(refusal.value)


@pytest.mark.parametrize("size", [0.0, 0.1, 1.0, 12.0])
def test_symmetric_exponential(library, dtype, size):
    # eigenvalues from -size to size, around the bounds where the algorithms change their order
    turned = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    values = np.linspace(-size, size, 5)
    wanted = (turned * np.exp(values)) @ turned.T
    met = symmetric_exponential(library.make((turned * values) @ turned.T, dtype))
    largest = float(np.exp(size))
    library.assert_equal(met / largest, wanted / largest, TOLERANCES[dtype], dtype)


@pytest.mark.parametrize("n_axes", [None, 3])
def test_principal_axes(library, dtype, n_axes):
    a = positive_definite(np.random.default_rng(1), 8, 1e3)
    wanted = principal_axes(a, n_axes)
    library.assert_equal(principal_axes(library.make(a, dtype), n_axes), wanted, 1e-4, dtype)
    values, vectors = wanted
    assert np.all(np.diff(values) < 0)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    assert np.all(np.max(vectors, axis=0) >= -np.min(vectors, axis=0))


@pytest.mark.parametrize("n_axes", [5, 40])
def test_principal_axes_where_few_are_wanted(n_axes):
    # another algorithm takes over; the answer must not notice
    a = positive_definite(np.random.default_rng(2), 300, 1e6)
    few, all_of_them = principal_axes(a, n_axes), principal_axes(a)
    np.testing.assert_allclose(few[0], all_of_them[0][:n_axes])
    np.testing.assert_allclose(few[1], all_of_them[1][:, :n_axes], atol=1e-9)


@pytest.mark.parametrize(
    "spectrum",
    [
        np.zeros(300),
        np.ones(300),
        np.repeat(np.linspace(1, 9, 75), 4),
        np.r_[np.ones(3), np.zeros(297)],
        10.0 ** -np.linspace(0, 20, 300),
        1e-150 * np.linspace(1, 2, 300),
    ],
    ids=["zero", "identity", "quadruples", "low rank", "wide range", "tiny"],
)
def test_few_principal_axes_of_awkward_spectra(spectrum):
    turn = orthonormal(np.random.default_rng(3), 300, 300)
    a = symmetric_part((turn * spectrum) @ turn.T)
    values, vectors = principal_axes(a, 12)
    scale = np.max(spectrum) or 1.0
    np.testing.assert_allclose(values / scale, np.sort(spectrum)[::-1][:12] / scale, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-12)
    np.testing.assert_allclose(a @ vectors / scale, vectors * values / scale, atol=1e-12)


def manifold_and_point(rng):
    manifold = Product(
        (Stiefel(7, 3), Stiefel(6, 3, "polar"), SPD(3), Euclidean((5,)), Oblique(3, 5)),
        (1.0, 0.5, 2.0, 0.1, 0.3),
    )
    point = (
        orthonormal(rng, 7, 3),
        orthonormal(rng, 6, 3),
        positive_definite(rng, 3),
        rng.standard_normal(5),
        Oblique(3, 5).project(rng.standard_normal((3, 5))),
    )
    return manifold, point


def test_manifold_verbs(library, dtype):
    rng, tol = np.random.default_rng(3), TOLERANCES[dtype]
    manifold, x = manifold_and_point(rng)
    g = tuple(rng.standard_normal(entry.shape) for entry in x)
    u = manifold.riemannian_gradient(x, g)
    y = manifold.retract(x, u)

    def made(point):
        return tuple(library.make(entry, dtype) for entry in point)

    mx, mg, mu, my = (made(each) for each in (x, g, u, y))
    for met, wanted in (
        (manifold.inner(mx, mu, mu), np.asarray(manifold.inner(x, u, u))),
        (manifold.to_tangent(mx, mg), manifold.to_tangent(x, g)),
        (manifold.riemannian_gradient(mx, mg), u),
        (manifold.retract(mx, mu), y),
        (manifold.transport(mx, my, mu), manifold.transport(x, y, u)),
        (manifold.combine(2.0, mu, -0.5, mg), manifold.combine(2.0, u, -0.5, g)),
        (manifold.project(mg), manifold.project(g)),
    ):
        library.assert_equal(met, wanted, tol, dtype)


@pytest.mark.parametrize("name", [each for each in present() if each != "strict-device1"])
def test_manifold_laws_hold_elsewhere(name):
    # the laws compare on the host, which array-api-strict's second device cannot reach
    library, rng = Library(name), np.random.default_rng(4)
    manifold, x = manifold_and_point(rng)
    checks.check_manifold(manifold, tuple(library.make(entry) for entry in x), rng)


def move(case, library, dtype="float64", *, engine, tile=7):
    """The same problem in another library."""

    def made(array):
        return None if array is None else library.make(array, dtype)

    domains = tuple(
        DomainData(made(each.covariance), made(each.anchor), each.anchor_weight)
        for each in case.objective.domains
    )
    rows = tuple(made(each) for each in case.rows)
    reference = rows[0]
    if engine == "sampled":
        pairs = SampledPairs(*case.pairs, n_rows=len(case.codes), reference=reference)
    else:
        pairs = AllPairs(case.codes, reference=reference, tile=tile)
    old = case.objective
    weights = (old.trade_off, old.metric_weight, old.slack_weight)
    term = RowPairs(rows, pairs, case.objective.pair_loss.hinge)
    return ILSObjective(domains, term, *weights), tuple(made(entry) for entry in case.point)


@pytest.mark.parametrize("tile", [5, 64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", ["sampled", "all"])
def test_pair_engines(library, dtype, engine, weighted, tile):
    rng = np.random.default_rng(5)
    case = ils_case(5)
    n = len(case.codes)
    weights = rng.uniform(0.3, 2.0, n) if weighted else None
    latent, metric = rng.standard_normal((n, 3)), positive_definite(rng, 3)

    def total(latent, metric):
        if engine == "sampled":
            first, second, signs = case.pairs
            pairs = SampledPairs(first, second, signs, weights, n_rows=n, reference=latent)
        else:
            pairs = AllPairs(case.codes, weights, reference=latent, tile=tile)
        return tuple(pairs.sum(SmoothHinge(0.7), latent, metric))

    wanted = tuple(None if each is None else np.asarray(each) for each in total(latent, metric))
    met = total(library.make(latent, dtype), library.make(metric, dtype))
    library.assert_equal(met, wanted, TOLERANCES[dtype], dtype)


@pytest.mark.parametrize("rare", [1e-3, 1e-6, 1e-12])
def test_a_rare_class_leaves_the_others_their_weight(library, dtype, rare):
    # half of all weight is on the pairs with one row, the other half on pairs of the many others
    rng = np.random.default_rng(6)
    codes, weights = np.r_[np.zeros(199, dtype=int), 1], np.r_[np.ones(199), rare]
    latent, metric = rng.standard_normal((200, 3)), positive_definite(rng, 3)
    distances = np.sum(((latent[:, None] - latent) @ metric) * (latent[:, None] - latent), axis=2)
    similar, _ = SmoothHinge(0.7)(distances[:199, :199][np.triu_indices(199, 1)] - 1)
    dissimilar, _ = SmoothHinge(0.7)(1 - distances[199, :199])
    pairs = AllPairs(codes, weights, reference=library.make(latent, dtype), tile=64)
    met = pairs.sum(SmoothHinge(0.7), library.make(latent, dtype), library.make(metric, dtype))
    wanted = np.asarray((similar.mean() + dissimilar.mean()) / 2)
    library.assert_equal(met.value, wanted, {"float64": 1e-12, "float32": 1e-5}[dtype], dtype)


def test_cumulants(library, dtype):
    rng = np.random.default_rng(7)
    rows = [rng.gamma(2.0, size=(n, d)) for n, d in ((20, 5), (15, 4))]
    point = [orthonormal(rng, each.shape[1], 3) for each in rows]
    covariance = positive_definite(rng, 3)

    spaces = [row_space(each, n_axes=3, reduce=False) for each in rows]

    def term(rows, point, covariance):
        means = [like(each.mean, rows[0]) for each in spaces]
        there = [replace(each, mean=mean) for each, mean in zip(spaces, means, strict=True)]
        held = HeldRows.placed(rows, [None, None], spaces=there, scales=(1.2, 0.8))
        return CumulantTerm(held, latent_directions(covariance, 5))(point, (0.7,))

    value, gradients = term(rows, point, covariance)
    made, moved = ([library.make(each, dtype) for each in arrays] for arrays in (rows, point))
    met, slopes = term(made, moved, library.make(covariance, dtype))
    # NumPy's rows are worked on in double precision
    kind = "float64" if library.xp is np else dtype
    library.assert_equal(met, np.asarray(value), TOLERANCES[dtype], kind)
    library.assert_equal(tuple(slopes), tuple(gradients), TOLERANCES[dtype], kind)


@pytest.mark.parametrize("n_atoms", [4, 9])
def test_sparse_codes(library, dtype, n_atoms):
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((12, 3))
    atoms = Oblique(3, n_atoms).project(rng.standard_normal((3, n_atoms)))
    made = library.make(rows, dtype), library.make(atoms, dtype)
    tol = TOLERANCES[dtype]
    library.assert_equal(sparse_codes(*made, 0.4), sparse_codes(rows, atoms, 0.4), tol, dtype)
    wanted = Dictionary(atoms).transform(rows)
    library.assert_equal(Dictionary(made[1]).transform(made[0]), wanted, tol, dtype)


@pytest.mark.parametrize("options", [{"slack": True}, {"diagonal": True}, {"widths": (8,)}])
def test_objective(library, dtype, options):
    case = ils_case(6, anchor_weights=(1.0, 4.0), **options)
    value, gradient = case.objective(case.point)
    objective, point = move(case, library, dtype, engine="sampled")
    met, slopes = objective(point)
    library.assert_equal(met, np.asarray(value), TOLERANCES[dtype], dtype)
    library.assert_equal(slopes, tuple(gradient), TOLERANCES[dtype], dtype)


@pytest.mark.parametrize("engine", ["sampled", "all"])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_twenty_conjugate_gradient_steps(library, engine, retraction):
    case = ils_case(
        8, engine=engine, retraction=retraction, anchor_weights=(1.0, 4.0), metric_weight=3.0
    )
    stop = {"tol": 0.0, "gradient_tol": 0.0, "max_iter": 20}
    wanted = solve(Problem(case.manifold, case.objective), case.point, **stop)
    objective, point = move(case, library, engine=engine)
    met = solve(Problem(case.manifold, objective), point, **stop)
    assert met.status is wanted.status
    assert met.n_iter == 20
    values = [each.value for each in wanted.history]
    # the exponentials of the libraries round differently, and every step doubles that
    assert [each.value for each in met.history] == pytest.approx(values, rel=1e-9)
    library.assert_equal(met.point, wanted.point, 1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_runs(library, solver):
    case = ils_case(9, slack=True, anchor_weights=(1.0, 4.0))
    stop = {"solver": solver, "tol": 0.0, "gradient_tol": 0.0, "max_iter": 5}
    wanted = solve(Problem(case.manifold, case.objective), case.point, **stop)
    objective, point = move(case, library, engine="sampled")
    met = solve(Problem(case.manifold, objective), point, **stop)
    library.assert_equal(met.point, wanted.point, 1e-8)
    assert [each.evaluations for each in met.history] == [
        each.evaluations for each in wanted.history
    ]


@pytest.mark.parametrize("solver", ["conjugate-gradient", "lbfgs"])
def test_single_precision_stays_and_settles(library, solver):
    case = ils_case(10, engine="all", anchor_weights=(1.0, 4.0), metric_weight=3.0)
    wanted = solve(Problem(case.manifold, case.objective), case.point, tol=1e-10)
    objective, point = move(case, library, "float32", engine="all")
    met = solve(Problem(case.manifold, objective), point, solver=solver)
    assert met.status.is_success
    assert met.history[-1].value == pytest.approx(wanted.history[-1].value, rel=1e-4)
    for entry in met.point:
        library.assert_ours(entry, "float32")


@pytest.mark.parametrize("shape", [(6, 11), (11, 6)])
@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_row_space(library, dtype, shape, reduce, weighted):
    rng = np.random.default_rng(11)
    rows = rng.standard_normal(shape) * np.linspace(1.0, 3.0, shape[1]) + 2.0
    weights = rng.uniform(0.5, 2.0, shape[0]) if weighted else None
    extra = orthonormal(rng, shape[1], 2)

    def describe(rows, extra):
        space = row_space(rows, weights, n_axes=3, reduce=reduce)
        joined = space.joined(extra)
        lifted = joined.lift(joined.restrict(extra))
        # the sign of a joined direction is free, so those are compared by what they span
        return (
            space.mean,
            space.axes[:, :3],
            space.variances[:3],
            space.coordinates(rows)[:, :3],
            space.covariance,
            space.shrunk_covariance(0.1),
            lifted,
        ), (space.rank, joined.covariance.shape, joined.shrunk_covariance(0.1).shape)

    wanted, sizes = describe(rows, extra)
    met, met_sizes = describe(library.make(rows, dtype), library.make(extra, dtype))
    library.assert_equal(met, wanted, {"float64": 1e-9, "float32": 1e-3}[dtype], dtype)
    assert met_sizes == sizes


def test_nothing_is_written_into_the_callers_arrays():
    library = Library("numpy-readonly")
    case = ils_case(12, slack=True)
    objective, point = move(case, library, engine="sampled")
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(point[0])[0, 0] = 1.0
    solve(Problem(case.manifold, objective), point, max_iter=3)
