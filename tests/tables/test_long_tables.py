"""Tables of many rows: who learns from a sample of them, and that it is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from tables.small_tables import quick, small_tables

import ilspace
from ilspace import ILSClassifier, TableClassifier
from ilspace.tables import estimates, job, learning

N, NT = 90, 80
LIMIT, HELD_OUT = 40, 50


@pytest.fixture
def limits(monkeypatch):
    """Far fewer rows than 5,000 and 10,000."""
    for module in (learning, job):
        monkeypatch.setattr(module, "PAIR_ROWS", LIMIT)
    for module in (estimates, job):
        monkeypatch.setattr(module, "MOST_ROWS", HELD_OUT)


@pytest.fixture
def seen(monkeypatch):
    """Rows and labels that the latent space was given, and the classifier, in their order."""
    seen = {ILSClassifier: [], Pipeline: []}
    fit_space, fit_classifier = ILSClassifier.fit, Pipeline.fit

    def fit(self, X, y=None, Xt=None, yt=None, **options):
        seen[ILSClassifier].append((X, y, Xt, yt))
        return fit_space(self, X, y, Xt, yt, **options)

    def fit_rows(self, X, y=None, **options):
        if isinstance(self[-1], LogisticRegression):  # others show rows, and compare tables
            seen[Pipeline].append((X, y))
        return fit_classifier(self, X, y, **options)

    monkeypatch.setattr(ILSClassifier, "fit", fit)
    monkeypatch.setattr(Pipeline, "fit", fit_rows)
    return seen


@pytest.mark.parametrize("n_labelled", [0, 60])
def test_a_sum_over_pairs_sees_a_sample_of_the_source(limits, seen, n_labelled):
    tables = small_tables(0, n=N, nt=NT)
    target = tables.labelled(n_labelled) if n_labelled else tables.target
    found = ilspace.adapt(tables.source, target, "class", method="ils")
    X, y, Xt, yt = seen[ILSClassifier][0]
    assert (len(X), len(y), len(Xt)) == (LIMIT, LIMIT, NT)
    assert set(y) == set(tables.source["class"])
    if n_labelled == 0:
        assert yt is None
    else:  # and of the labels of the target
        known = pd.notna(yt)
        assert known.sum() == LIMIT
        assert (yt[known] == tables.truth[known]).all()
    assert (
        f"The source has {N} rows, of which a sample of {LIMIT} trains the latent space."
        in found.notes
    )
    assert f"The held-out accuracy is that of {HELD_OUT} of the {N} source rows." in found.notes
    assert len(found.predictions) == found.summary["target"]["rows"] == NT
    assert found.predictions["label"].notna().all()
    # in each fold are 40 of the 50 rows that are held out in turn, and as many of the target
    for X, _, Xt, _ in seen[ILSClassifier][1:]:
        assert len(X) == LIMIT
        assert len(Xt) == min(NT, max(HELD_OUT, n_labelled + min(HELD_OUT, NT - n_labelled)))


def test_the_others_see_all_rows(limits, seen):
    tables = small_tables(0, n=N, nt=NT)
    given = tables.source, tables.labelled(30)
    found = ilspace.adapt(*given, "class", method=quick(), own_scaling=False)
    rows, *folds = [len(X) for X, _ in seen[Pipeline]]
    assert rows == N + 30
    assert sum(HELD_OUT + 30 - each for each in folds) == HELD_OUT + 30  # each is held out once
    assert max(folds) - min(folds) <= 2
    assert not any("latent space" in each for each in found.notes)
    assert found.estimate.n_labels == 30


def test_the_same_seed_draws_the_same_rows(limits):
    tables = small_tables(0, n=N, nt=NT)
    first, second = (
        ilspace.adapt(tables.source, tables.target, "class", method="ils", random_state=3)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first.predictions, second.predictions)
    assert first.estimate.expected == second.estimate.expected


def test_a_sample_does_about_as_well_as_all(limits, monkeypatch):
    tables = small_tables(1, n=N, nt=NT, missing=0)
    X, y, Xt = tables.features
    some = TableClassifier("ils").fit(X, y, Xt).score(Xt, tables.truth)
    monkeypatch.undo()
    assert some >= TableClassifier("ils").fit(X, y, Xt).score(Xt, tables.truth) - 0.05


def test_a_source_of_several_that_a_sample_hardly_has_is_left_out(limits):
    tables = small_tables(0, n=N, nt=NT)
    X, y, Xt = tables.features
    parts = [X[:2], X[2:]]
    model = TableClassifier("ils").fit(parts, [y[:2], y[2:]], Xt, source_names=["few", "many"])
    assert "many" in model.rule_.estimator_.source_names_
    assert np.isfinite(model.predict_proba(X[:2], "few")).all()
