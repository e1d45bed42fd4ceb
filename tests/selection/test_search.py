"""The search that chooses without target labels."""

import inspect
import pickle
import warnings
from typing import Any

import array_api_strict
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from shifted import shifted
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.baselines import CORAL, HFA
from ilspace.selection import CRITERIA, Criterion, LabelFreeSearch, SourceAccuracy, default_grid
from ilspace.selection.grid import with_settings
from ilspace.selection.hold_out import hold_out

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CASE = shifted(n=36, nt=30)
X, y, Xt, yt = CASE
GRID = {"n_components": [1, 2, 3]}
FEW = np.where(np.arange(len(yt)) < 6, yt, -1)


class Witness(Criterion):
    """Prefers models of two components, and remembers what it was shown."""

    def __init__(self, seen):
        self.seen = seen

    def _judge(self, evidence):
        self.seen.append(evidence)
        return -abs(evidence.estimator.n_components_ - 2)

    def __sklearn_clone__(self):
        return self


def search(grid: Any = GRID, **parameters: Any):
    return LabelFreeSearch(ILSClassifier(), grid, random_state=0, **parameters)


# -- scikit-learn's contract ---------------------------------------------------------------------

_QUICK = LabelFreeSearch(
    ILSClassifier(), {"n_components": [1, None]}, criteria=["source", "infomax"], choose_by="source"
)


_EXPECTED = {
    "check_dtype_object": "what no setting can be fitted on is a ValueError, whatever each raised"
}


@parametrize_with_checks([_QUICK], expected_failed_checks=lambda _: _EXPECTED)
def test_common_check(estimator, check):
    check(estimator)


def test_clone_and_parameters():
    one = search(choose_by=["circular", "snd"], held_out=0.4)
    twin = clone(one)
    assert twin.get_params().keys() == one.get_params().keys()
    assert twin.set_params(estimator__max_iter=3).estimator.max_iter == 3
    assert one.estimator.max_iter == 200
    assert is_classifier(one)
    with pytest.raises(NotFittedError):
        one.predict(Xt)


def test_the_estimator_given_is_left_alone():
    inner = ILSClassifier()
    found = LabelFreeSearch(inner, GRID, criteria=["source"], choose_by="source").fit(X, y, Xt)
    assert not hasattr(inner, "solution_")
    assert found.best_estimator_ is not inner
    assert inner.n_components is None


def test_in_cross_validation():
    rows, _, domain = CASE.mixed
    labels = np.concatenate([y, yt])
    with sklearn.config_context(enable_metadata_routing=True):
        one = search(criteria=["source"], choose_by="source")
        scores = cross_val_score(one, rows, labels, cv=3, params={"sample_domain": domain})
    assert scores.mean() > 0.9


# -- what it finds -------------------------------------------------------------------------------


def test_results_and_what_is_chosen():
    found = search().fit(X, y, Xt)
    assert set(CRITERIA) < set(found.cv_results_)
    frame = pd.DataFrame(found.cv_results_)
    assert len(frame) == 3
    assert frame["error"].isna().all()
    assert (frame["seconds"] > 0).all()
    ranks = frame[list(found.choose_by)].rank()
    np.testing.assert_allclose(frame["choice"], ranks.mean(axis=1))
    assert found.best_index_ == frame["choice"].argmax()
    assert found.best_params_ == found.cv_results_["params"][found.best_index_]
    again = with_settings(ILSClassifier()).set_params(**found.best_params_).fit(X, y, Xt)
    np.testing.assert_array_equal(found.predict_proba(Xt), again.predict_proba(Xt))
    assert found.score(Xt, yt) == again.score(Xt, yt)


@pytest.mark.parametrize("name", list(CRITERIA))
def test_each_criterion_can_decide(name):
    found = search(criteria=[name], choose_by=name).fit(X, y, Xt)
    assert found.best_index_ == np.argmax(found.cv_results_[name])


def test_mean_rank_of_several():
    class Fixed(Criterion):
        def __init__(self, values):
            self.values = values

        def _judge(self, evidence):
            return self.values[evidence.estimator.n_components_]

    criteria = {
        "one": Fixed({1: 0.0, 2: 5.0, 3: 9.0}),
        "two": Fixed({1: 9.0, 2: 8.0, 3: np.nan}),
    }
    found = search(criteria=criteria, choose_by=["one", "two"]).fit(X, y, Xt)
    np.testing.assert_array_equal(found.cv_results_["choice"], [2, 2, 2])
    assert found.best_index_ == 0  # the first of equals
    assert search(criteria=criteria, choose_by="two").fit(X, y, Xt).best_index_ == 0


@pytest.mark.slow  # starts two processes
def test_same_seed_same_results_however_many_jobs():
    one, two = (search(n_jobs=n_jobs).fit(X, y, Xt) for n_jobs in (1, 2))
    for name in CRITERIA:
        np.testing.assert_allclose(one.cv_results_[name], two.cv_results_[name], err_msg=name)
    assert one.best_params_ == two.best_params_


def test_callback():
    calls = []
    found = search(callback=lambda *call: calls.append(call)).fit(X, y, Xt)
    assert [call[:2] for call in calls] == [(1, 3), (2, 3), (3, 3)]
    assert [call[2]["params"] for call in calls] == found.cv_results_["params"]
    assert [call[2]["circular"] for call in calls] == list(found.cv_results_["circular"])


# -- what a criterion is shown -------------------------------------------------------------------


def test_models_do_not_learn_from_the_rows_they_are_judged_on():
    class Memory(ILSClassifier):
        def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, sample_weight=None):
            self.given_ = X, Xt
            return super().fit(X, y, Xt, yt)

    seen = []
    LabelFreeSearch(Memory(), GRID, criteria={"w": Witness(seen)}, choose_by="w").fit(X, y, Xt)
    splits = set()
    for evidence in seen:
        learned = {tuple(row) for row in evidence.estimator.given_[0]}
        judged = {tuple(row) for row in evidence.held_out_rows}
        assert not learned & judged
        assert learned | judged == {tuple(row) for row in X}
        np.testing.assert_array_equal(evidence.estimator.given_[1], Xt)
        splits.add(tuple(evidence.held_out))
    assert len(splits) == 1  # all settings share one


def test_target_labels_are_handed_to_fit_and_kept_from_criteria():
    seen = []
    found = search(criteria={"w": Witness(seen)}, choose_by="w").fit(X, y, Xt, FEW)
    again = ILSClassifier(2).fit(X, y, Xt, FEW)
    np.testing.assert_array_equal(found.predict_proba(Xt), again.predict_proba(Xt))
    for evidence in seen:
        np.testing.assert_array_equal(evidence.target, Xt[6:])
        np.testing.assert_array_equal(evidence.labels, y)


def test_rows_of_both_domains_together_or_apart():
    rows, labels, domain = CASE.mixed
    order = np.argsort(np.concatenate([np.arange(36), np.arange(30)]), kind="stable")  # in turn
    apart = search().fit(X, y, Xt)
    together = search().fit(rows[order], labels[order], sample_domain=domain[order])
    for name in CRITERIA:
        np.testing.assert_allclose(apart.cv_results_[name], together.cv_results_[name])


@pytest.mark.parametrize("labels", [yt, FEW], ids=["all labelled", "few"])
def test_different_widths(labels):
    found = search({"n_components": [2, 3]}).fit(X, y, Xt[:, :4], labels)
    assert found.cv_results_["error"] == [None, None]
    for name in CRITERIA:
        assert np.isfinite(found.cv_results_[name]).all(), name
    assert found.score(Xt[:, :4], yt) > 0.8
    assert found.predict(X, domain="source").shape == y.shape
    assert found.transform(Xt[:, :4]).shape[1] == found.transform(X, "source").shape[1]


def test_as_many_columns_of_other_names():
    frames = [pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Xt, columns=list("ghijkl"))]
    found = search({"n_components": [2, 3]}).fit(frames[0], y, frames[1], FEW)
    assert found.cv_results_["error"] == [None, None]


def test_different_widths_without_a_latent_space():
    found = LabelFreeSearch(HFA(), [{}], choose_by="source").fit(X, y, Xt[:, :4], FEW)
    assert np.isnan(found.cv_results_["dev"]).all()
    assert "must be in one space" in found.cv_results_["error"][0]
    assert np.isfinite(found.cv_results_["source"]).all()


def test_one_domain_alone():
    found = search().fit(X, y)
    assert found.score(X, y) > 0.9


@pytest.mark.parametrize(
    "convert",
    [
        lambda rows: rows.tolist(),
        sparse.csr_matrix,
        lambda rows: pd.DataFrame(rows, columns=list("abcdef")),
    ],
    ids=["list", "sparse", "frame"],
)
def test_containers(convert):
    expected = search().fit(X, y, Xt)
    found = search().fit(convert(X), y.tolist(), convert(Xt))
    assert found.cv_results_["error"] == [None] * 3
    for name in set(CRITERIA) - {"iwcv"}:
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], atol=1e-6)


def test_arrays_of_another_library():
    expected = search().fit(X, y, Xt)
    found = search().fit(*(array_api_strict.asarray(each.copy()) for each in (X, y, Xt)))
    assert found.cv_results_["error"] == [None] * 3
    for name in CRITERIA:
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], atol=1e-6)


@pytest.mark.parametrize("estimator", [ILSClassifier(), CORAL()], ids=str)
def test_dask_collections_are_refused_with_a_remedy(estimator, in_dask):
    rows, labels, domain = CASE.mixed
    for name, given, where in (
        ("X", (in_dask(X), y, Xt), {}),
        ("X", (in_dask(X), y), {}),
        ("Xt", (X, y, in_dask(Xt), FEW), {}),
        ("X", (in_dask(rows), labels), {"sample_domain": domain}),
    ):
        with pytest.raises(
            ValueError,
            match=rf"LabelFreeSearch takes rows in memory, but {name} is a Dask .*: compute it",
        ):
            LabelFreeSearch(estimator, [{}]).fit(*given, **where)


@pytest.mark.parametrize("domain", ["target", "source"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform"])
def test_rows_in_dask_after_fit_are_left_to_the_chosen_estimator(method, domain):
    da = pytest.importorskip("dask.array")
    ask = getattr(search(criteria=["source"], choose_by="source").fit(X, y, Xt), method)
    rows = Xt if domain == "target" else X
    lazy = ask(da.from_array(rows, chunks=7), domain)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(scheduler="synchronous"), ask(rows, domain))


def test_pickle():
    found = search().fit(X, y, Xt)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(Xt), found.predict(Xt))


def test_baseline():
    found = LabelFreeSearch(CORAL(), [{}], random_state=0).fit(X, y, Xt)
    assert found.cv_results_["error"] == [None]
    assert found.best_params_ == {}
    assert not hasattr(found, "no_such_method")


# -- failures ------------------------------------------------------------------------------------


def test_a_setting_that_fails_is_recorded_and_skipped():
    found = search({"n_components": [50, 2]}).fit(X, y, Xt)
    assert "n_components must be at most" in found.cv_results_["error"][0]
    assert found.cv_results_["error"][1] is None
    assert np.isnan(found.cv_results_["circular"][0])
    assert found.best_index_ == 1


def test_all_settings_fail():
    with pytest.raises(ValueError, match=r"none could be; the first ended with ValueError: n_comp"):
        search({"n_components": [50, 60]}).fit(X, y, Xt)


def test_warnings_of_settings_are_recorded_and_those_of_the_last_fit_are_not():
    with pytest.warns(ConvergenceWarning) as caught:
        found = search({"max_iter": [1]}).fit(X, y, Xt)
    assert len(caught) == 1
    assert "max_iter was reached" in found.cv_results_["warnings"][0][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search({"max_iter": [200]}).fit(X, y, Xt).cv_results_["warnings"] == [[]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criteria": ["nonsense"]}, "criteria may name .*circular, .*'nonsense' is none of them"),
        ({"criteria": ["snd"]}, r"choose_by must name some .*\(snd\), but names 'calibrated'"),
        ({"choose_by": []}, "names none"),
        ({"criteria": {"error": SourceAccuracy()}, "choose_by": "error"}, "may not be called"),
        ({"held_out": 1.0}, "The 'held_out' parameter"),
        ({"grid": []}, "param_grid must have settings"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        search(**parameters).fit(X, y, Xt)


def test_source_labels_are_needed():
    with pytest.raises(ValueError, match="requires y to be passed"):
        search().fit(X, None, Xt)


# -- parts ---------------------------------------------------------------------------------------


def test_rows_held_out_of_each_class():
    labels = np.repeat([0, 1, 2, 3], [1, 2, 8, 20])
    rows = hold_out(labels, 0.25, np.random.default_rng(0))
    assert np.bincount(labels[rows], minlength=4).tolist() == [0, 1, 2, 5]
    assert len(set(rows)) == len(rows)
    rows = hold_out(labels, 0.99, np.random.default_rng(0))
    assert np.bincount(labels[rows], minlength=4).tolist() == [0, 1, 7, 19]


@pytest.mark.parametrize("share", [0.2, 0.25, 0.5])
def test_rows_held_out_are_as_many_as_the_share_is_near(share):
    sizes = np.arange(4, 24)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = np.bincount(labels[hold_out(labels, share, np.random.default_rng(0))])
    assert np.max(np.abs(found - share * sizes)) <= 0.5


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((200, 800), (900, 800)), [10, 20, 30, 50]),
        (((26, 800), (900, 800)), [10, 20, 25]),
        (((200, 800), (900, 15)), [10, 15]),
        (((200, 4),), [4]),
    ],
)
def test_default_grid_fits_the_rows(shapes, expected):
    grid = default_grid(ILSClassifier(), shapes=shapes)
    assert grid["n_components"] == expected
    assert ObjectiveSettings().metric_weight in grid["objective__metric_weight"]


def test_default_grid_is_used_and_fits():
    found = LabelFreeSearch(ILSClassifier(), random_state=0).fit(X, y, Xt)
    assert found.cv_results_["error"] == [None] * 3


def test_no_grid_for_a_method_without_these_parameters():
    with pytest.raises(ValueError, match="neither n_components nor objective: give param_grid"):
        LabelFreeSearch(CORAL()).fit(X, y, Xt)


# -- labels and weights in other words -----------------------------------------------------------


@pytest.mark.parametrize("few", [0, 6])
@pytest.mark.parametrize(
    ("classes", "mark"),
    [
        (classes, mark)
        for classes in (["cat", "dog", "emu"], [0, 1, 2], [-1, 0, 1])
        for mark in (-1, None, np.nan)
        if mark not in classes
    ],
    ids=str,
)
def test_marks_reach_a_pipeline_whatever_the_classes_are(classes, few, mark):
    names = np.array(classes)
    marked = [names.tolist()[each] if i < few else mark for i, each in enumerate(yt)]
    with sklearn.config_context(enable_metadata_routing=True):
        piped = LabelFreeSearch(
            make_pipeline(FunctionTransformer(), ILSClassifier()),
            {"ilsclassifier__n_components": [2]},
            criteria=["source"],
            choose_by="source",
            random_state=0,
        ).fit(X, names[y], Xt, marked)
    assert piped.cv_results_["error"] == [None]
    expected = ILSClassifier(2).fit(X, names[y], Xt, marked)
    np.testing.assert_array_equal(piped.predict(Xt), expected.predict(Xt))
    np.testing.assert_allclose(piped.predict_proba(Xt), expected.predict_proba(Xt), atol=1e-12)


def test_scores_as_the_classifier_does():
    found = search(criteria=["source"], choose_by="source").fit(X, y, Xt)
    inner, wrong = found.best_estimator_, np.where(np.arange(len(yt)) < 9, (yt + 1) % 3, yt)
    weights = np.linspace(0, 1, len(yt))
    signatures = [inspect.signature(each.score) for each in (found, inner)]
    assert signatures[0] == signatures[1]
    expected = inner.score(Xt, wrong, weights)
    assert expected != inner.score(Xt, wrong)
    assert found.score(Xt, wrong, weights) == expected
    assert found.score(Xt, wrong, sample_weight=weights) == expected
    weights = np.linspace(0, 1, len(y))
    assert found.score(X, y, weights, domain="source") == inner.score(
        X, y, weights, domain="source"
    )


def test_a_list_of_sources_is_refused_with_a_remedy():
    data = shifted()
    with pytest.raises(ValueError, match="searches with one source, but X is a list of 2"):
        LabelFreeSearch(ILSClassifier()).fit([data.X, data.X], [data.y, data.y], data.Xt)
