"""The kernel ridge rule alone: the rows that it is trained on, and what it learns from them."""

from dataclasses import replace

import numpy as np
import pytest
from shifted import shifted

from ilspace.domains import check_domains
from ilspace.ils import fit_ils, ridge_rule
from ilspace.ils.ridge_rule import TrainingRows, both_spaces, train_rule
from ilspace.rules.ridge import laplacian_ridge

DATA = shifted(1, n=45, nt=40)
X, y, Xt, yt = DATA
SOME = DATA.marked(-1, 6)


def test_half_is_for_the_sources_together(monkeypatch):
    monkeypatch.setattr(ridge_rule, "TRAINING_ROWS", 40)
    domains = check_domains(X, y, Xt)
    parts = [replace(domains.sources[0], X=X[s], codes=y[s]) for s in (slice(30), slice(30, 45))]
    rows = TrainingRows(replace(domains, sources=tuple(parts)), np.random.default_rng(0))
    assert [len(each) for each in rows.samples] == [13, 6, 20]


def test_it_learns_from_known_labels_only(monkeypatch):
    seen, made = [], ridge_rule.laplacian_ridge
    spy = lambda rows, *others: seen.append(rows) or made(rows, *others)  # noqa: E731
    monkeypatch.setattr(ridge_rule, "laplacian_ridge", spy)
    domains = check_domains(X, y, Xt, SOME)
    ils = fit_ils(domains, n_components=3)
    found = train_rule(ils, domains, np.random.default_rng(0))
    weights = np.r_[np.ones(45), np.full(6, 3.0), np.zeros(34)]
    masses = np.array([weights[np.r_[y, SOME] == c].sum() for c in range(3)])
    codes = np.r_[y, SOME]
    weights = np.where(codes >= 0, weights * masses.mean() / masses[codes], 0)
    targets = 1.5 * np.eye(3)[codes] - 0.5
    wanted, scores = laplacian_ridge(seen[0], 100, np.random.default_rng(0)).fit(weights, targets)
    np.testing.assert_allclose(found.expansion.coefficients, wanted.coefficients, atol=1e-9)
    met = found.expansion.scores(both_spaces(Xt, found.plain, ils, 1))
    np.testing.assert_allclose(met, scores[45:], atol=1e-9)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries(library):
    xp = pytest.importorskip(library)
    scores = []
    for make in (np.asarray, lambda rows: xp.asarray(rows.copy())):
        domains = check_domains(make(X), y, make(Xt), SOME)
        ils = fit_ils(domains, n_components=3)
        rule = train_rule(ils, domains, np.random.default_rng(0))
        scores.append(rule.expansion.scores(both_spaces(make(Xt), rule.plain, ils, 1)))
    assert type(scores[1]) is not np.ndarray
    np.testing.assert_allclose(np.asarray(scores[1]), scores[0], atol=1e-6)


def test_one_domain():
    domains = check_domains(X, y)
    ils = fit_ils(domains, n_components=3)
    found = train_rule(ils, domains, np.random.default_rng(0))
    scores = found.expansion.scores(both_spaces(X, found.plain, ils, 0))
    assert np.mean(scores.argmax(axis=1) == y) > 0.95
    assert len(found.plain.maps) == 1
    assert found.inverse_temperature > 1
