"""The protocols: how many rows, which rows, and that they never change."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ilspace.benchmark.protocols import (
    PER_CLASS,
    TRANSFERS,
    full_source_split,
    gong_split,
    gong_splits,
    hoffman_splits,
)
from ilspace.datasets import load_office_caltech

LABELS = np.repeat(["cat", "dog", "owl"], [9, 12, 30])


def test_transfers_are_all_ordered_pairs_in_the_papers_order():
    assert len(set(TRANSFERS)) == 12
    assert all(source != target for source, target in TRANSFERS)
    assert [s + t for s, t in TRANSFERS[:4]] == ["AW", "AD", "AC", "WA"]


@pytest.mark.parametrize("per_class", [1, 5, 9])
def test_gong_split_draws_as_many_of_each_class(per_class):
    split = gong_split(LABELS, np.zeros(17), per_class=per_class, seed=3)
    classes, counts = np.unique(LABELS[split.source], return_counts=True)
    assert_array_equal(classes, ["cat", "dog", "owl"])
    assert_array_equal(counts, per_class)
    assert len(np.unique(split.source)) == 3 * per_class
    assert split.labelled.size == 0
    assert_array_equal(split.test, np.arange(17))


def test_gong_split_is_the_same_everywhere():
    split = gong_split(LABELS, LABELS, per_class=3, seed=(4, 7))
    assert_array_equal(split.source, [2, 3, 4, 11, 13, 18, 22, 32, 40])


def test_gong_split_depends_on_every_part_of_the_seed():
    seeds = [(0, 0), (0, 1), (1, 0), (1, 1)]
    drawn = {tuple(gong_split(LABELS, LABELS, per_class=3, seed=seed).source) for seed in seeds}
    assert len(drawn) == len(seeds)


def test_gong_split_draws_every_row_equally_often():
    splits = [gong_split(LABELS, LABELS, per_class=6, seed=(9, i)) for i in range(2000)]
    shares = np.bincount(np.concatenate([s.source for s in splits]), minlength=len(LABELS)) / 2000
    expected = np.repeat([6 / 9, 6 / 12, 6 / 30], [9, 12, 30])
    assert np.abs(shares - expected).max() < 4.5 * np.sqrt(0.25 / 2000)


def test_gong_split_refuses_a_class_that_is_too_small():
    with pytest.raises(ValueError, match="class cat has 9: draw fewer"):
        gong_split(LABELS, LABELS, per_class=10, seed=0)


def test_gong_split_needs_rows():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        gong_split(LABELS, LABELS, per_class=0, seed=0)


def test_full_source_split_takes_all_rows():
    split = full_source_split(LABELS, ["dog"] * 17)
    assert_array_equal(split.source, np.arange(len(LABELS)))
    assert_array_equal(split.test, np.arange(17))
    assert split.labelled.size == 0


@pytest.mark.parametrize(
    "splits", [lambda: gong_splits("A", "A", [], []), lambda: hoffman_splits("A", "B")]
)
def test_unknown_transfer(splits):
    with pytest.raises(ValueError, match="two different domains of A, C, D, W"):
        splits()


@pytest.mark.usefixtures("ilspace_data")
@pytest.mark.parametrize(("source", "target"), TRANSFERS)
def test_official_protocols_on_the_real_labels(source, target):
    domains = load_office_caltech()
    ys, yt = domains[source].y, domains[target].y

    unsupervised = gong_splits(source, target, ys, yt)
    assert len(unsupervised) == 20
    for split in unsupervised:
        assert_array_equal(np.bincount(ys[split.source])[1:], [PER_CLASS[source]] * 10)
    few = gong_splits(source, target, ys, yt, n_trials=2)
    assert_array_equal(few[1].source, unsupervised[1].source)

    official = hoffman_splits(source, target)
    assert len(official) == 20
    for split in official:
        assert_array_equal(np.bincount(ys[split.source])[1:], [20 if source == "A" else 8] * 10)
        assert_array_equal(np.bincount(yt[split.labelled])[1:], [3] * 10)
        parts = np.sort(np.concatenate([split.labelled, split.test]))
        assert_array_equal(parts, np.arange(len(yt)))
