"""Self-training in the space of any adapter."""

import numpy as np
import pandas as pd
import pytest

from ilspace import ILSTransformer
from ilspace.baselines import CORAL, SelfTraining
from ilspace.baselines import self_training as module
from ilspace.rules.ridge import DenseRidge, unit_rows
from ilspace.rules.self_training import selective_ridge
from tests.shifted import shifted

DATA = shifted(3)
FEW = np.array(DATA.marked(-1))


@pytest.mark.parametrize("adapter", [CORAL(), ILSTransformer(3, random_state=0)])
def test_the_rule_is_that_of_rows_in_the_space_of_the_adapter(adapter):
    fitted = SelfTraining(adapter).fit(DATA.X, DATA.y, DATA.Xt, FEW)
    alone = adapter.fit(DATA.X, DATA.y, DATA.Xt, FEW)
    rows = np.concatenate([alone.transform(DATA.X, "source"), alone.transform(DATA.Xt)])
    codes = np.concatenate([DATA.y, FEW])
    weights = np.where(np.arange(len(codes)) < len(DATA.y), 1.0, np.where(codes >= 0, 3.0, 0.5))
    ridge = DenseRidge(unit_rows(rows))
    wanted = selective_ridge(ridge, codes, weights, len(fitted.classes_)).scores[len(DATA.y) :]
    np.testing.assert_allclose(fitted.decision_function(DATA.Xt), wanted, atol=1e-10)


def test_without_an_adapter_rows_are_on_shared_principal_axes():
    fitted = SelfTraining().fit(DATA.X, DATA.y, DATA.Xt)
    centred = np.concatenate([DATA.X - DATA.X.mean(axis=0), DATA.Xt - DATA.Xt.mean(axis=0)])
    cosines = unit_rows(centred) @ unit_rows(centred).T  # all axes: a rotation
    landmarks = fitted.expansion_.landmarks
    np.testing.assert_allclose(landmarks @ landmarks.T, cosines, atol=1e-10)
    assert fitted.adapter_ is None


def test_the_adapter_is_cloned_and_needs_a_space():
    adapter = CORAL()
    SelfTraining(adapter).fit(DATA.X, DATA.y, DATA.Xt)
    assert not hasattr(adapter, "classes_")
    with pytest.raises(ValueError, match="'adapter' parameter"):
        SelfTraining("coral").fit(DATA.X, DATA.y, DATA.Xt)


def test_domains_of_different_columns():
    fitted = SelfTraining().fit(DATA.X, DATA.y, DATA.Xt[:, :4], FEW)
    assert fitted.score(DATA.Xt[:, :4], DATA.yt) > 0.5


def test_named_columns_that_differ_are_not_taken_for_the_same():
    X, Xt = (
        pd.DataFrame(each, columns=names)
        for each, names in ((DATA.X, list("abcdef")), (DATA.Xt, list("uvwxyz")))
    )
    with pytest.raises(ValueError, match="leave the adapter out"):
        SelfTraining(CORAL()).fit(X, DATA.y, Xt, FEW)
    assert SelfTraining().fit(X, DATA.y, Xt, FEW).score(Xt, DATA.yt) > 0.5


def test_landmarks_are_those_of_the_random_state(monkeypatch):
    monkeypatch.setattr(module, "LANDMARKS", 10)
    kept = [
        SelfTraining(random_state=seed).fit(DATA.X, DATA.y, DATA.Xt).expansion_.landmarks
        for seed in (0, 0, 1)
    ]
    assert kept[0].shape[0] == 10
    np.testing.assert_array_equal(kept[0], kept[1])
    assert (kept[0] != kept[2]).any()
