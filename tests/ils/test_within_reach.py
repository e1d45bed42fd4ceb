"""Fewer coordinates for a target with few labels: the same fit as in all columns."""

import numpy as np
import pytest

from ilspace import ObjectiveSettings
from ilspace.domains import check_domains
from ilspace.ils import fit_ils
from ilspace.ils import problem as of_problems
from ilspace.ils.problem import ILSProblem, make_problem


def tall_domains(n_labelled=12):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    scales = np.linspace(2, 0.3, 160)
    centres = rng.normal(size=(3, 160))
    X = (centres[y] + rng.normal(size=(60, 160))) * scales
    yt = np.arange(300) % 3
    Xt = (centres[yt] + rng.normal(size=(300, 160))) * scales[::-1] + 0.5
    return check_domains(X, y, Xt, np.where(np.arange(300) < n_labelled, yt, -1))


def in_all_columns(monkeypatch, domains, **settings):
    with monkeypatch.context() as patched:
        patched.setattr(of_problems, "_narrowed", lambda space, *_: space)
        return fit_ils(domains, **settings)


@pytest.fixture
def problems(monkeypatch):
    """All problems that are stated."""
    made = []

    def noted(*args, **kwargs):
        made.append(make_problem(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr("ilspace.ils.fit.make_problem", noted)
    return made


@pytest.mark.parametrize("tol", [1e-3, 0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_fit_as_in_all_columns(monkeypatch, problems, tol):
    settings = {"n_components": 8, "tol": tol, "max_iter": 40}
    found = fit_ils(tall_domains(), **settings)
    assert [problem.start[1].shape for problem in problems] == [(8 + 3 * 12, 8)]
    wanted = in_all_columns(monkeypatch, tall_domains(), **settings)
    assert problems[-1].start[1].shape == (160, 8)
    assert found.solution.n_iter == wanted.solution.n_iter
    # the error of one step is some 1e-10, and later steps build on it
    for met, truth in zip(found.projections, wanted.projections, strict=True):
        np.testing.assert_allclose(met, truth, atol=1e-6)
    values = [[line.value for line in each.solution.history] for each in (found, wanted)]
    np.testing.assert_allclose(*values, rtol=1e-9)


def test_all_columns_where_the_reach_does_not_suffice(monkeypatch, problems):
    # a strong statistical loss, free of anchors, leads far away
    objective = ObjectiveSettings(trade_off=300.0, source_anchor=0.0, target_anchor=0.0)
    settings = {"n_components": 8, "objective": objective, "max_iter": 30}
    found = fit_ils(tall_domains(), **settings)
    assert [problem.start[1].shape[0] for problem in problems] == [44, 160]
    wanted = in_all_columns(monkeypatch, tall_domains(), **settings)
    np.testing.assert_array_equal(found.projections[1], wanted.projections[1])


def test_many_labels_keep_all_columns(problems):
    fit_ils(tall_domains(n_labelled=30), n_components=8)
    assert [problem.start[1].shape for problem in problems] == [(160, 8)]


def test_a_start_is_within_reach():
    rng = np.random.default_rng(0)
    problem = make_problem(
        tall_domains(),
        ObjectiveSettings().checked(stochastic=False),
        n_components=8,
        narrow=True,
        rng=rng,
    )
    assert isinstance(problem, ILSProblem)
    assert problem.is_within_reach(problem.start)
    far = [each.copy() for each in problem.start]
    far[1][-1] += 1e-3
    assert not problem.is_within_reach(tuple(far))
