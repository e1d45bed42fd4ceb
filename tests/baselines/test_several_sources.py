"""Several sources for methods that know one."""

import numpy as np
import pytest
from shifted import shifted

from ilspace import ILSClassifier
from ilspace.baselines import CORAL, PooledSources, SelfTraining, SourceOnly, SourceVote

DATA = shifted(n=60)
XT, YT = DATA.Xt, DATA.yt
ROWS = [DATA.X[:24], DATA.X[24:42] + 1, DATA.X[42:] - 2]
LABELS = [DATA.y[:24], DATA.y[24:42], DATA.y[42:]]
NAMES = np.array(["cat", "dog", "emu"])
NEAREST = ILSClassifier(3, classifier="nearest", self_training=0)


@pytest.mark.parametrize("method", [SourceOnly("svm"), CORAL(), SelfTraining(), NEAREST])
def test_pooled_rows_are_one_source(method):
    pooled = PooledSources(method).fit(ROWS, [NAMES[each] for each in LABELS], XT)
    alone = method.fit(np.vstack(ROWS), np.concatenate(LABELS), XT)
    np.testing.assert_array_equal(pooled.predict(XT), NAMES[alone.predict(XT)])
    np.testing.assert_array_equal(
        pooled.predict(ROWS[1], 2), NAMES[alone.predict(ROWS[1], "source")]
    )
    assert pooled.source_names_ == ("source 1", "source 2", "source 3")


def test_numbers_are_a_list():
    X, y = np.vstack([*ROWS, XT]), np.concatenate([*LABELS, np.full(24, -1)])
    domain = np.repeat([3, 5, 8, -1], [24, 18, 18, 24])
    for kind in (PooledSources, SourceVote):
        numbered = kind(CORAL()).fit(X, y, sample_domain=domain)
        listed = kind(CORAL()).fit(ROWS, LABELS, XT)
        np.testing.assert_array_equal(numbered.predict(XT), listed.predict(XT))
        together = numbered.predict(X, sample_domain=domain)
        np.testing.assert_array_equal(together[24:42], numbered.predict(ROWS[1], 5))


def test_votes_are_mean_probabilities():
    vote = SourceVote(NEAREST).fit(ROWS, LABELS, XT)
    alone = [NEAREST.fit(X, y, XT).predict_proba(XT) for X, y in zip(ROWS, LABELS, strict=True)]
    np.testing.assert_array_equal(vote.predict(XT), np.mean(alone, axis=0).argmax(axis=1))
    np.testing.assert_allclose(vote.source_weights_, 1 / 3)
    own = NEAREST.fit(ROWS[2], LABELS[2], XT).predict(ROWS[2], "source")
    np.testing.assert_array_equal(vote.predict(ROWS[2], 3), own)


def test_votes_of_models_without_probabilities():
    vote = SourceVote(SourceOnly("svm")).fit(ROWS, LABELS, XT)
    pairs = zip(ROWS, LABELS, strict=True)
    alone = np.array([SourceOnly("svm").fit(X, y, XT).predict(XT) for X, y in pairs])
    counts = np.array([np.bincount(each, minlength=3) for each in alone.T])
    np.testing.assert_array_equal(vote.predict(XT), counts.argmax(axis=1))


def test_a_weighted_vote_does_not_hear_a_source_of_shuffled_labels():
    labels = [LABELS[0], np.random.default_rng(0).permutation(LABELS[1]), LABELS[2]]
    vote = SourceVote(NEAREST, weighted=True).fit(ROWS, labels, XT)
    assert vote.source_weights_[1] < 0.02
    others = SourceVote(NEAREST).fit([ROWS[0], ROWS[2]], [LABELS[0], LABELS[2]], XT)
    assert vote.score(XT, YT) >= others.score(XT, YT) - 0.05


def test_sources_may_lack_classes_and_differ_in_columns():
    some = LABELS[1] != 2
    vote = SourceVote(CORAL()).fit([ROWS[0], ROWS[1][some]], [LABELS[0], LABELS[1][some]], XT)
    assert vote.classes_.tolist() == [0, 1, 2]
    few = np.where(np.arange(24) < 12, YT, -1)
    wide = SourceVote(NEAREST).fit([ROWS[0][:, :4], ROWS[1]], LABELS[:2], XT, few)
    assert wide.score(XT, YT) > 0.8
    with pytest.raises(ValueError, match="pooled only where they have the same columns.*4, 6"):
        PooledSources(NEAREST).fit([ROWS[0][:, :4], ROWS[1]], LABELS[:2], XT, few)


def test_methods_of_one_source_name_the_remedy():
    message = "CORAL learns from one source, but X is a list of 3.*PooledSources.*SourceVote"
    with pytest.raises(ValueError, match=message):
        CORAL().fit(ROWS, LABELS, XT)


def test_who_has_never_seen_a_class_does_not_vote_on_it():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X, Xt = (
        rng.normal(size=(60, 2)) + 8 * np.eye(3)[y][:, :2] - 8 * (y == 2)[:, None] for _ in "ab"
    )
    known = np.full(60, -1)
    known[[0, 20, 40]] = [0, 1, 2]
    for yt in (None, known):
        vote = SourceVote(NEAREST.set_params(n_components=2))
        vote.fit([X, X[y < 2]], [y, y[y < 2]], Xt, yt)
        assert vote.score(Xt, y) > 0.9


def test_a_source_of_one_class_abstains():
    cats = LABELS[1] == 0
    given = [ROWS[0], ROWS[1][cats]], [NAMES[LABELS[0]], NAMES[LABELS[1][cats]]]
    vote = SourceVote(SourceOnly("svm")).fit(*given, XT)
    alone = SourceOnly("svm").fit(ROWS[0], NAMES[LABELS[0]], XT)
    np.testing.assert_array_equal(vote.predict(XT), alone.predict(XT))
    assert set(vote.predict(ROWS[1], 2)) == {"cat"}
    dogs = LABELS[0] == 1
    with pytest.raises(ValueError, match="two classes or more to learn from, but each"):
        SourceVote(CORAL()).fit(
            [ROWS[0][dogs], ROWS[1][cats]], [LABELS[0][dogs], LABELS[1][cats]], XT
        )


def test_class_shares_may_go_by_name():
    shares, labels = {"cat": 0.6, "dog": 0.3, "emu": 0.1}, [NAMES[each] for each in LABELS]
    nearest = {"classifier": "nearest", "self_training": 0}
    method = ILSClassifier(3, class_prior=shares, **nearest)
    pooled = PooledSources(method).fit(ROWS, labels, XT)
    alone = ILSClassifier(3, class_prior=[0.6, 0.3, 0.1], **nearest)
    alone.fit(np.vstack(ROWS), np.concatenate(labels), XT)
    np.testing.assert_array_equal(pooled.predict(XT), alone.predict(XT))
    some = LABELS[1] != 2  # of the others this source has two thirds and one third
    rows, known = [ROWS[0], ROWS[1][some]], [labels[0], labels[1][some]]
    vote = SourceVote(method).fit(rows, known, XT)
    np.testing.assert_allclose(vote.estimators_[0].class_prior_, [0.6, 0.3, 0.1])
    np.testing.assert_allclose(vote.estimators_[1].class_prior_, [2 / 3, 1 / 3])
    none = ILSClassifier(3, class_prior={"cat": 0.5, "dog": 0.5, "emu": 0.0}, **nearest)
    emus = LABELS[2] == 2
    given = [ROWS[0], ROWS[2][emus]], [labels[0], labels[2][emus]]
    assert set(SourceVote(none).fit(*given, XT).predict(XT)) <= {"cat", "dog"}
