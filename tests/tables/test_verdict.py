"""Which labels to use: four words, and the numbers behind them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator
from tables.small_tables import small_tables

from ilspace import TableClassifier
from ilspace.tables import held_out, verdict
from ilspace.tables.committee import ADAPTED, UNADAPTED
from ilspace.tables.diagnosis import diagnose
from ilspace.tables.held_out import HeldOut
from ilspace.tables.labels import LabelledTables
from ilspace.tables.members import MEMBERS
from ilspace.tables.shift import share_of_shifted_columns
from ilspace.tables.verdict import (
    CERTAINTY,
    FEWEST_LABELS,
    POWER,
    TARGET_ALONE,
    Word,
    judge,
)

TABLES = small_tables(n=45, nt=36)
X, Y, XT = TABLES.features


def labelled(n_rows, tables=TABLES):
    """The tables, with labels of the first target rows."""
    some = [each if i < n_rows else None for i, each in enumerate(tables.truth)]
    return LabelledTables(*tables.features, np.array(some, dtype=object) if n_rows else None)


def verdict_of(tables, method="committee", **options):
    model = TableClassifier(method, **options).fit(*tables)
    return diagnose(model, tables).verdict


class Constant(BaseEstimator):
    """Says one class of all rows, and remembers which target labels it was given."""

    given = []  # of all copies

    def fit(self, X, y, Xt, yt=None):
        self.classes_ = np.unique(y)
        type(self).given.append(yt)
        return self

    def predict(self, X, domain="target"):
        return np.full(len(X), self.classes_[0])


# -- each of the four words ----------------------------------------------------------------------


def test_few_columns_that_are_where_they_were_are_no_evidence():
    found = verdict_of(labelled(0))
    assert found.expected[ADAPTED] - found.expected[UNADAPTED] >= verdict.GAINS[1]
    assert (found.word, found.recommended) == (Word.CANNOT_TELL, UNADAPTED)
    assert "fewer than 10 encoded columns, and most of them have not shifted" in found.reason
    assert found.n_more == FEWEST_LABELS
    wide = labelled(0)
    more = {f"x{i}": np.arange(36) % 5 for i in range(3)}
    wide = wide._replace(
        source=wide.source.assign(**{name: np.arange(45) % 5 for name in more}),
        target=wide.target.assign(**more),
    )
    assert verdict_of(wide).word == Word.ADAPTED


def test_columns_have_shifted_where_most_of_their_values_lie_elsewhere():
    rng = np.random.default_rng(0)
    source = np.c_[rng.normal(size=(200, 4)), np.ones(200)]
    target = rng.normal(size=(100, 5)) + [0, 0.5, 2, -2, 9]  # constant columns do not count
    assert share_of_shifted_columns(source, target) == 0.5
    assert share_of_shifted_columns(np.ones((5, 2)), np.zeros((5, 2))) == 0


def test_adapted_without_labels():
    found = verdict_of(labelled(0, TABLES.moved()))
    assert found.word == Word.ADAPTED == "adapted"
    assert found.sentence == "Use the adapted labels."
    assert found.judged_by == "agreement"
    assert found.expected[ADAPTED] - found.expected[UNADAPTED] >= verdict.GAINS[0]
    assert (found.probability, found.n_more, found.scores) == (None, None, {})
    assert "No target label confirms it." in found.reason
    assert "too few to confirm it" in verdict_of(labelled(9, TABLES.moved())).reason


@pytest.mark.parametrize(
    ("differ", "n_rows", "gain"),
    [(0.1, 10, 0.03), (0.16, 1_600, 0.01), (0.1, 250, 0.02), (0.1, 10**7, 0.01), (0, 50, 0.01)],
)
def test_with_more_rows_a_smaller_gain_is_enough(differ, n_rows, gain):
    assert verdict.least_gain(differ, n_rows) == pytest.approx(gain)
    numbers = {ADAPTED: 0.7 + gain, UNADAPTED: 0.7}, {}
    found = verdict._without_labels(numbers, differ, 0.0, 0, n_rows)
    assert found.word == Word.ADAPTED
    numbers[0][ADAPTED] -= 1e-3
    found = verdict._without_labels(numbers, differ, 0.0, 0, n_rows)
    assert found.word == Word.CANNOT_TELL


def test_adapted_with_labels():
    found = verdict_of(labelled(36, small_tables(seed=6, n=45, nt=36)))
    assert found.word == Word.ADAPTED
    assert (found.judged_by, found.n_labels) == ("target labels", 36)
    assert set(found.scores) == {ADAPTED, UNADAPTED, TARGET_ALONE, *MEMBERS}
    assert found.probability is not None
    assert found.probability >= CERTAINTY
    assert f"with a probability of {found.probability:.0%}" in found.reason


def test_unadapted_where_labels_say_so():
    found = verdict_of(labelled(36), Constant())
    assert found.word == Word.UNADAPTED == "unadapted"
    assert found.sentence == "Use the unadapted ones."
    assert found.scores[ADAPTED] == pytest.approx(1 / 3)
    assert found.probability is not None
    assert found.probability <= 1 - CERTAINTY
    # and where none does, it is not said of the same tables
    assert verdict_of(labelled(0), Constant()).word != Word.UNADAPTED


def test_cannot_tell_where_the_labels_hardly_differ():
    tables = labelled(0, small_tables(seed=3, n=45, nt=36))  # far apart, yet simple
    found = verdict_of(tables)
    assert found.word == Word.CANNOT_TELL == "cannot-tell"
    assert found.n_more is not None
    assert FEWEST_LABELS <= found.n_more <= 36
    assert found.sentence == f"Cannot tell: label about {found.n_more} more rows."


def test_nobody_is_worse_off_where_it_cannot_tell():
    simple = small_tables(seed=3, n=45, nt=36)
    # two labels cannot be held out in turn
    for found in (verdict_of(labelled(0, simple)), verdict_of(labelled(2, simple))):
        assert (found.word, found.recommended) == (Word.CANNOT_TELL, UNADAPTED)
        assert found.reason.endswith("Until more is known, the unadapted labels are given.")
    # adapted labels that were asked for
    shares = {each: float(np.mean(simple.truth == each)) for each in np.unique(simple.truth)}
    for found in (
        verdict_of(labelled(0, simple), class_prior=shares),
        verdict_of(labelled(0, simple), "ils"),
    ):
        assert (found.word, found.recommended) == (Word.CANNOT_TELL, ADAPTED)
        assert found.reason.endswith("Until more is known, the adapted labels are given.")
    assert "by its own probabilities" in found.reason


def test_few_labels_decide_which_ones_are_given(monkeypatch):
    tables = labelled(9, small_tables(seed=3, n=45, nt=36))
    model = TableClassifier().fit(*tables)
    known = model.held_out_
    assert known is not None
    wrong = (known.codes + 1) % 3
    for adapted, plain, given in ((known.codes, wrong, ADAPTED), (wrong, known.codes, UNADAPTED)):
        said = np.broadcast_to(np.eye(3)[adapted], known.said.shape)
        model.held_out_ = replace(known, said=said, rivals=known.rivals | {UNADAPTED: plain})
        found = judge(model, tables)
        assert (found.word, found.probability) == (Word.CANNOT_TELL, None)
        assert found.recommended == given


@pytest.mark.parametrize("is_asked_for", [False, True])
@pytest.mark.parametrize("probability", [None, 0.2, 0.8])
def test_a_direction_is_followed(probability, is_asked_for):
    for word, labels in {Word.ADAPTED: ADAPTED, Word.UNADAPTED: UNADAPTED}.items():
        assert labels == verdict.recommended_labels(
            word, probability=probability, is_asked_for=is_asked_for
        )


@pytest.mark.parametrize("word", [Word.CANNOT_TELL, Word.NO_DIFFERENCE])
def test_without_a_direction_labels_speak_first_and_wishes_next(word):
    def given(**known):
        return verdict.recommended_labels(word, **known)

    assert given() == UNADAPTED
    assert given(is_asked_for=True) == ADAPTED
    for is_asked_for in (False, True):
        assert given(probability=0.49, is_asked_for=is_asked_for) == UNADAPTED
        assert given(probability=0.5, is_asked_for=is_asked_for) == ADAPTED


def test_what_is_expected_of_the_unadapted_labels_heeds_those_that_are_known():
    tables = labelled(36)
    model = TableClassifier(Constant()).fit(*tables)
    found = diagnose(model, tables).verdict
    assert (found.word, found.recommended) == (Word.UNADAPTED, UNADAPTED)
    assert abs(found.expected[UNADAPTED] - found.scores[UNADAPTED]) < 0.06
    low, high = found.intervals[UNADAPTED]
    assert low < found.scores[UNADAPTED] < high
    assert high - low < 0.2  # without labels 0.28


def test_all_rows_labelled_leave_none_to_label():
    held_out = HeldOut(np.zeros(12, int), np.arange(12) % 3, np.ones((1, 12, 2)), {}, np.ones(12))
    same = replace(held_out, weights=np.full(12, 1 / 12), rivals={UNADAPTED: np.zeros(12, int)})
    numbers = {ADAPTED: 1.0, UNADAPTED: 1.0}, {}
    found = verdict._by_labels(same, ["ils"], numbers, 12)
    assert (found.word, found.n_more) == (Word.CANNOT_TELL, 0)
    assert found.sentence == "Cannot tell: all rows have labels, and these do not settle it."
    assert verdict._by_labels(same, ["ils"], numbers, 13).sentence.endswith("about 1 more row.")


def test_no_difference():
    found = verdict_of(LabelledTables(X[:30], Y[:30], X[30:], None))
    assert found.word == Word.NO_DIFFERENCE == "no-difference"
    assert found.sentence == "The tables do not seem to differ."


def test_without_shared_columns_labels_decide():
    tables = labelled(9)._replace(
        target=XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)  # nothing in common
    )
    found = verdict_of(tables, "ils")
    assert (found.word, found.n_more, found.judged_by) == (Word.CANNOT_TELL, 1, "nothing")
    assert UNADAPTED not in found.expected
    found = verdict_of(tables._replace(yt=labelled(36).yt), "ils")
    assert found.judged_by == "target labels"
    assert set(found.scores) == {ADAPTED, TARGET_ALONE}
    assert found.word != Word.UNADAPTED  # there are none
    assert "those by the target labels alone" in found.reason


def test_a_small_table_is_not_asked_for_no_labels():
    tables = LabelledTables(X, Y, XT[:5], TABLES.truth[:5].astype(object))
    found = verdict._without_labels(({ADAPTED: 0.8, UNADAPTED: 0.8}, {}), 0.0, None, 5, 5)
    assert found.n_more == 5
    assert verdict_of(tables).word in Word


def test_never_unadapted_without_labels():
    values = np.linspace(0, 1, 6)
    for adapted, unadapted, differ, p in product(values, values, values, [None, 0.0, 1.0]):
        expected = {ADAPTED: adapted, UNADAPTED: unadapted}
        found = verdict._without_labels((expected, {}), differ, p, 0, 100)
        assert found.word != Word.UNADAPTED
        assert (found.n_more is not None) == (found.word == Word.CANNOT_TELL)
        assert found.n_more is None or FEWEST_LABELS <= found.n_more <= 100


# -- with labels ---------------------------------------------------------------------------------


def rows_right(both, one, other, neither):
    """Which rows two classifiers are right on, from the four counts."""
    return (
        np.repeat([True, True, False, False], [both, one, other, neither]),
        np.repeat([True, False, True, False], [both, one, other, neither]),
    )


def by_labels(right, n_rows):
    """The verdict where classifiers are right on these rows, all of one class."""
    codes = {name: np.where(each, 0, 1) for name, each in right.items()}
    adapted = codes.pop(ADAPTED)
    n = len(adapted)
    folds, weights = np.arange(n) % 3, np.full(n, 1 / n)
    members = [name for name in codes if name in MEMBERS]
    said = np.stack([np.eye(2)[each] for each in (adapted, *(codes.pop(name) for name in members))])
    held = HeldOut(np.zeros(n, int), folds, said, codes, weights)
    # the first member stands for the average
    return verdict._by_labels(
        replace_prediction(held, adapted), ["first", *members], ({}, {}), n_rows
    )


def replace_prediction(held, adapted):
    """The same, with another prediction of the average."""

    class Fixed(HeldOut):
        def predicted(self):
            return adapted

    return Fixed(held.codes, held.folds, held.said, held.rivals, held.weights)


def test_the_probability_is_that_of_the_discordant_rows():
    # of 9 rows on which they differ 7 are gained; a coin thrown 10 times falls on one side at most
    # 7 times in 968 of 1024 cases, which is the chance of a share above a half
    adapted, plain = rows_right(20, 7, 2, 5)
    found = by_labels({ADAPTED: adapted, UNADAPTED: plain}, 9999)
    assert found.probability == pytest.approx(968 / 1024)
    assert found.word == Word.ADAPTED
    assert found.scores[ADAPTED] == pytest.approx(27 / 34)
    assert found.scores[UNADAPTED] == pytest.approx(22 / 34)
    turned = by_labels({ADAPTED: plain, UNADAPTED: adapted}, 9999)
    assert turned.probability == pytest.approx(56 / 1024)
    assert turned.word == Word.UNADAPTED
    # rows on which both are right, or both wrong, say nothing
    adapted, plain = rows_right(200, 7, 2, 500)
    more = by_labels({ADAPTED: adapted, UNADAPTED: plain}, 9999)
    assert more.probability == found.probability


def test_between_the_directions_it_cannot_tell():
    adapted, plain = rows_right(10, 4, 3, 3)
    found = by_labels({ADAPTED: adapted, UNADAPTED: plain}, 9999)
    assert found.word == Word.CANNOT_TELL
    assert found.probability == pytest.approx((1 + 8 + 28 + 56 + 70) / 256)
    assert found.n_more is not None
    assert found.n_more >= FEWEST_LABELS
    # no more than there are
    assert by_labels({ADAPTED: adapted, UNADAPTED: plain}, 25).n_more == 5


def test_one_method_alone_gives_no_direction_without_labels():
    assert verdict_of(labelled(0), "ils").word in (Word.CANNOT_TELL, Word.NO_DIFFERENCE)


@pytest.mark.parametrize("name", ["linear-own", TARGET_ALONE])
def test_a_rival_that_is_clearly_better_forbids_to_recommend(name):
    adapted, plain = rows_right(10, 10, 0, 20)
    best = np.ones(40, dtype=bool)
    found = by_labels({ADAPTED: adapted, UNADAPTED: plain, name: best}, 9999)
    assert found.probability is not None
    assert found.probability >= CERTAINTY
    assert found.word == Word.CANNOT_TELL
    assert f"{name} is the best (100%)" in found.reason
    # one that adapts is no rival
    assert by_labels({ADAPTED: adapted, UNADAPTED: plain, "ils": best}, 9999).word == (Word.ADAPTED)


def test_rows_needed_fall_with_the_lead_and_with_the_rows_that_differ():
    by_lead = [verdict._rows_needed(share, 0.2) for share in (0.55, 0.6, 0.7, 0.8, 0.95)]
    by_rows = [verdict._rows_needed(0.6, differ) for differ in (0.05, 0.1, 0.3, 1.0)]
    for counts in (by_lead, by_rows):
        assert counts == sorted(counts, reverse=True)
        assert len(set(counts)) == len(counts)


@pytest.mark.parametrize(("share", "differ"), [(0.6, 0.5), (0.7, 0.2), (0.8, 0.4)])
def test_rows_needed_settle_it_as_often_as_promised(share, differ):
    rng = np.random.default_rng(0)
    n = verdict._rows_needed(share, differ)
    n_differ = rng.binomial(n, differ, 4000)
    gained = rng.binomial(n_differ, share)
    settled = beta.sf(0.5, gained + 1, n_differ - gained + 1) >= CERTAINTY
    assert settled.mean() == pytest.approx(POWER, abs=0.06)


@pytest.mark.parametrize(
    ("n", "wanted"), [(7, 7), (99, 99), (101, 110), (8084, 8100), (8100, 8100)]
)
def test_numbers_of_rows_have_two_digits(n, wanted):
    assert verdict._rounded_up(n) == wanted


def test_labels_are_hidden_in_turn():
    tables = labelled(17)
    model = TableClassifier(Constant()).fit(*tables)
    Constant.given.clear()
    found = model.hold_out(*tables)
    assert (model.classes_[found.predicted()] == "ant").all()
    assert model.classes_[found.codes].tolist() == TABLES.truth[:17].tolist()
    known = np.array([[each is not None for each in given] for given in Constant.given])
    assert known.shape == (3, 36)
    assert (known[:, :17].sum(axis=0) == 2).all()  # each is hidden once
    assert not known[:, 17:].any()
    for fold, hidden in enumerate(~known[:, :17]):  # every class is spread over all folds
        assert len(set(TABLES.truth[:17][hidden])) == 3
        assert (found.folds[hidden] == fold).all()


def test_what_is_said_of_hidden_labels_is_said_without_them():
    tables = labelled(12)
    found = TableClassifier().fit(*tables).held_out_
    assert found is not None
    assert tables.yt is not None
    for fold in range(3):
        hidden = np.flatnonzero(found.folds == fold)
        given = tables.yt.copy()
        given[hidden] = None
        model = TableClassifier().fit(*tables._replace(yt=given))
        said = model.member_probabilities(XT.iloc[hidden])
        np.testing.assert_allclose(found.said[:, hidden], said, atol=1e-12)


def test_what_is_hidden_is_not_known():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    y = np.array(["p", "q"])[rng.integers(0, 2, 100)]
    tables = LabelledTables(noise[:50], y[:50], noise[50:], y[50:].astype(object))
    scores = judge(TableClassifier().fit(*tables), tables).scores
    assert all(0.2 < score < 0.8 for score in scores.values())


def test_large_tables_are_thinned_and_keep_every_class(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", 20)
    y = np.append(Y[:43], ["rare", "rare"])
    codes, known = np.unique(y, return_inverse=True)[1], np.where(np.arange(36) < 30, 0, -1)
    rows, others = held_out.rows_to_learn_from(codes, known)
    assert 20 <= len(rows) <= 20 + 2 * 4
    assert (np.unique(y[rows], return_counts=True)[1] >= 2).all()
    assert 20 <= len(others) < 36
    tables = LabelledTables(X, y, XT, labelled(30).yt)
    found = TableClassifier("linear").fit(*tables).hold_out(*tables)
    assert len(found.codes) == np.sum(known[others] == 0)


def test_a_class_without_a_share_is_nobodys_answer():
    tables = labelled(36)
    is_two = TABLES.truth != "élan"
    yt = np.where(is_two, TABLES.truth, np.array(None))
    shares = {"ant": 0.5, "bee": 0.5, "élan": 0.0}
    model = TableClassifier("linear", class_prior=shares).fit(X, Y, XT, yt)
    found = model.hold_out(X, Y, XT, yt)
    for codes in found.rivals.values():
        assert set(codes.tolist()) <= {0, 1}
    with pytest.raises(ValueError, match="A class of share 0 has no rows in the target"):
        TableClassifier("linear", class_prior=shares).fit(*tables)


def test_no_direction_against_the_scores():
    # right on many rows of a rare class, wrong on a few of a frequent one
    codes = np.repeat([0, 1], 20)
    adapted = np.where(np.arange(40) < 4, 1, codes)
    plain = np.where(np.arange(40) >= 28, 0, codes)
    weights = np.repeat([0.9 / 20, 0.1 / 20], 20)
    held = HeldOut(codes, np.arange(40) % 3, np.eye(2)[adapted][None], {UNADAPTED: plain}, weights)
    found = verdict._by_labels(replace_prediction(held, adapted), ["ils"], ({}, {}), 99)
    assert found.probability is not None
    assert found.probability >= CERTAINTY
    assert found.scores[ADAPTED] < found.scores[UNADAPTED]
    assert found.word == Word.CANNOT_TELL
