"""How well the class shares of a target are estimated without its labels, on pairs of features.

``python docs/measurements/class_shares.py`` prints mean total variation, in points, between
estimated and true shares, for digits and Office+Caltech10, with and without rare classes. The
method of ``class_prior="auto"`` is beside the shares of the source, black-box shift estimation,
expectation maximisation and the matching of kernel means; SKADA's MMDTarS and POT's JCPOT take part
where these libraries are installed. Target labels serve this evaluation only.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import permutations
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import nnls
from scipy.spatial.distance import pdist
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ilspace.datasets import load_digit_pair, load_office_caltech
from ilspace.rules import estimate_class_prior, in_source_scale, mixture_of_classes
from ilspace.rules.calibration import fitting_inverse_temperature

RARE, LEAST = 0.15, 10
"""Share of the rows of every second class that is kept where classes become rare, and how many at
least."""


class Pair(NamedTuple):
    """Source and target rows before any scaling, and their classes."""

    group: str
    name: str
    X: np.ndarray
    codes: np.ndarray
    Xt: np.ndarray
    true_codes: np.ndarray

    def with_rare_classes(self) -> Pair:
        """The same, with few target rows of every second class."""
        rng, kept = np.random.default_rng(crc32(self.name.encode())), []
        for code in range(int(self.codes.max()) + 1):
            rows = np.flatnonzero(self.true_codes == code)
            if code % 2:
                rows = rng.permutation(rows)[: max(LEAST, round(RARE * len(rows)))]
            kept.append(rows)
        chosen = np.sort(np.concatenate(kept))
        return self._replace(Xt=self.Xt[chosen], true_codes=self.true_codes[chosen])


def _in_one_code(y: Any, yt: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of the source classes, which target rows have one of them, and their codes."""
    y, yt = np.asarray(y).astype(str), np.asarray(yt).astype(str)
    classes = np.unique(y)
    kept = np.flatnonzero(np.isin(yt, classes))
    return np.searchsorted(classes, y), kept, np.searchsorted(classes, yt[kept])


def all_pairs() -> Iterator[Pair]:
    """The digits, and Office+Caltech10 with both kinds of features."""
    sets: list[tuple[str, Any, Any]] = [
        ("digits", dict(zip(("digits", "mnist"), load_digit_pair(), strict=True)), None)
    ]
    sets += [(f"Office, {each}", load_office_caltech(each), "AWDC") for each in ("surf", "deep")]
    for group, domains, names in sets:
        for source, target in permutations(names or domains, 2):
            here, there = domains[source], domains[target]
            codes, kept, true_codes = _in_one_code(here.y, there.y)
            X, Xt = np.asarray(here.X, dtype=float), np.asarray(there.X, dtype=float)[kept]
            yield Pair(group, f"{group}: {source} > {target}", X, codes, Xt, true_codes)


# -- estimators beside ours -----------------------------------------------------------------------


def _rule(X: np.ndarray, codes: np.ndarray, rows: np.ndarray, n_classes: int) -> np.ndarray:
    size = 10.0 if X.shape[1] >= 50 else 1 / np.sqrt(np.mean(X**2))
    model = LogisticRegression(max_iter=300).fit(size * X, codes)
    found = np.zeros((len(rows), n_classes))
    found[:, model.classes_] = model.predict_proba(size * rows)
    return found


def _held_out(X: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of source rows by rules that have not seen them."""
    found = np.zeros((len(codes), n_classes))
    n_folds = min(5, int(np.bincount(codes).min()))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, codes):
        found[test] = _rule(X[train], codes[train], X[test], n_classes)
    return found


def black_box(held_out: np.ndarray, codes: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Shares whose mean predictions, by the confusion on the source, are those of the target."""
    n_classes = held_out.shape[1]
    confusion = np.array([held_out[codes == code].mean(axis=0) for code in range(n_classes)]).T
    heavy = 1e3 * np.ones((1, n_classes))
    system, right = np.concatenate([confusion, heavy]), np.append(predicted.mean(axis=0), 1e3)
    shares, _ = nnls(system, right)
    return shares / shares.sum()


def maximum_likelihood(
    held_out: np.ndarray, codes: np.ndarray, predicted: np.ndarray
) -> np.ndarray:
    """Expectation maximisation of Saerens and others, with probabilities calibrated before."""
    logits = [np.log(np.clip(each, 1e-9, 1)) for each in (held_out, predicted)]
    odds = np.exp(fitting_inverse_temperature(logits[0], codes) * logits[1])
    prior = np.bincount(codes) / len(codes)
    shares = prior
    for _ in range(300):
        posterior = odds * (shares / prior)
        new = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
        done, shares = np.abs(new - shares).max() < 1e-6, new
        if done:
            break
    return shares


def _with_skada(X: np.ndarray, codes: np.ndarray, Xt: np.ndarray) -> np.ndarray:
    from skada import MMDTarSReweightAdapter

    bandwidth = np.median(pdist(np.concatenate([X, Xt]), "sqeuclidean"))
    adapter: Any = MMDTarSReweightAdapter(gamma=1 / bandwidth)
    weights, _ = adapter._weights_optimization(X, Xt, codes)
    shares = np.bincount(codes, np.maximum(weights, 0))
    return shares / shares.sum()


def _with_pot(X: np.ndarray, codes: np.ndarray, Xt: np.ndarray) -> np.ndarray:
    from ot.da import jcpot_barycenter

    bandwidth = np.median(pdist(np.concatenate([X, Xt]), "sqeuclidean"))
    scaled = [each / np.sqrt(bandwidth) for each in (X, Xt)]
    halves = [slice(None, None, 2), slice(1, None, 2)]  # it takes two sources at least
    rows, labels = [scaled[0][each] for each in halves], [codes[each] for each in halves]
    shares = np.asarray(jcpot_barycenter(rows, labels, scaled[1], reg=0.1))
    return shares / shares.sum()


def _some(X: np.ndarray, codes: np.ndarray, n_most: int) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:n_most])
    return X[chosen], codes[chosen]


def estimates(pair: Pair, others: bool) -> dict[str, np.ndarray]:
    """Shares by each estimator, the true ones, and the interval of ours."""
    X, Xt = in_source_scale(pair.X, pair.Xt)
    codes, n_classes = pair.codes, int(pair.codes.max()) + 1
    rng, unknown = np.random.default_rng(0), np.full(len(Xt), -1)
    ours = estimate_class_prior(X, codes, Xt, unknown, n_classes, rng=rng)
    held_out, predicted = _held_out(X, codes, n_classes), _rule(X, codes, Xt, n_classes)
    found = {
        "shares of the source": np.bincount(codes) / len(codes),
        'class_prior="auto"': ours.shares,
        "mean prediction": predicted.mean(axis=0),
        "black-box shift estimation": black_box(held_out, codes, predicted),
        "expectation maximisation": maximum_likelihood(held_out, codes, predicted),
        "kernel means (MMD)": mixture_of_classes(X, codes, Xt, rng=np.random.default_rng(0))[0],
    }
    (some, labels), (few, _) = _some(X, codes, 1000), _some(Xt, pair.true_codes, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if others and find_spec("skada") is not None:
            found["MMDTarS (SKADA)"] = _with_skada(some, labels, few)
        if others and find_spec("ot") is not None:
            found["JCPOT (POT)"] = _with_pot(some, labels, few)
    truth = np.bincount(pair.true_codes, minlength=n_classes) / len(Xt)
    return found | {"truth": truth, "low": ours.low, "high": ours.high, "t": np.array(ours.overlap)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pairs", action="store_true", help="a line for each pair as well")
    parser.add_argument("--ours-only", action="store_true", help="leave SKADA and POT out")
    options = parser.parse_args()
    pairs = [*all_pairs()]
    cases = [(pair.group, pair) for pair in pairs]
    cases += [(f"{pair.group}, rare", pair.with_rare_classes()) for pair in pairs]
    others = not options.ours_only
    found = Parallel(n_jobs=options.jobs)(delayed(estimates)(each, others) for _, each in cases)
    columns = list(dict.fromkeys(name for name, _ in cases))
    methods = [each for each in found[0] if each not in ("truth", "low", "high", "t")]

    def distances(method: str, column: str) -> np.ndarray:
        return np.array(
            [
                50 * np.abs(each[method] - each["truth"]).sum()
                for (name, _), each in zip(cases, found, strict=True)
                if name == column
            ]
        )

    if options.pairs:
        for (column, pair), each in zip(cases, found, strict=True):
            points = [f"{50 * np.abs(each[name] - each['truth']).sum():.1f}" for name in methods]
            line = f"{pair.name}{', rare' * ('rare' in column)}: overlap {each['t']:.2f}"
            sys.stdout.write(f"{line}; {' '.join(points)}\n")
    sys.stdout.write(f"| total variation, points | {' | '.join(columns)} |\n")
    sys.stdout.write(f"|{'---|' * (1 + len(columns))}\n")
    for method in methods:
        cells = [f"{distances(method, column).mean():.1f}" for column in columns]
        sys.stdout.write(f"| {method} | {' | '.join(cells)} |\n")
    cells = []
    for column in columns:
        worse = distances('class_prior="auto"', column) - distances("shares of the source", column)
        cells.append(f"{worse.max():+.1f}")
    sys.stdout.write(f'| "auto" against the source, worst pair | {" | ".join(cells)} |\n')
    cells = []
    for column in columns:
        held = [
            np.mean((each["low"] <= each["truth"]) & (each["truth"] <= each["high"]))
            for (name, _), each in zip(cases, found, strict=True)
            if name == column
        ]
        cells.append(f"{100 * np.mean(held):.0f}")
    sys.stdout.write(f"| shares within their interval, % | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
