"""Small random problems that several test files share."""

from typing import Any, NamedTuple

import numpy as np

from ilspace.manifolds import SPD, Euclidean, Product, Stiefel
from ilspace.objective import DomainData, ILSObjective, SmoothHinge
from ilspace.pairs import AllPairs, RowPairs, SampledPairs, sample_pairs


def orthonormal(rng, n, p):
    return np.linalg.qr(rng.standard_normal((n, p)))[0]


def positive_definite(rng, p, condition=10.0):
    """A random SPD matrix whose eigenvalues are spread over a factor `condition` around 1."""
    axes = orthonormal(rng, p, p)
    values = condition ** np.linspace(-0.5, 0.5, p) if p > 1 else np.full(1, condition**0.5)
    return (axes * values) @ axes.T


class Case(NamedTuple):
    """An ILS problem in NumPy, with all that its parts were made of."""

    objective: ILSObjective
    rows: tuple[np.ndarray, ...]
    manifold: Product
    point: tuple[Any, ...]
    codes: np.ndarray
    pairs: tuple


def ils_case(
    seed=0,
    *,
    widths=(9, 7),
    sizes=(12, 10),
    labelled=4,
    p=3,
    engine="sampled",
    slack=False,
    anchor_weights=(0.0, 0.0),
    diagonal=False,
    retraction: Any = "qr",
    sharpness=1.3,
    **weights,
):
    """Random domains, labels, pairs and a random point; `labelled` rows of the target have labels.

    One width makes a problem of one domain.
    """
    rng = np.random.default_rng(seed)
    domains, labelled_rows, anchors, codes = [], [], [], []
    for i, (width, size) in enumerate(zip(widths, sizes, strict=False)):
        rows = rng.standard_normal((size, width)) * rng.uniform(0.3, 1.2, width)
        rows = rows - rows.mean(axis=0)
        covariance = rows.T @ rows / size + 0.05 * np.eye(width)
        n_labelled = size if i == 0 else labelled
        codes.append(np.arange(n_labelled) % 3)
        labelled_rows.append(rows[:n_labelled])
        anchors.append(orthonormal(rng, width, p))
        domains.append(
            DomainData(
                np.diag(covariance) if diagonal else covariance,
                anchors[-1] if anchor_weights[i] else None,
                anchor_weights[i],
            )
        )
    codes = np.concatenate(codes)
    pairs = sample_pairs(codes, rng)
    if engine == "sampled":
        summed = SampledPairs(*pairs, n_rows=len(codes), reference=labelled_rows[0])
    else:
        summed = AllPairs(codes, reference=labelled_rows[0], tile=7)
    term = RowPairs(tuple(labelled_rows), summed, SmoothHinge(sharpness))
    objective = ILSObjective(tuple(domains), term, **weights)
    point = [orthonormal(rng, width, p) for width in widths] + [positive_definite(rng, p)]
    factors: list[Any] = [Stiefel(width, p, retraction) for width in widths]
    factors.append(SPD(p))
    if slack:
        point.append(rng.normal(-1.0, 0.5, len(pairs[0])))
        factors.append(Euclidean((len(pairs[0]),)))
    return Case(objective, term.rows, Product(tuple(factors)), tuple(point), codes, pairs)
