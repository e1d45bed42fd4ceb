"""Tables of many rows: who learns from a sample of them, and that it is said."""

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import small_tables, write_csv

from ilspace import ILSClassifier
from ilspace.tables import classifier, job, outputs, training
from ilspace.tables.job import adapt_files
from ilspace.tables.members import LogisticRule
from ilspace.tables.outputs import summary_of

N, NT = 90, 80
LIMIT, JUDGED = 40, 50


@pytest.fixture
def limits(monkeypatch):
    """Far fewer rows than 5,000 and 20,000."""
    for module in (training, job):
        monkeypatch.setattr(module, "PAIR_ROWS", LIMIT)
    for module in (classifier, job, outputs):
        monkeypatch.setattr(module, "JUDGED_ROWS", JUDGED)


@pytest.fixture
def seen(monkeypatch):
    """Rows and labels that each kind of member was given."""
    seen = {}
    for kind in (ILSClassifier, LogisticRule):
        own = kind.fit

        def fit(self, X, y=None, Xt=None, yt=None, *, kind=kind, own=own):
            seen[kind] = X, y, Xt, yt
            return own(self, X, y, Xt, yt)

        monkeypatch.setattr(kind, "fit", fit)
    return seen


@pytest.mark.parametrize("n_labelled", [0, 60])
def test_a_sum_over_pairs_sees_a_sample_and_the_others_all(tmp_path, limits, seen, n_labelled):
    tables = small_tables(0, n=N, nt=NT)
    target = tables.labelled(n_labelled) if n_labelled else None
    found = adapt_files(*write_csv(tmp_path, tables, target), label="class")
    X, y, Xt, yt = seen[ILSClassifier]
    assert (len(X), len(y)) == (LIMIT, LIMIT)
    assert set(y) == set(tables.source["class"])
    assert len(seen[LogisticRule][0]) == N
    if n_labelled == 0:
        assert len(Xt) == NT
        assert yt is None
    notes = " ".join(found.warnings)
    assert f"has {N} rows, of which a sample of {LIMIT} trains the latent space" in notes
    assert f"has {NT} rows, of which a sample of {JUDGED} stands for all" in notes
    assert len(found.labelled) == NT
    assert found.labelled["label"].notna().all()
    summary = summary_of(found)
    assert summary["target"]["rows"] == NT
    assert sum(summary["balance"]["predicted"].values()) == pytest.approx(1)


def test_labels_of_the_target_are_sampled_too(limits, seen):
    tables = small_tables(0, n=20, nt=NT)
    X, y, Xt = tables.features
    classifier.TableClassifier(ids=["sample"]).fit(X, y, Xt, tables.truth)
    labels = seen[ILSClassifier][3]
    assert pd.notna(labels).sum() == LIMIT
    known = pd.notna(labels)
    assert (labels[known] == tables.truth[known]).all()


def test_the_same_seed_draws_the_same_rows(tmp_path, limits):
    paths = write_csv(tmp_path, small_tables(0, n=N, nt=NT))
    first, second = (adapt_files(*paths, label="class", seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first.labelled, second.labelled)
    assert first.diagnosis.verdict == second.diagnosis.verdict


def test_a_sample_does_about_as_well_as_all(tmp_path, limits, monkeypatch):
    tables = small_tables(1, n=N, nt=NT, missing=0)
    paths = write_csv(tmp_path, tables)
    some = adapt_files(*paths, label="class").labelled["adapted"]
    monkeypatch.undo()
    all_rows = adapt_files(*paths, label="class")
    assert not any("sample of" in note for note in all_rows.warnings)
    right = [np.mean(each == tables.truth) for each in (some, all_rows.labelled["adapted"])]
    assert right[0] >= right[1] - 0.05


@pytest.mark.parametrize("n_labelled", [0, 10, 70])
def test_rows_that_are_judged(limits, n_labelled):
    tables = small_tables(0, n=20, nt=NT)
    yt = None
    if n_labelled:
        yt = np.where(np.arange(NT) % NT < n_labelled, tables.truth, np.array(None))
    given = job.LabelledTables(tables.source, tables.truth, tables.target, yt)
    judged = job._judged(given, 0)
    n_free = NT - n_labelled
    assert len(judged.target) == min(JUDGED, min(n_labelled, JUDGED // 2) + n_free)
    assert judged.target["sample"].is_monotonic_increasing
    if yt is not None:
        assert judged.yt is not None
        assert pd.notna(judged.yt).sum() == min(n_labelled, JUDGED // 2)
        assert (judged.yt == yt[judged.target.index]).all()
