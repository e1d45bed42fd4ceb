"""Two tables and their labels as codes."""

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import NUMBERS, small_tables

from ilspace.tables import TableError
from ilspace.tables.pair import as_pair, pooled_tables

X, Y, XT = small_tables().features
TRUTH = small_tables().truth
CLASSES = ["ant", "bee", "élan"]


def marked(mark, n=6):
    """Labels of the first target rows, and a marker for the others."""
    return np.array([each if i < n else mark for i, each in enumerate(TRUTH)], dtype=object)


# -- labels as codes -------------------------------------------------------------------------------


def test_labels_are_codes_of_sorted_classes():
    pair = as_pair(X, Y, XT, marked(None))
    assert pair.classes.tolist() == CLASSES
    assert pair.classes[pair.codes].tolist() == Y.tolist()
    assert pair.classes[pair.known[:6]].tolist() == TRUTH[:6].tolist()
    assert pair.known[6:].tolist() == [-1] * 18
    assert pair.has_labels.tolist() == [True] * 6 + [False] * 18
    assert (pair.owners, pair.source_names, pair.notes) == (None, ("source",), ())


def test_without_a_target_nothing_is_known():
    pair = as_pair(X, Y)
    assert pair.target is None
    assert pair.known.tolist() == []
    assert as_pair(X, Y, XT).known.tolist() == [-1] * 24


@pytest.mark.parametrize("mark", [None, np.nan, -1, float("nan")])
def test_markers_of_rows_without_a_label(mark):
    expected = as_pair(X, Y, XT, marked(None)).known
    assert as_pair(X, Y, XT, marked(mark)).known.tolist() == expected.tolist()
    assert as_pair(X, Y, XT, marked(mark).tolist()).known.tolist() == expected.tolist()


def test_minus_one_is_a_label_where_it_is_a_class_and_another_marker_occurs():
    signs = np.where(np.arange(30) % 2, 1, -1)
    pair = as_pair(X, signs, XT, [-1, 1, None] * 8)
    assert pair.classes.tolist() == [-1, 1]
    assert pair.known.tolist() == [0, 1, -1] * 8
    with pytest.raises(ValueError, match="-1"):  # a marker, or a class?
        as_pair(X, signs, XT, [-1, 1] * 12)


def test_the_rows_of_a_pair_are_counted_from_zero_and_those_given_stay_as_they_were():
    source, target = X.iloc[::-1], XT.set_index("sample", drop=False)
    before = source.copy(), target.copy()
    pair = as_pair(source, Y, target)
    assert pair.target is not None
    assert pair.source.index.tolist() == list(range(30))
    assert pair.target.index.tolist() == list(range(24))
    assert pair.source["sample"].tolist() == X["sample"].tolist()[::-1]
    pd.testing.assert_frame_equal(source, before[0])
    pd.testing.assert_frame_equal(target, before[1])


def test_arrays_and_lists_are_tables_with_numbered_columns():
    rows = X[list(NUMBERS)].to_numpy()
    for given in (rows, rows.tolist()):
        assert list(as_pair(given, Y).source) == ["x0", "x1", "x2", "x3"]


# -- some of the rows ------------------------------------------------------------------------------

SOME = {
    "slice": (slice(3, 9), slice(0, 20, 4)),
    "numbers": (np.array([7, 2, 2]), np.array([5, 0])),
    "mask": (np.arange(30) % 3 == 0, np.arange(24) % 5 == 1),
}


@pytest.mark.parametrize("name", SOME)
def test_taken_rows_keep_their_labels_and_all_classes(name):
    source_rows, target_rows = SOME[name]
    pair = as_pair([X[:20], X[20:]], [Y[:20], Y[20:]], XT, marked(None))
    some = pair.take(source_rows, target_rows)
    assert some.target is not None
    assert some.owners is not None
    pooled = pd.concat([X[:20], X[20:]])["sample"].to_numpy()
    assert some.source["sample"].tolist() == pooled[source_rows].tolist()
    assert some.classes[some.codes].tolist() == Y[source_rows].tolist()
    assert some.owners.tolist() == (np.arange(30) >= 20)[source_rows].astype(int).tolist()
    assert some.target["sample"].tolist() == XT["sample"].to_numpy()[target_rows].tolist()
    assert some.known.tolist() == pair.known[target_rows].tolist()
    assert some.classes is pair.classes
    assert some.source_names == pair.source_names


def test_rows_that_are_not_asked_for_stay():
    pair = as_pair(X, Y, XT, marked(None))
    assert pair.take() == pair or pair.take().source is pair.source
    assert pair.take(source_rows=slice(2)).target is pair.target
    assert pair.take(target_rows=slice(2)).source is pair.source
    assert as_pair(X, Y).take(slice(2), slice(2)).target is None


def test_labels_are_added_and_taken_away_in_a_copy():
    pair = as_pair(X, Y, XT, marked(None))
    more = pair.with_labels([10, 11], [2, 0])
    assert more.known[[10, 11]].tolist() == [2, 0]
    fewer = more.without_labels(np.arange(24) < 3)
    assert fewer.known[:3].tolist() == [-1] * 3
    assert fewer.known[3:].tolist() == more.known[3:].tolist()
    assert pair.known.tolist() == as_pair(X, Y, XT, marked(None)).known.tolist()
    assert fewer.target is pair.target


# -- several sources -------------------------------------------------------------------------------


def test_a_list_of_tables_is_pooled_and_each_row_knows_its_source():
    pair = as_pair([X[:8], X[8:20], X[20:]], [Y[:8], Y[8:20], Y[20:]], XT)
    assert pair.owners is not None
    assert pair.owners.tolist() == [0] * 8 + [1] * 12 + [2] * 10
    assert pair.source_names == ("source 1", "source 2", "source 3")
    assert pair.source["sample"].tolist() == X["sample"].tolist()
    named = as_pair([X[:8], X[8:]], [Y[:8], Y[8:]], XT, source_names=["north", "south"])
    assert named.source_names == ("north", "south")


def test_one_table_in_a_list_is_that_table():
    pair = as_pair([X], [Y], XT)
    assert pair.owners is None
    pd.testing.assert_frame_equal(pair.source, as_pair(X, Y, XT).source)


def test_columns_that_not_all_sources_have_are_left_out_and_named():
    narrow = X[20:].drop(columns="width").assign(smell=1.0)
    pair = as_pair([X[:20], narrow], [Y[:20], Y[20:]])
    assert set(pair.source) == set(X) - {"width"}
    assert pair.notes == ("Not in all sources, and left out: width, smell.",)
    assert as_pair([X[:20], X[20:]], [Y[:20], Y[20:]]).notes == ()


def test_sources_without_a_common_column_are_refused():
    with pytest.raises(TableError, match="columns in common, but have none .north: .*; south: p"):
        pooled_tables([X, pd.DataFrame({"p": [1.0]})], ["north", "south"])


def test_numbers_of_domains_say_which_rows_are_of_which():
    numbers = np.array([2, 7] * 15 + [-1] * 24)
    order = np.random.default_rng(0).permutation(54)
    rows = pd.concat([X, XT[X.columns]]).iloc[order]
    labels = np.array([*Y, *marked(-1)], dtype=object)[order]
    pair = as_pair(rows, labels, sample_domain=numbers[order])
    assert pair.owners is not None
    assert pair.target is not None
    where = {name: i for i, name in enumerate(X["sample"])}
    found = [where[each] for each in pair.source["sample"]]
    assert sorted(found) == list(range(30))
    assert pair.owners.tolist() == [each % 2 for each in found]
    assert pair.source_names == ("source 2", "source 7")
    assert pair.classes[pair.codes].tolist() == Y[found].tolist()
    known = dict(zip(pair.target["sample"], pair.known, strict=True))
    codes = [CLASSES.index(each) for each in TRUTH[:6]] + [-1] * 18
    assert [known[each] for each in XT["sample"]] == codes


def test_numbers_of_one_source_are_that_source():
    pair = as_pair(X, Y, XT, sample_domain=np.full(30, 3))
    assert pair.owners is None
    assert len(pair.codes) == 30


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "requires y to be passed"),
        ([None, *Y[1:]], "must have a label"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.full(30, "one"), "At least 2 classes"),
        (np.linspace(0, 1, 30), "continuous|Unknown label type"),
    ],
)
def test_labels_that_will_not_do(y, said):
    with pytest.raises(ValueError, match=said):
        as_pair(X, y, XT)


@pytest.mark.parametrize(
    ("target", "labels", "said"),
    [
        (None, marked(None), "yt labels the rows of Xt, but Xt is None"),
        (XT, marked(None)[:-1], r"yt must have one entry per row of Xt, shape \(24,\)"),
        (XT, ["wasp", *marked(None)[1:]], r"yt may hold only classes of the source.*wasp"),
        (XT, np.array(["-1"] * 24), "an array of strings converted it"),
    ],
)
def test_target_labels_that_will_not_do(target, labels, said):
    with pytest.raises(ValueError, match=said):
        as_pair(X, Y, target, labels)


def test_several_sources_that_will_not_do():
    with pytest.raises(ValueError, match="either as a list or by positive numbers"):
        as_pair([X], [Y], XT, None, [1])
    with pytest.raises(ValueError, match="sample_domain must hold positive numbers"):
        as_pair(X, Y, XT, None, np.zeros(30))
    with pytest.raises(ValueError, match="source_names"):
        as_pair([X[:8], X[8:]], [Y[:8], Y[8:]], XT, source_names=["one"])
    with pytest.raises(TableError, match="'a' occurs 2 times"):
        as_pair(pd.DataFrame(np.eye(30)[:, :2], columns=["a", "a"]), Y)
