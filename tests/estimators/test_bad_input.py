"""Every bad input has an answer: the rule, the value met, the remedy."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from shifted import shifted
from sklearn.exceptions import NotFittedError

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings
from ilspace.baselines import CORAL

DATA = shifted()
X, y, Xt, yt = DATA
ROWS, LABELS, DOMAIN = DATA.mixed


def spoiled(rows, value):
    rows = rows.copy()
    rows[3, 2] = value
    return rows


def refuses(message, *given, estimator=None, **more):
    __tracebackhide__ = True
    estimator = ILSClassifier() if estimator is None else estimator
    with pytest.raises(ValueError, match=message):
        estimator.fit(*given, **more)
    with pytest.raises(NotFittedError):
        estimator.predict(Xt)


# -- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((X[:0], y[:0], Xt), r"0 sample\(s\).*minimum of 2 is required"),
        ((X[:1], y[:1], Xt), r"1 sample\(s\).*minimum of 2 is required"),
        ((X, y, Xt[:0]), "Xt must have at least 2 rows, but has 0.*: add rows"),
        ((X, y, Xt[:1]), "Xt must have at least 2 rows, but has 1.*: add rows"),
        ((X, y, Xt[:, :0]), r"0 feature\(s\)"),
        ((X, y, Xt[0]), "Expected 2D array(?s:.*)Reshape your data"),
        ((spoiled(X, np.nan), y, Xt), "X contains NaN"),
        ((spoiled(X, np.inf), y, Xt), "X contains infinity"),
        ((X, y, spoiled(Xt, np.nan)), "Xt must be finite.*impute or drop"),
        ((X, y, spoiled(Xt, -np.inf)), "Xt must be finite.*impute or drop"),
        ((X, y, sparse.csr_array(spoiled(Xt, np.nan))), "Xt must be finite.*impute or drop"),
        ((np.ones((30, 6)), y, Xt), "source domain must vary.*Check that the right columns"),
        ((np.full((30, 6), 1 / 3), y, Xt), "source domain must vary"),
        ((X, y, np.tile([1e3 / 7, -2.0, 0, 1, 1, 5], (24, 1))), "target domain must vary"),
        ((np.full((30, 6), 1 / 3), y), "source domain must vary"),
        ((X, y, Xt[:, :4]), "6 source and 4 target columns.*label a few target rows"),
        ((X, y, None, yt), "yt labels the rows of Xt, but Xt is None: pass both"),
        (([["a", "b"]] * 30, y), "could not convert string to float"),
    ],
)
def test_bad_rows(given, message):
    refuses(message, *given)


@pytest.mark.parametrize("side", ["source", "target", "both", "one"])
@pytest.mark.parametrize(("low", "high"), [(-150, 150), (-300, 300), (100, 100), (-200, -170)])
@pytest.mark.filterwarnings("error")
def test_wildly_different_scales_are_refused_with_a_remedy(side, low, high):
    scales = np.logspace(low, high, 6)
    source = X if side == "target" else X * scales
    target = {"source": Xt, "one": None}.get(side, Xt * scales)
    refuses("largest magnitude in Xt? must lie between.*scale the columns", source, y, target)


@pytest.mark.parametrize("small", [1e-70, 1e-150])
@pytest.mark.filterwarnings("error")
def test_labelled_rows_too_close_for_their_domain_are_refused_with_a_remedy(small):
    source, target = X.copy(), 1e-60 * Xt
    source[:, 0] *= small  # the target varies there alone, as far as can be told
    target[0, 0] = 1e60
    refuses(
        "must spread at most .* times as far as its labelled rows.*target has a standard deviation "
        "of .*: remove values that are far too large, or scale the columns",
        source,
        y,
        target,
        estimator=ILSClassifier(n_components=1, self_training=0),
    )


@pytest.mark.parametrize("exponent", [3, 12, 50])
@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_scales_that_can_be_computed_give_finite_results(exponent):
    scales = np.logspace(-exponent, exponent, 6)
    for source, target in ((X * scales, Xt * scales), (X * scales[0], Xt * scales[-1])):
        fitted = ILSClassifier().fit(source, y, target)
        assert np.isfinite(fitted.predict_proba(target)).all()
        assert np.isfinite(fitted.transform(source, "source")).all()
        assert np.isfinite(fitted.metric_).all()


def test_rows_too_large_to_classify():
    fitted = ILSClassifier().fit(X, y, Xt)
    with pytest.raises(ValueError, match="largest magnitude in X.*scale the columns"):
        fitted.predict_proba(1e200 * Xt)


def test_more_components_than_the_rank():
    refuses(
        "n_components must be at most 6, the rank.*but is 7: choose fewer",
        *(X, y, Xt),
        estimator=ILSClassifier(7),
    )
    flat = Xt * [1, 1, 1, 0, 0, 0]
    refuses("at most 3", X, y, flat, estimator=ILSClassifier(4))
    refuses("at most 2", X, y, Xt[:, :2], yt, estimator=ILSClassifier(3))
    refuses("at most 4", X[:5], y[:5], estimator=ILSClassifier(5))
    assert ILSClassifier().fit(X, y, flat).n_components_ == 3


# -- domains -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (np.zeros(54), r"positive numbers for source rows and negative.*holds \[0.0\]"),
        (np.where(np.arange(54) == 3, 0, DOMAIN), r"holds \[-2, 0, 1\]"),
        (np.where(np.arange(54) == 3, np.nan, DOMAIN), "holds .*nan"),
        (DOMAIN > 0, "holds .*False, True"),
        (np.where(DOMAIN > 0, "s", "t"), r"holds \['s', 't'\]"),
        ([None, *DOMAIN[1:].tolist()], r"holds \[None, 1, -2\]: give each row"),
        (["s", None, *DOMAIN[2:].tolist()], r"holds \['s', None, 1, -2\]: give each row"),
        (-np.ones(54), "must belong to the source, but sample_domain has no positive entry"),
        (-1, "must belong to the source"),
        (DOMAIN[:-1], r"inconsistent numbers of samples: \[54, 53\]"),
        (DOMAIN[:, None], r"must be 1-d.*shape \(54, 1\)"),
    ],
)
def test_bad_sample_domain(domain, message):
    refuses(message, ROWS, LABELS, sample_domain=domain)


def test_the_target_twice():
    for more in ({"Xt": Xt}, {"yt": yt}):
        refuses(
            "either as Xt .* or as rows of X .* but not both",
            ROWS,
            LABELS,
            sample_domain=DOMAIN,
            **more,
        )


def test_one_target_row_among_mixed_rows():
    refuses("Xt must have at least 2 rows", ROWS[:31], LABELS[:31], sample_domain=DOMAIN[:31])


# -- parameters ----------------------------------------------------------------------------------

ORTHONORMAL = np.eye(6)[:, :2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"objective": ObjectiveSettings(slack_weight=1.0)},
            'slack_weight is 1.0 with pairs="all": use pairs="sampled"',
        ),
        (
            {"objective": ObjectiveSettings(step_weights=(1, 1, 1))},
            r"4 positive numbers.*but is \(1, 1, 1\)",
        ),
        ({"init": ORTHONORMAL[:, :1]}, r"source projection must have shape \(6, 2\).*\(6, 1\)"),
        ({"init": (ORTHONORMAL, ORTHONORMAL[:4])}, r"target projection must have shape \(6, 2\)"),
        ({"init": (ORTHONORMAL,) * 3}, r"one array per domain, 2 here, but holds 3"),
        ({"init": np.ones((6, 2))}, "finite and of full column rank 2, but is not"),
        ({"init": np.full((6, 2), np.nan)}, "finite and of full column rank 2, but is not"),
        (
            {"init": "class-means", "self_training": 0},  # else there are predicted ones
            "the target has no labels; pass yt or use another init",
        ),
        ({"init": "pca"}, "'init' parameter"),
        (
            {"objective": ObjectiveSettings(metric_init=np.eye(3))},
            r"array of shape \(2, 2\), but has shape \(3, 3\)",
        ),
        (
            {"objective": ObjectiveSettings(metric_init=[[1, 2], [0, 1]])},
            "symmetric, finite array.* and is not",
        ),
        (
            {"objective": ObjectiveSettings(metric_init=np.full((2, 2), np.nan))},
            "symmetric, finite array.* and is not",
        ),
        (
            {"objective": ObjectiveSettings(metric_init=[[1, 2], [2, 1]])},
            "positive definite, but has the eigenvalue -1: add",
        ),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"max_iter": -1}, "'max_iter' parameter"),
        ({"tol": -1}, "'tol' parameter"),
        ({"callback": 1}, "'callback' parameter"),
        ({"classifier": "forest"}, "'classifier' parameter.*'linear'"),
        ({"classifier": None}, "'classifier' parameter"),
        ({"classifier": 3.5}, "'classifier' parameter"),
        ({"self_training": -1}, "'self_training' parameter"),
        ({"self_training": 1.5}, "'self_training' parameter"),
        ({"self_training": "twice"}, "'self_training' parameter"),
        ({"self_training": None}, "'self_training' parameter"),
    ],
    ids=str,
)
def test_bad_parameters(parameters, message):
    refuses(message, X, y, Xt, estimator=ILSClassifier(**({"n_components": 2} | parameters)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step_weights": (1, 1, 1, 0)}, "4 positive numbers"),
        ({"step_weights": (1, 1, 1, np.nan)}, "4 positive numbers"),
        ({"step_weights": (1, 1, 1, np.inf)}, "4 positive numbers"),
        ({"step_weights": ("a",) * 4}, "4 positive numbers"),
        ({"metric_init": "pca"}, "'metric_init' parameter"),
        ({"trade_off": -1.0}, "'trade_off' parameter"),
        ({"trade_off": np.inf}, "'trade_off' parameter"),
        ({"metric_weight": np.nan}, "'metric_weight' parameter"),
        ({"margin_scale": 0}, "'margin_scale' parameter"),
        ({"sharpness": "high"}, "'sharpness' parameter"),
        ({"shrinkage": 2}, "'shrinkage' parameter"),
        ({"pairs": "some"}, "'pairs' parameter"),
        ({"retraction": "svd"}, "'retraction' parameter"),
        ({"patience": 0}, "'patience' parameter"),
    ],
    ids=str,
)
def test_bad_settings(settings, message):
    estimator = ILSClassifier(2, objective=ObjectiveSettings(**settings))
    refuses(message, X, y, Xt, estimator=estimator)


@pytest.mark.parametrize("start", ["target-pca", "joint-pca", "pls"])
def test_a_shared_start_for_different_features(start):
    refuses(
        f"init='{start}' shares one basis.*class-means",
        *(X, y, Xt[:, :4], yt),
        estimator=ILSClassifier(init=start),
    )


def test_class_means_of_one_domain():
    refuses(
        "aligns labelled rows of two domains", X, y, estimator=ILSClassifier(init="class-means")
    )


# -- after fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_before_fit(kind):
    estimator = kind()
    calls = [
        lambda: estimator.transform(X),
        lambda: estimator.get_mahalanobis_matrix(),
        lambda: estimator.pair_distance(np.zeros((3, 2, 6))),
        lambda: estimator.get_feature_names_out(),
    ]
    if kind is ILSClassifier:
        calls += [
            lambda: estimator.predict(X),
            lambda: estimator.predict_proba(X),
            lambda: estimator.class_distances(X),
            lambda: estimator.nearest(X),
            lambda: estimator.score(X, y),
        ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


@pytest.fixture(scope="module")
def alike():
    return ILSClassifier(2).fit(X, y, Xt)


@pytest.fixture(scope="module")
def unlike():
    return ILSClassifier(2).fit(X, y, Xt[:, :4], yt)


def test_a_domain_that_does_not_exist(alike):
    for call in (
        lambda: alike.transform(X, domain="both"),
        lambda: alike.predict(X, "both"),
        lambda: alike.predict_proba(X, domain=None),
        lambda: alike.score(X, y, domain=2),
        lambda: alike.get_mahalanobis_matrix("both"),
        lambda: alike.pair_distance(np.zeros((3, 2, 6)), "both"),
    ):
        with pytest.raises(ValueError, match='domain must be "source" or "target", but is'):
            call()


def test_rows_of_the_wrong_width(alike, unlike):
    with pytest.raises(ValueError, match="X has 3 features.*expecting 6"):
        alike.predict(X[:, :3])
    with pytest.raises(ValueError, match="X has 6 features.*expecting 4 features.*target domain"):
        unlike.predict(X)
    with pytest.raises(ValueError, match="X has 4 features.*expecting 6"):
        unlike.predict(Xt[:, :4], domain="source")
    with pytest.raises(ValueError, match="X has 4 features.*expecting 6"):
        unlike.predict(Xt[:, :4], sample_domain=1)
    with pytest.raises(ValueError, match="same features: call once for each domain"):
        unlike.predict(ROWS, sample_domain=DOMAIN)
    assert unlike.predict(Xt[:, :4], sample_domain=-1).shape == (24,)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite(alike, unlike, value):
    with pytest.raises(ValueError, match="X contains (NaN|infinity)"):
        alike.predict(spoiled(Xt, value))
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        unlike.predict(spoiled(Xt[:, :4], value))


def test_no_rows(alike):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        alike.predict(X[:0])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((3, 6)), r"shape \(n_pairs, 2, n_features\), but has shape \(3, 6\)"),
        (np.zeros((3, 3, 6)), "n_pairs, 2, n_features"),
        (np.zeros((3, 2, 5)), "X has 5 features"),
    ],
)
def test_bad_pairs(alike, pairs, message):
    with pytest.raises(ValueError, match=message):
        alike.pair_distance(pairs)


def test_a_failed_second_fit_says_nothing_new_of_the_columns():
    estimator = ILSClassifier(2).fit(X, y, Xt)
    frame = pd.DataFrame(Xt).rename(columns=str)
    with pytest.raises(ValueError, match="label a few"):
        estimator.fit(pd.DataFrame(X).rename(columns="x{}".format), y, frame)
    with pytest.raises(NotFittedError):
        estimator.predict(Xt)


def test_an_interrupted_second_fit_leaves_no_model():
    def interrupt(*_):
        raise KeyboardInterrupt

    estimator = ILSClassifier(2).fit(X, y, Xt).set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, np.array(["north", "south", "west"])[y], Xt)
    with pytest.raises(NotFittedError):
        estimator.predict(Xt)


def test_weights_that_leave_one_class():
    with pytest.raises(ValueError, match="sample_weight leaves one class: give rows"):
        ILSClassifier().fit(X, y, Xt, sample_weight=(y == 0).astype(float))


def test_weights_that_leave_no_target_label():
    weights = np.r_[np.ones(len(X)), np.r_[np.zeros(6), np.ones(len(Xt) - 6)]]
    with pytest.raises(ValueError, match="yt has none of positive weight: label a few"):
        ILSClassifier().fit(X, y, Xt[:, :4], DATA.marked(None, 6), sample_weight=weights)


@pytest.mark.parametrize("mark", ["nan", "None", "-1"])
def test_markers_that_became_strings(mark):
    names = np.array(["cat", "dog", "emu"])
    given = np.where(np.arange(len(yt)) < 6, names[yt], mark)
    with pytest.raises(ValueError, match="missing-label marker.*dtype=object"):
        ILSClassifier().fit(X, names[y], Xt, given)


def test_one_renamed_column_is_noticed():
    source = pd.DataFrame(X, columns=list("abcdef"))
    target = pd.DataFrame(Xt, columns=list("abcdeF"))
    with (
        pytest.warns(UserWarning, match=r"only in X: \['f'\], only in Xt: \['F'\]"),
        pytest.raises(ValueError, match=r"only in Xt: \['F'\].*same columns"),
    ):
        ILSClassifier(2).fit(source, y, target)
    with pytest.warns(UserWarning, match="Rename or drop columns") as caught:
        ILSClassifier(2).fit(source, y, target, DATA.marked(None))
    assert caught[0].filename.endswith("test_bad_input.py")


def test_a_nameless_target_takes_the_names_of_the_source():
    fitted = ILSClassifier(2).fit(pd.DataFrame(X, columns=list("abcdef")), y, Xt)
    frame = pd.DataFrame(Xt, columns=list("abcdef"))
    np.testing.assert_array_equal(fitted.predict(frame), fitted.predict(Xt))
    with pytest.raises(ValueError, match="in the same order: pass X"):
        fitted.predict(frame[list("fedcba")])
    with pytest.warns(UserWarning, match="fitted without feature names of the target"):
        fitted.predict(frame.rename(columns=str.upper))


def test_a_start_of_names():
    names: Any = ("target-pca", "joint-pca")
    with pytest.raises(ValueError, match="init must be one name.*all projections"):
        ILSClassifier(init=names).fit(X, y, Xt)


@pytest.mark.parametrize("solver", ["conjugate-gradient", "projected-gradient"])
def test_a_singular_covariance_names_the_remedy(solver):
    flat = X.copy()
    flat[:, 3:] = 0
    with pytest.raises(ValueError, match="those of the source vary in 3: raise shrinkage"):
        ILSClassifier(objective=ObjectiveSettings(shrinkage=0), solver=solver).fit(flat, y, Xt)
    ILSClassifier(3, objective=ObjectiveSettings(shrinkage=0), solver=solver).fit(flat, y, Xt)


def test_a_row_without_a_label_cannot_be_scored():
    fitted = ILSClassifier().fit(X, y, Xt)
    with pytest.raises(ValueError, match="Every row must have a label.*drop such rows"):
        fitted.score(Xt, [None, *yt[1:]])


@pytest.mark.parametrize("model", [ILSClassifier(2), CORAL()], ids=["ILS", "CORAL"])
def test_masked_entries_are_refused(model):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20, 3)), np.arange(20) % 2
    masked = np.ma.masked_array(rows, mask=np.arange(60).reshape(20, 3) == 7)
    said = "must not have masked entries, but has 1: fill them"
    with pytest.raises(ValueError, match=f"^X {said}"):
        model.fit(masked, labels, rows)
    with pytest.raises(ValueError, match=f"^Xt {said}"):
        model.fit(rows, labels, masked)
    model.fit(np.ma.masked_array(rows), labels, rows + 1)  # without any there is nothing to lose
    for domain in ("source", "target"):
        with pytest.raises(ValueError, match=f"^X {said}"):
            model.predict(masked, domain)


@pytest.mark.parametrize("model", [ILSClassifier(2), CORAL()], ids=["ILS", "CORAL"])
def test_infinity_is_refused_without_a_warning(model):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20, 3)), np.arange(20) % 2
    infinite = rows.copy()
    infinite[:2, 0] = np.inf, -np.inf  # their sum is not a number
    for given in ((infinite, labels, rows), (rows, labels, infinite)):
        with pytest.raises(ValueError, match="infinity"):
            model.fit(*given)
    model.fit(rows, labels, rows + 1)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(infinite)
