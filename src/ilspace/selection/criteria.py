"""Criteria that score a fitted model without target labels; each is a scikit-learn scorer."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from ilspace.domains import source_mask, take_rows
from ilspace.domains.labels import natural_labels
from ilspace.selection import measures
from ilspace.selection._domains import Unavailable, as_rows, predictions
from ilspace.selection.evidence import Evidence


class Criterion(BaseEstimator):
    """Base of the criteria: a score of a fitted model, greater is better.

    Subclasses compute it in ``_judge``. As a scorer, ``criterion(estimator, X, y, sample_domain)``,
    it takes rows of both domains together, as in ``GridSearchCV(..., scoring=criterion)`` with
    scikit-learn's metadata routing on. Labels of target rows in `y` are ignored.
    """

    def get_metadata_routing(self):
        """Ask scikit-learn's searches for `sample_domain`.

        Returns
        -------
        MetadataRequest
            Metadata that the scorer requests.
        """
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_domain", alias=True)
        return request

    def judge(self, evidence: Evidence) -> float:
        """Score a fitted model.

        Parameters
        ----------
        evidence : Evidence
            The model and rows to score it on.

        Returns
        -------
        float
            Greater is better.
        """
        return float(self._judge(evidence))

    def _judge(self, evidence: Evidence) -> float | np.floating:
        raise NotImplementedError

    def __call__(self, estimator, X, y=None, sample_domain=None) -> float:
        """Score a fitted model, with the signature of a scikit-learn scorer.

        Parameters
        ----------
        estimator : estimator
            Fitted on both domains.
        X : array-like of shape (n, d)
            Rows of both domains that it has not learned from.
        y : array-like of shape (n,)
            Labels of the source rows; those of target rows are ignored.
        sample_domain : array-like of shape (n,)
            Positive for source rows, negative for target rows.

        Returns
        -------
        float
            Greater is better.
        """
        return self.judge(_fold(estimator, X, y, sample_domain))


def _fold(estimator, X, y, sample_domain) -> Evidence:
    """Evidence of rows that a model has not learned from."""
    if sample_domain is None:
        raise ValueError(
            "sample_domain must say which rows are target rows, but is None: call "
            "sklearn.set_config(enable_metadata_routing=True) and give it to fit of the search."
        )
    X = as_rows(X)
    is_source = source_mask(sample_domain, X)
    source, target = np.flatnonzero(is_source), np.flatnonzero(~is_source)
    if len(target) == 0:
        raise ValueError("There must be target rows, but sample_domain has no negative entry.")
    labels = np.empty(0)
    if len(source):
        if y is None:
            raise ValueError("The source rows must have labels, but y is None.")
        # labels of target rows are never read
        labels = np.asarray(natural_labels(take_rows(y, source)))
    rows, others = take_rows(X, source), take_rows(X, target)
    return Evidence(estimator, rows, labels, np.arange(len(source)), others)


class PredictionEntropy(Criterion):
    """Confidence of the predictions on target rows: minus their mean entropy.

    See Also
    --------
    ilspace.selection.measures.confidence : The formula.
    """

    def _judge(self, evidence):
        return measures.confidence(evidence.target_probabilities)


class InformationMaximization(Criterion):
    """Confidence of the predictions on target rows, balanced over the classes.

    See Also
    --------
    ilspace.selection.measures.information : The formula.
    """

    def _judge(self, evidence):
        return measures.information(evidence.target_probabilities)


class CalibratedInformation(Criterion):
    """Confidence of calibrated predictions on target rows, balanced over the classes.

    The predictions of each model are first calibrated on held-out source rows. Without, parameters
    that only make a model more confident, such as those that spread the latent space, win.

    See Also
    --------
    ilspace.selection.calibration.calibrated : The calibration.
    ilspace.selection.measures.information : The formula.
    """

    def _judge(self, evidence):
        return measures.information(evidence.calibrated_probabilities)


class SoftNeighbourhoodDensity(Criterion):
    """Soft neighbourhood density: how tightly the predictions on target rows cluster.

    Parameters
    ----------
    temperature : float, default=0.05
        How close two predictions must be to be neighbours.

    See Also
    --------
    ilspace.selection.measures.neighbourhood_density : The formula.
    """

    def __init__(self, *, temperature=0.05):
        self.temperature = temperature

    def _judge(self, evidence):
        return measures.neighbourhood_density(
            evidence.target_probabilities, temperature=self.temperature
        )


class SourceAccuracy(Criterion):
    """Accuracy on held-out source rows; ignores the target."""

    def _judge(self, evidence):
        return evidence.is_correct.mean()


class ImportanceWeighting(Criterion):
    """Accuracy on held-out source rows, weighted towards those that look like target rows.

    The densities are compared in the columns of the data; in the latent space where the domains
    have different columns.

    See Also
    --------
    ilspace.selection.measures.weighted_accuracy : The formula.
    """

    def _judge(self, evidence):
        return measures.weighted_accuracy(evidence.is_correct, evidence.weights(raw=True))


class DeepEmbeddedValidation(Criterion):
    """Weighted risk on held-out source rows, in the latent space and with a control variate.

    Parameters
    ----------
    loss : {"zero-one", "log"}, default="zero-one"
        Loss of a row. ``"log"``, the logarithm of the probability of its class, needs calibrated
        probabilities, which those of nearest neighbours are not.

    See Also
    --------
    ilspace.selection.measures.controlled_risk : The formula.
    """

    def __init__(self, *, loss="zero-one"):
        self.loss = loss

    def _judge(self, evidence):
        if self.loss not in ("zero-one", "log"):
            raise ValueError(f'loss must be "zero-one" or "log", but is {self.loss!r}.')
        losses = evidence.log_losses if self.loss == "log" else 1.0 - evidence.is_correct
        return measures.controlled_risk(losses, evidence.weights(raw=False))


class CircularValidation(Criterion):
    """Accuracy on source rows of a model trained on the predicted target labels.

    Circular validation :cite:p:`bruzzone2010,zhong2010`: the model predicts the target labels; a
    second one, with the same parameters, is trained on them and adapted back to the source, taken
    as unlabelled. Wrong target labels rarely recover the true source labels. Costs a second fit.

    Parameters
    ----------
    rows : {"held-out", "all"}, default="held-out"
        Source rows to score on: those held out from the first model, or all of them, which is
        less noisy, but favours models that memorise labels.
    """

    def __init__(self, *, rows="held-out"):
        self.rows = rows

    def _judge(self, evidence):
        if self.rows not in ("held-out", "all"):
            raise ValueError(f'rows must be "held-out" or "all", but is {self.rows!r}.')
        counted = np.arange(len(evidence.labels)) if self.rows == "all" else evidence.held_out
        if len(counted) == 0:
            raise Unavailable("Circular validation needs source rows, but there are none.")
        return np.mean(evidence.round_trip[counted] == evidence.labels[counted])


class MixupConsistency(Criterion):
    """Fraction of mixtures of two target rows predicted as the class of the larger share.

    Interpolation consistency :cite:p:`hu2023`, averaged over pairs predicted as one class and
    pairs predicted as two.

    Parameters
    ----------
    share : float, default=0.55
        Mixing weight of the first row, at least 0.5.
    """

    def __init__(self, *, share=0.55):
        self.share = share

    def _judge(self, evidence):
        rows, labels = evidence.target, evidence.target_predictions
        order = np.random.default_rng(evidence.seed).permutation(len(labels))
        other = take_rows(rows, order)
        if hasattr(other, "set_axis"):  # pandas would align the rows by index
            other = other.set_axis(rows.index, axis=0)
        mixed = self.share * rows + (1 - self.share) * other
        kept = predictions(evidence.estimator, mixed, source=False) == labels
        same = labels == labels[order]
        return np.mean([kept[part].mean() for part in (same, ~same) if part.any()])


CRITERIA = {
    "calibrated": CalibratedInformation,
    "circular": CircularValidation,
    "snd": SoftNeighbourhoodDensity,
    "entropy": PredictionEntropy,
    "infomax": InformationMaximization,
    "iwcv": ImportanceWeighting,
    "dev": DeepEmbeddedValidation,
    "mixval": MixupConsistency,
    "source": SourceAccuracy,
}
"""Criteria by name."""
