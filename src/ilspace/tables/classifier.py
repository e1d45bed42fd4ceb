"""An estimator of tables: mixed columns, gaps and names in, labels and their trust out."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context, clone
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.adapters import ILSClassifier
from ilspace.adapters.ils_state import training_record
from ilspace.adapters.persistence import Persistent, loadable
from ilspace.adapters.selection.calibration import fitting_exponent, raised
from ilspace.selection import LabelFreeSearch, default_grid
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import SCALINGS, default_scaling, fit_encoder
from ilspace.tables.errors import TableError
from ilspace.tables.monitor import Monitor
from ilspace.tables.second_opinion import nearest_mean
from ilspace.tables.state import restore_table, table_state
from ilspace.tables.trust import Trust, learn_trust
from ilspace.tables.values import as_table

_FEWEST_KNOWN = 0.5
"""Share of its columns that a row must have, for its label to be trusted."""


class Step(NamedTuple):
    """What is known during a fit.

    Attributes
    ----------
    stage : {"held-out", "all"}
        Whether a part of the source is held out.
    iteration : int
        Of the optimizer, from 0.
    objective : float
        What is minimised.
    accuracy : float or None
        On held-out rows of the source, so far.
    """

    stage: str
    iteration: int
    objective: float
    accuracy: float | None


@loadable
class TableClassifier(ClassifierMixin, Persistent):
    """Label the rows of a table, given a labelled table of another domain.

    Finds out what the columns are, fills gaps, scales each domain by itself, fits an estimator,
    and learns from held-out rows of the source how sure its predictions may be, and which of them
    to trust.

    Parameters
    ----------
    estimator : estimator, default=None
        An :class:`~ilspace.ILSClassifier`, the default, or a
        :class:`~ilspace.selection.LabelFreeSearch` over its parameters.
    scaling : {"auto", "zscore", "zscore-l2", "sqrt-zscore-l2", "l2-zscore-l2", "l2", "none"}, \
            default="auto"
        How columns and rows are scaled; :func:`ilspace.datasets.preprocess` explains the steps.
        By default z-scores, and rows of length 1 where there are 50 columns or more.
    matching : {"auto", "by-name", "none"}, default="auto"
        Whether columns of the same name mean the same. By default they do, unless the tables have
        none in common, or number their columns up to different ends.
    ids, ignored : sequence of str, default=()
        Columns that name rows, and columns to leave out.
    holdout : float, default=0.2
        Share of the source that is held out to learn what to trust, before the final fit takes
        all rows. Without, or with too few rows, nothing is trusted and no probability calibrated.
    trust : float, default=0.9
        Share of right predictions to reach among the held-out rows that are trusted.
    random_state : int, default=0
        Draws the held-out rows.
    callback : callable, default=None
        Called with a :class:`Step` at each iteration; a true answer stops that fit.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows.
    search_ : LabelFreeSearch or None
        The search that chose its parameters, if there was one; not saved.
    plan_ : ColumnPlan
        What was done with the columns.
    source_encoder_, target_encoder_ : TableEncoder
        From rows of each domain to numbers.
    trust_ : Trust
        Bounds of what is trusted.
    exponent_ : float
        Power of the estimator's probabilities that made them as sure as they were right on the
        held-out rows; 1 without such rows.
    unadapted_ : NearestMean
        What has to agree with a prediction for it to be trusted: the nearest class mean of the
        source, without adaptation; of the labelled target rows, if the tables share no columns.
    holdout_score_ : float or None
        Accuracy on the held-out rows; None if there are too few rows of a class to hold one out.
    holdout_rows_, holdout_estimator_ : ndarray of int, estimator
        The rows held out, and the estimator that was fitted without them; or None. Not saved.
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import pandas as pd
    >>> from ilspace.tables import TableClassifier
    >>> source = pd.DataFrame({"size": [1.0, 1.2, 0.9, 4.0, 4.1, 3.8], "colour": list("rrgbbb")})
    >>> target = pd.DataFrame({"colour": list("rgbb"), "size": [2.1, 2.0, 8.0, None]})
    >>> clf = TableClassifier().fit(source, ["s", "s", "s", "l", "l", "l"], target)
    >>> clf.predict(target).tolist()
    ['s', 's', 'l', 'l']
    """

    _parameter_constraints = {
        "estimator": [ILSClassifier, LabelFreeSearch, None],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "matching": [StrOptions({"auto", "by-name", "none"})],
        "ids": ["array-like"],
        "ignored": ["array-like"],
        "holdout": [Interval(Real, 0, 1, closed="left")],
        "trust": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        scaling="auto",
        matching="auto",
        ids=(),
        ignored=(),
        holdout=0.2,
        trust=0.9,
        random_state=0,
        callback=None,
    ):
        self.estimator = estimator
        self.scaling = scaling
        self.matching = matching
        self.ids = ids
        self.ignored = ignored
        self.holdout = holdout
        self.trust = trust
        self.random_state = random_state
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, Xt, yt=None):
        """Learn from a labelled table and one with few labels or none.

        Parameters
        ----------
        X : DataFrame
            Rows of the source.
        y : array-like of shape (n,)
            Their labels.
        Xt : DataFrame
            Rows of the target.
        yt : array-like of shape (nt,), optional
            Labels of the target rows, None where there is none.

        Returns
        -------
        self
            Fitted.
        """
        self.__dict__.pop("classes_", None)  # should this fit fail, the last one is gone too
        self.plan_ = plan_columns(X, Xt, ids=self.ids, ignored=self.ignored, matching=self.matching)
        if not self.plan_.are_shared and (yt is None or all(each is None for each in yt)):
            raise TableError(
                "Tables whose columns are not matched by name are related by labels alone, but no "
                "target row has one: label a few target rows of each class, or give both tables "
                "the same columns."
            )
        sides = ((X, self.plan_.source), (Xt, self.plan_.target))
        scaling = default_scaling(sides) if self.scaling == "auto" else self.scaling
        (self.source_encoder_, rows), (self.target_encoder_, target_rows) = (
            fit_encoder(table, columns, scaling=scaling) for table, columns in sides
        )
        y = np.asarray(y)
        chosen, self.search_ = self.estimator or ILSClassifier(), None
        if isinstance(chosen, LabelFreeSearch):
            self.search_ = _within_ranks(chosen, rows, target_rows).fit(rows, y, target_rows, yt)
            chosen = self.search_.best_estimator_
        self._hold_out(chosen, rows, y, target_rows, yt)
        self._learn_means(rows, y, target_rows, yt)
        told = self._told("all", self.holdout_score_)
        self.estimator_ = clone(chosen).set_params(callback=told).fit(rows, y, target_rows, yt)
        self.estimator_.set_params(callback=None)
        self.classes_ = self.estimator_.classes_
        return self

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "classes_")

    # -- what can be trusted ---------------------------------------------------------------------

    def _hold_out(self, chosen, rows: np.ndarray, y: np.ndarray, target_rows, yt) -> None:
        """Fit without a part of the source, and learn from that part what to trust."""
        self.trust_, self.exponent_, self.holdout_score_ = Trust(np.inf, np.inf), 1.0, None
        self.holdout_rows_ = self.holdout_estimator_ = None
        _, codes = np.unique(y, return_inverse=True)
        # a class of one row has none to spare
        spare = np.flatnonzero(np.bincount(codes)[codes] > 1)
        n_classes, n_held = len(np.unique(codes[spare])), int(round(self.holdout * len(spare)))
        if n_classes < 2 or not n_classes <= n_held <= len(spare) - n_classes:
            return
        _, held = train_test_split(
            spare, test_size=n_held, stratify=codes[spare], random_state=self.random_state
        )
        kept = np.setdiff1d(np.arange(len(y)), held)
        monitor = Monitor(rows[kept], codes[kept], rows[held], codes[held])
        told = self._told("held-out", monitor)
        fitted = clone(chosen).set_params(callback=told)
        fitted.fit(rows[kept], y[kept], target_rows, yt)
        label, probabilities, distance = fitted.nearest(rows[held], "source")
        is_right = label == y[held]
        self.holdout_score_ = float(np.mean(is_right))
        self.exponent_ = fitting_exponent(probabilities, codes[held])
        probability = raised(probabilities, self.exponent_).max(axis=1)
        self.trust_ = learn_trust(probability, distance, is_right=is_right, accuracy=self.trust)
        self.holdout_rows_, self.holdout_estimator_ = held, fitted

    def _learn_means(self, rows: np.ndarray, y: np.ndarray, target_rows: np.ndarray, yt) -> None:
        """Learn what would be said without adaptation."""
        classes, codes = np.unique(y, return_inverse=True)
        if not self.plan_.are_shared:
            labelled = [i for i, each in enumerate(yt) if each is not None]
            rows, codes = target_rows[labelled], np.searchsorted(classes, np.asarray(yt)[labelled])
        self.unadapted_ = nearest_mean(rows, codes)

    def _told(self, stage: str, accuracy: Monitor | float | None) -> Callable[..., object] | None:
        """Make the callback of a fit, which knows the accuracy or how to compute it."""
        tell = self.callback
        if tell is None:
            return None

        def step(iteration: int, now) -> object:
            found = accuracy(now.point) if isinstance(accuracy, Monitor) else accuracy
            return tell(Step(stage, iteration, float(now.progress.value), found))

        return step

    # -- after fit -------------------------------------------------------------------------------

    def encode(self, X, domain="target"):
        """Numbers that the estimator takes for these rows.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            Gaps filled, categories spelled out, scaled.
        """
        check_is_fitted(self)
        encoder = self.target_encoder_ if domain == "target" else self.source_encoder_
        return encoder.encode(X)

    def label_rows(self, X, domain="target"):
        """Labels of rows, and how far to trust them.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        DataFrame
            Columns ``label``, ``probability``, ``distance`` to the nearest labelled row in the
            latent space, and ``trusted``; for target rows also ``unadapted``, the label that the
            nearest class mean would give without adaptation. A prediction is trusted if it is as
            sure and as near as trust asks for, half of the row's columns have values, and the
            nearest class mean agrees, with each table scaled by itself and without.
        """
        import pandas as pd

        rows = self.encode(X, domain)
        label, probabilities, distance = self.estimator_.nearest(rows, domain)
        probability = raised(probabilities, self.exponent_).max(axis=1)
        encoder = self.target_encoder_ if domain == "target" else self.source_encoder_
        names = [each.name for each in encoder.columns]
        known = as_table(X)[names].notna().mean(axis=1)
        trusted = self.trust_(probability, distance) & (known.to_numpy() >= _FEWEST_KNOWN)
        told = {"label": label, "probability": probability, "distance": distance}
        if domain == "source":  # nothing was adapted
            return pd.DataFrame(told | {"trusted": trusted})
        # the nearest mean once for rows scaled by their own table and once as if there were one:
        # other class frequencies mislead the first, other units the second
        alone = unadapted = self.classes_[self.unadapted_(rows)]
        if self.plan_.are_shared:
            unadapted = self.classes_[self.unadapted_(self.source_encoder_.encode(X))]
        agrees = (alone == label) & (unadapted == label)
        return pd.DataFrame(told | {"trusted": trusted & agrees, "unadapted": unadapted})

    def predict(self, X, domain="target"):
        """Class of each row.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        rows = self.encode(X, domain)
        return self.estimator_.predict(rows, domain)

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1; as sure as they were right on held-out rows of the source, if there
            are some. Rows of the target may be right less often.
        """
        rows = self.encode(X, domain)
        return raised(self.estimator_.predict_proba(rows, domain), self.exponent_)

    def transform(self, X, domain="target"):
        """Rows in the latent space.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        ndarray of shape (n, n_components)
            Where Euclidean distance is the learned one.
        """
        rows = self.encode(X, domain)
        return self.estimator_.transform(rows, domain)

    # -- on disk ---------------------------------------------------------------------------------

    def _get_parameters(self):
        # of a search the result is kept
        return super()._get_parameters() | {"estimator": clone(self.estimator_)}

    def _get_state(self):
        return table_state(self)

    def _set_state(self, state):
        restore_table(self, state)

    def _training(self):
        return training_record(self.estimator_)


def _within_ranks(search: LabelFreeSearch, *domains: np.ndarray) -> LabelFreeSearch:
    """A search that tries no more dimensions than the rows of each domain have.

    They may have fewer than columns: the categories of a column add up to one.
    """
    if search.param_grid is not None:
        return clone(search)
    ranks = [int(np.linalg.matrix_rank(rows - rows.mean(axis=0))) for rows in domains]
    shapes = [
        (int(len(rows) * (1 - search.held_out)), rank)
        for rows, rank in zip(domains, ranks, strict=True)
    ]
    return clone(search).set_params(param_grid=default_grid(search.estimator, shapes=shapes))
