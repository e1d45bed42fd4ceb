"""What is fitted: rows and labels of one transfer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilspace.benchmark.protocols import gong_splits, hoffman_splits
from ilspace.datasets import load_office_caltech, preprocess


class Problem(NamedTuple):
    """A name, and what `fit` is given: X, y, Xt and yt, in which -1 marks unlabelled rows."""

    name: str
    given: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def surf_problem(source: str, target: str, labels: bool) -> Problem:
    """First trial of a transfer of Office+Caltech10, with or without target labels."""
    domains = load_office_caltech("surf")
    X, Xt = (preprocess(domains[letter].X, "sqrt-zscore-l2") for letter in (source, target))
    y, yt = domains[source].y, domains[target].y
    splits = hoffman_splits(source, target) if labels else gong_splits(source, target, y, yt)
    split = splits[0]
    rows = np.concatenate([split.labelled, split.test])
    given = np.concatenate([yt[split.labelled], np.full(len(split.test), -1)])
    setting = "semi-supervised" if labels else "unsupervised"
    name = f"{source}→{target} (SURF), {setting}: {len(split.source)} and {len(rows)} rows"
    return Problem(name, (X[split.source], y[split.source], Xt[rows], given))


def surf_like_problem() -> Problem:
    """Random rows of the shape of A→C."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 20)
    centres = rng.normal(size=(10, 800))
    decay = np.linspace(1, 0.05, 800)
    X = (centres[y] + 2 * rng.normal(size=(200, 800))) * decay
    yt = np.arange(1123) % 10
    Xt = (centres[yt] + 2 * rng.normal(size=(1123, 800))) * decay[::-1]
    return Problem("random rows of the shape of A→C", (X, y, Xt, np.full(1123, -1)))
