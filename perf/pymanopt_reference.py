"""The default objective as one would write it for pymanopt: NumPy, closed-form gradients.

Nothing is slow on purpose: all pairs come from matrix products, as in ilspace, the principal axes
from a partial eigendecomposition. `pairs="listed"` takes the same pairs from a list instead, as the
paper writes them, and `pairs="sampled"` those of the paper: all similar ones, and as many
dissimilar ones. What ilspace adds is left out: coordinates of the span of the rows, value and
gradient in one pass, retractions without a decomposition of a tall matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pymanopt
from problem import Problem
from pymanopt.manifolds import Product, Stiefel, SymmetricPositiveDefinite
from pymanopt.optimizers import ConjugateGradient
from scipy.linalg import eigh
from scipy.sparse import csr_array

from ilspace import ObjectiveSettings
from ilspace.pairs import sample_pairs

N_COMPONENTS = 30


class Prepared(NamedTuple):
    """What the objective knows, in the columns of the data."""

    rows: list[np.ndarray]  # labelled rows of each domain, centred and scaled
    covariances: list[np.ndarray]
    codes: np.ndarray
    start: np.ndarray  # principal axes of the target, for both domains
    beta: float
    settings: ObjectiveSettings


def reference_start(problem: Problem, settings: ObjectiveSettings) -> Prepared:
    """Moments, principal axes, the data scale and the sharpness."""
    X, y, Xt, yt = problem.given
    seen = yt >= 0
    offsets = [X - X.mean(axis=0), Xt - Xt.mean(axis=0)]
    covariances = [each.T @ each / len(each) for each in offsets]
    d = X.shape[1]
    _, axes = eigh(covariances[1], subset_by_index=(d - N_COMPONENTS, d - 1))
    signs = np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(N_COMPONENTS)])
    axes = (axes * signs)[:, ::-1]
    codes = np.concatenate([y, yt[seen]])
    latent = np.concatenate([offsets[0] @ axes, offsets[1][seen] @ axes])
    norms = np.sum(latent**2, axis=1)
    distances = norms[:, None] + norms[None, :] - 2 * latent @ latent.T
    first, second = np.triu_indices(len(codes), 1)
    similar = distances[first, second][codes[first] == codes[second]]
    scale = np.sqrt(settings.margin_scale / similar.mean())
    mix = settings.shrinkage
    covariances = [
        scale**2 * ((1 - mix) * each + mix * np.trace(each) / d * np.eye(d)) for each in covariances
    ]
    rows = [scale * offsets[0], scale * offsets[1][seen]]
    return Prepared(rows, covariances, codes, axes, 1 / (scale**2 * similar.std()), settings)


def stein(a, b):
    """Stein divergence."""
    joint = np.linalg.slogdet((a + b) / 2)[1]
    return joint - (np.linalg.slogdet(a)[1] + np.linalg.slogdet(b)[1]) / 2


def stein_slopes(a, b):
    """Its gradients."""
    joint = np.linalg.inv(a + b)
    return joint - np.linalg.inv(a) / 2, joint - np.linalg.inv(b) / 2


class Reference:
    """Cost and Euclidean gradient, each computed when it is asked for."""

    def __init__(self, prepared: Prepared, *, pairs: str):
        self.prepared, self.listed = prepared, pairs != "all"
        self.anchor_weights = (prepared.settings.source_anchor, prepared.settings.target_anchor)
        codes = prepared.codes
        first, second = np.triu_indices(len(codes), 1)
        similar = codes[first] == codes[second]
        weights = np.where(similar, 0.5 / similar.sum(), 0.5 / (~similar).sum())
        signs = np.where(similar, 1.0, -1.0)
        if pairs == "sampled":
            first, second, signs = sample_pairs(codes, np.random.default_rng(0))
            weights = np.full(len(first), 1 / len(first))
        if self.listed:
            self.signs, self.weights = signs, weights
            numbers = np.arange(len(first))
            ends = (np.tile(numbers, 2), np.concatenate([first, second]))
            sides = np.repeat([1.0, -1.0], len(first))
            self.differences = csr_array((sides, ends), shape=(len(first), len(codes)))
        else:
            self.signs = np.where(codes[:, None] == codes[None, :], 1.0, -1.0)
            self.weights = np.zeros(self.signs.shape)
            self.weights[first, second] = self.weights[second, first] = weights

    def latent(self, projections):
        rows = self.prepared.rows
        return np.concatenate([x @ w for x, w in zip(rows, projections, strict=True)])

    def violations(self, latent, metric):
        if self.listed:
            offsets = self.differences @ latent
            distances = np.sum((offsets @ metric) * offsets, axis=1)
        else:
            stretched = latent @ metric
            norms = np.sum(stretched * latent, axis=1)
            distances = norms[:, None] + norms[None, :] - 2 * stretched @ latent.T
        return self.prepared.beta * self.signs * (distances - 1)

    def cost(self, *point):
        *projections, metric = point
        settings, p = self.prepared.settings, N_COMPONENTS
        violations = self.violations(self.latent(projections), metric)
        # max(v, 0) + log(1 + e^-|v|) takes half the time of np.logaddexp
        losses = np.maximum(violations, 0) + np.log1p(np.exp(-np.abs(violations)))
        total = np.sum(self.weights * losses) / self.prepared.beta / (1 if self.listed else 2)
        total += settings.metric_weight / p * stein(metric, np.eye(p))
        spreads = (w.T @ c @ w for c, w in zip(self.prepared.covariances, projections, strict=True))
        total += settings.trade_off / p * stein(*spreads)
        for weight, w in zip(self.anchor_weights, projections, strict=True):
            total += weight / p * np.sum((w - self.prepared.start) ** 2)
        return total

    def gradient(self, *point):
        *projections, metric = point
        settings, p = self.prepared.settings, N_COMPONENTS
        latent = self.latent(projections)
        violations = self.violations(latent, metric)
        forces = self.weights * self.signs / (1 + np.exp(-violations))
        if self.listed:
            offsets = self.differences @ latent
            pulled = forces[:, None] * offsets
            metric_slope = offsets.T @ pulled
            laplacian = self.differences.T @ pulled
        else:
            laplacian = forces.sum(axis=1)[:, None] * latent - forces @ latent
            metric_slope = latent.T @ laplacian
        latent_slope = 2 * laplacian @ metric
        metric_slope += settings.metric_weight / p * stein_slopes(metric, np.eye(p))[0]
        products = [c @ w for c, w in zip(self.prepared.covariances, projections, strict=True)]
        slopes = stein_slopes(*(w.T @ s for w, s in zip(projections, products, strict=True)))
        gradients, start = [], 0
        for i, (x, w) in enumerate(zip(self.prepared.rows, projections, strict=True)):
            stop = start + x.shape[0]
            gradients.append(
                x.T @ latent_slope[start:stop]
                + 2 * settings.trade_off / p * products[i] @ slopes[i]
                + 2 * self.anchor_weights[i] / p * (w - self.prepared.start)
            )
            start = stop
        return [*gradients, metric_slope]

    def run(self, n_iterations: int):
        """Minimise with pymanopt's conjugate gradient; its log has the cost of each iteration."""
        start = self.prepared.start
        manifold = Product(
            [Stiefel(*start.shape), Stiefel(*start.shape), SymmetricPositiveDefinite(N_COMPONENTS)]
        )

        @pymanopt.function.numpy(manifold)
        def cost(*point):
            return self.cost(*point)

        @pymanopt.function.numpy(manifold)
        def gradient(*point):
            return self.gradient(*point)

        problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
        optimizer = ConjugateGradient(
            max_iterations=n_iterations,
            min_gradient_norm=0,
            min_step_size=0,
            max_time=float("inf"),
            verbosity=0,
            log_verbosity=1,
        )
        return optimizer.run(problem, initial_point=[start, start, np.eye(N_COMPONENTS)])
