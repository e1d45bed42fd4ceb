"""Several sources without a target: what is learned for domains that no fit has seen."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, load
from ilspace.baselines import PooledSources, SourceOnly, SourceVote
from ilspace.domains import check_domains
from ilspace.ils import SourceEvidence, fit_ils, source_evidence, weights_of_trust
from ilspace.ils.ridge_rule import TrainingRows
from ilspace.manifolds import Stiefel

MEANS = 3 * np.random.default_rng(9).standard_normal((3, 6))


def domain(seed, n, offset, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    return MEANS[y] + noise * rng.standard_normal((n, 6)) + offset, y


(X1, Y1), (X2, Y2), (X3, Y3) = domain(1, 30, 0), domain(2, 24, 1), domain(3, 21, -1)
XU, YU = domain(4, 60, 0.5)
ROWS, LABELS = [X1, X2, X3], [Y1, Y2, Y3]
RULES = [{}, {"classifier": "nearest"}, {"classifier": "linear"}, {"classifier": GaussianNB()}]


# -- forms of the input ---------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_all_rules_predict_a_domain_that_was_not_seen(rule):
    model = ILSClassifier(3, **rule).fit(ROWS, LABELS, source_names=["shop", "studio", "street"])
    assert model.score(XU, YU, domain="unseen") > 0.9
    np.testing.assert_array_equal(model.predict(XU, "unseen"), model.predict(XU))
    assert model.score(X2, Y2, domain="studio") > 0.9
    assert len(model.map_.means) == 4
    assert clone(model).fit(ROWS, LABELS).source_names_ == ("source 1", "source 2", "source 3")


def test_a_list_and_numbers_give_the_same_model():
    listed = ILSClassifier(3).fit(ROWS, LABELS)
    numbers = np.repeat([2, 4, 7], [30, 24, 21])
    numbered = ILSClassifier(3).fit(np.vstack(ROWS), np.concatenate(LABELS), sample_domain=numbers)
    np.testing.assert_array_equal(numbered.predict_proba(XU), listed.predict_proba(XU))
    np.testing.assert_array_equal(numbered.transform(X2, 4), listed.transform(X2, 2))


@pytest.mark.parametrize("rule", RULES[:2])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_tensors_give_the_result_of_numpy(library, rule):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    expected = ILSClassifier(3, unseen_mean="batch", **rule).fit(ROWS, LABELS)
    tensors = [xp.asarray(each.copy()) for each in (*ROWS, XU)]
    fitted = ILSClassifier(3, unseen_mean="batch", **rule).fit(tensors[:3], LABELS)
    assert type(fitted.transform(tensors[3], "unseen")) is type(tensors[3])
    np.testing.assert_allclose(
        np.asarray(fitted.predict_proba(tensors[3])), expected.predict_proba(XU), atol=1e-8
    )
    with pytest.raises(ValueError, match="one array library"):
        ILSClassifier(3).fit([tensors[0], X2], [Y1, Y2])


def test_one_source_is_unseen_as_it_always_was():
    model = ILSClassifier(3).fit(X1, Y1)
    np.testing.assert_array_equal(model.predict_proba(XU, "unseen"), model.predict_proba(XU))
    np.testing.assert_array_equal(model.transform(X1, "source"), model.transform(X1, "unseen"))


def test_there_is_a_dimension_for_it_and_it_is_bounded_by_the_rank():
    rng = np.random.default_rng(0)
    wide = [np.hstack([each, rng.standard_normal((len(each), 94))]) for each in ROWS]
    assert ILSTransformer(max_iter=0).fit(wide, LABELS).n_components_ == 60
    assert ILSTransformer(max_iter=0).fit(ROWS, LABELS).n_components_ == 6


# -- the mean projection --------------------------------------------------------------------------


def naive_mean(points, weights):
    """Polar factor by the square root of a matrix."""
    total = np.zeros_like(points[0])
    for weight, point in zip(weights, points, strict=True):
        total = total + weight * point
    return total @ linalg.inv(linalg.sqrtm(total.T @ total))


def test_the_projection_is_the_mean_of_those_of_the_sources():
    objective = ObjectiveSettings(source_weights=[1, 2, 5])
    model = ILSTransformer(3, objective=objective).fit(ROWS, LABELS)
    *sources, unseen = model.map_.projections
    np.testing.assert_allclose(unseen, naive_mean(sources, [1, 2, 5]), atol=1e-9)
    np.testing.assert_array_equal(model.target_projection_, unseen)
    metric = linalg.sqrtm(model.metric_)
    wanted = model.target_scale_ * (XU - model.target_mean_) @ unseen @ metric
    np.testing.assert_allclose(model.transform(XU, "unseen"), wanted, atol=1e-9)


def test_the_mean_is_the_nearest_point_of_the_manifold():
    rng, manifold = np.random.default_rng(3), Stiefel(7, 3)
    points = [manifold.project(rng.standard_normal((7, 3))) for _ in range(4)]
    weights = [0.1, 0.2, 0.3, 0.4]
    mean = manifold.mean(points, weights)
    np.testing.assert_allclose(mean.T @ mean, np.eye(3), atol=1e-12)

    def spread(x):
        return sum(w * np.sum((x - each) ** 2) for w, each in zip(weights, points, strict=True))

    for _ in range(50):
        step = manifold.to_tangent(mean, 0.1 * rng.standard_normal((7, 3)))
        assert spread(manifold.retract(mean, step)) > spread(mean)
    np.testing.assert_allclose(manifold.mean(points[:1] * 3, [1, 2, 3]), points[0], atol=1e-12)
    turned = linalg.qr(rng.standard_normal((7, 7)))[0]
    np.testing.assert_allclose(
        manifold.mean([turned @ each for each in points], weights), turned @ mean, atol=1e-12
    )


def test_the_order_of_the_sources_does_not_matter():
    model = ILSClassifier(3, classifier="nearest").fit(ROWS, LABELS)
    turned = ILSClassifier(3, classifier="nearest").fit(ROWS[::-1], LABELS[::-1])
    np.testing.assert_allclose(turned.transform(XU), model.transform(XU), atol=1e-7)
    np.testing.assert_allclose(turned.predict_proba(XU), model.predict_proba(XU), atol=1e-7)


def test_every_source_takes_part_as_one_that_was_held_out():
    domains = check_domains(ROWS, LABELS).with_unseen()
    assert domains.names == ("source 1", "source 2", "source 3", "unseen")
    target = domains.target
    assert target is not None
    np.testing.assert_array_equal(target.X, np.vstack(ROWS))
    np.testing.assert_array_equal(target.codes, np.concatenate(LABELS))
    ils = fit_ils(check_domains(ROWS, LABELS), n_components=3)
    np.testing.assert_allclose(ils.means[-1], np.vstack(ROWS).mean(axis=0))
    with_target = check_domains(ROWS, LABELS, XU)
    assert with_target.with_unseen() is with_target


def test_a_row_counts_once_in_the_rule():
    weighed = check_domains(ROWS, LABELS).with_source_weights(np.array([1.0, 2.0, 4.0]))
    rows = TrainingRows(weighed.with_unseen(), np.random.default_rng(0))
    own, again = rows.weights[:75], rows.weights[75:]
    np.testing.assert_allclose(own + again, np.repeat([0.25, 0.5, 1.0], [30, 24, 21]))
    np.testing.assert_allclose(own, again)


# -- the mean of a batch --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES[:3])
def test_a_batch_centred_by_itself_may_lie_anywhere(rule):
    model = ILSClassifier(3, unseen_mean="batch", **rule).fit(ROWS, LABELS)
    found = model.predict_proba(XU, "unseen")
    np.testing.assert_allclose(model.predict_proba(XU + 100, "unseen"), found, atol=1e-7)
    assert model.score(XU + 100, YU) > 0.9
    plain = ILSClassifier(3, **rule).fit(ROWS, LABELS)
    np.testing.assert_allclose(
        plain.predict_proba(XU + plain.target_mean_ - XU.mean(axis=0)), found, atol=1e-9
    )
    # rows of the sources have means already
    np.testing.assert_array_equal(model.predict_proba(X2, 2), plain.predict_proba(X2, 2))


def test_of_rows_of_several_domains_only_the_unseen_move():
    model = ILSTransformer(3, unseen_mean="batch").fit(ROWS, LABELS)
    numbers = np.repeat([2, -1], [24, 60])
    latent = model.transform(np.vstack([X2, XU + 9]), sample_domain=numbers)
    np.testing.assert_allclose(latent[:24], model.transform(X2, 2), atol=1e-12)
    np.testing.assert_allclose(latent[24:], model.transform(XU, "unseen"), atol=1e-9)
    np.testing.assert_allclose(latent[24:].mean(axis=0), 0, atol=1e-9)
    pairs = np.stack([XU[:5], XU[5:10]], axis=1)
    wanted = np.linalg.norm(latent[24:29] - latent[29:34], axis=1)
    np.testing.assert_allclose(model.pair_distance(pairs, "unseen"), wanted)


def test_sparse_rows_are_centred_too():
    model = ILSTransformer(3, unseen_mean="batch").fit(ROWS, LABELS)
    np.testing.assert_allclose(
        model.transform(sparse.csr_array(XU), "unseen"), model.transform(XU, "unseen")
    )
    dense, few = ILSTransformer(3).fit(ROWS, LABELS), [sparse.csr_array(each) for each in ROWS]
    found = ILSTransformer(3).fit(few, LABELS).transform(XU)
    np.testing.assert_allclose(found, dense.transform(XU), atol=1e-6)


def test_one_row_has_no_mean_of_its_own():
    model = ILSClassifier(3, unseen_mean="batch").fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="for which a call needs 2 or more, but there is 1"):
        model.predict(XU[:1], "unseen")
    assert model.predict(X1[:1], 1) in (0, 1, 2)


# -- weights, files, other methods ----------------------------------------------------------------


def test_sources_are_equal_unless_they_cannot_be_relied_on():
    good = ILSClassifier(3).fit(ROWS, LABELS)
    np.testing.assert_allclose(good.source_weights_, 1 / 3)
    shuffled = np.random.default_rng(0).permutation(Y2)
    bad = ILSClassifier(3).fit(ROWS, [Y1, shuffled, Y3])
    assert bad.source_weights_[1] < 0.05
    assert bad.score(XU, YU) > 0.9
    exchanged = ILSClassifier(3).fit(ROWS, [Y1, (Y2 + 1) % 3, Y3])  # reliable, but alone
    assert exchanged.source_weights_[1] < 0.05


def test_of_two_sources_the_one_with_labels_is_believed():
    rows, labels = domain(7, 120, 1)
    shuffled = np.random.default_rng(0).permutation(labels)
    evidence = source_evidence(check_domains([X1, rows], [Y1, shuffled]), 0)
    assert evidence.reliability[0] > 0.8 > 0.1 > evidence.reliability[1]
    assert weights_of_trust(evidence)[0] > 0.8
    assert weights_of_trust(SourceEvidence(np.array([0.9, 0.8]), np.zeros(2))).tolist() == [0.5] * 2


@pytest.mark.parametrize("rule", RULES[:3])
def test_what_is_loaded_predicts_the_same(rule, tmp_path):
    names = ["shop", "studio", "street"]
    model = ILSClassifier(3, unseen_mean="batch", **rule).fit(ROWS, LABELS, source_names=names)
    model.save(tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        loaded.predict_proba(XU, "unseen"), model.predict_proba(XU, "unseen")
    )
    np.testing.assert_array_equal(loaded.transform(X3, "street"), model.transform(X3, 3))
    assert loaded.source_names_ == tuple(names)


def test_baselines_take_sources_alone():
    for method in (
        PooledSources(SourceOnly("logistic")),
        PooledSources(SourceOnly("pca-1nn")),
        SourceVote(SourceOnly("svm"), weighted=True),
    ):
        assert method.fit(ROWS, LABELS).score(XU, YU, domain="unseen") > 0.9


def test_weights_and_shares_of_classes_reach_the_unseen_domain():
    weights = [np.where(labels == 2, 0.0, 1.0) for labels in LABELS]
    model = ILSClassifier(3).fit(ROWS, LABELS, sample_weight=weights)
    assert set(model.predict(XU)) <= {0, 1}
    shares = ILSClassifier(3, class_prior=[0.5, 0.5, 0.0]).fit(ROWS, LABELS)
    assert set(shares.predict(XU)) <= {0, 1}


def test_what_is_refused():
    with pytest.raises(ValueError, match='domain="unseen" is for models.*without a target'):
        ILSClassifier(3).fit(ROWS, LABELS, XU).predict(XU, "unseen")
    with pytest.raises(ValueError, match='class_prior="auto" estimates the class shares'):
        ILSClassifier(3, class_prior="auto").fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="unseen_mean"):
        ILSClassifier(3, unseen_mean="median").fit(ROWS, LABELS)
