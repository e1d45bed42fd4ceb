"""The experiments of the demo: who sees what, what is compared, and what is said about it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ilspace import ILSClassifier
from ilspace.benchmark import digits_demo
from ilspace.benchmark.demo_report import csv_text, findings, summarize
from ilspace.benchmark.digits_demo import (
    EXPERIMENTS,
    FULL,
    ILS,
    METHODS,
    N_LABELS,
    NO_ADAPTATION,
    POOLED,
    QUICK,
    TARGET_ONLY,
    Record,
    Sizes,
    Trace,
    draw_parts,
)
from ilspace.datasets import Domain

Y_SOURCE = np.repeat(np.arange(10), 40)
Y_TARGET = np.tile(np.arange(10), 60)
SIZES = Sizes(n_source=7, n_seen=100, n_new=200)


def draw(*seed):
    return draw_parts(Y_SOURCE, Y_TARGET, SIZES, seed=seed)


def test_every_setting_is_tried_in_both_directions():
    assert [each.setting for each in EXPERIMENTS[::2]] == [
        "unsupervised",
        "semi-supervised",
        "different widths",
    ]
    assert {(each.source, each.target) for each in EXPERIMENTS[::2]} == {("digits", "mnist")}
    assert {(each.source, each.target) for each in EXPERIMENTS[1::2]} == {("mnist", "digits")}
    assert [each.n_columns for each in EXPERIMENTS[-2:]] == [(64, 784), (784, 64)]


def test_parts_are_disjoint_and_as_large_as_asked():
    parts = draw(0, 1)
    assert_array_equal(np.bincount(Y_SOURCE[parts.source]), SIZES.n_source)
    assert_array_equal(np.bincount(Y_TARGET[parts.labelled]), N_LABELS)
    seen = np.concatenate([parts.labelled, parts.unlabelled])
    assert (len(seen), len(parts.new)) == (SIZES.n_seen, SIZES.n_new)
    drawn = np.concatenate([seen, parts.new])
    assert len(np.unique(drawn)) == len(drawn)


def test_a_draw_depends_on_its_seed_alone():
    assert all(map(np.array_equal, draw(3, 4), draw(3, 4)))
    assert not np.array_equal(draw(3, 4).new, draw(3, 5).new)


def test_hidden_labels_change_no_rows():
    parts = draw(5)
    hidden = parts.without_labels()
    assert len(hidden.labelled) == 0
    assert set(hidden.unlabelled) == {*parts.labelled, *parts.unlabelled}
    assert_array_equal(hidden.new, parts.new)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match=r"100 \+ 501 target rows, but there are 600"):
        draw_parts(Y_SOURCE, Y_TARGET, replace(SIZES, n_new=501), seed=(0,))
    with pytest.raises(ValueError, match="at least 41 rows, but class 0 has 40"):
        draw_parts(Y_SOURCE, Y_TARGET, replace(SIZES, n_source=41), seed=(0,))


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_scikit_learns_digits_have_enough_rows(sizes):
    assert sizes.n_seen + sizes.n_new <= 1797


def records_of(experiment, **accuracies):
    names = {"source": NO_ADAPTATION, "target": TARGET_ONLY, "pooled": POOLED, "ils": ILS}
    return [
        Record(experiment, trial, names[method], value)
        for method, values in accuracies.items()
        for trial, value in enumerate(values)
    ]


def test_summary_keeps_trials_in_order_and_knows_the_best():
    records = records_of(EXPERIMENTS[0], source=[50.0, 60.0], ils=[70.0, 40.0])
    (row,) = summarize(records[::-1])
    assert_array_equal(row.accuracies[ILS], [70, 40])
    assert row.best == {NO_ADAPTATION, ILS}
    assert row.cell(NO_ADAPTATION) == "55.0 ± 7.1"
    assert row.cell(TARGET_ONLY) == "–"


def test_what_did_not_help_is_said():
    settled = Trace(EXPERIMENTS[0], 0, (1.0,), "it settled", True)
    failed = settled._replace(reason="it gave up", is_success=False)
    rows = summarize(
        records_of(EXPERIMENTS[0], source=[50.0, 60.0], ils=[70.0, 70.0])
        + records_of(EXPERIMENTS[1], source=[50.0, 60.0], ils=[50.0, 60.0])
        + records_of(EXPERIMENTS[2], source=[9.0, 9.0], target=[80.0, 70.0], ils=[70.0, 71.0])
    )
    overall, level, behind, fits = findings(rows, [settled, failed, failed])
    assert overall == "ILS is ahead of all others in 1 of 3 experiments."
    assert level.endswith("unsupervised, mnist → digits: ILS is level with no adaptation.")
    assert "4.5 points behind target only" in behind
    assert behind.endswith("behind in 1 of 2 trials.")
    assert fits == "2 of 3 fits did not converge: it gave up (2)."
    assert findings(rows, [settled])[-1] == "All 1 fits converged."


def test_csv_keeps_every_digit():
    accuracy = 100 / 3
    line = csv_text([Record(EXPERIMENTS[4], 2, ILS, accuracy, 31, "SETTLED")]).splitlines()[1]
    assert line == f"different widths,digits,mnist,64,784,3,2,ILS,{accuracy!r},31,SETTLED"
    assert float(re.findall(r"33\.\d+", line)[0]) == accuracy


def test_every_method_is_explained():
    assert tuple(METHODS) == (NO_ADAPTATION, TARGET_ONLY, POOLED, ILS)


def test_fit_is_never_given_new_rows_or_hidden_labels(monkeypatch):
    rng = np.random.default_rng(0)
    digits = Domain("digits", rng.random((600, 64)), Y_TARGET, "noise")
    mnist = Domain("mnist", rng.random((600, 784)) * 255, Y_TARGET, "noise")
    monkeypatch.setattr(digits_demo, "load_digit_pair", lambda pool: (digits, mnist))
    given = []

    class Spy(ILSClassifier):
        def fit(self, X, y=None, Xt=None, yt=None, **metadata):
            given.append((np.asarray(Xt), np.asarray(yt)))
            return super().fit(X, y, Xt, yt, **metadata)

    monkeypatch.setattr(digits_demo, "ILSClassifier", Spy)
    run = digits_demo.run_experiments(SIZES, n_trials=1, experiments=EXPERIMENTS[1:4:2])
    (no_labels, same_start), (some_labels, _) = (given[:2], given[2:])
    assert (no_labels[1] == -1).all()
    assert_array_equal(no_labels[0], same_start[0])
    assert np.sum(some_labels[1] >= 0) == 10 * N_LABELS
    assert_array_equal(np.bincount(some_labels[1][some_labels[1] >= 0]), N_LABELS)
    assert [record.method for record in run.records] == [NO_ADAPTATION, ILS, *METHODS]
    for _, before, after in run.illustrations:
        assert before.target.shape == after.target.shape == (SIZES.n_new, 30)
