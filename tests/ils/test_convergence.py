"""How a fit ends, and what it says meanwhile; starts, solvers, and the paper's preset."""

import warnings

import numpy as np
import pytest
from reference import naive
from shifted import shifted
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.ils.init import INITS
from ilspace.optimizers import SOLVERS, Status
from ilspace.pairs import sample_pairs

DATA = shifted()
X, y, Xt, yt = DATA

LONG_ENOUGH = {"tol": 1e-3, "max_iter": 500}


def decreases(fitted, *, strictly=True):
    values = [line.value for line in fitted.solution_.history]
    assert np.isfinite(values).all()
    assert values[-1] < values[0] if strictly else values[-1] <= values[0]


# -- endings -------------------------------------------------------------------------------------


def test_a_fit_that_settles_is_silent(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = ILSTransformer(**LONG_ENOUGH).fit(X, y, Xt)
    assert fitted.solution_.status is Status.SETTLED
    assert 1 < fitted.n_iter_ < 500
    assert len(fitted.solution_.history) == fitted.n_iter_ + 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_a_fit_that_is_cut_short_warns_with_status_and_remedy(kind):
    message = rf"{kind.__name__} stopped after 2 iterations.*status EXHAUSTED\); raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        fitted = kind(max_iter=2, tol=0).fit(X, y, Xt)
    assert len(caught) == 1
    assert caught[0].filename.endswith("test_convergence.py")
    assert fitted.solution_.status is Status.EXHAUSTED
    assert fitted.n_iter_ == 2
    assert np.isfinite(fitted.transform(Xt)).all()


def test_no_iterations_give_the_start():
    fitted = ILSTransformer(2, max_iter=0).set_params(init=np.eye(6)[:, :2]).fit(X, y, Xt)
    assert fitted.n_iter_ == 0
    np.testing.assert_allclose(fitted.target_projection_, np.eye(6)[:, :2], atol=1e-12)
    np.testing.assert_allclose(fitted.metric_, np.eye(2), atol=1e-12)


def test_the_callback_sees_every_iterate():
    calls = []
    fitted = ILSTransformer(
        callback=lambda count, iterate: calls.append((count, iterate)), **LONG_ENOUGH
    ).fit(X, y, Xt)
    assert [count for count, _ in calls] == list(range(fitted.n_iter_ + 1))
    assert [each.progress for _, each in calls][1:] == list(fitted.solution_.history)[1:]


def test_the_callback_can_stop():
    fitted = ILSTransformer(callback=lambda count, _: count == 3, **LONG_ENOUGH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.fit(X, y, Xt)
    assert fitted.solution_.status is Status.STOPPED
    assert fitted.n_iter_ == 3


def test_an_error_in_the_callback_reaches_the_caller():
    def burst(count, iterate):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ILSTransformer(callback=burst).fit(X, y, Xt)


@pytest.mark.parametrize(("verbose", "every"), [(1, 10), (2, 1)])
def test_verbose_writes_to_standard_error_alone(capfd, verbose, every):
    calls = []
    fitted = ILSTransformer(
        verbose=verbose, callback=lambda *each: calls.append(each), **LONG_ENOUGH
    ).fit(X, y, Xt)
    out, err = capfd.readouterr()
    assert out == ""
    *lines, last = err.splitlines()
    status, n_iter = fitted.solution_.status.name, fitted.n_iter_
    assert last.startswith(f"[ILSTransformer] {status} after {n_iter} iterations")
    assert len(lines) == n_iter // every + 1
    assert all(line.startswith("[ILSTransformer] iteration") for line in lines)
    assert len(calls) == fitted.n_iter_ + 1


# -- choices -------------------------------------------------------------------------------------

ignore_the_end = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@ignore_the_end
@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_every_solver_ends_below_the_start(solver, preset):
    make = ILSTransformer if preset == "default" else ILSTransformer.as_in_paper
    fitted = make(3, solver=solver, tol=1e-3, max_iter=30, random_state=0).fit(X, y, Xt)
    decreases(fitted)
    assert fitted.solution_.status is not Status.DIVERGED


@ignore_the_end
@pytest.mark.parametrize(
    ("start", "target_labels"),
    [
        pytest.param(start, labels, id=f"{start}-{name}")
        for start in ("auto", *INITS)
        for name, labels in (("unsupervised", None), ("labelled", yt))
        # class means need labels; test_bad_input.py has the message
        if (start, name) != ("class-means", "unsupervised")
    ],
)
def test_every_start_runs(start, target_labels):
    fitted = ILSClassifier(4, self_training=0, init=start).fit(X, y, Xt, target_labels)
    decreases(fitted)
    assert fitted.score(Xt, yt) > 0.8


@ignore_the_end
@pytest.mark.parametrize("start", sorted(INITS))
@pytest.mark.parametrize("shape", ["wide", "flat source", "flat target"])
def test_every_start_copes_with_low_rank(start, shape):
    case = shifted(n=9, nt=12, d=20)
    source, target = case.X.copy(), case.Xt.copy()
    if shape == "flat source":
        source = np.outer(source[:, 0], np.ones(20))
    elif shape == "flat target":
        target = np.outer(target[:, 0], np.ones(20))
    fitted = ILSTransformer(init=start).fit(source, case.y, target, case.yt)
    decreases(fitted, strictly=False)
    for projection in (fitted.source_projection_, fitted.target_projection_):
        identity = np.eye(fitted.n_components_)
        np.testing.assert_allclose(projection.T @ projection, identity, atol=1e-8)


@ignore_the_end
@pytest.mark.parametrize(
    "form", [np.asarray, np.ndarray.tolist, lambda a: (a, a), lambda a: [a, a]]
)
def test_forms_of_a_given_start(form):
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]
    fitted = ILSTransformer(2, init=form(basis)).fit(X, y, Xt)
    expected = ILSTransformer(2).set_params(init=(basis, basis)).fit(X, y, Xt)
    np.testing.assert_array_equal(fitted.transform(Xt), expected.transform(Xt))
    square = ILSTransformer(2, init=form(np.eye(2))).fit(X[:, :2], y, Xt[:, :2])
    decreases(square)


@ignore_the_end
def test_a_given_start_spans_what_its_columns_span():
    basis = np.random.default_rng(0).standard_normal((6, 2))
    fitted = ILSTransformer(2, max_iter=0).set_params(init=basis).fit(X, y, Xt)
    projection = fitted.source_projection_
    np.testing.assert_allclose(projection @ (projection.T @ basis), basis, atol=1e-12)


@ignore_the_end
@pytest.mark.parametrize("metric_start", ["identity", "kissme", np.diag([1.0, 2, 3, 4])])
def test_every_metric_start_runs(metric_start):
    objective = ObjectiveSettings(metric_init=metric_start)
    fitted = ILSTransformer(4, objective=objective).fit(X, y, Xt)
    decreases(fitted)
    if not isinstance(metric_start, str):
        begun = ILSTransformer(4, objective=objective, max_iter=0).fit(X, y, Xt)
        np.testing.assert_allclose(begun.metric_, metric_start, atol=1e-12)


@ignore_the_end
def test_reduction_to_the_span_changes_nothing():
    case = shifted(n=12, nt=9, d=40)
    both = [
        ILSTransformer(3, objective=ObjectiveSettings(reduce=reduce), max_iter=10, tol=0).fit(
            case.X, case.y, case.Xt
        )
        for reduce in (True, False)
    ]
    np.testing.assert_allclose(both[0].transform(case.Xt), both[1].transform(case.Xt), atol=1e-8)


@ignore_the_end
def test_random_state_decides_the_sampled_pairs():
    def fit(state):
        return (
            ILSTransformer(2, objective=ObjectiveSettings(pairs="sampled"), random_state=state)
            .fit(X, y, Xt)
            .transform(Xt)
        )

    np.testing.assert_array_equal(fit(0), fit(0))
    assert not np.array_equal(fit(0), fit(1))
    np.testing.assert_array_equal(fit(np.random.default_rng(0)), fit(0))
    before = repr(np.random.get_state())  # noqa: NPY002
    fit(None)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


# -- the paper -----------------------------------------------------------------------------------


@ignore_the_end
@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_parameters_given_to_the_preset_take_precedence(kind):
    preset = kind.as_in_paper(
        3, objective=ObjectiveSettings.as_in_paper(trade_off=2.0, slack_weight=None)
    )
    assert type(preset) is kind
    objective = preset.objective
    assert (preset.n_components, objective.trade_off, objective.slack_weight) == (3, 2.0, None)
    assert (objective.metric_weight, objective.source_anchor, objective.target_anchor) == (1, 0, 0)


@ignore_the_end
@pytest.mark.parametrize("n_labelled", [0, 9])
def test_the_preset_minimises_the_paper_s_objective(n_labelled):
    """Equation 1 by loops, at the start and at the end of a fit."""
    few = DATA.marked(-1, n_labelled)
    settings = ObjectiveSettings.as_in_paper(trade_off=0.7)
    fitted = ILSTransformer.as_in_paper(3, objective=settings, random_state=5).fit(X, y, Xt, few)

    source = fitted.source_scale_ * (X - X.mean(axis=0))
    target = fitted.target_scale_ * (Xt - Xt.mean(axis=0))
    covariances = []
    for rows in (source, target):
        covariance = np.cov(rows.T, bias=True)
        share = settings.shrinkage
        mean_variance = np.trace(covariance) / len(covariance)
        covariances.append((1 - share) * covariance + share * mean_variance * np.eye(6))
    codes = np.concatenate([y, yt[:n_labelled]])
    pairs = list(zip(*sample_pairs(codes, np.random.default_rng(5)), strict=True))

    def objective(point):
        return naive.paper_objective(
            source,
            target[:n_labelled],
            covariances[0],
            covariances[1],
            pairs,
            point,
            beta=fitted.sharpness_,
            trade_off=0.7,
        )

    history = fitted.solution_.history
    assert objective(fitted.solution_.point) == pytest.approx(history[-1].value, rel=1e-10)
    begun = ILSTransformer.as_in_paper(
        3, objective=ObjectiveSettings.as_in_paper(trade_off=0.7), random_state=5, max_iter=0
    )
    begun.fit(X, y, Xt, few)
    assert objective(begun.solution_.point) == pytest.approx(history[0].value, rel=1e-10)


@ignore_the_end
def test_the_margin_means_something():
    """Similar pairs start at `margin_scale` margins, and the sharpness is one over their spread."""
    begun = ILSTransformer(3, max_iter=0, objective=ObjectiveSettings(margin_scale=7.0)).fit(
        X, y, Xt
    )
    latent = begun.transform(X, domain="source")
    distances = [
        np.sum((latent[i] - latent[j]) ** 2)
        for i in range(len(y))
        for j in range(i)
        if y[i] == y[j]
    ]
    assert np.mean(distances) == pytest.approx(7.0)
    assert begun.sharpness_ == pytest.approx(1 / np.std(distances))
