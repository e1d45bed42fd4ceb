"""The dimension of a self-trained latent space, found without labels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.domains import check_domains
from ilspace.ils import dimension as module
from ilspace.ils.dimension import dimension, n_informative_axes
from ilspace.ils.problem import DEFAULT_COMPONENTS
from ilspace.ils.rounds import self_train


def target_of(n_informative, n=400, d=300, noise=0.5, seed=0):
    """Rows that vary along some random directions, and in all columns a little."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_informative)) * np.linspace(6, 4, n_informative)
    axes = np.linalg.qr(rng.normal(size=(d, n_informative)))[0]
    return scores @ axes.T + noise * rng.normal(size=(n, d)) + 3


def domains_of(Xt, n_source=200):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_source, Xt.shape[1]))
    return check_domains(X, np.arange(n_source) % 3, Xt)


def informative(Xt):
    target: Any = domains_of(Xt).target
    return n_informative_axes(target)


@pytest.mark.parametrize("n_informative", [1, 5, 40])
def test_informative_axes_are_counted(n_informative):
    found = informative(target_of(n_informative))
    assert abs(found - n_informative) <= 1


def test_columns_without_correlations_have_next_to_none():
    rows = np.random.default_rng(0).normal(size=(400, 30)) * np.linspace(1, 9, 30)
    assert informative(rows) <= 4


def test_the_order_of_the_rows_does_not_matter():
    rows = target_of(35)
    order = np.random.default_rng(2).permutation(len(rows))
    counts = [informative(each) for each in (rows, rows[order])]
    assert counts[0] == counts[1]


def test_sparse_rows_and_single_precision():
    rows = target_of(20)
    rows[np.abs(rows - 3) < 0.2] = 0
    expected = informative(rows)
    assert informative(sparse.csr_array(rows)) == expected
    assert informative(rows.astype(np.float32)) == expected


def test_of_many_rows_some_are_looked_at(monkeypatch):
    rows = target_of(10, n=900)
    monkeypatch.setattr(module, "_ROWS", 150)
    assert abs(informative(rows) - 10) <= 1
    monkeypatch.setattr(module, "_ENTRIES", 1)  # so wide that two rows fill the memory
    assert informative(rows) in (0, 1)


@pytest.mark.parametrize(
    ("n_informative", "n_source", "wanted"),
    [(5, 200, None), (50, 200, 50), (110, 200, 100), (50, 42, 41), (50, 20, None)],
    ids=["few", "more", "too-many", "few-source-rows", "fewer-than-the-default"],
)
def test_bounds(n_informative, n_source, wanted):
    domains = domains_of(target_of(n_informative, n=700, d=700), n_source)
    found = dimension(domains)
    assert found is None if wanted is None else abs(found - wanted) <= 1
    assert dimension(replace(domains, shares_features=False)) is None


def test_without_shrinkage_the_rank_of_a_source_is_a_bound():
    domains, rng = domains_of(target_of(50)), np.random.default_rng(4)
    X = rng.normal(size=(200, 36)) @ rng.normal(size=(36, 300))  # many rows of rank 36
    domains = replace(domains, sources=(replace(domains.sources[0], X=X),))
    settings = ObjectiveSettings(shrinkage=0.0)
    assert dimension(domains, settings) == 36
    for other in (None, ObjectiveSettings(), ObjectiveSettings(shrinkage=0.0, trade_off=0.0)):
        assert dimension(domains, other) in (49, 50, 51)
    found = self_train(domains, n_rounds=1, objective=settings, max_iter=0)
    assert found.ils.metric.shape == (36, 36)


def test_the_classifier_uses_it_in_self_training_alone():
    Xt, rng = target_of(45), np.random.default_rng(3)
    y = np.arange(150) % 3
    X = Xt[:150] + rng.normal(size=(3, 300))[y]
    fitted = ILSClassifier(max_iter=0).fit(X, y, Xt)
    assert fitted.n_components_ > DEFAULT_COMPONENTS
    assert fitted.n_components_ == dimension(check_domains(X, y, Xt))
    assert ILSClassifier(25, max_iter=0).fit(X, y, Xt).n_components_ == 25
    assert ILSClassifier(max_iter=0, self_training=0).fit(X, y, Xt).n_components_ == 30
    start: Any = np.linalg.qr(rng.normal(size=(300, 7)))[0]
    assert ILSClassifier(max_iter=0, init=start).fit(X, y, Xt).n_components_ == 7
