"""Deliberate errors in the method, and the tests that must notice each.

To add one: a name, its kind, the file below ``src/ilspace``, a text that occurs there exactly once,
what replaces it, and the tests mapped to it, by node id or path.
"""

from typing import NamedTuple

KINDS = (
    "stopping",
    "starts",
    "gains",
    "scales",
    "pair weights",
    "retraction choice",
    "votes",
    "calibration",
    "trust thresholds",
    "label-free criteria",
    "step weights",
    "search directions",
    "stochastic steps",
)


class Mutant(NamedTuple):
    """One replacement, and the tests that must fail under it."""

    name: str
    kind: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


def golden(*names: str) -> tuple[str, ...]:
    """The tests that compare these golden cases."""
    test = "tests/golden/test_golden.py::test_numbers_are_those_that_were_kept"
    return tuple(f"{test}[{name}]" for name in names)


MUTANTS = (
    # -- stopping ----------------------------------------------------------------------------------
    Mutant(
        "tol-not-times-patience",
        "stopping",
        "optimizers/solvers.py",
        "decrease <= tol * patience * abs(now.value)",
        "decrease <= tol * abs(now.value)",
        (
            "tests/optimizers/test_drive.py::test_an_even_decrease_is_judged_alike_whatever_the_patience",
        ),
    ),
    Mutant(
        "patience-one-short",
        "stopping",
        "optimizers/solvers.py",
        "history[-1 - patience].value",
        "history[-patience].value",
        ("tests/optimizers/test_drive.py::test_judge_averages_over_its_patience",),
    ),
    Mutant(
        "decrease-relative-to-start",
        "stopping",
        "optimizers/solvers.py",
        "tol * patience * abs(now.value)",
        "tol * patience * abs(history[0].value)",
        (
            "tests/optimizers/test_drive.py::test_an_even_decrease_is_judged_alike_whatever_the_patience",
        ),
    ),
    Mutant(
        "minimum-without-square-root",
        "stopping",
        "optimizers/solvers.py",
        "math.sqrt(gradient_tol) * history[0]",
        "gradient_tol * history[0]",
        (
            "tests/optimizers/test_drive.py::test_without_a_way_down_half_the_digits_of_the_gradient_are_enough",
        ),
    ),
    Mutant(
        "gradient-tol-absolute",
        "stopping",
        "optimizers/solvers.py",
        "now.gradient_norm <= gradient_tol * history[0].gradient_norm",
        "now.gradient_norm <= gradient_tol",
        ("tests/optimizers/test_drive.py::test_the_unit_of_the_objective_does_not_matter",),
    ),
    # -- starts ------------------------------------------------------------------------------------
    Mutant(
        "more-of-the-filling-axes",
        "starts",
        "ils/init.py",
        "+ 1e-3 * axes",
        "+ 1e-1 * axes",
        golden("different-widths"),
    ),
    Mutant(
        "filling-axes-are-the-first",
        "starts",
        "ils/init.py",
        "source.space.axes[:, max(last - n_components, 0) : last]",
        "source.space.axes[:, :n_components]",
        golden("different-widths"),
    ),
    Mutant(
        "source-axes-shared",
        "starts",
        "ils/init.py",
        "return (domains[-1].space.axes[:, :n_components],) * len(domains)",
        "return (domains[0].space.axes[:, :n_components],) * len(domains)",
        golden("unsupervised"),
    ),
    Mutant(
        "class-means-without-weights",
        "starts",
        "domains/domains.py",
        "shares = weights[members] / weights[members].sum()",
        "shares = 1 / len(members) + 0 * weights[members]",
        ("tests/ils/test_init.py::test_class_means_of_weighted_rows_are_those_of_repeated_rows",),
    ),
    Mutant(
        "kissme-not-scaled",
        "starts",
        "ils/init.py",
        "return metric * (np.trace(similar) / np.sum(metric * similar))",
        "return metric",
        golden("lbfgs-from-kissme"),
    ),
    Mutant(
        "metric-does-not-turn-with-the-basis",
        "starts",
        "ils/online.py",
        "turn.mT @ self.point[n] @ turn",
        "self.point[n]",
        golden("partial-fit"),
    ),
    Mutant(
        "slacks-begin-at-the-margin",
        "starts",
        "ils/problem.py",
        "_FIRST_SLACK = 0.1",
        "_FIRST_SLACK = 1.0",
        golden("sampled-pairs-with-slack"),
    ),
    # -- gains -------------------------------------------------------------------------------------
    Mutant(
        "gain-is-one",
        "gains",
        "ils/init.py",
        "sizes[1] / sizes[0] if min(sizes) > 0 else 1.0",
        "1.0",
        golden("different-widths"),
    ),
    Mutant(
        "gain-inverted",
        "gains",
        "ils/init.py",
        "sizes[1] / sizes[0] if",
        "sizes[0] / sizes[1] if",
        golden("different-widths"),
    ),
    Mutant(
        "gain-not-in-the-statistics",
        "gains",
        "ils/problem.py",
        "gain * start if gain != 1 else start for gain, start",
        "start for gain, start",
        golden("different-widths"),
    ),
    Mutant(
        "gain-not-in-the-scale",
        "gains",
        "ils/problem.py",
        "tuple(gain * scale for gain in gains)",
        "tuple(scale for gain in gains)",
        golden("different-widths"),
    ),
    # -- scales ------------------------------------------------------------------------------------
    Mutant(
        "margin-scale-without-square-root",
        "scales",
        "ils/problem.py",
        "float(np.sqrt(margin_scale / mean))",
        "float(margin_scale / mean)",
        golden("unsupervised"),
    ),
    Mutant(
        "sharpness-one",
        "scales",
        "ils/problem.py",
        "return float(1 / spread) if",
        "return 1.0 if",
        golden("unsupervised"),
    ),
    Mutant(
        "sharpness-of-unscaled-distances",
        "scales",
        "ils/problem.py",
        "scale**2 * statistics.similar_std",
        "scale * statistics.similar_std",
        golden("unsupervised"),
    ),
    Mutant(
        "covariance-scaled-once",
        "scales",
        "ils/problem.py",
        "factor**2 * space.shrunk_covariance",
        "factor * space.shrunk_covariance",
        golden("different-widths"),
    ),
    Mutant(
        "shrinkage-adds-to-the-trace",
        "scales",
        "scale/rowspan.py",
        "return (1 - shrinkage) * self.covariance + floor\n",
        "return self.covariance + floor\n",
        ("tests/scale/test_rowspan.py::test_shrinkage_is_that_of_the_full_width",),
    ),
    # -- pair weights ------------------------------------------------------------------------------
    Mutant(
        "kinds-of-pairs-not-balanced",
        "pair weights",
        "pairs/statistics.py",
        "share / dissimilar if dissimilar > 0",
        "share / (similar or 1.0) if dissimilar > 0",
        ("tests/objective/test_against_naive.py::test_all_pairs_are_loops_whatever_the_tile",),
    ),
    Mutant(
        "no-pairs-of-equal-rows",
        "pair weights",
        "pairs/statistics.py",
        "weights * (others + np.maximum(weights - 1, 0))",
        "weights * others",
        ("tests/objective/test_against_naive.py::test_integer_weights_are_repeated_rows",),
    ),
    Mutant(
        "block-weights-inverted",
        "pair weights",
        "pairs/minibatch.py",
        "ratios / np.max(ratios), drawn",
        "np.min(ratios) / ratios, drawn",
        ("tests/pairs/test_minibatch.py::test_weights_make_up_for_classes_of_different_sizes",),
    ),
    Mutant(
        "remembered-rows-stand-for-themselves",
        "pair weights",
        "ils/online.py",
        "weights = weights * before[codes] / after[codes]",
        "weights = weights * 1.0",
        (
            "tests/estimators/test_partial_fit.py::test_memory_is_bounded_and_keeps_the_weight_of_each_class",
        ),
    ),
    Mutant(
        "remembered-weights-above-one",
        "pair weights",
        "ils/online.py",
        "None if equal else each.reservoir.weights / top",
        "None if equal else each.reservoir.weights",
        ("tests/estimators/test_partial_fit.py::test_remembered_rows_are_no_repeated_rows",),
    ),
    Mutant(
        "first-rows-stay-remembered",
        "pair weights",
        "ils/online.py",
        "np.lexsort([self.keys, self.codes])",
        'np.argsort(self.codes, kind="stable")',
        ("tests/estimators/test_partial_fit.py::test_memory_favours_no_row",),
    ),
    # -- retraction choice -------------------------------------------------------------------------
    Mutant(
        "retractions-swapped",
        "retraction choice",
        "manifolds/stiefel.py",
        'if self.retraction == "polar":',
        'if self.retraction != "polar":',
        ("tests/laws/test_manifold_laws.py::test_retraction_of_second_order",),
    ),
    Mutant(
        "asked-retraction-ignored",
        "retraction choice",
        "ils/problem.py",
        "retraction=settings.retraction",
        'retraction="qr"',
        golden("steepest-descent-from-pls"),
    ),
    Mutant(
        "metric-follows-no-geodesic",
        "retraction choice",
        "manifolds/spd.py",
        "half = root @ symmetric_exponential(seen / 2)",
        "half = root + root @ seen / 2",
        ("tests/laws/test_manifold_laws.py::test_spd_retraction_is_the_exponential_map",),
    ),
    Mutant(
        "projection-by-qr",
        "retraction choice",
        "manifolds/stiefel.py",
        "return left @ right",
        "return array_namespace(x).linalg.qr(x)[0]",
        ("tests/laws/test_manifold_laws.py::test_stiefel_projection_is_the_nearest_point",),
    ),
    # -- votes -------------------------------------------------------------------------------------
    Mutant(
        "other-default-vote",
        "votes",
        "estimators/rules.py",
        "None if domains.shares_features else 0.3",
        "None if domains.shares_features else 0.7",
        golden("different-widths"),
    ),
    Mutant(
        "vote-swapped",
        "votes",
        "rules/neighbors.py",
        "mean = source_vote * xp.where(both, source, zero) + (1 - source_vote)",
        "mean = (1 - source_vote) * xp.where(both, source, zero) + source_vote",
        ("tests/estimators/test_learned_metric.py::test_the_vote_weighs_the_domains",),
    ),
    Mutant(
        "farthest-of-both-domains",
        "votes",
        "rules/neighbors.py",
        "if source_vote is None:\n        return xp.minimum(source, target)",
        "if source_vote is None:\n        return xp.maximum(source, target)",
        golden("semi-supervised"),
    ),
    Mutant(
        "class-of-one-domain-discounted",
        "votes",
        "rules/neighbors.py",
        "return xp.where(both, mean, xp.minimum(source, target))",
        "return xp.where(both, mean, source_vote * xp.minimum(source, target))",
        ("tests/estimators/test_learned_metric.py::test_the_vote_weighs_the_domains",),
    ),
    # -- calibration -------------------------------------------------------------------------------
    Mutant(
        "narrow-range-of-exponents",
        "calibration",
        "rules/calibration.py",
        "_LARGEST = 4.0",
        "_LARGEST = 1.0",
        ("tests/selection/test_measures.py::test_calibration_undoes_an_exponent",),
    ),
    Mutant(
        "no-uniform-row",
        "calibration",
        "tables/classifier.py",
        "n_uniform=1",
        "n_uniform=0",
        golden("table-of-wines"),
    ),
    Mutant(
        "uniform-row-counts-by-rows",
        "calibration",
        "rules/calibration.py",
        "n_uniform * scaled.mean()",
        "n_uniform * scaled.sum()",
        golden("table-of-wines"),
    ),
    Mutant(
        "exponent-of-learned-rows",
        "calibration",
        "tables/classifier.py",
        "log_probabilities(probabilities), codes[held], n_uniform=1",
        'log_probabilities(fitted.nearest(rows[kept], "source")[1]), codes[kept], n_uniform=1',
        golden("table-of-tumours"),
    ),
    # -- trust thresholds --------------------------------------------------------------------------
    Mutant(
        "less-confidence-is-enough",
        "trust thresholds",
        "tables/trust.py",
        "LEAST_CONFIDENCE = 0.7",
        "LEAST_CONFIDENCE = 0.6",
        golden("table-of-wines"),
    ),
    Mutant(
        "nearer-rows-are-far",
        "trust thresholds",
        "tables/trust.py",
        "FARTHEST = 0.99",
        "FARTHEST = 0.95",
        golden("table-of-tumours"),
    ),
    Mutant(
        "plain-share-instead-of-wilson",
        "trust thresholds",
        "tables/trust.py",
        "share, z = right / counts, 0.6745",
        "share, z = right / counts, 0.0",
        (
            "tests/tables/test_trust.py::test_bounds_of_many_rows_that_are_as_right_as_they_are_sure",
        ),
    ),
    Mutant(
        "fewer-rows-back-a-confidence",
        "trust thresholds",
        "tables/trust.py",
        "FEWEST_ROWS = 10",
        "FEWEST_ROWS = 5",
        ("tests/tables/test_trust.py::test_a_confidence_is_backed_by_ten_rows",),
    ),
    Mutant(
        "blind-where-as-usual",
        "trust thresholds",
        "tables/second_opinion.py",
        "_MORE_THAN_USUAL = 0.2",
        "_MORE_THAN_USUAL = 0.0",
        ("tests/tables/test_second_opinion.py",),
    ),
    Mutant(
        "blind-from-few-rows",
        "trust thresholds",
        "tables/second_opinion.py",
        "FEWEST_ROWS = 20",
        "FEWEST_ROWS = 5",
        ("tests/tables/test_second_opinion.py",),
    ),
    Mutant(
        "either-opinion-is-enough",
        "trust thresholds",
        "tables/classifier.py",
        "(alone != label) | (unadapted != label)",
        "(alone != label) & (unadapted != label)",
        golden("table-of-wines"),
    ),
    # -- label-free criteria -----------------------------------------------------------------------
    Mutant(
        "warmer-neighbours",
        "label-free criteria",
        "selection/criteria.py",
        "def __init__(self, *, temperature=0.05):",
        "def __init__(self, *, temperature=0.5):",
        golden("label-free-criteria"),
    ),
    Mutant(
        "density-ratio-of-equal-sizes",
        "label-free criteria",
        "selection/density_ratio.py",
        "return odds_of_sizes * of_target / of_source",
        "return of_target / of_source",
        ("tests/selection/test_measures.py::test_ratio_of_shifted_gaussians",),
    ),
    Mutant(
        "density-ratio-not-truncated",
        "label-free criteria",
        "selection/density_ratio.py",
        "np.minimum(ratios, np.sqrt(len(ratios)) * ratios.mean())",
        "np.minimum(ratios, len(ratios) * ratios.mean())",
        (
            "tests/selection/test_measures.py::test_one_row_has_no_more_than_the_root_of_their_number_of_mean_weights",
        ),
    ),
    Mutant(
        "odds-not-shrunk-by-width",
        "label-free criteria",
        "selection/density_ratio.py",
        "LogisticRegression(C=1 / source.shape[1]",
        "LogisticRegression(C=1.0",
        (
            "tests/selection/test_measures.py::test_columns_that_come_twice_do_not_make_the_domains_differ_more",
        ),
    ),
    Mutant(
        "values-averaged-instead-of-ranks",
        "label-free criteria",
        "selection/search.py",
        "return rankdata(values, axis=0).mean(axis=1)",
        "return values.mean(axis=1)",
        ("tests/selection/test_search.py::test_mean_rank_of_several",),
    ),
    Mutant(
        "judged-on-labelled-target-rows-too",
        "label-free criteria",
        "selection/search.py",
        "target = take_rows(Xt, np.flatnonzero(~labelled))",
        "target = Xt",
        (
            "tests/selection/test_search.py::test_target_labels_are_handed_to_fit_and_kept_from_criteria",
        ),
    ),
    Mutant(
        "fewer-rows-held-out",
        "label-free criteria",
        "selection/hold_out.py",
        "max(1, round(share * len(rows)))",
        "max(1, int(share * len(rows)))",
        ("tests/selection/test_search.py::test_rows_held_out_are_as_many_as_the_share_is_near",),
    ),
    Mutant(
        "calibrated-criterion-not-calibrated",
        "label-free criteria",
        "selection/criteria.py",
        "measures.information(evidence.calibrated_probabilities)",
        "measures.information(evidence.target_probabilities)",
        (
            "tests/selection/test_criteria.py::test_being_surer_of_everything_helps_only_where_nobody_calibrates",
        ),
    ),
    # -- step weights ------------------------------------------------------------------------------
    Mutant(
        "factors-equally-mobile",
        "step weights",
        "ils/settings.py",
        "tuple(1 / (1 + each) for each in stiffness)",
        "tuple(1.0 for each in stiffness)",
        golden("unsupervised"),
    ),
    Mutant(
        "metric-eight-times-stiffer",
        "step weights",
        "ils/settings.py",
        "self.metric_weight / 8",
        "self.metric_weight",
        golden("unsupervised"),
    ),
    # -- search directions -------------------------------------------------------------------------
    Mutant(
        "fletcher-reeves",
        "search directions",
        "optimizers/line_search.py",
        "beta = (square - overlap) / before",
        "beta = square / before",
        (
            "tests/optimizers/test_solvers.py::test_conjugate_gradient_on_a_quadratic_ends_after_as_many_steps_as_dimensions",
        ),
    ),
    Mutant(
        "strict-armijo",
        "search directions",
        "optimizers/line_search.py",
        "sufficient: float = 1e-4",
        "sufficient: float = 0.4",
        golden("steepest-descent-from-pls"),
    ),
    # -- stochastic steps --------------------------------------------------------------------------
    Mutant(
        "half-the-steps",
        "stochastic steps",
        "optimizers/stochastic.py",
        "n_steps: int = 20,",
        "n_steps: int = 10,",
        golden("adam"),
    ),
    Mutant(
        "steps-hardly-shrink",
        "stochastic steps",
        "optimizers/stochastic.py",
        "horizon: int = 100,",
        "horizon: int = 1000,",
        golden("adam"),
    ),
    Mutant(
        "plain-mean-of-points",
        "stochastic steps",
        "optimizers/stochastic.py",
        "share = 4 / (count + 3)",
        "share = 1 / count",
        golden("adam"),
    ),
    Mutant(
        "steps-up-are-not-undone",
        "stochastic steps",
        "optimizers/stochastic.py",
        "seen is None or seen.value > now.progress.value",
        "seen is None",
        ("tests/optimizers/test_stochastic.py::test_what_gets_worse_is_undone",),
    ),
    Mutant(
        "judged-by-few-rows",
        "stochastic steps",
        "ils/problem.py",
        "EVALUATION_ROWS = 2048",
        "EVALUATION_ROWS = 64",
        golden("sgd-with-weights"),
    ),
)
