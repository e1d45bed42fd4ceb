"""Where the projections begin: the same wherever the rows are, and however their span is found."""

import numpy as np
import pytest
from shifted import shifted

from ilspace import ILSTransformer, ObjectiveSettings
from ilspace.ils import init, problem
from ilspace.scale import rowspan

FITS = {
    "reduced": {"reduce": True},
    "columns": {"reduce": False},
    "pieces": {"pieces": True},
    "dask": {"dask": True},
    "dask columns": {"dask": True, "reduce": False},
}


def first_bases(start, X, y, Xt, yt=None, *, reduce=True, pieces=False, dask=False, n_components=2):
    """Both projections before the first step."""
    model = ILSTransformer(
        n_components, init=start, objective=ObjectiveSettings(reduce=reduce), max_iter=0
    )
    if pieces:
        half, half_t = len(X) // 2, len(Xt) // 2
        model.partial_fit(X[:half], y[:half], Xt[:half_t], None if yt is None else yt[:half_t])
        model.partial_fit(X[half:], y[half:], Xt[half_t:], None if yt is None else yt[half_t:])
    elif dask:
        da = pytest.importorskip("dask.array")
        with pytest.importorskip("dask").config.set(scheduler="synchronous"):
            model.fit(da.from_array(X, chunks=7), y, da.from_array(Xt, chunks=5), yt)
    else:
        model.fit(X, y, Xt, yt)
    return model.source_projection_, model.target_projection_


def span(basis):
    return basis @ basis.T


def leading(matrix, n):
    """Eigenvectors of the largest eigenvalues."""
    return np.linalg.eigh(matrix)[1][:, -n:]


def unlike_domains(n, nt, d):
    """Rows of two domains that vary most in different columns."""
    rng = np.random.default_rng(0)
    spread = np.geomspace(4.0, 0.5, d)
    X, Xt = rng.standard_normal((n, d)) * spread, rng.standard_normal((nt, d)) * spread[::-1]
    return X + 3, np.arange(n) % 3, Xt - 1


@pytest.fixture(params=[False, True], ids=["", "beyond the widest"])
def _widest(request, monkeypatch):
    """As if the columns were too many for all axes to be found."""
    if request.param:
        monkeypatch.setattr(rowspan, "WIDEST_FULL_SPECTRUM", 4)


@pytest.mark.usefixtures("_widest")
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("n", "nt", "d"), [(60, 40, 5), (12, 10, 30), (60, 10, 20), (10, 60, 20)], ids=str
)
def test_joint_pca_is_that_of_the_rows_of_both_domains(n, nt, d, fit):
    X, y, Xt = unlike_domains(n, nt, d)
    scatter = n * np.cov(X.T, bias=True) + nt * np.cov(Xt.T, bias=True)
    for basis in first_bases("joint-pca", X, y, Xt, **FITS[fit]):
        np.testing.assert_allclose(span(basis), span(leading(scatter, 2)), atol=1e-9)


def test_joint_pca_counts_rows_by_their_weight():
    X, y, Xt = unlike_domains(60, 40, 5)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 100)
    both = zip((X, Xt), (weights[:60], weights[60:]), strict=True)
    scatter = sum(w.sum() * np.cov(rows.T, aweights=w, bias=True) for rows, w in both)
    for reduce in (True, False):
        model = ILSTransformer(
            2, init="joint-pca", objective=ObjectiveSettings(reduce=reduce), max_iter=0
        )
        model.fit(X, y, Xt, sample_weight=weights)
        met = span(model.source_projection_)
        np.testing.assert_allclose(met, span(leading(scatter, 2)), atol=1e-9)


@pytest.mark.usefixtures("_widest")
@pytest.mark.parametrize("fit", ["reduced", "columns", "pieces"])
def test_pls_is_completed_by_what_the_target_varies_most_in_besides(fit):
    rng = np.random.default_rng(0)
    # the first column tells the classes and the others say nothing: one direction explains all
    y = np.repeat([0, 1], 30)
    X = np.c_[4.0 * y, np.tile(rng.standard_normal((30, 7)), (2, 1))]
    order = rng.permutation(60)
    Xt = rng.standard_normal((50, 8)) @ rng.standard_normal((8, 8))
    besides = np.cov(Xt.T, bias=True)
    besides[0], besides[:, 0] = 0, 0
    expected = span(np.c_[np.eye(8)[:, :1], leading(besides, 2)])
    if fit == "pieces":  # half of the rows must say nothing either
        order = np.r_[0:15, 30:45, 15:30, 45:60]
        X[15:30, 1:] = X[45:, 1:] = X[:15, 1:]
    bases = first_bases("pls", X[order], y[order], Xt, n_components=3, **FITS[fit])
    for basis in bases:
        np.testing.assert_allclose(span(basis), expected, atol=1e-7)


@pytest.mark.parametrize("fit", FITS)
def test_class_means_are_the_same_however_the_span_is_found(fit):
    case = shifted(n=60, nt=40, d=12)
    yt = np.where(np.arange(40) < 12, case.yt, -1)
    given = case.X, case.y, case.Xt[:, :9], yt
    expected = first_bases("class-means", *given, n_components=4)
    met = first_bases("class-means", *given, n_components=4, **FITS[fit])
    for basis, other in zip(met, expected, strict=True):
        np.testing.assert_allclose(basis, other, atol=1e-8)


def test_class_means_of_weighted_rows_are_those_of_repeated_rows():
    case = shifted(n=60, nt=40, d=12)
    rng = np.random.default_rng(0)
    times, times_t = rng.integers(1, 4, 60), rng.integers(1, 4, 40)
    yt = np.where(np.arange(40) < 12, case.yt, -1)
    weighted, repeated = (ILSTransformer(4, init="class-means", max_iter=0) for _ in range(2))
    weighted.fit(case.X, case.y, case.Xt[:, :9], yt, sample_weight=np.r_[times, times_t])
    X, y = (np.repeat(each, times, axis=0) for each in (case.X, case.y))
    repeated.fit(X, y, *(np.repeat(each, times_t, axis=0) for each in (case.Xt[:, :9], yt)))
    for name in ("source_projection_", "target_projection_", "source_scale_", "target_scale_"):
        expected = getattr(repeated, name)
        np.testing.assert_allclose(getattr(weighted, name), expected, atol=1e-8, err_msg=name)


def test_class_means_of_more_components_than_axes_to_fill_with(monkeypatch):
    monkeypatch.setattr(init, "FILLING_AXES", 3)
    monkeypatch.setattr(problem, "FILLING_AXES", 3)
    case = shifted(n=60, nt=40, d=12)
    source, target = first_bases(
        "class-means", case.X, case.y, case.Xt[:, :9], case.yt, n_components=6
    )
    for basis in (source, target):
        np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-10)


# -- given by the user ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("width", [6, 4])
def test_arrays_for_both_domains_decide_the_dimension(kind, width):
    case = shifted()
    rng = np.random.default_rng(0)
    given = [np.linalg.qr(rng.standard_normal((d, 3)))[0] for d in (6, width)]
    model = ILSTransformer(init=kind(given), max_iter=0)
    model.fit(case.X, case.y, case.Xt[:, :width], case.yt)
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.source_projection_, given[0], atol=1e-12)
    np.testing.assert_allclose(model.target_projection_, given[1], atol=1e-12)


def test_one_array_as_a_list_of_lists():
    case = shifted()
    model = ILSTransformer(init=np.eye(6)[:, :3].tolist(), max_iter=0)
    model.fit(case.X, case.y, case.Xt)
    np.testing.assert_allclose(model.source_projection_, np.eye(6)[:, :3], atol=1e-12)
    np.testing.assert_allclose(model.target_projection_, np.eye(6)[:, :3], atol=1e-12)
