"""Fits whose results are kept as golden numbers; every setting is spelled out.

A case names its rule and all its settings, so that a later change of a default does not touch it.
It returns arrays by name; `make_golden.py` writes them to a file and `test_golden.py` compares.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from shifted import shifted
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.benchmark.protocols import gong_splits, hoffman_splits
from ilspace.datasets import load_office_caltech, preprocess
from ilspace.selection import CRITERIA, Evidence, LabelFreeSearch
from ilspace.tables import TableClassifier

ANCHORED: dict[str, Any] = {
    "classifier": "nearest",
    "self_training": 0,
    "trade_off": 1.0,
    "metric_weight": 20.0,
    "source_anchor": 1.0,
    "target_anchor": 40.0,
    "margin_scale": 5.0,
    "sharpness": "auto",
    "pairs": "all",
    "slack_weight": None,
    "shrinkage": 1e-3,
    "init": "auto",
    "metric_init": "identity",
    "solver": "conjugate-gradient",
    "batch_size": 512,
    "retraction": "qr",
    "orthonormal": True,
    "step_weights": None,
    "max_iter": 200,
    "tol": 1e-3,
    "patience": 3,
    "reduce": True,
    "source_weights": None,
    "moment_weight": 0.0,
    "moment_sketch": 64,
    "random_state": 0,
}
"""The settings of the anchored objective, one by one."""

PAPER: dict[str, Any] = ANCHORED | {
    "pairs": "sampled",
    "slack_weight": 1.0,
    "metric_weight": 1.0,
    "source_anchor": 0.0,
    "target_anchor": 0.0,
    "margin_scale": 10.0,
    "solver": "steepest-descent",
    "step_weights": (1.0, 0.1, 1.0, 1.0),
    "retraction": "polar",
    "tol": 0.015,
    "patience": 1,
}
"""The settings of the paper's objective, one by one."""

Numbers = dict[str, Any]
CASES: dict[str, Callable[[], Numbers]] = {}
NEEDS_DATA: set[str] = set()


def case(function=None, *, needs_data=False):
    """Register a case under the name of its function."""

    def register(function):
        name = function.__name__.replace("_", "-")
        CASES[name] = function
        if needs_data:
            NEEDS_DATA.add(name)
        return function

    return register if function is None else register(function)


def classifier(n_components, **changes) -> ILSClassifier:
    given = ANCHORED | changes
    inner = {name: given.pop(name) for name in ObjectiveSettings().get_params()}
    return ILSClassifier(n_components, objective=ObjectiveSettings(**inner), **given)


def sketch(matrix):
    """A tall matrix as a few combinations of its rows, so that a file stays small."""
    if len(matrix) <= 16:
        return matrix
    weights = np.random.default_rng(0).standard_normal((8, len(matrix)))
    return weights @ matrix / np.sqrt(len(matrix))


def told(fitted, X, Xt) -> Numbers:
    """What is kept of a fit: the optimization, what it learned, and what it says of rows."""
    probabilities = fitted.predict_proba(Xt)
    return {
        "value": [fitted.solution_.history[0].value, fitted.solution_.history[-1].value],
        "n_iter": fitted.n_iter_,
        "status": fitted.solution_.status.name,
        "scales": [fitted.source_scale_, fitted.target_scale_, fitted.sharpness_],
        "source_projection": sketch(fitted.source_projection_),
        "target_projection": sketch(fitted.target_projection_),
        "metric": fitted.metric_,
        "predictions": fitted.predict(Xt).tolist(),
        "source_predictions": fitted.predict(X, domain="source").tolist(),
        "probabilities": probabilities[:12],
        "distances": fitted.class_distances(Xt)[:12],
        "latent": fitted.transform(Xt)[:4],
    }


# -- synthetic -----------------------------------------------------------------------------------


@case
def unsupervised():
    X, y, Xt, _ = shifted(1)
    return told(classifier(4).fit(X, y, Xt), X, Xt)


@case
def semi_supervised():
    data = shifted(2, n=36, nt=30, d=8)
    fitted = classifier(5).fit(data.X, data.y, data.Xt, data.marked(None, 9))
    return told(fitted, data.X, data.Xt)


@case
def different_widths():
    data = shifted(3, n=40, nt=36, d=9)
    X = data.X[:, :7] @ np.diag([1, 2, 3, 0.5, 1, 1, 1])
    fitted: Any = classifier(4).fit(X, data.y, data.Xt, data.marked(None, 9))
    return told(fitted, X, data.Xt) | {"vote": fitted._rule.source_vote}


@case
def one_domain():
    X, y, _, _ = shifted(4)
    return told(classifier(3).fit(X, y), X, X)


@case
def weights():
    data = shifted(5)
    weight = np.random.default_rng(5).uniform(0.2, 3.0, len(data.X) + len(data.Xt))
    weight[3] = 0.0
    fitted = classifier(4).fit(data.X, data.y, data.Xt, data.marked(None, 6), sample_weight=weight)
    return told(fitted, data.X, data.Xt)


@case
def sampled_pairs_with_slack():
    data = shifted(6, n=24)
    fitted = classifier(3, **(PAPER | {"max_iter": 12})).fit(data.X, data.y, data.Xt)
    slacks = fitted.solution_.point[3]
    return told(fitted, data.X, data.Xt) | {"slacks": sketch(np.asarray(slacks)[:, None])}


@case
def adam():
    data = shifted(7, n=90, nt=40, n_classes=3)
    fitted = classifier(4, solver="adam", batch_size=24, max_iter=6, tol=0.01).fit(
        data.X, data.y, data.Xt
    )
    return told(fitted, data.X, data.Xt)


@case
def sgd_with_weights():
    data = shifted(8, n=90, nt=40)
    weight = np.random.default_rng(8).uniform(0.5, 2.0, 90)
    fitted = classifier(3, solver="sgd", batch_size=30, max_iter=4, tol=0.01).fit(
        data.X, data.y, data.Xt, data.marked(None, 6), sample_weight=weight
    )
    return told(fitted, data.X, data.Xt)


@case
def partial_fit():
    data = shifted(9, n=60, nt=48)
    model = classifier(4, batch_size=32, max_iter=3, tol=0.01)
    yt = data.marked(None, 6)
    model.partial_fit(data.X[:40], data.y[:40], data.Xt[:30], yt[:30])
    model.partial_fit(data.X[40:], data.y[40:], data.Xt[30:], yt[30:])
    return told(model, data.X, data.Xt)


@case
def lbfgs_from_kissme():
    data = shifted(10)
    fitted = classifier(3, solver="lbfgs", metric_init="kissme", init="joint-pca", max_iter=12).fit(
        data.X, data.y, data.Xt
    )
    return told(fitted, data.X, data.Xt)


@case
def steepest_descent_from_pls():
    data = shifted(11)
    fitted = classifier(
        4, solver="steepest-descent", init="pls", retraction="polar", max_iter=25
    ).fit(data.X, data.y, data.Xt, data.marked(None, 6))
    return told(fitted, data.X, data.Xt)


@case
def alternating():
    data = shifted(12)
    fitted = classifier(3, solver="alternating", max_iter=10).fit(data.X, data.y, data.Xt)
    return told(fitted, data.X, data.Xt)


@case
def projected_gradient():
    data = shifted(13)
    fitted = classifier(3, solver="projected-gradient", max_iter=15, reduce=False).fit(
        data.X, data.y, data.Xt
    )
    return told(fitted, data.X, data.Xt)


@case
def free_projections():
    data = shifted(14)
    fitted: Any = classifier(3, orthonormal=False)
    fitted.fit(data.X, data.y, data.Xt, data.marked(None, 6))
    fitted._rule = replace(fitted._rule, source_vote=0.4)
    return told(fitted, data.X, data.Xt)


@case
def given_start():
    data = shifted(15)
    start = np.linalg.qr(np.random.default_rng(15).standard_normal((6, 3)))[0]
    fitted = classifier(
        3, init=start, metric_init=np.diag([2.0, 1.0, 0.5]), sharpness=0.7, max_iter=20
    ).fit(data.X, data.y, data.Xt)
    return told(fitted, data.X, data.Xt)


@case
def label_free_criteria():
    """All criteria of one fitted model, and what a search makes of three settings."""
    data = shifted(16, n=60, nt=48)
    kept, held = np.arange(0, 60, 2), np.arange(1, 60, 2)
    fitted = classifier(4).fit(data.X[kept], data.y[kept], data.Xt)
    evidence = Evidence(fitted, data.X, data.y, held, data.Xt, seed=0)
    found = {name: kind().judge(evidence) for name, kind in CRITERIA.items()}
    search = LabelFreeSearch(
        classifier(4), {"n_components": [1, 2, 4]}, held_out=0.25, random_state=0
    ).fit(data.X, data.y, data.Xt)
    ranks = np.asarray(search.cv_results_["choice"]).tolist()
    return found | {"choice": ranks, "chosen": search.best_index_}


# -- real ----------------------------------------------------------------------------------------


@case(needs_data=True)
def office_unsupervised():
    domains = load_office_caltech("surf")
    (X, y), (Xt, yt) = (
        (preprocess(domains[name].X, "sqrt-zscore-l2"), domains[name].y) for name in "AC"
    )
    split = gong_splits("A", "C", y, yt, n_trials=1)[0]
    fitted = classifier(20).fit(X[split.source], y[split.source], Xt)
    return told(fitted, X[split.source], Xt)


@case(needs_data=True)
def office_semi_supervised():
    domains = load_office_caltech("surf")
    (X, y), (Xt, yt) = (
        (preprocess(domains[name].X, "l1-zscore"), domains[name].y) for name in "DW"
    )
    split = hoffman_splits("D", "W")[0]
    rows = np.concatenate([split.labelled, split.test])
    given = np.concatenate([yt[split.labelled], np.full(len(split.test), -1)])
    fitted = classifier(20).fit(X[split.source], y[split.source], Xt[rows], given)
    return told(fitted, X[split.source], Xt[rows])


@case(needs_data=True)
def office_as_in_paper():
    domains = load_office_caltech("surf")
    (X, y), (Xt, yt) = (
        (preprocess(domains[name].X, "l1-zscore"), domains[name].y) for name in "WD"
    )
    split = gong_splits("W", "D", y, yt, n_trials=1)[0]
    fitted = classifier(20, **PAPER).fit(X[split.source], y[split.source], Xt)
    return told(fitted, X[split.source], Xt)


@case
def digits_of_other_sizes():
    """Digits of 64 pixels; the target sees the sums of neighbouring ones."""
    X, y = load_digits(return_X_y=True)
    X, y, Xt, truth = X[:200] / 16, y[:200], X[600:800] / 16, y[600:800]
    Xt = Xt.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(-1, 16) / 4
    rows = np.concatenate([np.flatnonzero(truth == c)[:3] for c in range(10)])
    yt = np.full(len(truth), -1)
    yt[rows] = truth[rows]
    return told(classifier(10).fit(X, y, Xt, yt), X, Xt)


def _table(data, source_rows, target_rows, **changes) -> Numbers:
    X, y = data.data, np.asarray(data.target_names)[data.target]
    X, Xt = X.iloc[source_rows], 1.5 * X.iloc[target_rows]
    model = TableClassifier(
        classifier(5, **changes),
        class_prior="source",
        scaling="zscore",
        matching="by-name",
        random_state=0,
    ).fit(X, y[source_rows], Xt)
    fitted = model.rule_.estimator_
    return {
        "class_prior": model.class_prior_,
        "labels": model.predict(Xt).tolist(),
        "probability": model.predict_proba(Xt).max(axis=1)[:20],
        "n_iter": fitted.n_iter_,
        "metric": fitted.metric_,
    }


@case
def table_of_wines():
    rows = np.arange(178)
    return _table(load_wine(as_frame=True), rows[rows % 2 == 0], rows[rows % 2 == 1])


@case
def table_of_tumours():
    data = load_breast_cancer(as_frame=True)
    large = data.data["mean radius"].to_numpy() > 14
    drawn = np.random.default_rng(0).random(len(large)) < np.where(large, 0.7, 0.3)
    return _table(data, np.flatnonzero(drawn), np.flatnonzero(~drawn))


# -- self-training -------------------------------------------------------------------------------

ROUNDS: dict[str, Any] = {"classifier": "ridge", "self_training": 2}
"""The rule and the rounds of the default, one by one."""


def told_of_rounds(fitted, X, Xt) -> Numbers:
    """What is kept of a self-trained fit: the space of the last round, and the rule."""
    rule = fitted._rule
    return {
        "value": [fitted.solution_.history[0].value, fitted.solution_.history[-1].value],
        "n_iter": fitted.n_iter_,
        "status": [each.status.name for each in fitted.rounds_],
        "n_selected": [each.n_selected for each in fitted.rounds_],
        "changed": [each.changed for each in fitted.rounds_],
        "kept": [float(each.kept) for each in fitted.rounds_],
        "source_projection": sketch(fitted.source_projection_),
        "target_projection": sketch(fitted.target_projection_),
        "metric": fitted.metric_,
        "source_plain": sketch(rule.plain.maps[0])[:, :5],
        "target_plain": sketch(rule.plain.maps[1])[:, :5],
        "landmarks": sketch(rule.expansion.landmarks)[:, :5],
        "coefficients": sketch(rule.expansion.coefficients),
        "bandwidth": rule.expansion.bandwidth,
        "inverse_temperature": rule.inverse_temperature,
        "predictions": fitted.predict(Xt).tolist(),
        "source_predictions": fitted.predict(X, domain="source").tolist(),
        "probabilities": fitted.predict_proba(Xt)[:12],
        "source_probabilities": fitted.predict_proba(X, domain="source")[:12],
        "latent": fitted.transform(Xt)[:4],
    }


def blurred(seed):
    """Classes that overlap, so that predictions change from round to round."""
    data = shifted(seed, n=60, nt=72, d=12, n_classes=4)
    rng = np.random.default_rng(seed)
    X, Xt = (rows + 3 * rng.standard_normal(rows.shape) for rows in (data.X, data.Xt))
    return data._replace(X=X, Xt=Xt)


@case
def self_trained():
    X, y, Xt, _ = blurred(17)
    return told_of_rounds(classifier(5, **ROUNDS).fit(X, y, Xt), X, Xt)


@case
def self_trained_with_labels():
    data = blurred(18)
    weight = np.random.default_rng(18).uniform(0.5, 2.0, 132)
    yt = data.marked(None, 8)
    fitted = classifier(5, **ROUNDS).fit(data.X, data.y, data.Xt, yt, sample_weight=weight)
    return told_of_rounds(fitted, data.X, data.Xt)


@case
def self_trained_across_widths():
    data = blurred(19)
    X = data.X[:, :9] @ np.diag([1, 2, 3, 0.5, 1, 1, 1, 2, 0.3])
    fitted = classifier(4, **ROUNDS).fit(X, data.y, data.Xt, data.marked(None, 12))
    return told_of_rounds(fitted, X, data.Xt)


@case(needs_data=True)
def office_self_trained():
    domains = load_office_caltech("surf")
    (X, y), (Xt, yt) = (
        (preprocess(domains[name].X, "sqrt-zscore-l2"), domains[name].y) for name in "WD"
    )
    split = gong_splits("W", "D", y, yt, n_trials=1)[0]
    fitted = classifier(20, **ROUNDS).fit(X[split.source], y[split.source], Xt)
    return told_of_rounds(fitted, X[split.source], Xt)
