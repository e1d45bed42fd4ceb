"""The plain space: principal axes of both domains, or axes on which the class means agree."""

import numpy as np
import pytest
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace.domains import check_domains
from ilspace.ils.plain import plain_map

DATA = shifted(1, n=45, nt=40)
X, y, Xt, yt = DATA
SOME = DATA.marked(-1, 6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["tall", "wide", "mixed"])
def test_the_plain_space_is_that_of_the_principal_axes_of_both_domains(shape, weighted):
    rng = np.random.default_rng(4)
    d, n, nt = {"tall": (6, 45, 40), "wide": (150, 45, 140), "mixed": (60, 90, 30)}[shape]
    rows = rng.standard_normal((n, d)) * np.linspace(3, 1, d)
    target = rng.standard_normal((nt, d)) * np.linspace(1, 2, d) + 1
    labels = np.arange(n) % 3
    repeats = rng.integers(1, 3, n + nt) if weighted else np.ones(n + nt, int)
    domains = check_domains(
        rows, labels, target, sample_weight=repeats.astype(float) if weighted else None
    )
    met = plain_map(domains)
    # rows of weight 2 are rows that come twice
    both = [np.repeat(a, r, axis=0) for a, r in ((rows, repeats[:n]), (target, repeats[n:]))]
    centred = np.concatenate([each - each.mean(axis=0) for each in both])
    q = min(100, d)
    pca = PCA(q, svd_solver="full").fit(centred)
    for mean, mapping, each in zip(met.means, met.maps, both, strict=True):
        np.testing.assert_allclose(mean, each.mean(axis=0), atol=1e-12)
        assert mapping.shape == (d, q)
        np.testing.assert_allclose(np.abs(pca.components_ @ mapping), np.eye(q), atol=1e-6)


def test_of_many_columns_the_first_hundred_axes():
    rng = np.random.default_rng(5)
    domains = check_domains(
        rng.standard_normal((160, 130)), np.arange(160) % 2, rng.standard_normal((150, 130))
    )
    assert [each.shape for each in plain_map(domains).maps] == [(130, 100)] * 2
    narrow = check_domains(rng.standard_normal((9, 130)), np.arange(9) % 2, np.eye(130)[:7])
    # no more axes than one of the domains has
    assert [each.shape for each in plain_map(narrow).maps] == [(130, 8)] * 2


def test_one_domain_has_its_own_axes():
    met = plain_map(check_domains(X, y))
    assert len(met.maps) == 1
    np.testing.assert_allclose(np.abs(PCA().fit(X).components_ @ met.maps[0]), np.eye(6), atol=1e-8)


@pytest.mark.parametrize("d", [4, 30])
def test_the_plain_space_of_different_columns(d):
    rng = np.random.default_rng(6)
    rows = 7 * X @ rng.standard_normal((6, d)) + rng.standard_normal((45, d))
    wide = np.hstack([Xt, 0.3 * rng.standard_normal((40, 25))])
    met = plain_map(check_domains(rows, y, wide, SOME))
    q = min(d, 20)
    source, target = met.maps
    assert source.shape == (d, q)
    # 20 principal axes of the target
    axes = PCA(q, svd_solver="full").fit(wide).components_
    np.testing.assert_allclose(np.abs(axes @ target), np.eye(q), atol=1e-8)
    # an orthonormal basis of the source, times the factor that makes its class means as large
    gain = np.linalg.norm(source[:, 0])
    np.testing.assert_allclose(source.T @ source / gain**2, np.eye(q), atol=1e-9)
    means = [
        np.stack([(each - each.mean(axis=0))[labels == c].mean(axis=0) for c in range(3)])
        for each, labels in ((rows, y), (wide, np.array(SOME)))
    ]
    sizes = [np.linalg.norm(a @ b) for a, b in zip(means, met.maps, strict=True)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-9)

    # no other basis brings the class means nearer together
    def overlap(basis):
        return np.sum((means[0] @ basis) * (means[1] @ target))

    best = overlap(source / gain)
    for _ in range(20):
        turned = np.linalg.qr(source / gain + 0.1 * rng.standard_normal(source.shape))[0]
        turned = turned * np.sign(np.sum(turned * source, axis=0))
        assert overlap(turned) < best
