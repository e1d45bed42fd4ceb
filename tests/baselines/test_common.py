"""What every baseline must do: scikit-learn's contract, and a remedy for what it cannot do."""

import inspect
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from shifted import shifted
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from ilspace import baselines
from ilspace.baselines._base import LatentBaseline

MISSING = {"OTDA"} if find_spec("ot") is None else set()  # it needs POT; its own tests say so
METHODS = [getattr(baselines, name) for name in baselines.__all__ if name not in MISSING]
NEED_LABELS = [kind for kind in METHODS if kind._needs_target_labels]
ANY_COLUMNS = [kind for kind in METHODS if kind._takes_different_columns]
SAME_COLUMNS = [kind for kind in METHODS if not kind._takes_different_columns]

DATA = shifted()
X, y, Xt, yt = DATA.X, DATA.y, DATA.Xt, DATA.yt
FEW = np.where(np.arange(len(yt)) < 9, yt, -1)


@parametrize_with_checks([kind() for kind in METHODS])
def test_common_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", METHODS)
class TestEvery:
    def test_signature_and_constraints(self, kind):
        parameters = inspect.signature(kind.fit).parameters
        assert list(parameters) == ["self", "X", "y", "Xt", "yt", "sample_domain"]
        names = set(inspect.signature(kind.__init__).parameters) - {"self"}
        assert set(kind._parameter_constraints) == names

    def test_better_than_chance_on_rows_never_seen(self, kind):
        fitted = kind().fit(X, y, Xt[::2], FEW[::2])
        assert fitted.score(Xt[1::2], yt[1::2]) > 1.3 / len(np.unique(y))

    def test_mixed_rows_are_the_two_domains(self, kind):
        apart = kind().fit(X, y, Xt, FEW)
        rows, domain = np.vstack([X, Xt]), np.repeat([1, -1], [len(X), len(Xt)])
        mixed = kind().fit(rows, np.concatenate([y, FEW]), sample_domain=domain)
        np.testing.assert_array_equal(mixed.predict(Xt), apart.predict(Xt))
        together = apart.predict(rows, sample_domain=domain)
        np.testing.assert_array_equal(together[: len(X)], apart.predict(X, domain="source"))
        np.testing.assert_array_equal(together[len(X) :], apart.predict(Xt))

    def test_clone_and_pickle(self, kind):
        fitted = kind().fit(X, y, Xt, FEW)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(Xt), fitted.predict(Xt))
        fresh = clone(fitted)
        assert not hasattr(fresh, "classes_")
        np.testing.assert_array_equal(fresh.fit(X, y, Xt, FEW).predict(Xt), fitted.predict(Xt))

    def test_string_labels_and_untouched_input(self, kind):
        names = np.array(["cat", "dog", "emu"])
        some = np.array([names[code] if code >= 0 else None for code in FEW], dtype=object)
        given = (X.copy(), names[y], Xt.copy(), some)
        kept = [each.copy() for each in given]
        predicted = kind().fit(*given).predict(Xt)
        for each, before in zip(given, kept, strict=True):
            np.testing.assert_array_equal(each, before)
        np.testing.assert_array_equal(predicted, names[kind().fit(X, y, Xt, FEW).predict(Xt)])

    def test_dask_collections_are_refused_with_a_remedy(self, kind, in_dask):
        def refused(name):
            message = (
                rf"{kind.__name__} takes rows in memory, but {name} is a Dask (array|dataframe): "
                rf"compute it \({name}.compute\(\)\), or use ILSClassifier"
            )
            return pytest.raises(ValueError, match=message)

        for name, given in (("X", (in_dask(X), y, Xt)), ("Xt", (X, y, in_dask(Xt)))):
            with refused(name):
                kind().fit(*given, FEW)
        domain = np.repeat([1, -1], [len(X), len(Xt)])
        with refused("X"):
            kind().fit(in_dask(np.vstack([X, Xt])), np.concatenate([y, FEW]), sample_domain=domain)
        fitted = kind().fit(X, y, Xt, FEW)
        for method in ("predict_proba", "decision_function"):
            if hasattr(fitted, method):
                with refused("X"):
                    getattr(fitted, method)(in_dask(Xt))
                with refused("X"):
                    getattr(fitted, method)(in_dask(X), domain="source")

    def test_further_rows_in_dask_are_labelled_block_by_block(self, kind):
        da = pytest.importorskip("dask.array")
        fitted = kind().fit(X, y, Xt, FEW)
        blocks = da.from_array(Xt, chunks=(10, Xt.shape[1]))
        for method in ("predict", "transform"):
            if hasattr(fitted, method):
                lazy = getattr(fitted, method)(blocks)
                assert lazy.chunks[0] == blocks.chunks[0]
                whole = getattr(fitted, method)(Xt)
                np.testing.assert_allclose(lazy.compute(), whole, rtol=1e-9, atol=1e-12)

    def test_a_fit_that_fails_leaves_nothing_half_fitted(self, kind):
        model = kind().fit(X, y, Xt, FEW)
        with pytest.raises(ValueError, match="NaN|infinity|features"):
            model.fit(X[:, :2], y, np.full((len(Xt), 3), np.nan), FEW)
        with pytest.raises(NotFittedError):
            model.predict(Xt)

    def test_grid_search(self, kind):
        rows, domain = np.vstack([X, Xt]), np.repeat([1, -1], [len(X), len(Xt)])
        labels = np.concatenate([y, yt])
        name, values = next(iter(GRIDS.get(kind.__name__, {"classifier": ["1nn", "svm"]}).items()))
        search = GridSearchCV(kind(), {name: values}, cv=2)
        order = np.random.default_rng(0).permutation(len(rows))
        search.fit(rows[order], labels[order], sample_domain=domain[order])
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_params_[name] in values


@pytest.mark.parametrize("kind", [kind for kind in METHODS if issubclass(kind, LatentBaseline)])
def test_distances_are_those_of_the_space(kind):
    fitted = kind().fit(X, y, Xt, FEW)
    latent = fitted.transform(Xt)
    pairs = np.stack([Xt[:5], Xt[5:10]], axis=1)
    wanted = np.linalg.norm(latent[:5] - latent[5:10], axis=1)
    np.testing.assert_allclose(fitted.pair_distance(pairs), wanted, rtol=1e-9)
    mapping = getattr(fitted, "_target_map", None)
    if mapping is None or len(mapping) != Xt.shape[1]:  # not a linear map of the columns
        with pytest.raises(ValueError, match="use transform or pair_distance"):
            fitted.get_mahalanobis_matrix()
        return
    offsets = pairs[:, 0] - pairs[:, 1]
    squares = np.einsum("ij,jk,ik->i", offsets, fitted.get_mahalanobis_matrix(), offsets)
    np.testing.assert_allclose(np.sqrt(squares), wanted, rtol=1e-6)


GRIDS: dict[str, dict[str, list]] = {
    "EasyTL": {"align": [True, False]},
    "HFA": {"trace_bound": [1.0, 100.0]},
    "MEDA": {"balance": ["auto", 0.5]},
    "MMDT": {"source_cost": [0.05, 1.0]},
    "PooledSources": {"estimator": [baselines.CORAL(), None]},
    "SPL": {"n_rounds": [1, 10]},
    "SourceVote": {"weighted": [True, False]},
    "SelfTraining": {"n_steps": [1, 3]},
}
"""A parameter to search over, where it is not `classifier`."""


@pytest.mark.parametrize("kind", SAME_COLUMNS)
def test_different_columns_are_refused_with_a_remedy(kind):
    with pytest.raises(ValueError, match="same features.*use a method for different columns"):
        kind().fit(X, y, Xt[:, :4], FEW)


@pytest.mark.parametrize("kind", ANY_COLUMNS)
def test_different_columns(kind):
    fitted = kind().fit(X, y, Xt[:, :4], FEW)
    assert fitted.score(Xt[:, :4], yt) > 1.3 / len(np.unique(y))


@pytest.mark.parametrize("kind", NEED_LABELS)
def test_missing_target_labels_are_named_with_a_remedy(kind):
    with pytest.raises(ValueError, match="yt has no label: label a few"):
        kind().fit(X, y, Xt)


@pytest.mark.parametrize(
    "kind", [kind for kind in METHODS if "n_components" in kind._parameter_constraints]
)
def test_too_many_components_are_refused_with_a_remedy(kind):
    with pytest.raises(ValueError, match="n_components must be at most.*choose fewer"):
        kind(n_components=1000).fit(X, y, Xt, FEW)
