"""The estimator of tables: a scikit-learn classifier, laws, odd tables, files."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from tables.small_tables import NUMBERS, quick, small_tables

import ilspace
from ilspace import ILSClassifier, TableClassifier
from ilspace.tables import TableError, learning
from ilspace.tables.learning import AdaptedRule, PooledRule

TABLES = small_tables()
X, Y, XT = TABLES.features
SOME = np.array([each if i < 9 else None for i, each in enumerate(TABLES.truth)], dtype=object)
OTHER = XT[["depth", "colour"]].set_axis(["p", "q"], axis=1)  # nothing in common


@pytest.fixture
def few_trees(monkeypatch):
    monkeypatch.setattr(learning, "TREES", 5)


@pytest.fixture(scope="module")
def fitted():
    return TableClassifier(quick()).fit(X, Y, XT)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# -- a classifier of scikit-learn ------------------------------------------------------------------


@parametrize_with_checks([TableClassifier(quick())])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([TableClassifier()])
def test_common_checks_of_the_committee(estimator, check, few_trees):
    check(estimator)


def test_every_parameter_has_a_constraint_and_keeps_its_value():
    names = set(TableClassifier().get_params())
    assert set(TableClassifier._parameter_constraints) == names
    for name, value in TableClassifier().get_params().items():
        assert getattr(TableClassifier().set_params(**{name: value}), name) is value
    with pytest.raises(ValueError, match="'scaling' parameter of TableClassifier must be"):
        TableClassifier(scaling="much").fit(X, Y, XT)


def test_cross_validation_on_one_table(few_trees):
    """As any classifier of mixed columns."""
    assert cross_val_score(TableClassifier(), X, Y, cv=3).mean() > 0.7
    grid = {"method": ["committee", quick()], "own_scaling": [False, True]}
    search = GridSearchCV(TableClassifier(), grid, cv=3).fit(X, Y)
    assert search.cv_results_["mean_test_score"].min() > 0.7
    assert search.predict(X).tolist() == search.best_estimator_.predict(X).tolist()


def is_right(truth, said):
    """Share of the rows that are right, where a label is known."""
    known = np.array([each != -1 for each in truth])
    return accuracy_score(np.asarray(truth)[known].astype(str), said[known])


def test_a_search_over_both_domains_with_minus_one_as_a_marker(routing):
    """Rows of both tables, in each fold; of the target some have a label, others -1."""
    rows = pd.concat([X, XT], ignore_index=True)
    labels = np.array([*Y, *(-1 if each is None else each for each in SOME)], dtype=object)
    domain = np.repeat([1, -2], [30, 24])
    seen = []

    class Witness(TableClassifier):
        def fit(self, X, y=None, Xt=None, yt=None, sample_domain=None, *, source_names=None):
            super().fit(X, y, Xt, yt, sample_domain)
            seen.append((len(X), self.rule_.adapts))
            return self

    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(rows, domain))
    search = GridSearchCV(
        Witness(), {"method": [quick(), "ils"]}, cv=folds, scoring=make_scorer(is_right)
    )
    search.fit(rows, labels, sample_domain=domain)
    assert seen[:6] == [(36, False)] * 3 + [(36, True)] * 3
    assert seen[6][0] == 54
    assert search.cv_results_["mean_test_score"].min() > 0.6
    # the rows marked -1 have no label: the same as None in a fit of two tables
    expected = clone(search.best_estimator_).fit(X, Y, XT, SOME).predict_proba(XT)
    np.testing.assert_allclose(search.best_estimator_.predict_proba(XT), expected, atol=1e-9)


def test_a_target_is_handed_through_a_search(routing):
    search = GridSearchCV(TableClassifier("ils"), {"scaling": ["zscore", "none"]}, cv=2)
    search.fit(X, Y, Xt=XT, yt=SOME)
    expected = TableClassifier("ils", scaling=search.best_params_["scaling"]).fit(X, Y, XT, SOME)
    np.testing.assert_array_equal(search.predict(XT), expected.predict(XT))


def test_in_a_pipeline():
    shorter = FunctionTransformer(lambda table: table.drop(columns="weight"))
    pipeline = make_pipeline(shorter, TableClassifier(quick())).fit(X, Y)
    assert list(pipeline[-1].plan_.source) == ["height", "width", "depth", "colour"]
    assert pipeline.score(X, Y) > 0.7
    columns = ColumnTransformer([("all", "passthrough", [*NUMBERS, "colour"])])
    columns.set_output(transform="pandas")
    assert make_pipeline(columns, TableClassifier(quick())).fit(X, Y).score(X, Y) > 0.7


def test_rows_of_the_source_go_through_their_own_map_in_a_pipeline():
    steps = [("space", TableClassifier("ils")), ("nearest", KNeighborsClassifier(3))]
    pipeline = Pipeline(steps).fit(X, Y, space__Xt=XT)
    space = TableClassifier("ils").fit(X, Y, XT)
    alone = KNeighborsClassifier(3).fit(space.transform(X, "source"), Y)
    np.testing.assert_array_equal(pipeline.predict(XT), alone.predict(space.transform(XT)))
    assert np.mean(pipeline.predict(XT) == TABLES.truth) > 0.7


@pytest.mark.parametrize("method", [quick(), "ils"], ids=["axes", "latent space"])
def test_fit_transform_is_fit_and_transform(method):
    model = TableClassifier(method)
    rows = model.fit_transform(X, Y, XT, SOME)
    np.testing.assert_allclose(rows, model.transform(X, "source"), atol=1e-12)
    parts = model.fit_transform([X[:14], X[14:]], [Y[:14], Y[14:]], XT, source_names=["a", "b"])
    by_name = [model.transform(X[:14], "a"), model.transform(X[14:], "b")]
    np.testing.assert_allclose(parts, np.concatenate(by_name), atol=1e-12)
    # rows of both domains, in any order
    order = np.random.default_rng(0).permutation(54)
    mixed = pd.concat([X, XT]).iloc[order]
    labels = np.array([*Y, *[-1] * 24], dtype=object)[order]
    domain = np.repeat([1, -1], [30, 24])[order]
    rows = model.fit_transform(mixed, labels, sample_domain=domain)
    assert rows.shape == (54, model.rule_.n_components_)
    np.testing.assert_allclose(rows[domain > 0], model.transform(mixed[domain > 0], "source"))
    np.testing.assert_allclose(rows[domain < 0], model.transform(mixed[domain < 0]))


@pytest.mark.parametrize("method", [quick(), "ils"], ids=["axes", "latent space"])
def test_set_output(method):
    model = TableClassifier(method).set_output(transform="pandas").fit(X, Y, XT)
    rows = XT[5:9]
    found = model.transform(rows)
    assert isinstance(found, pd.DataFrame)
    assert list(found) == [f"latent{i}" for i in range(model.rule_.n_components_)]
    assert list(found) == model.get_feature_names_out().tolist()
    assert found.index.tolist() == [5, 6, 7, 8]
    plain = TableClassifier(method).fit(X, Y, XT).transform(rows)
    np.testing.assert_array_equal(found, plain)
    assert isinstance(model.fit_transform(X, Y, XT), pd.DataFrame)


def test_a_clone_is_not_fitted_and_learns_the_same(fitted):
    again = clone(fitted)
    with pytest.raises(NotFittedError):
        again.predict(XT)
    np.testing.assert_array_equal(again.fit(X, Y, XT).predict_proba(XT), fitted.predict_proba(XT))


def test_score_and_the_attributes_of_scikit_learn(fitted):
    assert fitted.score(XT, TABLES.truth) == np.mean(fitted.predict(XT) == TABLES.truth)
    assert fitted.score(X, Y, domain="source") == np.mean(fitted.predict(X, "source") == Y)
    weights = (fitted.predict(XT) == TABLES.truth).astype(float)
    assert fitted.score(XT, TABLES.truth, weights) == 1
    assert (fitted.n_features_in_, fitted.n_target_features_in_) == (6, 6)
    assert TableClassifier(quick()).fit(X, Y, XT.assign(more=1)).n_target_features_in_ == 7
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    for method in ("encode", "member_probabilities", "predict", "predict_proba", "transform"):
        with pytest.raises(ValueError, match='domain must be "source" or "target"'):
            getattr(fitted, method)(XT, "trget")


def test_what_is_not_fitted_says_so():
    for method in ("predict", "predict_proba", "transform", "encode", "save"):
        with pytest.raises(NotFittedError):
            getattr(TableClassifier(), method)(XT)
    with pytest.raises(NotFittedError):
        TableClassifier().get_feature_names_out()
    model = TableClassifier(quick()).fit(X, Y, XT)
    with pytest.raises(TableError):
        model.fit(X[["width"]], Y, XT[["height"]])
    with pytest.raises(NotFittedError):  # the plan is of the new tables, the rest of the old ones
        model.predict(XT)


# -- what it learns with ---------------------------------------------------------------------------


def digits(n=60):
    rows, y = load_digits(return_X_y=True)
    return rows[:n], y[:n], rows[n : 2 * n]


def test_the_method_follows_the_kind_of_the_tables(few_trees):
    rows, y, target = digits()
    for tables, kind, adapts in (
        ((X, Y, XT), "table", False),
        ((rows, y, target), "features", True),
        ((rows, y), "features", False),  # without a target there is nothing to adapt to
        ((X, Y), "table", False),
    ):
        model = TableClassifier().fit(*tables)
        assert model.kind_ == kind
        assert model.rule_.adapts == adapts
        assert isinstance(model.rule_, AdaptedRule if adapts else PooledRule)
        if not adapts:
            assert list(model.rule_.members_) == ["boosting", "trees", "linear"]
    assert isinstance(TableClassifier().fit(rows, y, target).rule_.estimator_, ILSClassifier)
    assert TableClassifier(kind="features").fit(X[[*NUMBERS]], Y, XT).rule_.adapts
    assert not TableClassifier(kind="table").fit(rows, y, target).rule_.adapts
    assert not TableClassifier("committee").fit(rows, y, target).rule_.adapts


def test_a_table_alone_trains_the_committee(few_trees):
    model = TableClassifier().fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X, "source"))
    assert model.score(X, Y) > 0.9
    assert np.mean(model.predict(XT) == TABLES.truth) > 0.5  # of other rows, too


def test_tumours(few_trees):
    """Measurements in different units, halved: a table."""
    rows, truth = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.array(["bad", "good"])[truth]
    model = TableClassifier().fit(rows[::2], y[::2], rows[1::2])
    assert model.kind_ == "table"
    assert model.score(rows[1::2], y[1::2]) > 0.94


def test_the_seed_is_that_of_all_that_draws():
    for method in ("ils", None):
        models = [
            TableClassifier(method or "committee", random_state=seed).fit(X, Y, XT)
            for seed in (0, 0, 1)
        ]
        one, same, other = (each.predict_proba(XT) for each in models)
        np.testing.assert_array_equal(one, same)
        if method is None:
            assert (one != other).any()


def test_steps_tell_who_learns_and_the_objective():
    steps = []
    model = TableClassifier("ils", callback=steps.append).fit(X, Y, XT)
    assert {each.member for each in steps} == {"ILSClassifier"}
    assert steps[0].iteration == 0
    assert steps[-1].objective < steps[0].objective
    assert model.rule_.estimator_.callback is None


def test_callbacks_of_the_estimator_are_called_too():
    calls, steps = [], []
    own = ILSClassifier(callback=lambda iteration, now: calls.append(iteration))
    model = TableClassifier(own, callback=steps.append).fit(X, Y, XT)
    assert calls == [each.iteration for each in steps]
    assert model.rule_.estimator_.callback is own.callback


@pytest.mark.parametrize(
    "model",
    [
        TableClassifier("ils", callback=lambda step: step.iteration == 1),
        TableClassifier(ILSClassifier(callback=lambda iteration, now: iteration == 1)),
    ],
)
def test_a_true_answer_stops_a_fit(model):
    assert model.fit(X, Y, XT).rule_.estimator_.solution_.n_iter == 1


# -- laws ------------------------------------------------------------------------------------------

METHODS = pytest.mark.parametrize("method", [quick(), "ils"], ids=["pooled", "adapted"])


@METHODS
def test_order_of_columns_does_not_matter(method):
    expected = TableClassifier(method).fit(X, Y, XT).predict_proba(XT)
    columns = np.random.default_rng(0).permutation(XT.columns)
    shuffled = TableClassifier(method).fit(X[X.columns[::-1]], Y, XT[columns].assign(extra=1.0))
    np.testing.assert_allclose(shuffled.predict_proba(XT[columns]), expected, rtol=1e-3, atol=1e-6)


@METHODS
def test_order_of_rows_does_not_matter(method):
    rng = np.random.default_rng(0)
    here, there = rng.permutation(len(X)), rng.permutation(len(XT))
    model = TableClassifier(method).fit(X, Y, XT)
    expected = model.predict_proba(XT)[there]
    np.testing.assert_allclose(model.predict_proba(XT.iloc[there]), expected, rtol=1e-12)
    other = TableClassifier(method).fit(X.iloc[here], Y[here], XT.iloc[there])
    np.testing.assert_allclose(other.predict_proba(XT.iloc[there]), expected, rtol=0.02, atol=1e-4)


@METHODS
def test_rows_are_labelled_each_by_itself(method):
    model = TableClassifier(method).fit(X, Y, XT)
    parts = np.concatenate([model.predict_proba(XT[i : i + 5]) for i in range(0, 24, 5)])
    np.testing.assert_allclose(parts, model.predict_proba(XT), rtol=1e-12)


@METHODS
def test_probabilities_sum_to_one_and_their_largest_is_predicted(method):
    model = TableClassifier(method).fit(X, Y, XT, SOME)
    for table, domain in ((XT, "target"), (X, "source")):
        found = model.predict_proba(table, domain)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        expected = model.classes_[found.argmax(axis=1)]
        assert model.predict(table, domain).tolist() == expected.tolist()


@METHODS
@pytest.mark.parametrize("marker", [None, np.nan, -1])
def test_markers_of_rows_without_a_label(method, marker):
    marked = np.array([marker if each is None else each for each in SOME], dtype=object)
    expected = TableClassifier(method).fit(X, Y, XT, SOME).predict_proba(XT)
    found = TableClassifier(method).fit(X, Y, XT, marked).predict_proba(XT)
    np.testing.assert_array_equal(found, expected)


@METHODS
def test_tables_of_any_sort(method):
    """Lists, arrays, numbered columns and Arrow say the same."""
    pa = pytest.importorskip("pyarrow")
    here, there = (each[list(NUMBERS)].fillna(0).to_numpy() for each in (X, XT))
    expected = TableClassifier(method).fit(here, Y, there).predict_proba(there)
    for convert in (np.ndarray.tolist, pd.DataFrame, _arrow(pa)):
        model = TableClassifier(method, kind="features").fit(convert(here), Y, convert(there))
        np.testing.assert_allclose(model.predict_proba(convert(there)), expected)


def _arrow(pa):
    return lambda rows: pa.table({f"x{i}": column for i, column in enumerate(rows.T)})


def test_classes_need_not_be_strings():
    codes = np.unique(Y, return_inverse=True)[1]
    model = TableClassifier(quick(), class_prior={0: 0.2, 1: 0.3, 2: 0.5}).fit(X, codes, XT)
    assert set(model.predict(XT)) <= {0, 1, 2}
    assert model.classes_.dtype.kind == "i"
    flags = TableClassifier(quick()).fit(X, codes == 1, XT)
    assert flags.classes_.tolist() == [False, True]


def test_numbers_that_cannot_be_read_are_refused(fitted):
    with pytest.raises(TableError, match="'width' must hold numbers.*'1,5'"):
        fitted.predict(XT.assign(width="1,5"))
    with pytest.raises(TableError, match="must have the column 'width'"):
        fitted.predict(XT.drop(columns="width"))
    model = TableClassifier(quick()).fit(X[list(NUMBERS)].fillna(0).to_numpy(), Y)
    with pytest.raises(ValueError, match="X has 3 features, but TableClassifier is expecting 4"):
        model.predict(np.zeros((2, 3)))


# -- odd tables ------------------------------------------------------------------------------------

ODD = {
    "two target rows": lambda x, xt: (x, xt[:2]),
    "one column": lambda x, xt: (x[["width"]], xt[["width"]]),
    "categories alone": lambda x, xt: (x[["colour"]], xt[["colour"]]),
    "a constant column": lambda x, xt: (x.assign(k=0.1), xt.assign(k=0.3)),
    "a column constant in one": lambda x, xt: (x, xt.assign(width=1.0)),
    "duplicate rows": lambda x, xt: (x, pd.concat([xt, xt, xt])),
    "huge numbers": lambda x, xt: (x.assign(width=x["width"] * 1e90), xt.assign(width=1e99)),
    "large numbers": lambda x, xt: (x.assign(width=x["width"] * 1e36), xt.assign(width=1e37)),
    "infinite numbers": lambda x, xt: (x.assign(width=x["width"].replace(np.nan, np.inf)), xt),
    "tiny numbers": lambda x, xt: (x.assign(width=x["width"] * 1e-150), xt),
    "odd names": lambda x, xt: (x.add_suffix("\n<é>"), xt.add_suffix("\n<é>")),
    "an odd index": lambda x, xt: (x.set_axis([0] * 30), xt.set_axis(xt["sample"] * 2)),
    "dates": lambda x, xt: (
        x.assign(d=pd.date_range("2020", periods=30)),
        xt.assign(d=pd.date_range("2021", periods=24)),
    ),
    "more columns than rows": lambda x, xt: tuple(
        pd.DataFrame(np.random.default_rng(len(each)).normal(size=(len(each), 90))).add_prefix("w")
        for each in (x, xt)
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("method", ["committee", "ils"])
@pytest.mark.filterwarnings("ignore:ILSClassifier stopped")
def test_odd_tables(name, method, few_trees):
    source, target = ODD[name](X, XT)
    model = TableClassifier(method).fit(source, Y, target)
    assert set(model.predict(target)) <= set(Y)
    assert np.isfinite(model.predict_proba(target)).all()


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 2], [*range(0, 30, 3), 1, 2]])
@pytest.mark.parametrize("method", ["committee", "ils"])
def test_few_rows_of_a_class(rows, method, few_trees):
    model = TableClassifier(method).fit(X.iloc[rows], Y[rows], XT)
    assert set(model.predict(XT)) <= set(Y[rows])


@METHODS
def test_a_class_of_one_row_does_not_stop_the_others(method):
    rows, labels = pd.concat([X, X[:1]]), np.append(Y, "a typo")
    model = TableClassifier(method).fit(rows, labels, XT)
    assert "a typo" in model.classes_
    assert np.mean(model.predict(XT) == TABLES.truth) > 0.6


@pytest.mark.parametrize(
    ("source", "target"),
    [(X, pd.concat([XT[:1], XT[:1]])), (X[["width"]] * 0, XT[["width"]])],
    ids=["equal target rows", "constant source"],
)
def test_adaptation_to_tables_that_do_not_vary_is_refused(source, target):
    with pytest.raises(ValueError, match="must vary, but all its rows are equal"):
        TableClassifier("ils").fit(source, Y, target)
    assert set(TableClassifier(quick()).fit(source, Y, target).predict(target)) <= set(Y)


def test_one_target_row_is_a_table_but_no_domain():
    assert TableClassifier(quick()).fit(X, Y, XT[:1]).predict(XT[:1]).shape == (1,)
    with pytest.raises(ValueError, match="must have at least 2 rows, but has 1"):
        TableClassifier("ils").fit(X, Y, XT[:1])


@METHODS
@pytest.mark.parametrize(
    "yt", [TABLES.truth, np.array([each if each == "ant" else None for each in TABLES.truth])]
)
def test_all_rows_labelled_or_one_class_alone(method, yt):
    model = TableClassifier(method).fit(X, Y, XT, yt)
    given = np.array([each is not None for each in yt])
    assert np.mean(model.predict(XT)[given] == yt[given]) > 0.8


@METHODS
def test_many_missing_values(method):
    tables = small_tables(missing=0.3, n=90, nt=60)
    source, y, target = tables.features
    model = TableClassifier(method).fit(source, y, target)
    assert np.mean(model.predict(target) == tables.truth) > 0.5


# -- on disk ---------------------------------------------------------------------------------------


SHARES = {"ant": 0.2, "bee": 0.3, "élan": 0.5}


def assert_same(again, model, table):
    found = again.member_probabilities(table)
    np.testing.assert_array_equal(found, model.member_probabilities(table))
    assert again.plan_ == model.plan_
    assert again.kind_ == model.kind_
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.class_prior_.tolist() == model.class_prior_.tolist()
    np.testing.assert_array_equal(again.transform(table), model.transform(table))


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (TableClassifier("ils", class_prior=SHARES, ids=["sample"]), XT),
        (TableClassifier(quick(), own_scaling=True), XT),
        (TableClassifier(), OTHER),
    ],
    ids=["adapted", "pooled", "other columns"],
)
def test_what_is_loaded_answers_the_same(tmp_path, model, target):
    model.fit(X, Y, target, SOME).save(tmp_path / "model.skops")
    assert_same(ilspace.load(tmp_path / "model.skops"), model, target)


@pytest.mark.slow
def test_a_fresh_process_answers_the_same(tmp_path):
    rows, y, target = digits()
    target = pd.DataFrame(target).add_prefix("x")
    models = {
        "committee": (TableClassifier().fit(X, Y, XT, SOME), XT),
        "ils": (TableClassifier("ils", class_prior=SHARES).fit(X, Y, XT), XT),
        "own": (TableClassifier(own_scaling=True, ids=["sample"]).fit(X, Y, XT), XT),
        "unlike": (TableClassifier("ils").fit(X, Y, OTHER, SOME), OTHER),
        "features": (TableClassifier(scaling="l2").fit(rows, y, target.to_numpy()), target),
        "baseline": (TableClassifier("CORAL").fit(X, Y, XT), XT),
        "alone": (TableClassifier().fit(X, Y), X),
    }
    for name, (model, table) in models.items():
        model.save(tmp_path / f"{name}.skops")
        table.to_pickle(tmp_path / f"{name}.pickle")
    code = (
        "import sys, ilspace, numpy, pandas\n"
        "for name in sys.argv[2:]:\n"
        "    model = ilspace.load(f'{sys.argv[1]}/{name}.skops')\n"
        "    table = pandas.read_pickle(f'{sys.argv[1]}/{name}.pickle')\n"
        "    numpy.save(f'{sys.argv[1]}/{name}.npy', model.member_probabilities(table))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *models], check=True)
    for name, (model, table) in models.items():
        found = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_array_equal(found, model.member_probabilities(table), err_msg=name)
        assert_same(ilspace.load(tmp_path / f"{name}.skops"), model, table)


def test_each_kind_of_column_is_saved(tmp_path):
    days = pd.date_range("2024-01-01", periods=60)
    table = pd.DataFrame(
        {
            "when": days[:50],
            "written": days[:50].strftime("%d.%m.%Y"),
            "many": [f"{'ab'[i % 2]}{(7 * i) % 46:02d}" for i in range(50)],
            "flag": [True, False] * 25,
            "x": np.linspace(0, 1, 50),
        }
    )
    model = TableClassifier(quick()).fit(table, list("pq") * 25, table[::-1])
    assert set(model.plan_.source) == set(table)
    model.save(tmp_path / "model.skops")
    again = ilspace.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.encode(table), model.encode(table))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
