"""Several sources: how they are given, named, weighed and saved."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, load
from ilspace.domains import check_domains

MEANS = 3 * np.random.default_rng(9).standard_normal((3, 6))


def domain(seed, n, offset, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    return MEANS[y] + noise * rng.standard_normal((n, 6)) + offset, y


(X1, Y1), (X2, Y2), (X3, Y3) = domain(1, 30, 0), domain(2, 24, 3), domain(3, 21, -2)
XT, YT = domain(4, 27, 1, noise=1.5)
ROWS, LABELS = [X1, X2, X3], [Y1, Y2, Y3]
NEAREST = {"classifier": "nearest", "self_training": 0}
RULES = [{}, NEAREST, {"classifier": "linear", "self_training": 1}]


def together(numbers=(1, 2, 3, -1), seed=0):
    """All rows in one array, in random order, with the number of the domain of each."""
    order = np.random.default_rng(seed).permutation(30 + 24 + 21 + 27)
    X, y = np.vstack([*ROWS, XT]), np.concatenate([*LABELS, np.full(27, -1)])
    return X[order], y[order], np.repeat(numbers, [30, 24, 21, 27])[order], order


# -- forms of the input ---------------------------------------------------------------------------


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**16),
    numbers=st.lists(st.integers(1, 9), min_size=3, max_size=3, unique=True),
    target=st.integers(-9, -1),
)
def test_numbers_in_any_order_are_a_list_in_the_order_of_the_numbers(seed, numbers, target):
    X, y, sample_domain, _ = together((*numbers, target), seed)
    kept = check_domains(X, y, sample_domain=sample_domain)
    ranks = np.argsort(numbers)
    assert kept.numbers == tuple(sorted(numbers))
    for source, position in zip(kept.sources, ranks, strict=True):
        rows = {tuple(row) + (code,) for row, code in zip(source.X, source.codes, strict=True)}
        wanted = zip(ROWS[position], LABELS[position], strict=True)
        assert rows == {tuple(row) + (code,) for row, code in wanted}
    assert kept.target is not None
    assert {tuple(row) for row in kept.target.X} == {tuple(row) for row in XT}


@pytest.mark.parametrize("rule", RULES)
def test_a_list_and_numbers_give_the_same_model(rule):
    listed = ILSClassifier(3, **rule).fit(ROWS, LABELS, XT)
    X, y = np.vstack([XT, *ROWS]), np.concatenate([np.full(27, -1), *LABELS])
    numbers = np.repeat([-5, 2, 4, 7], [27, 30, 24, 21])
    numbered = ILSClassifier(3, **rule).fit(X, y, sample_domain=numbers)
    np.testing.assert_array_equal(numbered.predict_proba(XT), listed.predict_proba(XT))
    assert numbered.source_names_ == ("source 2", "source 4", "source 7")
    latent = numbered.transform(X, sample_domain=numbers)
    np.testing.assert_allclose(latent[27:57], listed.transform(X1, "source"))
    np.testing.assert_allclose(latent[57:81], listed.transform(X2, 2))
    np.testing.assert_allclose(latent[57:81], numbered.transform(X2, 4))
    np.testing.assert_allclose(latent[:27], numbered.transform(XT))
    np.testing.assert_allclose(listed.fit_transform(ROWS, LABELS, XT), latent[27:])


@pytest.mark.parametrize("rule", RULES)
def test_a_list_of_one_source_is_that_source(rule):
    alone = ILSClassifier(3, **rule).fit(X1, Y1, XT)
    listed = ILSClassifier(3, **rule).fit([X1], [Y1], XT, source_names=["first"])
    np.testing.assert_array_equal(listed.predict_proba(XT), alone.predict_proba(XT))
    assert listed.source_names_ == ("first",)
    np.testing.assert_array_equal(listed.transform(X1, "first"), alone.transform(X1, 1))
    assert listed.source_weights_.tolist() == alone.source_weights_.tolist() == [1.0]


def test_a_list_of_rows_stays_one_domain():
    listed = ILSClassifier(3).fit(X1.tolist(), Y1.tolist(), XT.tolist())
    np.testing.assert_array_equal(listed.predict(XT), ILSClassifier(3).fit(X1, Y1, XT).predict(XT))
    assert listed.source_names_ == ("source",)
    nested = ILSClassifier(3).fit([each.tolist() for each in ROWS], LABELS, XT)
    assert len(nested.source_names_) == 3


def test_names_are_as_good_as_numbers():
    names = ["shop", "studio", "street"]
    model = ILSClassifier(3, **NEAREST).fit(ROWS, LABELS, XT, source_names=names)
    for number, (name, rows, labels) in enumerate(zip(names, ROWS, LABELS, strict=True), start=1):
        np.testing.assert_array_equal(model.transform(rows, name), model.transform(rows, number))
        assert model.score(rows, labels, domain=name) > 0.8
        pairs = np.stack([rows[:4], rows[4:8]], axis=1)
        offsets = pairs[:, 0] - pairs[:, 1]
        metric = model.get_mahalanobis_matrix(name)
        wanted = np.sqrt(np.einsum("ij,jk,ik->i", offsets, metric, offsets))
        np.testing.assert_allclose(model.pair_distance(pairs, name), wanted)
    assert not np.allclose(model.transform(X2, "shop"), model.transform(X2, "studio"))
    np.testing.assert_array_equal(model.predict(XT, -7), model.predict(XT))


def test_the_order_of_the_sources_does_not_matter():
    model = ILSClassifier(3, **NEAREST).fit(ROWS, LABELS, XT)
    turned = ILSClassifier(3, **NEAREST).fit(ROWS[::-1], LABELS[::-1], XT)
    np.testing.assert_allclose(turned.source_weights_, model.source_weights_[::-1], rtol=1e-9)
    np.testing.assert_allclose(turned.transform(XT), model.transform(XT), atol=1e-7)
    np.testing.assert_allclose(turned.transform(X1, 3), model.transform(X1, 1), atol=1e-7)


def test_sources_need_not_have_all_classes():
    some = Y2 != 2
    model = ILSClassifier(3, **NEAREST).fit([X1, X2[some]], [Y1, Y2[some]], XT)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(XT, YT) > 0.8
    alone = ILSClassifier(3, **NEAREST).fit([X1, X2[Y2 == 0]], [Y1, Y2[Y2 == 0]], XT)
    assert alone.score(XT, YT) > 0.8


def test_columns_may_differ_per_source():
    wide = np.hstack([X1, X1[:, :2] ** 2])
    known = np.where(np.arange(27) < 12, YT, -1)
    model = ILSClassifier(3).fit([wide, X2[:, :5], X3], LABELS, XT, known)
    assert [each.shape[0] for each in model.map_.projections] == [8, 5, 6, 6]
    assert model.score(XT, YT) > 0.8
    assert model.score(wide, Y1, domain=1) > 0.8
    with pytest.raises(ValueError, match="expecting 5 features as input of the source 2 domain"):
        model.predict(XT, 2)
    with pytest.raises(ValueError, match="have no correspondence but their labels"):
        ILSClassifier(3).fit([X1, X2[:, :5]], [Y1, Y2], XT)


def test_names_of_columns_are_compared_per_source():
    frames = [pd.DataFrame(each, columns=list("abcdef")) for each in (*ROWS, XT)]
    model = ILSTransformer(3).fit(frames[:3], LABELS, frames[3])
    assert model.transform(frames[1], 2).shape == (24, 3)
    with pytest.raises(ValueError, match="should match those of source 2"):
        model.transform(frames[1][list("fedcba")], 2)


# -- libraries, weights, other settings -----------------------------------------------------------


@pytest.mark.parametrize("rule", [{}, NEAREST])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_tensors_give_the_result_of_numpy(library, rule):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    expected = ILSClassifier(3, **rule).fit(ROWS, LABELS, XT)
    tensors = [xp.asarray(each.copy()) for each in (*ROWS, XT)]
    labels = [xp.asarray(each.copy()) for each in LABELS]
    fitted = ILSClassifier(3, **rule).fit(tensors[:3], labels, tensors[3])
    assert type(fitted.transform(tensors[1], 2)) is type(tensors[1])
    np.testing.assert_allclose(fitted.source_weights_, expected.source_weights_, atol=1e-8)
    np.testing.assert_allclose(
        np.asarray(fitted.predict_proba(tensors[3])), expected.predict_proba(XT), atol=1e-8
    )
    with pytest.raises(ValueError, match="one array library"):
        ILSClassifier(3).fit([tensors[0], X2], [Y1, Y2], tensors[3])


def test_sparse_rows_give_the_result_of_dense_ones():
    expected = ILSClassifier(3).fit(ROWS, LABELS, XT)
    fitted = ILSClassifier(3).fit([sparse.csr_array(each) for each in ROWS], LABELS, XT)
    np.testing.assert_allclose(fitted.predict_proba(XT), expected.predict_proba(XT), atol=1e-8)
    X, y, numbers, _ = together()
    fitted = ILSClassifier(3).fit(sparse.csc_array(X), y, sample_domain=numbers)
    np.testing.assert_allclose(fitted.predict_proba(XT), expected.predict_proba(XT), atol=1e-7)


def test_weights_follow_their_rows():
    rng = np.random.default_rng(0)
    weights = [rng.integers(0, 3, len(each)).astype(float) for each in ROWS]
    kept = [each > 0 for each in weights]
    fewer = [each[mask] for each, mask in zip(ROWS, kept, strict=True)]
    labels = [each[mask] for each, mask in zip(LABELS, kept, strict=True)]
    left = [each[mask] for each, mask in zip(weights, kept, strict=True)]
    model = ILSClassifier(3).fit(ROWS, LABELS, XT, sample_weight=weights)
    wanted = ILSClassifier(3).fit(fewer, labels, XT, sample_weight=np.concatenate(left))
    np.testing.assert_array_equal(model.predict_proba(XT), wanted.predict_proba(XT))
    X, y, numbers, order = together()
    mixed = np.concatenate([*weights, np.ones(27)])[order]
    numbered = ILSClassifier(3).fit(X, y, sample_domain=numbers, sample_weight=mixed)
    np.testing.assert_allclose(numbered.predict_proba(XT), wanted.predict_proba(XT), atol=1e-7)


@pytest.mark.parametrize("solver", ["lbfgs", "alternating", "adam"])
def test_other_solvers(solver):
    options = {"solver": solver, "batch_size": 40, "random_state": 0}
    assert ILSClassifier(3, **NEAREST, **options).fit(ROWS, LABELS, XT).score(XT, YT) > 0.8


@pytest.mark.parametrize("init", ["joint-pca", "pls", "class-means"])
def test_other_starts(init):
    known = np.where(np.arange(27) < 12, YT, -1)
    model = ILSClassifier(3, init=init, **NEAREST).fit(ROWS, LABELS, XT, known)
    assert model.score(XT, YT) > 0.8


def test_class_shares_weigh_each_source():
    shares = [0.2, 0.3, 0.5]
    model = ILSClassifier(3, class_prior=shares).fit(ROWS, LABELS, XT)
    assert model.class_prior_.tolist() == shares
    for rows, labels, mean in zip(ROWS, LABELS, model.map_.means, strict=False):
        wanted = np.average(rows, axis=0, weights=np.array(shares)[labels])
        np.testing.assert_allclose(mean, wanted)  # every source has as many rows of each class


def test_the_paper_s_objective_takes_several_sources():
    model = ILSClassifier.as_in_paper(3, random_state=0).fit(ROWS, LABELS, XT)
    assert model.score(XT, YT) > 0.8


# -- weights of sources ---------------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("rule", [{}, NEAREST])
def test_a_source_of_shuffled_labels_hardly_counts(position, rule):
    labels = list(LABELS)
    labels[position] = np.random.default_rng(0).permutation(labels[position])
    model = ILSClassifier(3, **rule).fit(ROWS, labels, XT)
    assert model.source_weights_[position] < 0.02
    assert model.source_weights_.sum() == pytest.approx(1)
    others = [i for i in range(3) if i != position]
    rows, labels = ([each[i] for i in others] for each in (ROWS, LABELS))
    without = ILSClassifier(3, **rule).fit(rows, labels, XT)
    assert model.score(XT, YT) >= without.score(XT, YT) - 0.02


def test_found_weights_are_told(capsys):
    model = ILSTransformer(3, verbose=1).fit(ROWS, LABELS, XT, source_names=["a", "b", "c"])
    listed = ", ".join(
        f"{name} {weight:.3f}" for name, weight in zip("abc", model.source_weights_, strict=True)
    )
    assert f"[ILSTransformer] weights of the sources: {listed}\n" in capsys.readouterr().err


def test_given_weights():
    def fitted(weights):
        objective = ObjectiveSettings(source_weights=weights)
        return ILSClassifier(3, objective=objective, **NEAREST).fit(ROWS, LABELS, XT)

    np.testing.assert_allclose(fitted([1, 1, 2]).source_weights_, [0.25, 0.25, 0.5])
    np.testing.assert_allclose(fitted("equal").source_weights_, 1 / 3)
    same, equal = fitted([5, 5, 5]), fitted("equal")
    np.testing.assert_allclose(same.transform(XT), equal.transform(XT), atol=1e-7)
    # a source of nearly no weight is as good as left out
    small = fitted([1, 1, 1e-40])
    model = ILSClassifier(3, objective=ObjectiveSettings(source_weights="equal"), **NEAREST)
    two = clone(model).fit(ROWS[:2], LABELS[:2], XT)
    np.testing.assert_allclose(small.class_distances(XT), two.class_distances(XT), rtol=1e-4)


def test_the_distance_to_a_class_is_the_mean_over_the_sources():
    objective = ObjectiveSettings(source_weights=[1, 2, 5])
    model = ILSClassifier(3, objective=objective, **NEAREST).fit(ROWS, LABELS, XT)
    latent = model.transform(XT)
    wanted = np.zeros((27, 3))
    for number, (rows, labels, weight) in enumerate(zip(ROWS, LABELS, [1, 2, 5], strict=True), 1):
        there = model.transform(rows, number)
        for i in range(27):
            for code in range(3):
                squares = [np.sum((latent[i] - z) ** 2) for z in there[labels == code]]
                wanted[i, code] += weight / 8 * min(squares)
    np.testing.assert_allclose(model.class_distances(XT), wanted, rtol=1e-9, atol=1e-9)


# -- on disk --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_saved_model_knows_its_sources(tmp_path, rule):
    X, y, numbers, _ = together((2, 5, 9, -1))
    names = ["shop", "studio", "street"]
    model = ILSClassifier(3, **rule).fit(X, y, sample_domain=numbers, source_names=names)
    model.save(tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    assert loaded.source_names_ == tuple(names)
    np.testing.assert_array_equal(loaded.source_weights_, model.source_weights_)
    np.testing.assert_array_equal(loaded.predict_proba(XT), model.predict_proba(XT))
    np.testing.assert_array_equal(loaded.transform(X2, "studio"), model.transform(X2, 5))
    mixed = {"sample_domain": numbers}
    np.testing.assert_array_equal(loaded.predict(X, **mixed), model.predict(X, **mixed))


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([X1, X2[:, :5]], LABELS[:2]), {}, "Without a target all sources must have the same"),
        ((ROWS, np.concatenate(LABELS), XT), {}, "y must be a list of as many label arrays"),
        ((ROWS, LABELS[:2], XT), {}, "y must be a list of as many label arrays.*has 2 items"),
        (([X1, X2[0]], [Y1, Y2[:1]], XT), {}, r"must be 2-d, but X\[1\] is 1-d"),
        ((ROWS, LABELS, XT), {"sample_domain": np.ones(75)}, "as a list or by positive numbers"),
        ((ROWS, LABELS, XT), {"source_names": ["a", "b"]}, "one string per source, 3 here"),
        ((ROWS, LABELS, XT), {"source_names": "abc"}, "one string per source, 3 here"),
        ((ROWS, LABELS, XT), {"source_names": ["a", "b", "a"]}, "must be distinct"),
        ((ROWS, LABELS, XT), {"source_names": ["a", "b", "target"]}, "none of source, target"),
        ((ROWS, LABELS, XT), {"sample_weight": np.ones(50)}, "one entry per source row"),
        ((ROWS, [Y1, Y2, Y3.astype(str)], XT), {}, "must be strings or all be numbers"),
        (([X1, X2 * np.nan], [Y1, Y2], XT), {}, r"Input X\[1\] contains NaN"),
        (([X1, X2], [Y1, Y2[:4]], XT), {}, "inconsistent numbers of samples"),
        (([X1, X2[:1]], [Y1, Y2[:1]], XT), {}, "minimum of 2 is required"),
    ],
)
def test_what_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier(3).fit(*arguments, **options)


def test_what_is_refused_after_fit():
    model = ILSClassifier(3, **NEAREST).fit(ROWS, LABELS, XT)
    message = 'domain must be "source" or "target", or one of the sources "source 1" or 1, '
    wrongs: list[Any] = ["fourth", 4, None, True]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=message):
            model.predict(X1, wrong)
    with pytest.raises(ValueError, match=r"may number only sources.*\(1, 2, 3\), but has 7"):
        model.predict(X1, sample_domain=7)
    objective = ObjectiveSettings(source_weights=[1, 0, 2])
    with pytest.raises(ValueError, match="one positive number per source, 3 here"):
        ILSClassifier(3, objective=objective).fit(ROWS, LABELS, XT)
    with pytest.raises(ValueError, match="partial_fit learns from one source"):
        ILSTransformer(3).partial_fit(ROWS, LABELS, XT)


def test_a_source_without_rows_of_classes_with_a_share_is_named():
    with pytest.raises(ValueError, match="Every source must have two rows or more of classes with"):
        ILSClassifier(3, class_prior={0: 0.5, 1: 0.5, 2: 0.0}).fit(
            [X1, X2[Y2 == 2]], [Y1, Y2[Y2 == 2]], XT
        )
