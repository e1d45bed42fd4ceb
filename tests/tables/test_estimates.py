"""What is known of labels: accuracy, what changed; each found another way as well."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from tables.small_tables import NUMBERS, quick, small_tables

from ilspace import TableClassifier
from ilspace.tables import estimates
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import Encoded
from ilspace.tables.estimates import (
    APART,
    N_FOLDS,
    SPREAD,
    compare_columns,
    estimate,
    have_shifted,
    told_apart,
)
from ilspace.tables.pair import as_pair

TABLES = small_tables(n=60, nt=50)
X, Y, XT = TABLES.features


def estimated(source, y, target, yt=None, method=None, **options):
    """A fitted model, its probabilities of the target, and what is known of its labels."""
    pair = as_pair(source, y, target, yt)
    model = TableClassifier(quick() if method is None else method, **options)
    encoded = model.fit_pair(pair)
    votes = model.rule_.votes(encoded.target).mean(axis=0)
    return estimate(model, pair, encoded, votes), model, votes


def some(n, tables=TABLES):
    return np.array([each if i < n else None for i, each in enumerate(tables.truth)], object)


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers its labels; as sure of any row as its first column says."""

    seen = []  # of all copies

    def __init__(self, sure=0.9):
        self.sure = sure

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        type(self).seen.append((X.copy(), y.copy()))
        return self

    def predict_proba(self, X):
        rest = (1 - X[:, :1]) / (len(self.classes_) - 1)
        return np.c_[X[:, :1], np.repeat(rest, len(self.classes_) - 1, axis=1)]


@pytest.fixture
def seen():
    Witness.seen.clear()
    return Witness.seen


def confident(source, target):
    """Tables whose first column says how sure a witness is; a third of the rows are of class a."""
    y = np.array(["a", "b", "c"])[np.arange(len(source)) % 3]
    rows = [np.c_[each, np.arange(len(each))] for each in (source, target)]
    return pd.DataFrame(rows[0]), y, pd.DataFrame(rows[1])


# -- expected accuracy without target labels -------------------------------------------------------


@pytest.mark.parametrize(
    ("sure", "expected"), [(0.9, 0.95), (0.8, 0.85), (0.95, 0.95), (0.7, 0.75)]
)
def test_the_accuracy_falls_by_as_much_as_the_confidence(monkeypatch, sure, expected):
    """A witness who always says the first class is right on 57 of 60 rows, with confidence 0.9."""
    monkeypatch.setattr(estimates, "told_apart", lambda encoded: 0.5)
    source, _, target = confident(np.full(60, 0.9), np.full(30, sure))
    y = np.where(np.arange(60) < 57, "a", "b")
    found, _, _ = estimated(source, y, target, method=Witness(), kind="table")
    assert found.held_out_accuracy == pytest.approx(0.95)
    assert found.expected == pytest.approx(expected)  # and never rises
    low, high = found.interval or (0, 0)
    assert low == pytest.approx(expected - stats.norm.ppf(0.95) * SPREAD, abs=1e-3)
    assert high == pytest.approx(min(1, expected + stats.norm.ppf(0.95) * SPREAD), abs=1e-3)
    assert found.n_labels == 0


def test_the_expected_accuracy_is_not_below_chance(monkeypatch):
    monkeypatch.setattr(estimates, "told_apart", lambda encoded: 0.5)
    found, _, _ = estimated(*confident(np.full(60, 0.99), np.full(30, 0.4)), method=Witness())
    assert found.held_out_accuracy == pytest.approx(1 / 3)
    assert found.expected == pytest.approx(1 / 3)
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(1 / 3 - 1.645 * SPREAD)


@pytest.mark.parametrize(
    ("apart", "fall", "n_labels", "is_known"),
    [
        (APART + 0.001, 0.11, 0, False),
        (APART + 0.001, 0.11, 9, False),
        (APART + 0.001, 0.11, 10, True),
        (APART + 0.001, 0.09, 0, True),
        (APART - 0.001, 0.4, 0, True),
    ],
)
def test_what_cannot_be_estimated_is_not(monkeypatch, apart, fall, n_labels, is_known):
    monkeypatch.setattr(estimates, "told_apart", lambda encoded: apart)
    source, y, target = confident(np.full(60, 0.9), np.full(30, 0.9 - fall))
    yt = [*y[:n_labels], *[None] * (30 - n_labels)] if n_labels else None
    found, _, _ = estimated(source, y, target, yt, method=Witness())
    assert (found.expected is not None) == (found.interval is not None) == is_known
    assert found.held_out_accuracy == pytest.approx(1 / 3)
    assert found.n_labels == n_labels
    assert found.told_apart == apart


def test_tables_without_common_columns_need_ten_labels():
    other = XT[["depth", "weight", "colour"]].set_axis(["p", "q", "r"], axis=1)
    for n_labels in (9, 10):
        found, model, _ = estimated(X, Y, other, some(n_labels), method="ils")
        assert not model.plan_.are_shared
        assert (found.expected is None) == (n_labels < 10)
        assert (found.told_apart, found.drift) == (1.0, ())


def test_only_rows_without_a_label_are_judged(monkeypatch):
    """The confidence is that of the rows whose accuracy is asked for."""
    monkeypatch.setattr(estimates, "told_apart", lambda encoded: 0.5)
    sure = np.where(np.arange(30) < 12, 0.4, 0.9)
    source, y, target = confident(np.full(60, 0.9), sure)
    yt = [*np.full(12, "a"), *[None] * 18]
    found, _, _ = estimated(source, y, target, yt, method=Witness())
    without, _, _ = estimated(source, y, target[12:], method=Witness())
    assert without.expected == pytest.approx(1 / 3)
    # 12 right of 12 pull it up, from a third
    assert found.expected == pytest.approx(by_integration(1 / 3, 12, 12)[0], abs=1e-3)


# -- with target labels ----------------------------------------------------------------------------


def by_integration(value, n_right, n):
    """Mean and density of the posterior: a normal prior on [0, 1], and a binomial likelihood."""

    def density(p):
        return stats.norm.pdf(p, value, SPREAD) * stats.binom.pmf(n_right, n, p)

    total, _ = integrate.quad(density, 0, 1, points=[value, n_right / n])
    mean, _ = integrate.quad(lambda p: p * density(p) / total, 0, 1, points=[value, n_right / n])
    return mean, lambda p: density(p) / total


@pytest.mark.parametrize(
    ("value", "n_right", "n"), [(0.8, 20, 30), (0.6, 30, 30), (0.95, 3, 10), (0.5, 0, 12)]
)
def test_labels_and_the_guess_are_combined_by_bayes(value, n_right, n):
    right = np.arange(n) < n_right
    expected, (low, high) = estimates._combined(value, right, 3)
    mean, density = by_integration(value, n_right, n)
    assert expected == pytest.approx(mean, abs=1e-3)
    inside, _ = integrate.quad(density, max(low, 0), min(high, 1))
    assert inside == pytest.approx(0.9, abs=0.01)
    if low > 0.001 and high < 0.999:  # the shortest: as likely at one end as at the other
        assert density(low) == pytest.approx(density(high), rel=0.05)


def test_more_labels_make_the_interval_narrower():
    widths = []
    for n in (0, 10, 30, 100, 300):
        right = np.arange(n) % 5 > 0
        value, (low, high) = estimates._combined(0.8, right, 2)
        assert value == pytest.approx(0.8, abs=0.02)
        widths.append(high - low)
    assert (np.diff(widths) < 0).all()
    assert widths[-1] < 0.25 * widths[0]


def test_labels_are_held_out_while_they_judge(seen):
    """Whatever is judged was not learned from in that fold."""
    source, y, target = confident(np.full(60, 0.9), np.full(30, 0.9))
    yt = np.array([*y[:14], *[None] * 16], dtype=object)
    found, _, _ = estimated(source, y, target, yt, method=Witness())
    assert len(seen) == 1 + N_FOLDS
    whole, folds = seen[0], seen[1:]
    assert len(whole[0]) == 60 + 14
    left_out = [{*range(60)} - {int(i) for i in rows[:, 1][: len(rows)]} for rows, _ in folds]
    rows_of = [len(rows) for rows, _ in folds]
    assert sum(74 - n for n in rows_of) == 74  # each once
    assert all(each for each in left_out)
    assert found.n_labels == 14


def test_folds_are_stratified():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [7, 31, 5]))
    folds = estimates._folds(codes, np.random.default_rng(0))
    for code in range(3):
        counts = np.bincount(folds[codes == code], minlength=N_FOLDS)
        assert counts.max() - counts.min() <= 1
    assert set(folds) == set(range(N_FOLDS))
    others = estimates._folds(codes, np.random.default_rng(1))
    assert (others != folds).any()


def test_a_held_out_accuracy_is_one_of_rows_that_were_not_learned(seen):
    """A tree that knows its rows by heart is right on all of them, and on none that is new."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    y = rng.permutation(np.repeat(["p", "q"], 100))
    tree = DecisionTreeClassifier(random_state=0)
    found, model, _ = estimated(noise, y, noise[:50] + 0.1, method=tree)
    assert model.score(noise, y, domain="source") == 1
    assert found.held_out_accuracy == pytest.approx(0.5, abs=0.1)


def test_counts_tell_how_far_it_is():
    pair = as_pair(X, Y, XT)
    model = TableClassifier(quick())
    encoded = model.fit_pair(pair)
    told = []
    votes = model.rule_.votes(encoded.target).mean(axis=0)
    estimate(model, pair, encoded, votes, on_count=lambda done, total: told.append((done, total)))
    assert told == [(i, N_FOLDS) for i in range(1, N_FOLDS + 1)]


# -- few rows of a class ---------------------------------------------------------------------------

FEW = {
    "a class of one row": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2],
    "two classes, one of one row": [0, 1, 1, 1, 1, 1, 1, 1],
    "two rows of each": [0, 0, 1, 1],
}


@pytest.mark.parametrize(("name", "n_labels"), [*((each, 0) for each in FEW), (list(FEW)[0], 12)])
@pytest.mark.parametrize("method", [None, "ils", "CORAL"], ids=["pooled", "ils", "baseline"])
def test_the_only_row_of_a_class_is_learned_from(name, method, n_labels):
    rng = np.random.default_rng(0)
    codes = np.array(FEW[name])
    source = pd.DataFrame(
        rng.normal(size=(len(codes), 3)) + 4 * codes[:, None], columns=list("abc")
    )
    of_target = np.arange(30) % 2
    target = pd.DataFrame(rng.normal(size=(30, 3)) + 4 * of_target[:, None], columns=list("abc"))
    yt = [*of_target[:n_labels], *[None] * (30 - n_labels)] if n_labels else None
    found, _, _ = estimated(source, codes, target, yt, method=method)
    assert found.held_out_accuracy is not None
    assert 0 <= found.held_out_accuracy <= 1
    if n_labels and method is None:
        assert found.expected is not None
        assert found.expected > 0.6


def test_where_each_row_is_a_class_nothing_is_known():
    found, _, _ = estimated(X[:3], ["p", "q", "r"], XT)
    assert (found.held_out_accuracy, found.expected, found.interval) == (None, None, None)


def test_of_many_rows_a_sample_is_held_out_that_has_all_classes(monkeypatch, seen):
    monkeypatch.setattr(estimates, "MOST_ROWS", 20)
    source, _, target = confident(np.full(60, 0.9), np.full(30, 0.9))
    y = np.array(["a", "b"] * 30)
    y[17] = y[42] = "rare"
    found, _, _ = estimated(source, y, target, method=Witness())
    sizes = [len(rows) for rows, _ in seen[1:]]
    assert 20 <= sum(sizes) / (N_FOLDS - 1) <= 23
    assert all(set(codes) == {0, 1, 2} for _, codes in seen[1:])
    assert found.held_out_accuracy is not None


# -- what changed ----------------------------------------------------------------------------------


def test_tables_are_told_apart_where_they_differ():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    assert told_apart(Encoded(rows[:100], rows[100:])) == pytest.approx(0.5, abs=0.15)
    assert told_apart(Encoded(rows[:100], rows[100:] + [0, 9, 0])) == pytest.approx(1, abs=1e-3)
    gone = np.where(rng.random((200, 3)) < 0.3, np.nan, rows)
    assert told_apart(Encoded(gone[:100], gone[100:] + 9)) > 0.9
    assert told_apart(Encoded(rows[:1], rows[1:])) == 0.5  # nothing can be said


def test_the_distance_of_numbers_is_that_of_kolmogorov_and_smirnov():
    drift = {each.name: each for each in compare_columns(plan_columns(X, XT), as_pair(X, Y, XT))}
    for name in NUMBERS:
        samples = X[name].dropna(), XT[name].dropna()
        assert drift[name].distance == pytest.approx(stats.ks_2samp(*samples).statistic)
        medians = [f"{each.median():.3g}" for each in samples]
        assert drift[name].about == f"median {medians[0]} → {medians[1]}"
        assert sum(drift[name].source) == pytest.approx(1)
        assert sum(drift[name].target) == pytest.approx(1)
        assert len(drift[name].bins) == len(drift[name].source) == 12
    distances = [each.distance for each in drift.values()]
    assert distances == sorted(distances, reverse=True)


def test_the_distance_of_categories_is_total_variation():
    colours = ["red"] * 30 + ["blue"] * 15 + ["green"] * 12 + [None] * 3
    later = ["red"] * 10 + ["blue"] * 30 + ["mauve"] * 5 + [None] * 5
    source, target = X.assign(colour=colours), XT.assign(colour=later)
    (found,) = (
        each
        for each in compare_columns(plan_columns(source, target), as_pair(source, Y, target))
        if each.name == "colour"
    )
    # of red 0.5 → 0.2, blue 0.25 → 0.6, green 0.2 → 0, mauve 0 → 0.1, missing 0.05 → 0.1
    shares = np.array([[0.5, 0.25, 0.2, 0, 0.05], [0.2, 0.6, 0, 0.1, 0.1]])
    assert found.distance == pytest.approx(
        stats.wasserstein_distance_nd(np.eye(5), np.eye(5), *shares) / np.sqrt(2)
    )
    assert found.about == "blue: 25% → 60%; 1 new"
    assert dict(zip(found.bins, found.target, strict=True)) == pytest.approx(
        {"red": 0.2, "blue": 0.6, "green": 0.0, "mauve": 0.1, "(missing)": 0.1}
    )


def test_of_strings_of_many_levels_the_lengths_are_compared():
    source = X.assign(t=[f"{i:03d} we were there" for i in range(60)])
    target = XT.assign(t=[f"{i:03d} we were there too" for i in range(50)])
    plan = plan_columns(source, target, text=["t"])
    (found,) = (e for e in compare_columns(plan, as_pair(source, Y, target)) if e.name == "t")
    assert found.distance == 1
    assert found.about == "median 17 → 21 characters"


def test_a_column_that_is_missing_in_a_table_is_compared_by_that():
    source = X.assign(n=np.where(np.arange(60) < 45, np.nan, 1.0))
    target = XT.assign(n=np.nan)
    plan = plan_columns(source, target, keep=["n"])
    (found,) = (e for e in compare_columns(plan, as_pair(source, Y, target)) if e.name == "n")
    assert (found.distance, found.about) == (0.25, "missing 75% → 100%")
    assert (found.source, found.target) == ((0.25, 0.75), (0.0, 1.0))


def test_dates_are_compared_and_shown_as_days():
    days = pd.date_range("2024-01-01", periods=60), pd.date_range("2024-12-01", periods=50)
    source, target = X.assign(when=days[0]), XT.assign(when=days[1])
    (found,) = (
        each
        for each in compare_columns(plan_columns(source, target), as_pair(source, Y, target))
        if each.name == "when"
    )
    assert found.distance == 1
    assert found.about == "median 2024-01-30 → 2024-12-25"
    assert found.bins[0].startswith("2024-01-0")
    assert found.bins[0].split(" to ")[1] == found.bins[1].split(" to ")[0]


def test_columns_that_stay_as_they_were_do_not_move():
    for each in compare_columns(plan_columns(X, X), as_pair(X, Y, X)):
        assert each.distance == 0
        assert each.source == each.target
    constant = X.assign(k=1.0), XT.assign(k=1.0)
    found = compare_columns(plan_columns(*constant), as_pair(constant[0], Y, constant[1]))
    assert {each.name: each.distance for each in found}["k"] == 0


def test_a_few_rows_of_many_are_compared(monkeypatch):
    monkeypatch.setattr(estimates, "_DRIFT_ROWS", 20)
    found = compare_columns(plan_columns(X, XT), as_pair(X, Y, XT))
    whole = dict.fromkeys(NUMBERS, 0.0)
    monkeypatch.undo()
    whole = {e.name: e.distance for e in compare_columns(plan_columns(X, XT), as_pair(X, Y, XT))}
    for each in found:
        assert each.distance == pytest.approx(whole[each.name], abs=0.35)
    assert {each.name: each.distance for each in found} != whole


@pytest.mark.parametrize(("n_moved", "expected"), [(0, False), (2, False), (3, True), (4, True)])
def test_most_numbers_have_shifted(n_moved, expected):
    """Of four columns of numbers, whatever the categories do."""
    moved = {name: X[name] + (99 if i < n_moved else 0) for i, name in enumerate(NUMBERS)}
    target = X.assign(**moved, colour="red")
    plan = plan_columns(X, target)
    assert have_shifted(plan, compare_columns(plan, as_pair(X, Y, target))) == expected
    words = X[["colour"]], target[["colour"]]
    plan = plan_columns(*words)
    assert not have_shifted(plan, compare_columns(plan, as_pair(words[0], Y, words[1])))


def test_where_a_rule_adapts_labels_alone_say_how_good_it_is():
    flat, (low, high) = estimates._combined(None, np.arange(30) < 18, 3)
    assert flat == pytest.approx(19 / 32, abs=1e-3)  # the rule of succession
    level = stats.beta(19, 13)
    assert level.cdf(high) - level.cdf(low) == pytest.approx(0.9, abs=0.01)
    assert estimated(X, Y, XT, method="ils")[0].expected is None
    assert estimated(X, Y, XT, own_scaling=True)[0].expected is None
