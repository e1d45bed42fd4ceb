"""Labels of any kind, and the marks of rows without one."""

import numpy as np
import pandas as pd
import pytest
from shifted import shifted

from ilspace import ILSClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA
WORDS = np.array(["cat", "dog", "emu"])


def probabilities(labels, target_labels=None):
    return ILSClassifier().fit(X, labels, Xt, target_labels).predict_proba(Xt)


@pytest.fixture(scope="module")
def unlabelled():
    return probabilities(y)


@pytest.fixture(scope="module")
def few():
    return probabilities(y, DATA.marked(-1))


MARKS = pytest.mark.parametrize("mark", [None, np.nan, pd.NA, -1], ids=str)
CONTAINERS = pytest.mark.parametrize(
    "container",
    [list, lambda some: np.array(some, dtype=object), lambda some: pd.Series(some, dtype=object)],
    ids=["list", "array", "series"],
)


@MARKS
@CONTAINERS
def test_marks_among_integers(mark, container, few):
    np.testing.assert_array_equal(probabilities(y, container(DATA.marked(mark))), few)


@MARKS
@CONTAINERS
def test_marks_among_strings(mark, container, few):
    named = [WORDS[yt[i]] if i < 6 else mark for i in range(len(yt))]
    np.testing.assert_array_equal(probabilities(WORDS[y], container(named)), few)


@MARKS
def test_marks_among_booleans(mark):
    expected = probabilities(y == 0, None)
    marked = [bool(yt[i] == 0) if i < 6 else mark for i in range(len(yt))]
    fitted = ILSClassifier().fit(X, y == 0, Xt, marked)
    assert fitted.classes_.tolist() == [False, True]
    assert fitted.predict(Xt).dtype == bool
    assert not np.array_equal(fitted.predict_proba(Xt), expected)


@pytest.mark.parametrize(
    "marked",
    [
        pd.Series(DATA.marked(pd.NA), dtype="Int64"),
        pd.Series(DATA.marked(None), dtype="Float64"),
        np.array(DATA.marked(np.nan)),
        np.array(DATA.marked(-1)),
        np.array(DATA.marked(-1), dtype=np.int8),
        pd.Series(DATA.marked(None), dtype="category"),
    ],
    ids=["Int64", "Float64", "float", "int", "int8", "category"],
)
def test_marks_in_typed_containers(marked, few):
    np.testing.assert_array_equal(probabilities(y, marked), few)


@pytest.mark.parametrize("mark", [None, np.nan, -1, pd.NA], ids=str)
def test_all_marked_is_no_labels(mark, unlabelled):
    np.testing.assert_array_equal(probabilities(y, [mark] * len(yt)), unlabelled)


def test_a_fully_labelled_target():
    fitted = ILSClassifier().fit(X, y, Xt, yt)
    assert fitted.score(Xt, yt) == 1


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (WORDS[y], WORDS),
        (WORDS[y].astype(object), WORDS),
        (pd.Series(WORDS[y]), WORDS),
        (pd.Series(WORDS[y], dtype="category"), WORDS),
        (pd.Series(WORDS[y], dtype="string"), WORDS),
        (WORDS[y].tolist(), WORDS),
        (y.astype(object), [0, 1, 2]),
        (pd.Series(y, dtype="Int64"), [0, 1, 2]),
        (y.astype(float), [0, 1, 2]),
        (10 * y - 7, [-7, 3, 13]),
    ],
    ids=["U", "object", "series", "category", "string", "list", "ints", "Int64", "float", "gaps"],
)
def test_kinds_of_source_labels(labels, classes, unlabelled):
    fitted = ILSClassifier().fit(X, labels, Xt)
    assert fitted.classes_.tolist() == list(classes)
    np.testing.assert_array_equal(fitted.predict_proba(Xt), unlabelled)
    expected = np.asarray(classes)[unlabelled.argmax(axis=1)]
    np.testing.assert_array_equal(fitted.predict(Xt), expected)


@pytest.mark.parametrize("kind", [list, pd.Series, lambda each: np.array(each, dtype=object)])
def test_mixed_rows_with_named_classes(kind, few):
    rows, _, domain = DATA.mixed
    labels = kind([WORDS[i] for i in y] + [WORDS[yt[i]] if i < 6 else None for i in range(len(yt))])
    fitted = ILSClassifier().fit(rows, labels, sample_domain=domain)
    assert fitted.classes_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(fitted.predict_proba(Xt), few)


# -- -1 as a class and as a mark (DESIGN §2) -----------------------------------------------------

SIGNS, TARGET_SIGNS = np.where(y == 0, -1, 1), np.where(yt == 0, -1, 1)


def test_minus_one_is_a_mark_where_it_is_no_class():
    np.testing.assert_array_equal(
        probabilities(y, DATA.marked(-1)), probabilities(y, DATA.marked(None))
    )


@pytest.mark.parametrize("mark", [None, np.nan], ids=str)
def test_minus_one_is_a_label_beside_an_explicit_mark(mark):
    signed = [each if i < 6 else mark for i, each in enumerate(TARGET_SIGNS.tolist())]
    renamed = [
        WORDS[int(each > 0)] if i < 6 else None for i, each in enumerate(TARGET_SIGNS.tolist())
    ]
    np.testing.assert_array_equal(
        probabilities(SIGNS, signed), probabilities(WORDS[(SIGNS > 0).astype(int)], renamed)
    )


@pytest.mark.parametrize("target_labels", [TARGET_SIGNS, np.full(len(yt), -1)], ids=["all", "-1"])
def test_minus_one_as_a_class_without_a_mark_is_ambiguous(target_labels):
    with pytest.raises(ValueError, match="-1 is a source class.*None or NaN.*leave yt out"):
        probabilities(SIGNS, target_labels)
    rows, _, domain = DATA.mixed
    with pytest.raises(ValueError, match="-1 is a source class.*None or NaN"):
        ILSClassifier().fit(rows, np.r_[SIGNS, target_labels], sample_domain=domain)


def test_minus_one_as_a_class_is_no_trouble_where_the_target_has_none():
    named = WORDS[(SIGNS > 0).astype(int)]
    np.testing.assert_array_equal(probabilities(SIGNS), probabilities(named))
    np.testing.assert_array_equal(
        probabilities(SIGNS, np.ones(len(yt), dtype=int)),
        probabilities(named, np.full(len(yt), WORDS[1])),
    )


# -- bad labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(30), "At least 2 classes.*only one class was met: 0.0; add rows"),
        (np.full(30, "cat"), "only one class was met: 'cat'"),
        (np.where(y == 1, np.nan, y), "must have a label.*row 1: drop such rows"),
        (np.array([0, None, 2])[y], "must have a label.*row 1: drop such rows"),
        (np.array(["cat", None, "emu"])[y], "must have a label.*row 1: drop such rows"),
        (np.where(y == 1, np.inf, y), "y contains infinity"),
        (X[:, 0], "Unknown label type: continuous"),
        (np.array([1, "a", 2.5], dtype=object)[y], "Unknown label type"),
        (
            ["cat", 1, "emu"] * 10,
            "all be strings or all be numbers, but some are int and others str",
        ),
        (["cat", 1.5, True] * 10, "some are bool and others float or str: convert them"),
        (y[:-1], r"inconsistent numbers of samples: \[30, 29\]"),
        (None, "requires y to be passed.*source rows need labels"),
    ],
)
def test_bad_source_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier().fit(X, labels, Xt)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (yt[:-1], r"shape \(24,\), but has shape \(23,\); mark rows without"),
        (yt[:, None], r"but has shape \(24, 1\)"),
        (yt + 1, r"classes of the source \(\[0, 1, 2\]\).*holds \[3\]: mark such rows"),
        (WORDS[yt], r"holds \['cat', 'dog', 'emu'\]"),
        (["cat", 1, None] * 8, r"holds \['cat'\]"),
        (np.where(yt == 0, np.inf, yt), r"holds \[inf\]"),
    ],
)
def test_bad_target_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier().fit(X, y, Xt, labels)


def test_numbers_are_not_the_words_for_them():
    with pytest.raises(ValueError, match=r"holds \[0, 1, 2\]"):
        ILSClassifier().fit(X, y.astype(str), Xt, yt)


def test_masked_labels_stay_hidden():
    data = shifted()
    hidden = np.arange(len(data.yt)) >= 6
    masked = np.ma.masked_array(data.yt, mask=hidden)
    fitted = ILSClassifier().fit(data.X, data.y, data.Xt, masked)
    expected = ILSClassifier().fit(data.X, data.y, data.Xt, np.where(hidden, -1, data.yt))
    np.testing.assert_array_equal(fitted.predict_proba(data.Xt), expected.predict_proba(data.Xt))


def test_labels_in_objects_can_be_scored():
    data = shifted()
    fitted = ILSClassifier().fit(data.X, data.y.astype(object), data.Xt)
    assert fitted.score(data.Xt, data.yt.astype(object)) == fitted.score(data.Xt, data.yt)
