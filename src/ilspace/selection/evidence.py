"""What a criterion may look at: a fitted model and rows, but no target label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ilspace.domains import take_rows
from ilspace.selection._domains import (
    Unavailable,
    classes_of,
    fit_apart,
    host_array,
    latent,
    predictions,
    probabilities,
)
from ilspace.selection.calibration import calibrated
from ilspace.selection.density_ratio import density_ratio


@dataclass
class Evidence:
    """A fitted model, and rows to judge it on; what several criteria ask for is computed once.

    Attributes
    ----------
    estimator : estimator
        Fitted on both domains.
    source : array-like of shape (n, d)
        Source rows.
    labels : ndarray of shape (n,)
        Their labels.
    held_out : ndarray of int
        Numbers of the source rows that the model has not learned from.
    target : array-like of shape (nt, dt)
        Target rows.
    n_hints : int
        Labels a class that a fit from target to source may be given where nothing but labels
        relates the domains.
    seed : int
        For criteria that draw.
    """

    estimator: Any
    source: Any
    labels: np.ndarray
    held_out: np.ndarray
    target: Any
    n_hints: int = 0
    seed: int = 0

    @property
    def shares_columns(self) -> bool:
        """Whether the domains have as many columns, of the same names if they have names."""
        names = [list(getattr(rows, "columns", [])) for rows in (self.source, self.target)]
        alike = not all(names) or names[0] == names[1]
        return alike and self.source.shape[1] == self.target.shape[1]

    @cached_property
    def held_out_rows(self) -> Any:
        """Source rows that the model has not learned from."""
        if len(self.held_out) == 0:
            raise Unavailable(
                "This criterion needs source rows that the model has not learned from, but there "
                "are none: give each class at least two source rows, or choose by another."
            )
        return take_rows(self.source, self.held_out)

    @cached_property
    def learned(self) -> np.ndarray:
        """Numbers of the source rows that the model has learned from."""
        return np.setdiff1d(np.arange(len(self.labels)), self.held_out)

    @cached_property
    def target_probabilities(self) -> np.ndarray:
        """Predictions of the target rows, as probabilities."""
        return probabilities(self.estimator, self.target, source=False)

    @cached_property
    def target_predictions(self) -> np.ndarray:
        """Predicted labels of the target rows."""
        return predictions(self.estimator, self.target, source=False)

    @cached_property
    def target_latent(self) -> Any:
        """Target rows where the domains are compared."""
        return latent(self.estimator, self.target, source=False)

    @cached_property
    def is_correct(self) -> np.ndarray:
        """Whether each held-out source row is given its class."""
        found = predictions(self.estimator, self.held_out_rows, source=True)
        return found == self.labels[self.held_out]

    @cached_property
    def _held_out_probabilities(self) -> np.ndarray:
        return probabilities(self.estimator, self.held_out_rows, source=True)

    @cached_property
    def _is_own_class(self) -> np.ndarray:
        """Which column of the probabilities belongs to each held-out row; none if not learned."""
        return self.labels[self.held_out][:, None] == classes_of(self.estimator)[None, :]

    @cached_property
    def log_losses(self) -> np.ndarray:
        """Minus the log-probability of the class of each held-out source row."""
        own = np.where(self._is_own_class, self._held_out_probabilities, 0.0).sum(axis=1)
        return -np.log(np.clip(own, 1e-15, 1.0))

    @cached_property
    def calibrated_probabilities(self) -> np.ndarray:
        """Predictions of the target rows, as sure as those of held-out source rows are right."""
        learned = self._is_own_class.any(axis=1)
        return calibrated(
            self.target_probabilities,
            known=self._held_out_probabilities[learned],
            codes=self._is_own_class[learned].argmax(axis=1),
        )

    @cached_property
    def round_trip(self) -> np.ndarray:
        """Labels of all source rows, by a model that learned from the predicted target labels."""
        way_out = self.target_predictions
        if len(np.unique(way_out)) == 1:  # nothing to learn from: the way back has one class too
            return np.repeat(way_out[:1], len(self.labels))
        back = clone(self.estimator)
        fit_apart(back, self.target, way_out, self.source, self._hints())
        return predictions(back, self.source, source=False)

    def _hints(self) -> list | None:
        """Labels of some learned source rows, where the way back cannot do without."""
        if self.shares_columns or self.n_hints == 0:
            return None
        hints = [None] * len(self.labels)
        for each in np.unique(self.labels[self.learned]):
            of_class = self.learned[self.labels[self.learned] == each]
            for row in of_class[: self.n_hints]:
                hints[row] = each
        return hints

    def weights(self, *, raw: bool) -> np.ndarray:
        """Ratio of target density to source density at the held-out source rows.

        Parameters
        ----------
        raw : bool
            Whether to compare the columns as they are, where the domains share them, and not the
            rows in the latent space.

        Returns
        -------
        ndarray of shape (n_held_out,)
            Not negative.
        """
        if raw and self.shares_columns and len(self.learned) > 1:
            learned = host_array(take_rows(self.source, self.learned))
            return density_ratio(
                learned, host_array(self.target), at=host_array(self.held_out_rows)
            )
        if raw and self.shares_columns:
            rows, target = host_array(self.held_out_rows), host_array(self.target)
        else:
            # Learned rows are no help here: training has moved them away from all other rows.
            rows, target = self._latent_of_source(self.held_out_rows), self.target_latent
        return density_ratio(rows, target, seed=self.seed)

    def _latent_of_source(self, rows) -> Any:
        found = latent(self.estimator, rows, source=True)
        if found.shape[1] != self.target_latent.shape[1]:
            raise Unavailable(
                f"Both domains must be seen in one space, but {type(self.estimator).__name__} has "
                f"no transform and their widths are {found.shape[1]} and "
                f"{self.target_latent.shape[1]}: choose by another criterion."
            )
        return found
