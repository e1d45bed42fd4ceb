"""What members said of labels that they did not see, and the weights that follow."""

import numpy as np
import pandas as pd
import pytest

from ilspace import TableClassifier
from ilspace.tables.held_out import N_FOLDS, HeldOut, folds_of_rows, weights_of_rows

# two members, four rows of classes 0, 0, 1, 1
CODES = np.array([0, 0, 1, 1])
FIRST = np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [1.0, 0.0]])
SECOND = np.array([[0.5, 0.5]] * 4)
HELD = HeldOut(CODES, np.array([0, 1, 0, 1]), np.stack([FIRST, SECOND]), {}, np.full(4, 0.25))


def test_weights_are_likelihoods_of_the_labels():
    # what the first holds for impossible counts as one in ten
    likelihoods = np.array([0.8**3 * 0.1, 0.5**4])
    np.testing.assert_allclose(HELD.member_weights(), likelihoods / likelihoods.sum())
    some = HELD.member_weights(np.array([True, True, False, False]))
    np.testing.assert_allclose(some, np.array([0.64, 0.25]) / 0.89)


def test_members_of_one_opinion_weigh_the_same():
    said = np.stack([FIRST, FIRST, FIRST])
    held = HeldOut(CODES, HELD.folds, said, {}, HELD.weights)
    np.testing.assert_allclose(held.member_weights(), 1 / 3)


def test_weights_do_not_know_the_labels_of_their_fold():
    # the first is right on fold 0 and wrong on fold 1, the second the other way round: each fold is
    # judged by who was right on the other, and is wrong
    first = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]])
    codes, folds = np.zeros(4, int), np.array([0, 1, 0, 1])
    held = HeldOut(codes, folds, np.stack([first, first[:, ::-1]]), {}, np.full(4, 0.25))
    assert held.predicted().tolist() == [1, 1, 1, 1]


def test_rows_chosen_by_class_stand_for_their_class():
    prior = np.array([0.9, 0.1])
    weights = weights_of_rows(np.array([0, 0, 1, 1]), prior, random=False)
    np.testing.assert_allclose(weights, [0.45, 0.45, 0.05, 0.05])
    np.testing.assert_allclose(weights_of_rows(CODES, prior, random=True), 0.25)
    held = HeldOut(CODES, HELD.folds, HELD.said, {}, weights)
    assert held.accuracy(np.array([True, True, False, False])) == pytest.approx(0.9)


@pytest.mark.parametrize("counts", [[1, 2], [3, 3, 3], [7, 1, 5]])
def test_folds_share_every_class(counts):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    folds = folds_of_rows(codes)
    for each in range(len(counts)):
        sizes = np.bincount(folds[codes == each], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1


def test_a_member_that_labels_contradict_loses_its_weight():
    rng = np.random.default_rng(0)
    y = np.repeat(["p", "q"], 60)
    sign = np.where(y == "p", 1.0, -1.0)
    source = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    source["a"] += 2 * sign
    target = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    target["a"] += 2 * sign + 6  # in other units: a rule in the source's scaling sees one class
    yt = np.where(np.arange(120) % 4 == 0, y, np.array(None))
    model = TableClassifier().fit(source, y, target, yt)
    weights = dict(zip([each.name for each in model.members_], model.member_weights_, strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["linear"] < 0.2 < max(weights.values())
    free = pd.isna(yt)
    said = model.member_probabilities(target[free])
    assert model.score(target[free], y[free]) >= np.mean(
        model.classes_[said[0].argmax(axis=1)] == y[free]
    )
