"""Subspace alignment against SKADA, its optimality, and the subspaces it may use."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace import ILSTransformer
from ilspace.baselines._subspaces import pls_subspace, principal_subspace
from ilspace.baselines.subspace_alignment import SubspaceAlignment, alignment

X, y, Xt, yt = shifted()
RNG = np.random.default_rng(0)

_SKADA = """
import numpy as np
from shifted import shifted
from skada._subspace import SubspaceAlignmentAdapter
from ilspace.baselines import SubspaceAlignment

for case in (shifted(), shifted(1, n=60, nt=50, d=9), shifted(2, n=12, nt=10, d=30)):
    rows = np.vstack([case.X, case.Xt])
    domain = np.repeat([1, -2], [len(case.X), len(case.Xt)])
    for p in (1, 3, 5):
        theirs = SubspaceAlignmentAdapter(n_components=p).fit_transform(rows, sample_domain=domain)
        ours = SubspaceAlignment(p).fit(case.X, case.y, case.Xt)
        ours = ours.transform(rows, sample_domain=domain)
        signs = np.sign(np.sum(ours * theirs, axis=0))
        np.testing.assert_allclose(ours, theirs * signs, atol=1e-8)
"""


@pytest.mark.skipif(find_spec("skada") is None, reason="needs skada")
@pytest.mark.slow
def test_the_representation_is_that_of_skada():
    # importing skada changes scikit-learn's settings, so it gets a process of its own
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n{_SKADA}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_no_other_map_brings_the_subspaces_closer():
    source, target = (np.linalg.qr(RNG.normal(size=(7, 3)))[0] for _ in range(2))
    best = alignment(source, target)
    gap = np.linalg.norm(source @ best - target)
    for _ in range(50):
        other = best + 0.1 * RNG.normal(size=best.shape)
        assert np.linalg.norm(source @ other - target) > gap


@pytest.mark.parametrize("shape", [(30, 6), (8, 40)])
def test_principal_subspace_is_that_of_the_pca(shape):
    rows = RNG.normal(size=shape) @ np.diag(np.linspace(1, 3, shape[1]))
    axes = principal_subspace(rows - rows.mean(axis=0), 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert subspace_angles(axes, PCA(3).fit(rows).components_.T).max() < 1e-6


def test_pls_finds_the_direction_of_the_classes():
    codes = np.arange(400) % 2
    rows = np.random.default_rng(5).normal(size=(400, 5)) * [1, 1, 1, 1, 8]
    rows[:, 1] += 6 * codes
    offsets = rows - rows.mean(axis=0)
    basis = pls_subspace(offsets, codes, 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    assert abs(basis[1, 0]) > 0.9
    assert abs(principal_subspace(offsets, 1)[1, 0]) < 0.5
    assert pls_subspace(np.zeros((4, 3)), np.arange(4) % 2, 2).shape == (3, 2)  # nothing to find


def test_a_given_basis_is_used():
    learned: Any = ILSTransformer(3).fit(X, y, Xt).source_projection_
    fitted = SubspaceAlignment(source_basis=learned).fit(X, y, Xt)
    assert fitted.n_components_ == 3
    span = fitted._source_map @ np.linalg.inv(fitted.alignment_)
    assert subspace_angles(span, learned).max() < 1e-6
    basis: Any = np.ones((6, 2))
    with pytest.raises(ValueError, match="independent columns"):
        SubspaceAlignment(source_basis=basis).fit(X, y, Xt)
    basis = np.eye(5)
    with pytest.raises(ValueError, match=r"shape \(6, p\)"):
        SubspaceAlignment(source_basis=basis).fit(X, y, Xt)
    basis = np.eye(6)
    with pytest.raises(ValueError, match="at most 4"):
        SubspaceAlignment(source_basis=basis).fit(X, y, Xt[:4])


def test_identical_domains_keep_their_principal_components():
    fitted = SubspaceAlignment(2).fit(X, y, X)
    np.testing.assert_allclose(fitted.alignment_, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(fitted.transform(X), fitted.transform(X, domain="source"))
