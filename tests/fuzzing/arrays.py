"""Hostile arrays: a fit refuses them in words, or its predictions are classes and finite.

What a seed draws must stay as it is, as the corpus is made of seeds: add kinds in a new family.
"""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier, ILSTransformer, baselines

ODD = (0.0, -0.0, 1e-320, 1e-200, 1e30, 1e61, 1e200, 1e308, np.inf, -np.inf, np.nan)
SCALES = (1.0, 1.0, 1.0, 1e-12, 1e-60, 1e12, 1e60, 1e150)
NAMES = sorted(set(baselines.__all__) - {"OTDA"})  # it needs a library


def rows(rng, n, d):
    """Rows of some kind, most of them sane."""
    X = rng.normal(size=(n, d)) * rng.choice(SCALES)
    match rng.integers(12):
        case 0:
            X[rng.integers(n), rng.integers(d)] = rng.choice(ODD)
        case 1:
            X[:, rng.integers(d)] = rng.choice(ODD[:5])
        case 2:
            X[:] = X[0]
        case 3:
            X = np.round(X)
        case 4:
            X[:, 0] *= 1e9
    match rng.integers(10):
        case 0 if 1e-6 < np.abs(X).max() < 1e6:  # far apart, domains do not fit into the type
            return X.astype(np.float32)
        case 1:
            return sparse.csr_array(X)
        case 2:
            return X.tolist()
        case 3:
            return np.ma.masked_array(X, mask=rng.random(X.shape) < 0.01)
        case 4:
            return np.asfortranarray(X)[:, ::-1]
        case 5:
            return X.astype(object)
        case 6:
            return np.nan_to_num(X, posinf=9, neginf=-9).clip(-9, 9).astype(int)
    return X


def labels(rng, n):
    """Labels of some kind, most of them sane."""
    y = rng.integers(0, rng.integers(1, 5), n)
    match rng.integers(10):
        case 0:
            return np.array(["a", "b", "ü", "d"], dtype=object)[y % 4]
        case 1:
            return rng.normal(size=n)
        case 2:
            return y.astype(float)
        case 3:
            return y > 0
        case 4:
            return np.where(rng.random(n) < 0.1, None, y.astype(object))
    return y


def said_in_words(error):
    """A refusal says what is wrong."""
    assert len(str(error)) > 10, error
    return "refused"


def run(seed):
    """Fit a method to what the seed draws; raise if it is neither refused nor right."""
    rng = np.random.default_rng(seed)
    n, nt, d = rng.integers(2, 25), rng.integers(2, 25), rng.integers(1, 7)
    X, Xt = rows(rng, n, d), rows(rng, nt, d if rng.random() < 0.9 else rng.integers(1, 7))
    y = labels(rng, n)
    yt = None
    if rng.random() < 0.5:
        codes = np.asarray(y)[rng.integers(0, n, nt)].astype(object)
        yt = np.where(rng.random(nt) < 0.5, codes, np.array(None))
    kind = rng.integers(4)
    if kind == 0:
        model = getattr(baselines, rng.choice(NAMES))()
    elif kind == 1:
        model = ILSTransformer(int(rng.integers(1, 4)), max_iter=5)
    else:
        model = ILSClassifier(
            n_components=None if rng.random() < 0.5 else int(rng.integers(1, 4)),
            max_iter=5,
            self_training=int(rng.choice([0, 2])),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's and ours, in words
        try:
            model.fit(X, y, Xt, yt)
        except (ValueError, TypeError) as error:
            return said_in_words(error)
        if isinstance(model, ILSTransformer):
            assert np.isfinite(model.transform(Xt)).all()
            return "fitted"
        said = model.predict(Xt)
        assert len(said) == nt
        assert set(np.asarray(said).tolist()) <= set(model.classes_.tolist())
        if hasattr(model, "predict_proba"):
            assert np.isfinite(model.predict_proba(Xt)).all()
    return "fitted"
