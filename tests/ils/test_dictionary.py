"""A dictionary of the latent space: learned, applied, saved, and on every engine."""

from typing import Any

import numpy as np
import pytest
from shifted import shifted

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings, load
from ilspace.domains import Domain, Domains
from ilspace.ils.dictionary import Dictionary, learn_dictionary, scaled_rows

DATA = shifted(n=60, nt=50)
X, Y, XT = DATA.X, DATA.y, DATA.Xt
SOURCES, LABELS = [X[:24], X[24:] + 1], [Y[:24], Y[24:]]


def fitted(rows=X, labels=Y, target=XT, n_atoms: Any = 8, **parameters) -> Any:
    model = ILSTransformer(4, n_atoms=n_atoms, random_state=0, **parameters)
    return model.fit(rows, labels, target)


class _Identity:
    """A latent space that is the space of the rows."""

    maps = (np.eye(5),)

    def transform(self, rows, position):
        return rows


def test_atoms_that_made_the_rows_are_found():
    rng = np.random.default_rng(0)
    atoms = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    codes = rng.choice([-3.0, 3.0], size=(300, 5)) * (rng.random((300, 5)) < 0.25)
    rows = codes @ atoms.T + 0.01 * rng.standard_normal((300, 5))
    domain = Domain(rows, np.full(300, -1))
    domains = Domains((domain,), None, np.arange(2))
    found = learn_dictionary(_Identity(), domains, 5, np.random.default_rng(1)).atoms
    np.testing.assert_allclose(np.sum(found**2, axis=0), 1)
    likeness = np.max(np.abs(atoms.T @ found), axis=1)
    assert np.all(likeness > 0.97)


def test_rows_become_combinations_of_atoms_with_their_lengths_given_back():
    plain, model = fitted(n_atoms=None), fitted()
    latent, codes = plain.transform(XT), model.sparse_codes(XT)
    assert codes.shape == (50, 8)
    lengths = np.sqrt(np.mean(latent**2, axis=1, keepdims=True))
    wanted = (codes @ model.map_.dictionary.atoms.T) * lengths
    np.testing.assert_allclose(model.transform(XT), wanted, atol=1e-10)
    np.testing.assert_array_equal(model.map_.maps[1], plain.map_.maps[1])
    assert 0.05 < np.mean(codes != 0) < 0.8


def test_longer_rows_have_the_same_codes():
    dictionary = fitted().map_.dictionary
    latent = np.random.default_rng(0).standard_normal((6, 4))
    latent[2] = 0
    np.testing.assert_allclose(dictionary.codes(1e3 * latent), dictionary.codes(latent), atol=1e-9)
    np.testing.assert_allclose(
        dictionary.transform(1e3 * latent), 1e3 * dictionary.transform(latent), rtol=1e-9
    )
    assert not np.any(dictionary.transform(latent)[2])


def test_rows_are_encoded_one_by_one(monkeypatch):
    model = fitted()
    wanted = model.transform(XT)
    monkeypatch.setattr("ilspace.ils.dictionary._AT_ONCE", 7)
    np.testing.assert_allclose(model.transform(XT), wanted, atol=1e-12)
    np.testing.assert_allclose(model.transform(XT[3:5]), wanted[3:5], atol=1e-12)
    assert model.map_.dictionary.transform(np.empty((0, 4))).shape == (0, 4)


def test_single_precision_stays():
    model = fitted(X.astype(np.float32), Y, XT.astype(np.float32))
    assert model.transform(XT.astype(np.float32)).dtype == np.float32
    rows, lengths = scaled_rows(np.ones((2, 3), dtype=np.float32))
    assert rows.dtype == lengths.dtype == np.float32


@pytest.mark.parametrize("several", [False, True])
def test_dask_gives_the_same(several):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")

    def blocks(rows):
        return da.from_array(rows, chunks=(7, *rows.shape[1:]))

    rows, labels = (SOURCES, LABELS) if several else (X, Y)
    options: dict[str, Any] = {"classifier": "nearest", "self_training": 0, "random_state": 0}
    wanted = ILSClassifier(4, n_atoms=8, **options).fit(rows, labels, XT)
    with dask.config.set(scheduler="synchronous"):
        there = [blocks(each) for each in rows] if several else blocks(rows)
        found = ILSClassifier(4, n_atoms=8, **options).fit(there, labels, blocks(XT))
        transformed = found.transform(blocks(XT)).compute()
        codes = found.sparse_codes(blocks(XT)).compute()
        probabilities = found.predict_proba(blocks(XT)).compute()
    np.testing.assert_allclose(transformed, wanted.transform(XT), atol=1e-8)
    np.testing.assert_allclose(codes, wanted.sparse_codes(XT), atol=1e-8)
    np.testing.assert_allclose(probabilities, wanted.predict_proba(XT), atol=1e-8)


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    found = fitted(torch.tensor(X), Y, torch.tensor(XT))
    wanted = fitted()
    there = torch.tensor(XT)
    np.testing.assert_allclose(found.transform(there).numpy(), wanted.transform(XT), atol=1e-8)
    np.testing.assert_allclose(
        found.sparse_codes(there).numpy(), wanted.sparse_codes(XT), atol=1e-8
    )


@pytest.mark.parametrize("classifier", ["auto", "nearest", "linear"])
def test_rules_see_the_combinations(classifier, tmp_path):
    plain, model = (
        ILSClassifier(4, n_atoms=n, classifier=classifier, random_state=0).fit(X, Y, XT)
        for n in (None, 6)
    )
    assert np.max(np.abs(model.predict_proba(XT) - plain.predict_proba(XT))) > 1e-3
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(XT), model.predict_proba(XT))
    np.testing.assert_array_equal(again.sparse_codes(XT), model.sparse_codes(XT))
    assert again.n_atoms == 6


def test_what_is_refused():
    with pytest.raises(ValueError, match="n_atoms must be at most 110"):
        fitted(n_atoms=200)
    with pytest.raises(ValueError, match="n_atoms"):
        fitted(n_atoms=0)
    with pytest.raises(ValueError, match="fitted with n_atoms=None"):
        fitted(n_atoms=None).sparse_codes(XT)
    with pytest.raises(ValueError, match="fit all rows at once"):
        ILSTransformer(4, n_atoms=3).partial_fit(X, Y, XT)


def test_a_dictionary_of_its_own():
    dictionary = Dictionary(np.eye(3))
    # scaled to mean square 1, then each entry is moved towards 0 by the penalty
    row = np.array([[np.sqrt(3.0), 0.0, 0.0]])
    np.testing.assert_allclose(dictionary.codes(5 * row), [[np.sqrt(3) - 1, 0, 0]], atol=1e-12)


def test_a_domain_that_no_fit_has_seen(tmp_path):
    objective = ObjectiveSettings(moment_weight=1.0)
    model = ILSClassifier(4, n_atoms=8, objective=objective, random_state=0).fit(SOURCES, LABELS)
    assert model.sparse_codes(XT, "unseen").shape == (50, 8)
    model.save(tmp_path / "model")
    wanted = model.predict_proba(XT, "unseen")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(XT, "unseen"), wanted)
