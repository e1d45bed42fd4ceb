"""Learning from data that comes in pieces: what is kept between them, and what a piece changes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from ilspace._typing import Array, Manifold, Point
from ilspace.adapters._latent import LatentAdapter
from ilspace.adapters.domain_rows import DomainRows
from ilspace.adapters.learning import learn, threads_for
from ilspace.adapters.memory import RowMemory, labelled_domains
from ilspace.adapters.pieces import first_piece, next_piece
from ilspace.adapters.progress import report_end
from ilspace.backend import as_generator, is_foreign
from ilspace.manifolds import Stiefel
from ilspace.optimizers import STOCHASTIC_SOLVERS
from ilspace.scale.dask_rows import refuse_dask
from ilspace.scale.running import Moments, moments

MEMORY = 5000
"""Labelled rows of each domain that are remembered, as many of each class and two at least."""


@dataclass(frozen=True)
class Seen:
    """What is kept of one domain.

    Attributes
    ----------
    moments : Moments
        Of all rows that have come, labelled or not.
    memory : RowMemory
        Some of the labelled ones.
    """

    moments: Moments
    memory: RowMemory

    @property
    def shape(self) -> tuple[int, int]:
        """That of the covariance: rows without a label are in it, and nowhere else."""
        return self.moments.covariance.shape

    @property
    def n_labelled(self) -> int:
        """How many labelled rows are remembered."""
        return len(self.memory.codes)

    def joined(self, other: Seen) -> Seen:
        """The same with another piece.

        Parameters
        ----------
        other : Seen
            The piece.

        Returns
        -------
        Seen
            Of both.
        """
        return Seen(self.moments.merged(other.moments), self.memory.joined(other.memory))

    def trimmed(self, n_classes: int) -> Seen:
        """The same with no more labelled rows than are remembered.

        Parameters
        ----------
        n_classes : int
            How many classes share the memory.

        Returns
        -------
        Seen
            With all moments.
        """
        return Seen(self.moments, self.memory.trimmed(max(2, MEMORY // n_classes)))


@dataclass(frozen=True)
class Increments:
    """What one call of `partial_fit` leaves to the next.

    Attributes
    ----------
    seen : tuple of Seen
        One a domain.
    bases : tuple of array of shape (d, p)
        Where the projections began.
    point : Point
        Where they have come, and the metric.
    rng : Generator
        Source of randomness.
    """

    seen: tuple[Seen, ...]
    bases: tuple[Array, ...]
    point: Point
    rng: np.random.Generator

    def carried(self, manifold: Manifold, bases: tuple[Array, ...]) -> Point:
        r"""Carry the point along when the start that it is anchored to moves.

        As rows come the principal axes move and turn. With R the rotation that brings the old
        basis of the target closest to the new one, a projection W becomes
        :math:`WR + (W_0' - W_0R)`, brought back to the manifold, and the metric
        :math:`R^\top MR`: both turn with the basis, and W stays as far from it as before.

        Parameters
        ----------
        manifold : Manifold
            Where the points live.
        bases : tuple of array of shape (d, p)
            Where the projections begin now.

        Returns
        -------
        tuple of array
            A point near the new bases.
        """
        n, p = len(bases), bases[-1].shape[1]
        turn = Stiefel(p, p).project(self.bases[-1].mT @ bases[-1])
        projections = (
            each @ turn + (new - old @ turn)
            for each, old, new in zip(self.point[:n], self.bases, bases, strict=True)
        )
        return manifold.project((*projections, turn.mT @ self.point[n] @ turn))


def seen_in(domain: DomainRows, rng: np.random.Generator) -> Seen:
    """Take a piece of one domain in.

    Parameters
    ----------
    domain : DomainRows
        The piece.
    rng : Generator
        Source of randomness.

    Returns
    -------
    Seen
        To be joined with what was seen before.
    """
    rows = domain.X
    if not is_foreign(rows):  # as everywhere: sums of NumPy's rows are in double precision
        rows = rows.astype(np.float64)
    return Seen(moments(rows, domain.weights), RowMemory.of(domain, rng))


@contextmanager
def _all_or_nothing(model: Incremental) -> Iterator[None]:
    """Take back all that was learned where not all could be, be it by Ctrl-C."""
    before = model.__dict__.copy()
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise


class Incremental(LatentAdapter):
    """Base of the estimators that learn an invariant latent space from pieces of data.

    They have a method ``_store``, which keeps what was learned.
    """

    __metadata_request__partial_fit = {"Xt": True, "yt": True, "classes": True}

    _increments: Increments

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X=None, y=None, Xt=None, yt=None, *, classes=None, sample_weight=None):
        """Learn the latent space from one piece of the data after another.

        The first piece decides the columns, the classes and the dimension of the latent space; it
        should have as many rows as that is wide, or more. Later pieces may bring rows of either
        domain or of both. Means and covariances become exactly those of all rows that have come.
        Pairs are those of the piece and of the rows remembered from earlier ones: a fair sample
        of at most 5,000 labelled rows of each domain, as many of each class and no fewer than two,
        which also are the neighbours that a classifier looks at. A call takes steps of the
        stochastic `solver` (``"adam"`` where a batch solver is chosen) until `tol` or `max_iter`
        is reached; it works in all columns, whatever `reduce` says. The axes of the latent space
        turn as rows come. A piece that is refused, or interrupted, leaves the model as it was.

        A model that was fitted at once, or loaded from a file, has no rows to go on from: the next
        piece is then the first one of a new model, with a warning.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), optional
            Source rows.
        y : array-like of shape (n,), optional
            Their labels.
        Xt : array-like or sparse matrix of shape (nt, n_target_features), optional
            Target rows. Where the first call has none, a metric is learned on one domain.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 mark those without.
        classes : array-like of shape (n_classes,), optional
            All classes that will come in any call. The first call needs them unless `y` has them
            all; later ones do not.
        sample_weight : array-like of shape (n,), (nt,) or (n + nt,), optional
            Weights of the rows of X, or of X and then Xt.

        Returns
        -------
        self
            Fitted.
        """
        refuse_dask(
            "partial_fit",
            remedy="pass one block after another ({name}.partitions[0].compute() and so on), or "
            "all of it to fit, which takes Dask collections",
            X=X,
            Xt=Xt,
        )
        solver = self.solver if self.solver in STOCHASTIC_SOLVERS else "adam"
        self._check_combination(solver)
        with _all_or_nothing(self):
            self._learn_piece((X, y, Xt, yt, classes, sample_weight), solver)
        return self

    def _learn_piece(self, given: tuple[Any, ...], solver: str) -> None:
        before = getattr(self, "_increments", None)
        if before is None:
            rng, n_components, begin = as_generator(self.random_state), self.n_components, None
            self.classes_, pieces = first_piece(self, *given)
            if hasattr(self, "solution_"):
                warnings.warn(
                    "partial_fit begins anew with this piece: the model was fitted at once or "
                    "loaded from a file, which leaves no rows to go on from. Make a new estimator "
                    "if that is meant.",
                    UserWarning,
                    stacklevel=4,  # the caller of partial_fit, which is wrapped
                )
            seen = tuple(seen_in(piece, rng) for piece in pieces)
        else:
            rng, n_components, begin = before.rng, self.n_components_, before.carried
            known = tuple(each.memory.X for each in before.seen)
            pieces = next_piece(self, *given, references=known)
            seen = tuple(
                old if piece is None else old.joined(seen_in(piece, rng))
                for old, piece in zip(before.seen, pieces, strict=True)
            )
        domains = labelled_domains(tuple(each.memory for each in seen))
        with threads_for(seen):
            assembly, solution = learn(
                self,
                domains,
                solver=solver,
                rng=rng,
                n_components=n_components,
                moments=tuple(each.moments for each in seen),
                begin=begin,
            )
            report_end(solution, self.verbose, type(self).__name__)
            seen = tuple(each.trimmed(len(self.classes_)) for each in seen)
            lifted = assembly.lifted(solution)
            self._store(assembly, lifted, labelled_domains(tuple(each.memory for each in seen)))
        self._n_rows = tuple(each.moments.n_rows for each in seen)
        self._increments = Increments(seen, assembly.start[: len(seen)], solution.point, rng)
        self.solution_ = lifted
