"""Descriptions of methods: what decides a result is told apart, and nothing else is."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from ilspace.baselines import GFK
from ilspace.benchmark.experiment_names import experiment_names
from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.learned_basis import LearnedBasis
from ilspace.benchmark.methods import describe_method, make_method, method_digest
from ilspace.benchmark.oracle import OracleSearch
from ilspace.benchmark.plan_entries import PlanError
from ilspace.benchmark.plans import Method
from ilspace.estimators import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.selection import LabelFreeSearch

ILS = Method("ILS", "ILSClassifier")
GRID = {"n_components": [2, 5]}
LABEL_FREE = replace(ILS, selection="label-free", grid=GRID)
ORACLE = replace(ILS, selection="oracle", grid=GRID)
LEARNED = Method("GFK W_s", "GFK", {"n_components": 20, "source_basis": "ils"})
PAPER = Method("as in the paper", "ILSClassifier.as_in_paper")


def digest(method: Method) -> str:
    return method_digest(describe_method(method))


def test_a_parameter_that_came_later_counts_once_it_is_given():
    given = describe_method(replace(ILS, parameters={"class_prior": "auto"}))
    assert given["parameters"]["class_prior"] == "auto"


def test_description_is_complete():
    found = describe_method(ILS)
    assert (found["estimator"], found["revision"]) == ("ILSClassifier", ILSClassifier._revision)
    left_out = {"random_state", "verbose", "callback", "class_prior", "n_atoms", "unseen_mean"}
    assert set(found["parameters"]) == set(ILSClassifier().get_params()) - left_out


@pytest.mark.parametrize("name", experiment_names())
def test_methods_of_shipped_experiments_are_told_apart(name):
    cells = list(load_experiment(name).cells())
    told_apart = {each.digest: each for each in cells}
    rows = {(each.get("group"), each["method"]) for each in (cell.as_dict() for cell in cells)}
    assert len(told_apart) == len(rows)
    for cell in told_apart.values():
        found = cell.describe()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert " at 0x" not in json.dumps(found)


def test_defaults_and_the_same_values_spelled_share_a_digest():
    spelled = ILSClassifier().get_params()
    del spelled["random_state"]
    assert digest(replace(ILS, parameters=spelled)) == digest(ILS)
    assert digest(replace(ILS, name="another name", paper="SA", trials=3)) == digest(ILS)
    as_in_paper = ILSClassifier.as_in_paper().get_params()
    del as_in_paper["random_state"]
    assert digest(replace(ILS, parameters=as_in_paper)) == digest(PAPER) != digest(ILS)


@given(
    st.floats(0, 100),
    st.floats(0, 100),
    st.permutations(["objective__trade_off", "objective__metric_weight"]),
)
def test_digests_are_equal_just_where_parameters_are(a, b, order):
    first = replace(ILS, parameters={name: a for name in order})
    second = replace(ILS, parameters={"objective__metric_weight": b, "objective__trade_off": b})
    assert (digest(first) == digest(second)) == (a == b and str(a) == str(b))


@pytest.mark.parametrize("method", [ILS, LABEL_FREE, ORACLE], ids=lambda each: each.selection)
def test_the_seed_of_a_cell_and_how_it_is_watched_do_not_matter(method, monkeypatch):
    before = digest(method)
    assert make_method(method, 7) is not None
    for name, value in {"verbose": 3, "random_state": 5}.items():
        monkeypatch.setitem(ILSClassifier.__init__.__kwdefaults__, name, value)
    monkeypatch.setitem(LabelFreeSearch.__init__.__kwdefaults__, "n_jobs", 2)
    assert digest(method) == before
    # a random state that the plan gives is the same in all cells, which is another method
    assert digest(replace(method, parameters={"random_state": 5})) != before


@pytest.mark.parametrize(
    ("method", "kind", "name", "value"),
    [
        (ILS, ObjectiveSettings, "trade_off", 0.5),
        (LABEL_FREE, ILSClassifier, "max_iter", 7),
        (ORACLE, ILSClassifier, "max_iter", 7),
        (LABEL_FREE, LabelFreeSearch, "held_out", 0.5),
        (LABEL_FREE, LabelFreeSearch, "choose_by", ("source",)),
        (PAPER, ObjectiveSettings, "reduce", False),
        (LEARNED, ILSTransformer, "max_iter", 7),
        (LEARNED, ObjectiveSettings, "trade_off", 0.5),
        (LEARNED, GFK, "classifier", "svm"),
    ],
)
def test_a_changed_default_is_another_method(method, kind, name, value, monkeypatch):
    before = digest(method)
    monkeypatch.setitem(kind.__init__.__kwdefaults__, name, value)
    assert digest(method) != before


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (ILS, ILSClassifier),
        (ILS, ILSTransformer),  # a base counts
        (LABEL_FREE, LabelFreeSearch),
        (LABEL_FREE, ILSClassifier),
        (ORACLE, OracleSearch),
        (LEARNED, LearnedBasis),
        (LEARNED, GFK),
        (LEARNED, ILSTransformer),
    ],
)
def test_a_raised_revision_is_another_method(method, kind, monkeypatch):
    before = digest(method)
    revision = vars(kind).get("_revision", 0)
    monkeypatch.setattr(kind, "_revision", revision + 1, raising=False)
    assert digest(method) != before


def test_a_revision_of_a_base_counts_beside_one_of_the_class(monkeypatch):
    monkeypatch.setattr(ILSClassifier, "_revision", 5, raising=False)
    before = digest(ILS)
    monkeypatch.setattr(ILSTransformer, "_revision", 2, raising=False)
    assert digest(ILS) != before


def test_nested_estimators_and_arrays_are_described():
    first, second = (
        Method("GFK", "GFK", {"classifier": LinearSVC(C=c), "source_basis": np.eye(3, 2)})
        for c in (0.5, 2.0)
    )
    found = describe_method(first)["parameters"]
    assert found["classifier"]["estimator"] == "LinearSVC"
    assert found["classifier"]["parameters"] == {"C": 0.5}
    assert found["source_basis"] == [[1, 0], [0, 1], [0, 0]]
    assert digest(first) != digest(second)
    scalar = describe_method(Method("GFK", "GFK", {"n_components": np.int64(3)}))
    assert scalar["parameters"]["n_components"] == 3
    inf = describe_method(replace(ILS, parameters={"tol": float("inf")}))
    assert inf["parameters"]["tol"] == "inf"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Method("x", "Nothing"), "no estimator 'Nothing'"),
        (replace(ILS, parameters={"colour": 1}), "must be among .*objective.*, but are colour"),
        (replace(ILS, parameters={"tol": object()}), "but one is a object"),
    ],
)
def test_what_cannot_be_described_is_refused(method, message):
    with pytest.raises(PlanError, match=message):
        describe_method(method)
