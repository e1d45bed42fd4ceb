"""The objective and the pair engines against loops written from the paper."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import ils_case, positive_definite
from reference import naive

from ilspace.objective import SmoothHinge
from ilspace.pairs import AllPairs, SampledPairs, pair_statistics, sample_pairs
from ilspace.pairs.statistics import pair_totals

BETA = 1.3
HINGE = SmoothHinge(BETA)


def close(met, wanted, rtol=1e-12):
    for a, b in zip(met, wanted, strict=True):
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize("trade_off", [0.0, 1.0, 2.5])
def test_paper_objective_to_the_letter(slack, labelled, trade_off):
    case = ils_case(
        21, slack=slack, labelled=labelled, sharpness=BETA, trade_off=trade_off
    )  # sampled pairs, no anchors, metric weight 1, slack weight 1
    source, target = case.objective.domains
    listed = list(zip(*(each.tolist() for each in case.pairs), strict=True))
    first, second = case.rows
    paper = (first, second, source.covariance, target.covariance, listed, case.point)
    value, gradient = case.objective(case.point)
    wanted = naive.paper_objective(*paper, beta=BETA, trade_off=trade_off)
    assert float(value) == pytest.approx(wanted, rel=1e-12)
    close(gradient, naive.paper_gradient(*paper, beta=BETA, trade_off=trade_off), rtol=1e-11)


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (1 / 3, 1 / 3, 1 / 3), (0.1, 0.2, 0.7)])
def test_objective_of_several_sources(shares):
    case = ils_case(
        5,
        widths=(9, 7, 8, 6),
        sizes=(12, 10, 9, 8),
        sharpness=BETA,
        trade_off=1.7,
        anchor_weights=(0.0,) * 4,
    )
    domains = tuple(
        replace(each, share=share)
        for each, share in zip(case.objective.domains, (*shares, 1.0), strict=True)
    )
    listed = list(zip(*(each.tolist() for each in case.pairs), strict=True))
    value, _ = replace(case.objective, domains=domains)(case.point)
    wanted = naive.objective_of_sources(
        case.rows,
        [each.covariance for each in domains],
        listed,
        case.point,
        beta=BETA,
        trade_off=1.7,
        shares=shares,
    )
    assert float(value) == pytest.approx(wanted, rel=1e-12)


def pair_problem(seed=0, n=13, p=3, n_classes=4):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    return rng.standard_normal((n, p)) * 0.8, codes, positive_definite(rng, p, 5.0)


@pytest.mark.parametrize("tile", [1, 2, 5, 12, 13, 14, 1024])
def test_all_pairs_are_loops_whatever_the_tile(tile):
    latent, codes, metric = pair_problem()
    met = AllPairs(codes, reference=latent, tile=tile).sum(HINGE, latent, metric)
    close(met[:3], naive.balanced_pair_loss(latent, codes, metric, BETA))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 12),
    p=st.integers(1, 4),
    n_classes=st.integers(1, 12),
    tile=st.integers(1, 13),
)
def test_all_pairs_are_loops_whatever_the_shape(seed, n, p, n_classes, tile):
    # one class only, and as many classes as rows, are among the draws
    latent, codes, metric = pair_problem(seed, n, p, n_classes)
    met = AllPairs(codes, reference=latent, tile=tile).sum(HINGE, latent, metric)
    close(met[:3], naive.balanced_pair_loss(latent, codes, metric, BETA), rtol=1e-10)


@pytest.mark.parametrize("tile", [1, 3, 6, 64])
def test_integer_weights_are_repeated_rows(tile):
    latent, codes, metric = pair_problem(1, n=7)
    counts = np.asarray([1, 3, 2, 1, 1, 4, 2])
    repeat = np.repeat(np.arange(7), counts)
    weighted = AllPairs(codes, counts, reference=latent, tile=tile)
    repeated = AllPairs(codes[repeat], reference=latent, tile=tile)
    met = weighted.sum(HINGE, latent, metric)
    wanted = repeated.sum(HINGE, latent[repeat], metric)
    # the gradient in a row is the sum of those in its copies
    gathered = np.stack([wanted.latent_gradient[repeat == i].sum(axis=0) for i in range(7)])
    close(met[:3], (wanted.value, gathered, wanted.metric_gradient))


def test_totals_of_rare_and_of_single_rows():
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.uniform(-16, 0, 40)
    similar, dissimilar = pair_totals(np.arange(40), weights)
    assert similar == 0  # each row is a class of its own, in whatever order they are added up
    both = [weights[i] * weights[j] for i in range(40) for j in range(i)]
    assert dissimilar == pytest.approx(math.fsum(both), rel=1e-14)
    similar, dissimilar = pair_totals(np.r_[np.zeros(39, dtype=int), 1], np.r_[np.ones(39), 1e-20])
    assert (similar, dissimilar) == pytest.approx((39 * 38 / 2, 39e-20), rel=1e-14)


def test_zero_weight_is_absence():
    latent, codes, metric = pair_problem(2, n=9)
    weights = np.asarray([1.0, 0, 1, 1, 0, 1, 1, 1, 1])
    kept = weights > 0
    met = AllPairs(codes, weights, reference=latent, tile=4).sum(HINGE, latent, metric)
    wanted = AllPairs(codes[kept], reference=latent).sum(HINGE, latent[kept], metric)
    close((met.value, met.latent_gradient[kept], met.metric_gradient), wanted[:3])
    assert not np.any(met.latent_gradient[~kept])


@pytest.mark.parametrize("engine", ["all", "sampled"])
def test_scale_of_the_weights_does_not_matter_below_one(engine):
    # above one a weight also stands for twins, so only small weights can show it
    latent, codes, metric = pair_problem(3)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(codes))

    def total(scale):
        if engine == "all":
            pairs = AllPairs(codes, scale * weights, reference=latent)
        else:
            listed = sample_pairs(codes, np.random.default_rng(1))
            pairs = SampledPairs(*listed, scale * weights, n_rows=len(codes), reference=latent)
        return pairs.sum(HINGE, latent, metric)[:3]

    close(total(0.3), total(1.0))


def test_similar_and_dissimilar_pairs_are_in_balance():
    # a hinge of constant loss adds up the weights, or those of similar pairs
    latent, codes, metric = pair_problem(4, n=20)
    pairs = AllPairs(codes, reference=latent, tile=6)

    class Everyone(SmoothHinge):
        def weighted_sum(self, excess, pulls):
            return 2 * np.sum(np.abs(pulls)), np.zeros_like(excess)

    class Similar(SmoothHinge):
        def weighted_sum(self, excess, pulls):
            return 2 * np.sum(pulls, where=pulls > 0), np.zeros_like(excess)

    assert float(pairs.sum(Everyone(1.0), latent, metric).value) == pytest.approx(1.0, rel=1e-12)
    assert float(pairs.sum(Similar(1.0), latent, metric).value) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("tile", [4, 64])
def test_blind_to_the_order_of_rows(tile):
    latent, codes, metric = pair_problem(5)
    order = np.random.default_rng(0).permutation(len(codes))
    met = AllPairs(codes[order], reference=latent, tile=tile).sum(HINGE, latent[order], metric)
    wanted = AllPairs(codes, reference=latent, tile=tile).sum(HINGE, latent, metric)
    close(met[:3], (wanted.value, wanted.latent_gradient[order], wanted.metric_gradient))


def test_blind_to_the_names_of_classes():
    latent, codes, metric = pair_problem(6)
    renamed = np.asarray([3, 0, 2, 1])[codes]
    met = AllPairs(renamed, reference=latent).sum(HINGE, latent, metric)
    close(met[:3], AllPairs(codes, reference=latent).sum(HINGE, latent, metric)[:3])


def test_sampled_pairs_blind_to_the_order_of_pairs_and_within_them():
    latent, codes, metric = pair_problem(7)
    rng = np.random.default_rng(0)
    first, second, signs = sample_pairs(codes, rng)
    slack = rng.uniform(0.1, 1.0, len(first))
    order, swap = rng.permutation(len(first)), rng.random(len(first)) < 0.5
    shuffled = np.where(swap, second, first)[order], np.where(swap, first, second)[order]

    def total(first, second, signs, slack):
        pairs = SampledPairs(first, second, signs, n_rows=len(codes), reference=latent)
        return pairs.sum(HINGE, latent, metric, slack)

    wanted = total(first, second, signs, slack)
    met = total(*shuffled, signs[order], slack[order])
    close(met, (*wanted[:3], np.asarray(wanted.slack_gradient)[order]))


def test_every_pair_listed_makes_both_engines_one():
    # with as many dissimilar as similar pairs, balance is the paper's equal weight
    rng = np.random.default_rng(8)
    codes = np.asarray([0, 0, 0, 1])  # three similar pairs, three dissimilar
    latent, metric = rng.standard_normal((4, 2)), positive_definite(rng, 2)
    listed = sample_pairs(codes, rng)
    assert len(listed[0]) == 6
    sampled = SampledPairs(*listed, n_rows=4, reference=latent).sum(HINGE, latent, metric)
    close(AllPairs(codes, reference=latent).sum(HINGE, latent, metric)[:3], sampled[:3])


def test_all_pairs_refuse_slacks():
    latent, codes, metric = pair_problem(9)
    with pytest.raises(ValueError, match="sampled pairs"):
        AllPairs(codes, reference=latent).sum(HINGE, latent, metric, np.ones(3))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), n_classes=st.integers(1, 40))
def test_sample_pairs(seed, n, n_classes):
    # the paper: all similar pairs, and as many dissimilar ones, drawn at random
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(n_classes, size=n), return_inverse=True)[1]
    first, second, signs = sample_pairs(codes, rng)
    assert np.all(first < second)
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(first)
    assert np.array_equal(codes[first] == codes[second], signs == 1)
    every = [(i, j) for i in range(n) for j in range(i + 1, n)]
    n_similar = sum(codes[i] == codes[j] for i, j in every)
    n_dissimilar = len(every) - n_similar
    assert np.sum(signs == 1) == n_similar
    assert np.sum(signs == -1) == (min(n_similar, n_dissimilar) if n_similar else n_dissimilar)


def test_sample_pairs_draws_dissimilar_pairs_evenly():
    codes = np.arange(12) % 6  # 6 similar pairs, 60 dissimilar: the drawing branch
    counts = np.zeros((12, 12))
    for seed in range(400):
        first, second, signs = sample_pairs(codes, np.random.default_rng(seed))
        np.add.at(counts, (first[signs < 0], second[signs < 0]), 1)
    drawn = counts[np.triu(codes[:, None] != codes[None, :])]
    assert len(drawn) == 60
    assert drawn.sum() == 2400
    assert np.sum((drawn - 40) ** 2 / 40) < 100  # chi-squared, 59 degrees of freedom: p < 0.001


@pytest.mark.parametrize("weights", [None, "integer", "real", "small"])
def test_pair_statistics_are_loops(weights):
    latent, codes, _ = pair_problem(10, n=15)
    rng = np.random.default_rng(0)
    drawn = {
        None: np.ones(15),
        "integer": rng.integers(1, 4, 15).astype(float),
        "real": rng.uniform(1.0, 3.0, 15),
        "small": rng.uniform(0.1, 0.9, 15),
    }[weights]
    met = pair_statistics(latent, codes, None if weights is None else drawn)
    similar, dissimilar = naive.squared_distances_and_outer_products(latent, codes, drawn)
    w, d, _ = zip(*similar, strict=True)
    mean = np.average(d, weights=w)
    assert met.similar_mean == pytest.approx(mean, rel=1e-12)
    spread = np.sqrt(np.average((np.asarray(d) - mean) ** 2, weights=w))
    assert met.similar_std == pytest.approx(spread, rel=1e-10)
    for covariance, records in (
        (met.similar_covariance, similar),
        (met.dissimilar_covariance, dissimilar),
    ):
        total = sum(w for w, _, _ in records)
        wanted = sum(w * outer for w, _, outer in records) / total
        np.testing.assert_allclose(covariance, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_pair_statistics_without_similar_or_dissimilar_pairs(scale):
    latent = np.asarray([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    weights = np.full(3, scale)
    lonely = pair_statistics(latent, np.arange(3), weights)
    assert np.isnan(lonely.similar_mean)
    assert np.isnan(lonely.similar_std)
    assert np.all(np.isnan(lonely.similar_covariance))
    records = naive.squared_distances_and_outer_products(latent, np.arange(3), weights)[1]
    wanted = np.average([outer for _, _, outer in records], axis=0)
    np.testing.assert_allclose(lonely.dissimilar_covariance, wanted)
    united = pair_statistics(latent, np.zeros(3, dtype=int), weights)
    np.testing.assert_allclose(united.similar_covariance, wanted)
    assert np.all(np.isnan(united.dissimilar_covariance))
