"""The estimators among scikit-learn's tools."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from shifted import shifted
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ilspace import ILSClassifier, ILSTransformer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Witness(ILSClassifier):
    """Remembers what it was fitted on and scored on."""

    seen: list = []

    def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, sample_weight=None):
        self.seen.append(("fit", X, Xt, sample_domain))
        return super().fit(X, y, Xt, yt, sample_domain=sample_domain, sample_weight=sample_weight)

    def score(
        self, X, y, sample_weight=None, *, domain="target", sample_domain=None, allow_source=False
    ):
        self.seen.append(("score", X, None, sample_domain))
        return super().score(X, y, sample_weight, domain=domain, sample_domain=sample_domain)


@pytest.fixture
def witnessed(monkeypatch):
    monkeypatch.setattr(Witness, "seen", [])
    return Witness.seen


# -- search and pipelines ------------------------------------------------------------------------


def test_grid_search_on_one_domain():
    search = GridSearchCV(ILSClassifier(), {"n_components": [1, 4]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("nt", [24, 30])
def test_xt_given_to_a_search_is_sliced_where_it_has_as_many_rows(routing, witnessed, nt):
    """A trap of scikit-learn's: metadata as long as X is taken for metadata of X's rows."""
    case = shifted(nt=nt)
    GridSearchCV(Witness(2), {}, cv=3, refit=False).fit(case.X, case.y, Xt=case.Xt)
    rows = {len(target) for verb, _, target, _ in witnessed if verb == "fit"}
    assert rows == ({20} if nt == len(case.X) else {nt})


@pytest.mark.parametrize("nt", [24, 30])
def test_sample_domain_is_the_route_of_both_domains_through_a_search(routing, witnessed, nt):
    case = shifted(nt=nt)
    rows, labels, domain = case.mixed
    search = GridSearchCV(Witness(), {"n_components": [2, 3]}, cv=3, refit=False)
    search.fit(rows, labels, sample_domain=domain)
    for verb, some, target, where in witnessed:
        assert target is None
        assert len(where) == len(some)
        # both domains are in each fold, and each row with its own mark
        share = 2 / 3 if verb == "fit" else 1 / 3
        assert np.sum(where > 0) == share * len(case.X)
        assert np.sum(where < 0) == share * nt
        assert {tuple(row) for row in some[where > 0]} <= {tuple(row) for row in case.X}
        assert {tuple(row) for row in some[where < 0]} <= {tuple(row) for row in case.Xt}
    # a masked row is no row that can be right, so only the share of source rows can
    ceiling = len(case.X) / len(rows)
    assert np.all(search.cv_results_["mean_test_score"] <= ceiling + 1e-12)
    assert np.all(search.cv_results_["mean_test_score"] > 0.9 * ceiling)


def test_sample_domain_in_cross_validation_with_target_labels(routing):
    rows, _, domain = DATA.mixed
    labels = np.concatenate([y, yt])
    scores = cross_val_score(ILSClassifier(), rows, labels, cv=3, params={"sample_domain": domain})
    assert scores.mean() > 0.9


def test_pipeline_on_one_domain():
    pipeline = make_pipeline(StandardScaler(), ILSTransformer(2), KNeighborsClassifier(1))
    assert pipeline.fit(X, y).score(X, y) == 1


def test_pipeline_takes_the_target_by_step_name():
    pipeline = make_pipeline(ILSClassifier())
    pipeline.fit(X, y, ilsclassifier__Xt=Xt)
    np.testing.assert_array_equal(pipeline.predict(Xt), ILSClassifier().fit(X, y, Xt).predict(Xt))


def test_pipeline_with_the_target_scaled_alike(routing):
    last = KNeighborsClassifier(1)
    steps = [("scale", StandardScaler()), ("ils", ILSTransformer(3)), ("knn", last)]
    pipeline = Pipeline(steps, transform_input=["Xt"]).fit(50 * X, y, Xt=50 * Xt)
    assert pipeline.score(50 * Xt, yt) > 0.9


def test_cross_validation_on_source_folds_is_told_so(routing):
    estimator = ILSClassifier().set_score_request(domain=True)
    scores = cross_val_score(
        estimator, X, y, cv=3, params={"Xt": Xt[:20] + 100, "domain": "source"}
    )
    assert scores.mean() > 0.9


def test_pipeline_routes_sample_domain_to_transform(routing):
    rows, labels, domain = DATA.mixed
    last = KNeighborsClassifier(1)
    pipeline = make_pipeline(StandardScaler(), ILSTransformer(3), last)
    pipeline.fit(rows, labels, sample_domain=domain)
    scaled = StandardScaler().fit_transform(rows)
    alone = ILSTransformer(3).fit(scaled, labels, sample_domain=domain)
    np.testing.assert_array_equal(
        pipeline[:-1].transform(rows, sample_domain=domain),
        alone.transform(scaled, sample_domain=domain),
    )


def test_fit_transform_sends_each_row_through_its_own_projection():
    direct = ILSTransformer(3).fit(X, y, Xt)
    np.testing.assert_array_equal(
        ILSTransformer(3).fit_transform(X, y, Xt), direct.transform(X, domain="source")
    )
    rows, labels, domain = DATA.mixed
    latent = ILSTransformer(3).fit_transform(rows, labels, sample_domain=domain)
    np.testing.assert_array_equal(latent[: len(X)], direct.transform(X, domain="source"))
    np.testing.assert_array_equal(latent[len(X) :], direct.transform(Xt))


# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["auto", np.eye(6)[:, :2], (np.eye(6)[:, :2],) * 2])
def test_clone_makes_an_unfitted_twin(start):
    fitted = ILSClassifier(2, init=start, random_state=0).fit(X, y, Xt)
    twin = clone(fitted)
    assert not hasattr(twin, "solution_")
    np.testing.assert_array_equal(twin.fit(X, y, Xt).predict_proba(Xt), fitted.predict_proba(Xt))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("width", [6, 4])
def test_copies_predict_the_same_to_the_bit(copied, width):
    target = Xt[:, :width]
    fitted = ILSClassifier().fit(X, y, target, yt)
    twin = copied(fitted)
    np.testing.assert_array_equal(twin.predict_proba(target), fitted.predict_proba(target))
    np.testing.assert_array_equal(twin.transform(X, "source"), fitted.transform(X, "source"))
    assert twin.solution_.status is fitted.solution_.status
    assert twin.solution_.history[1:] == fitted.solution_.history[1:]  # the first step is NaN


def test_a_second_fit_forgets_the_first():
    frames = [pd.DataFrame(each, columns=list("abcdef")) for each in (X, Xt)]
    again = ILSClassifier().fit(frames[0], y, frames[1], yt).fit(X, y)
    once = ILSClassifier().fit(X, y)
    assert set(vars(again)) == set(vars(once))
    np.testing.assert_array_equal(again.predict_proba(X), once.predict_proba(X))


# -- names and containers of the output ----------------------------------------------------------


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_names_of_the_components(kind):
    names = kind(3).fit(X, y, Xt).get_feature_names_out()
    assert list(names) == [f"{kind.__name__.lower()}{i}" for i in range(3)]


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_set_output_pandas(kind):
    source = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(len(X)) + 100)
    target = pd.DataFrame(Xt, columns=list("abcdef"), index=np.arange(len(Xt)) + 500)
    plain = kind(3).fit(source, y, target, yt)
    framed = kind(3).set_output(transform="pandas")
    latent = framed.fit_transform(source, y, target, yt)
    assert list(latent.columns) == list(framed.get_feature_names_out())
    assert list(latent.index) == list(source.index)
    np.testing.assert_array_equal(latent, plain.transform(source, "source"))
    latent = framed.transform(target)
    assert list(latent.index) == list(target.index)
    np.testing.assert_array_equal(latent, plain.transform(target))
    # what is computed from latent rows does not see the container
    pairs = np.stack([Xt[:5], Xt[5:10]], axis=1)
    expected = kind(3).fit(X, y, Xt, yt).pair_distance(pairs)
    np.testing.assert_array_equal(
        kind(3).set_output(transform="pandas").fit(X, y, Xt, yt).pair_distance(pairs), expected
    )


# -- weights -------------------------------------------------------------------------------------


def _fits(weights, n_target_columns=6, labels=yt):
    """Fit with weights, and on as many copies of the rows; predictions of both.

    Without self-training: a copy of a row is a neighbour of it, and a weight is none.
    """
    target = Xt[:, :n_target_columns]
    weighted = ILSClassifier(self_training=0).fit(X, y, target, labels, sample_weight=weights)
    both = np.concatenate([weights, np.ones(len(X) + len(Xt) - len(weights), dtype=int)])
    source_copies, target_copies = both[: len(X)], both[len(X) :]
    repeated = ILSClassifier(self_training=0).fit(
        np.repeat(X, source_copies, axis=0),
        np.repeat(y, source_copies),
        np.repeat(target, target_copies, axis=0),
        None if labels is None else np.repeat(labels, target_copies),
    )
    return weighted.predict_proba(target), repeated.predict_proba(target)


@pytest.mark.parametrize("length", [len(X), len(X) + len(Xt)], ids=["source", "both"])
@pytest.mark.parametrize(
    ("width", "labels"), [(6, None), (6, yt), (4, yt)], ids=["unlabelled", "labelled", "widths"]
)
def test_a_weight_is_a_number_of_copies(length, width, labels):
    weights = np.random.default_rng(1).integers(0, 4, length)
    weighted, repeated = _fits(weights, width, labels)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_weight_zero_removes_a_row_whatever_it_holds():
    weights = np.ones(len(X) + len(Xt), dtype=int)
    weights[[0, 7, -1]] = 0
    source, target = X.copy(), Xt.copy()
    source[[0, 7]] = 1e3
    target[-1] = -1e3
    kept = weights[: len(X)] > 0, weights[len(X) :] > 0
    weighted = ILSClassifier().fit(source, y, target, sample_weight=weights)
    removed = ILSClassifier().fit(X[kept[0]], y[kept[0]], Xt[kept[1]])
    np.testing.assert_array_equal(weighted.predict_proba(Xt), removed.predict_proba(Xt))


def test_a_scalar_weight_is_that_of_all_rows():
    one = ILSClassifier().fit(X, y, Xt, sample_weight=np.full(len(X) + len(Xt), 2.0))
    for scalar in (2, np.float64(2), np.array(2.0)):
        other = ILSClassifier().fit(X, y, Xt, sample_weight=scalar)
        np.testing.assert_array_equal(one.predict_proba(Xt), other.predict_proba(Xt))


def test_weights_follow_their_rows_through_sample_domain():
    rows, labels, domain = DATA.mixed
    weights = np.random.default_rng(2).uniform(0.5, 2, len(rows))
    order = np.random.default_rng(3).permutation(len(rows))
    together = ILSClassifier().fit(
        rows[order], labels[order], sample_domain=domain[order], sample_weight=weights[order]
    )
    apart = ILSClassifier().fit(X, y, Xt, sample_weight=weights)
    np.testing.assert_allclose(together.predict_proba(Xt), apart.predict_proba(Xt), atol=1e-8)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(31), r"one entry per source row \(30\), or one .* target row \(54\), but has 31"),
        (-np.ones(30), "[Nn]egative"),
        (np.full(30, np.nan), "sample_weight contains NaN"),
        (np.ones((30, 1)), "1D array"),
        (np.zeros(30), "at least (one non-zero|2 rows of positive weight)"),
        (np.eye(30)[0], "at least 2 rows of positive weight, but one has 1"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier().fit(X, y, Xt, sample_weight=weights)


def test_weights_of_the_wrong_length_elsewhere():
    with pytest.raises(ValueError, match=r"one entry per source row \(30\), but has 31"):
        ILSClassifier().fit(X, y, sample_weight=np.ones(31))
    rows, labels, domain = DATA.mixed
    with pytest.raises(ValueError, match=r"one entry per row of X \(54\).*but has 30"):
        ILSClassifier().fit(rows, labels, sample_domain=domain, sample_weight=np.ones(30))
