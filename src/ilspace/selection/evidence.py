"""Input of the criteria: a fitted model and rows, but no target label."""

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
    fit_domains,
    host_array,
    latent,
    predictions,
    probabilities,
)
from ilspace.selection.calibration import calibrated
from ilspace.selection.density_ratio import density_ratio


@dataclass
class Evidence:
    """A fitted model, and rows to score it on; shared quantities are computed once.

    Attributes
    ----------
    estimator : estimator
        Fitted on both domains.
    source : array-like of shape (n, d)
        Source rows.
    labels : ndarray of shape (n,)
        Their labels.
    held_out : ndarray of int
        Indices of the source rows held out from training.
    target : array-like of shape (nt, dt)
        Target rows.
    n_hints : int
        Source labels per class given to the reverse fit, from target to source, where the domains
        have different columns.
    seed : int
        Seed of random criteria.
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
        """Source rows held out from training."""
        if len(self.held_out) == 0:
            raise Unavailable(
                "This criterion needs source rows held out from training, but there are none: "
                "give each class at least two source rows, or choose by another."
            )
        return take_rows(self.source, self.held_out)

    @cached_property
    def learned(self) -> np.ndarray:
        """Indices of the source rows of the training set."""
        return np.setdiff1d(np.arange(len(self.labels)), self.held_out)

    @cached_property
    def target_probabilities(self) -> np.ndarray:
        """Predicted probabilities of the target rows."""
        return probabilities(self.estimator, self.target, source=False)

    @cached_property
    def target_predictions(self) -> np.ndarray:
        """Predicted labels of the target rows."""
        return predictions(self.estimator, self.target, source=False)

    @cached_property
    def target_latent(self) -> Any:
        """Target rows in the latent space."""
        return latent(self.estimator, self.target, source=False)

    @cached_property
    def is_correct(self) -> np.ndarray:
        """Whether each held-out source row is classified correctly."""
        found = predictions(self.estimator, self.held_out_rows, source=True)
        return found == self.labels[self.held_out]

    @cached_property
    def _held_out_probabilities(self) -> np.ndarray:
        return probabilities(self.estimator, self.held_out_rows, source=True)

    @cached_property
    def _is_own_class(self) -> np.ndarray:
        """Indicator of the class of each held-out row; all False for a class unseen in training."""
        return self.labels[self.held_out][:, None] == classes_of(self.estimator)[None, :]

    @cached_property
    def log_losses(self) -> np.ndarray:
        """Minus the log-probability of the class of each held-out source row."""
        own = np.where(self._is_own_class, self._held_out_probabilities, 0.0).sum(axis=1)
        return -np.log(np.clip(own, 1e-15, 1.0))

    @cached_property
    def calibrated_probabilities(self) -> np.ndarray:
        """Probabilities of the target rows, calibrated on held-out source rows."""
        learned = self._is_own_class.any(axis=1)
        return calibrated(
            self.target_probabilities,
            known=self._held_out_probabilities[learned],
            codes=self._is_own_class[learned].argmax(axis=1),
        )

    @cached_property
    def round_trip(self) -> np.ndarray:
        """Labels of all source rows, by the reverse model trained on target predictions."""
        way_out = self.target_predictions
        if len(np.unique(way_out)) == 1:  # one class: the reverse model would predict it too
            return np.repeat(way_out[:1], len(self.labels))
        back = clone(self.estimator)
        fit_domains(back, self.target, way_out, self.source, self._hints())
        return predictions(back, self.source, source=False)

    def _hints(self) -> list | None:
        """Some source labels for the reverse fit, where it needs them."""
        if self.shares_columns or self.n_hints == 0:
            return None
        hints = [None] * len(self.labels)
        labels = self.labels[self.learned]
        for each in np.unique(labels):
            for row in self.learned[labels == each][: self.n_hints]:
                hints[row] = each
        return hints

    def weights(self, *, raw: bool) -> np.ndarray:
        """Ratio of target density to source density at the held-out source rows.

        Parameters
        ----------
        raw : bool
            Whether to compare the original columns, where the domains share them, instead of the
            latent space.

        Returns
        -------
        ndarray of shape (n_held_out,)
            Not negative.
        """
        if raw and self.shares_columns:
            rows, target = host_array(self.held_out_rows), host_array(self.target)
            if len(self.learned) > 1:
                learned = host_array(take_rows(self.source, self.learned))
                return density_ratio(learned, target, at=rows)
        else:
            # Not the training rows: the fit has moved them away from all others.
            rows, target = self._held_out_latent(), self.target_latent
        return density_ratio(rows, target, seed=self.seed)

    def _held_out_latent(self) -> Any:
        found = latent(self.estimator, self.held_out_rows, source=True)
        if found.shape[1] != self.target_latent.shape[1]:
            raise Unavailable(
                f"Both domains must be in one space, but {type(self.estimator).__name__} has "
                f"no transform and their widths are {found.shape[1]} and "
                f"{self.target_latent.shape[1]}: choose by another criterion."
            )
        return found
