"""Criteria that judge a fitted model without target labels; each is a scikit-learn scorer too."""

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
    """Base of the criteria: a number for a fitted model, greater is better.

    A criterion says in ``_judge`` what it makes of the evidence. Called as a scorer,
    ``criterion(estimator, X, y, sample_domain)``, it takes rows of both domains at once, as
    ``GridSearchCV(..., scoring=criterion)`` hands them over where scikit-learn's metadata routing
    is on. Labels of target rows in `y` are not looked at.
    """

    def get_metadata_routing(self):
        """Ask scikit-learn's searches for `sample_domain`.

        Returns
        -------
        MetadataRequest
            What a scorer wants to be told.
        """
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_domain", alias=True)
        return request

    def judge(self, evidence: Evidence) -> float:
        """Judge a fitted model.

        Parameters
        ----------
        evidence : Evidence
            The model and rows to judge it on.

        Returns
        -------
        float
            Greater is better.
        """
        return float(self._judge(evidence))

    def _judge(self, evidence: Evidence) -> float | np.floating:
        raise NotImplementedError

    def __call__(self, estimator, X, y=None, sample_domain=None) -> float:
        """Judge a fitted model, as a scorer.

        Parameters
        ----------
        estimator : estimator
            Fitted on both domains.
        X : array-like of shape (n, d)
            Rows of both domains that it has not learned from.
        y : array-like of shape (n,)
            Labels of the source rows; what it holds for target rows is not looked at.
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
        # the others are left where they are: whatever they hold is not looked at
        labels = np.asarray(natural_labels(take_rows(y, source)))
    return Evidence(
        estimator,
        take_rows(X, source),
        labels,
        np.arange(len(source)),
        take_rows(X, target),
    )


class PredictionEntropy(Criterion):
    """How sure the predictions of the target rows are: minus their mean entropy.

    See Also
    --------
    ilspace.selection.measures.confidence : The formula.
    """

    def _judge(self, evidence):
        return measures.confidence(evidence.target_probabilities)


class InformationMaximization(Criterion):
    """How sure the predictions of the target rows are while all classes are used.

    See Also
    --------
    ilspace.selection.measures.information : The formula.
    """

    def _judge(self, evidence):
        return measures.information(evidence.target_probabilities)


class CalibratedInformation(Criterion):
    """How sure the predictions of the target rows are while all classes are used, made comparable.

    The predictions of each model are first made as sure as they are right on held-out source rows.
    Without, parameters that only make a model surer of itself, such as those that spread the
    latent space, win.

    See Also
    --------
    ilspace.selection.calibration.calibrated : How they are made so.
    ilspace.selection.measures.information : The formula.
    """

    def _judge(self, evidence):
        return measures.information(evidence.calibrated_probabilities)


class SoftNeighbourhoodDensity(Criterion):
    """How tight the groups are that the predictions of the target rows form.

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
    """Accuracy on held-out source rows; blind to the target."""

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
    """Accuracy on source rows of a model that learned from the predicted target labels.

    The way there and back :cite:p:`bruzzone2010,zhong2010`: the model labels the target rows; a
    second one, with the same parameters, learns from these labels and adapts to the source rows,
    which are unlabelled now. If the labels are wrong, they hardly lead back to the true ones of
    the source. Costs a second fit.

    Parameters
    ----------
    rows : {"held-out", "all"}, default="held-out"
        Which source rows count: those whose labels the first model has not seen, or all of them,
        which is less noisy, but kinder to models that learn labels by heart.
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
    """How often a mixture of two target rows gets the class of the larger part.

    Interpolation consistency :cite:p:`hu2023`: the mean of its value over pairs that were given
    one class and over pairs that were given two.

    Parameters
    ----------
    share : float, default=0.55
        Share of the larger part, at least a half.
    """

    def __init__(self, *, share=0.55):
        self.share = share

    def _judge(self, evidence):
        rows, labels = evidence.target, evidence.target_predictions
        order = np.random.default_rng(evidence.seed).permutation(len(labels))
        other = take_rows(rows, order)
        if hasattr(other, "set_axis"):  # pandas would put each row back to its name
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
"""The criteria by the names under which a search knows them."""
