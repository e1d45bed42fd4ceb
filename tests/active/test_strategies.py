"""Laws of the query strategies: the greedy choice, its bounds, and what they all keep to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from ilspace.active import (
    STRATEGIES,
    Pool,
    as_query_strategy,
    covered_doubt,
    facility,
    facility_location,
)
from ilspace.active.facility import bandwidth


def a_pool(seed, n=40, n_classes=3, n_labelled=4, with_cost=False):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    members = rng.dirichlet(np.ones(n_classes), size=(3, n))
    return Pool(
        rng.normal(size=(n, 2)),
        rng.dirichlet(np.ones(n_classes), size=n),
        candidates=np.sort(order[n_labelled:-5]),
        labelled=np.sort(order[:n_labelled]),
        members=members,
        cost=rng.uniform(0.5, 2, size=n) if with_cost else None,
    )


def value(pool, chosen, share=1.0):
    """What is covered, by loops, as the definition says; a share of the mean doubt for each row."""
    width = sorted(tenth_neighbour(pool))
    half = len(width) // 2
    h = width[half] if len(width) % 2 else (width[half - 1] + width[half]) / 2
    total, rows = 0.0, unlabelled(pool)
    doubts = {i: -sum(p * np.log(p) for p in pool.probabilities[i] if p > 0) for i in rows}
    mean = sum(doubts.values()) / len(rows)
    for i in rows:
        doubt = share * mean + doubts[i]
        near = [square(pool, i, j) for j in (*pool.labelled, *chosen)]
        total += doubt * max((np.exp(-each / h) for each in near), default=0.0)
    return total


def unlabelled(pool):
    return [i for i in range(len(pool.rows)) if i not in set(pool.labelled.tolist())]


def square(pool, i, j):
    return float(sum((a - b) ** 2 for a, b in zip(pool.rows[i], pool.rows[j], strict=True)))


def tenth_neighbour(pool):
    rows = unlabelled(pool)
    return [sorted(square(pool, i, j) for j in rows if j != i)[9] for i in rows]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), with_cost=st.booleans(), n_labelled=st.integers(0, 8))
def test_facility_location_is_the_greedy_choice_of_a_naive_loop(seed, with_cost, n_labelled):
    pool = a_pool(seed, 24, n_labelled=n_labelled, with_cost=with_cost)
    found = facility_location(pool, 3)
    chosen = []
    for row in found.tolist():
        before = value(pool, chosen)
        cost = np.ones(len(pool.rows)) if pool.cost is None else pool.cost
        gains = {
            each: (value(pool, [*chosen, each]) - before) / cost[each]
            for each in pool.candidates.tolist()
            if each not in chosen
        }
        assert gains[row] == pytest.approx(max(gains.values()), rel=1e-9)
        chosen.append(row)


def test_greedy_reaches_its_guaranteed_share_of_the_best_pair():
    pool = a_pool(3, 20, n_labelled=0)
    rows = pool.candidates.tolist()
    best = max(value(pool, [a, b]) for a in rows for b in rows)
    assert value(pool, facility_location(pool, 2).tolist()) >= (1 - (1 / 2) ** 2) * best


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(STRATEGIES)),
    seed=st.integers(0, 10_000),
    n=st.integers(1, 60),
    with_cost=st.booleans(),
)
def test_all_choose_different_candidates_and_the_same_again(name, seed, n, with_cost):
    pool = a_pool(seed, with_cost=with_cost)
    first, again = (STRATEGIES[name](pool, n, random_state=seed) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert len(set(first.tolist())) == len(first) == min(n, len(pool.candidates))
    assert set(first.tolist()) <= set(pool.candidates.tolist())


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_without_candidates_nothing_is_chosen(name):
    pool = a_pool(0)
    none = Pool(pool.rows, pool.probabilities, pool.candidates[:0], pool.labelled, pool.members)
    assert len(STRATEGIES[name](none, 5)) == 0


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_rows_that_are_all_the_same_are_no_trouble(name):
    sure = np.tile([1.0, 0.0], (20, 1))
    pool = Pool(np.ones((20, 3)), sure, np.arange(20), np.arange(0), np.stack([sure, sure]))
    assert len(set(STRATEGIES[name](pool, 6).tolist())) == 6


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"random"}))
def test_moving_all_rows_changes_nothing(name):
    pool = a_pool(5)
    moved = Pool(pool.rows + 1e4, pool.probabilities, pool.candidates, pool.labelled, pool.members)
    found, again = (STRATEGIES[name](each, 5, random_state=0) for each in (pool, moved))
    assert found.tolist() == again.tolist()


def test_margin_and_entropy_rank_by_what_they_say():
    probabilities = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0], [0.6, 0.2, 0.2]])
    pool = Pool(np.zeros((4, 1)), probabilities, np.arange(4), np.arange(0))
    assert STRATEGIES["margin"](pool, 4).tolist() == [0, 1, 3, 2]
    assert STRATEGIES["entropy"](pool, 4).tolist() == [1, 3, 0, 2]


def test_disagreement_counts_votes_before_probabilities():
    one, two = [0.9, 0.1], [0.1, 0.9]
    near, other = [0.51, 0.49], [0.6, 0.4]
    members = np.array([[one, one, near, other], [one, one, near, one], [one, two, near, one]])
    pool = Pool(np.zeros((4, 1)), members.mean(axis=0), np.arange(4), np.arange(0), members)
    assert STRATEGIES["committee"](pool, 4).tolist() == [1, 2, 3, 0]


def test_clusters_are_where_the_doubt_is():
    rng = np.random.default_rng(0)
    centers = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0)
    sure, unsure = [0.999, 0.001], [0.5, 0.5]
    probabilities = np.array([unsure] * 60 + [sure] * 30)
    pool = Pool(rng.normal(size=(90, 2)) + centers, probabilities, np.arange(90), np.arange(0))
    found = STRATEGIES["clue"](pool, 2, random_state=0)
    assert sorted(found // 30) == [0, 1]


def test_covered_doubt_is_what_a_choice_adds():
    pool = a_pool(11)
    chosen = facility_location(pool, 3)
    n_rows = len(unlabelled(pool))
    added = value(pool, chosen.tolist(), 0.0) - value(pool, [], 0.0)
    assert covered_doubt(pool, chosen, pool.doubt) == pytest.approx(added / n_rows)
    assert covered_doubt(pool, [], pool.doubt) == 0


def test_of_many_rows_a_sample_is_looked_at(monkeypatch):
    monkeypatch.setattr(facility, "MAX_ROWS", 10)
    monkeypatch.setattr(facility, "MAX_CANDIDATES", 10)
    pool = a_pool(2)
    found = facility_location(pool, 20, random_state=0)
    assert len(set(found.tolist())) == 20  # so many must be considered
    assert set(found.tolist()) <= set(pool.candidates.tolist())
    others = facility_location(pool, 5, random_state=1)
    assert others.tolist() != facility_location(pool, 5, random_state=0).tolist()


def test_bandwidth_of_few_or_equal_rows():
    assert bandwidth(np.zeros((1, 2))) == 1
    assert bandwidth(np.zeros((30, 2))) == 1
    assert bandwidth(np.arange(3.0)[:, None]) == 4  # the second neighbour is the last


class Learner:
    """Calls a query strategy as modAL's ActiveLearner does."""

    def __init__(self, estimator, query_strategy):
        self.estimator, self.query_strategy = estimator, query_strategy

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)

    def query(self, X_pool, *args, **options):
        return self.query_strategy(self, X_pool, *args, **options)


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"committee"}))
def test_strategies_serve_learners_of_other_libraries(name):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 4)) + np.eye(4)[y]
    learner = Learner(LogisticRegression().fit(X, y), as_query_strategy(name))
    found = learner.query(X, n_instances=4, random_state=0)
    assert len(set(found.tolist())) == 4
    assert len(learner.query(X)) == 1
