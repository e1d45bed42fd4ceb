"""The method without an estimator: one source, several, and batch after batch."""

from dataclasses import replace

import numpy as np
import pytest
from laws.taylor import taylor_order
from shifted import shifted

from ilspace import ILSTransformer, ObjectiveSettings
from ilspace.domains import Domains, check_domains
from ilspace.ils import fit_ils, make_problem, update_ils

DATA = shifted(n=60, nt=48, d=8)
OTHER = shifted(5, n=45, nt=10, d=8)


def two_sources(Xt, yt=None, width=8):
    first = check_domains(DATA.X, DATA.y, Xt, yt)
    second = check_domains(OTHER.X[:, :width], OTHER.y, Xt, yt)
    shared = first.shares_features and second.shares_features
    return replace(first, sources=first.sources + second.sources, shares_features=shared)


def test_it_is_what_the_estimator_calls():
    given = DATA.X, DATA.y, DATA.Xt, DATA.marked(None, 9)
    ils = fit_ils(check_domains(*given), n_components=4)
    fitted = ILSTransformer(4).fit(*given)
    np.testing.assert_array_equal(ils.metric, fitted.metric_)
    np.testing.assert_array_equal(ils.transform(DATA.Xt), fitted.transform(DATA.Xt))
    np.testing.assert_array_equal(ils.transform(DATA.X, 0), fitted.transform(DATA.X, "source"))
    assert ils.solution.history == fitted.solution_.history


@pytest.mark.parametrize("solver", ["conjugate-gradient", "adam"])
@pytest.mark.parametrize("init", ["auto", "joint-pca", "pls"])
def test_two_sources_of_the_same_columns(solver, init):
    domains = two_sources(DATA.Xt)
    ils = fit_ils(domains, n_components=4, solver=solver, init=init, random_state=0)
    assert [each.shape for each in ils.projections] == [(8, 4)] * 3
    assert ils.solution.history[-1].value < ils.solution.history[0].value
    for rows, source in ((DATA.X, 0), (OTHER.X, 1), (DATA.Xt, -1)):
        assert np.abs(ils.transform(rows, source).mean(axis=0)).max() < 1e-9


def test_two_sources_of_different_columns():
    ils = fit_ils(two_sources(DATA.Xt, DATA.marked(None, 12), width=5), n_components=3)
    assert [each.shape for each in ils.projections] == [(8, 3), (5, 3), (8, 3)]
    assert len(set(ils.scales)) == 3  # each source has a gain of its own


def test_the_objective_of_two_sources_has_the_gradient_it_returns():
    domains = two_sources(DATA.Xt, DATA.marked(None, 9))
    made = make_problem(domains, ObjectiveSettings(), n_components=3, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    _, gradient = made.problem.objective(made.start)
    for position, entry in enumerate(made.start):
        direction = rng.standard_normal(entry.shape)
        if position == len(made.start) - 1:
            direction = direction + direction.T

        def along(t, position=position, direction=direction):
            point = list(made.start)
            point[position] = point[position] + t * direction
            return float(made.problem.objective(tuple(point))[0])

        slope = float(np.sum(gradient[position] * direction))
        assert taylor_order(along, slope) == pytest.approx(2, abs=0.2)


def test_a_second_copy_of_the_source_leaves_the_discrepancy_as_it_was():
    domains = check_domains(DATA.X, DATA.y, DATA.Xt)
    twice = Domains(domains.sources * 2, domains.target, domains.classes)
    settings = ObjectiveSettings(margin_scale=5.0)
    once, both = (
        make_problem(each, settings, n_components=3, rng=np.random.default_rng(0))
        for each in (domains, twice)
    )
    without = ObjectiveSettings(margin_scale=5.0, trade_off=0.0)
    plain, plain_both = (
        make_problem(each, without, n_components=3, rng=np.random.default_rng(0))
        for each in (domains, twice)
    )

    def value(made):
        return float(made.problem.objective(made.start)[0])

    assert value(both) - value(plain_both) > 0
    # the scale differs a little, as copies are similar pairs of distance 0; Stein's divergence is
    # invariant under it
    assert value(both) - value(plain_both) == pytest.approx(value(once) - value(plain))


def test_updates_have_the_defaults_of_a_fit():
    first = check_domains(DATA.X[:40], DATA.y[:40], DATA.Xt[:30])
    ils, _, state = update_ils(first, rng=np.random.default_rng(0))
    assert ils.n_components == 8
    second = check_domains(DATA.X[40:], DATA.y[40:], DATA.Xt[30:])
    ils, kept, _ = update_ils(second, state)
    np.testing.assert_allclose(ils.means[0], DATA.X.mean(axis=0))
    np.testing.assert_allclose(ils.means[1], DATA.Xt.mean(axis=0))
    assert [each.n_rows for each in kept.all] == [60, 48]
