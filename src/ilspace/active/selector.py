"""Ask for labels of target rows, and learn from the answers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.active._checks import check_answers, check_cost, check_rows
from ilspace.active.accuracy import Asked, estimate_accuracy, right_chances
from ilspace.active.facility_location import covered_doubt
from ilspace.active.pool import Pool, Seen, ask_probabilities, look
from ilspace.active.strategies import STRATEGIES
from ilspace.backend import as_generator, on_host, refuse_dask
from ilspace.domains.labels import (
    encode_source,
    label_values,
    missing_labels,
    natural_labels,
    unlabelled_rows,
)

NONE_OF_THESE = "(none of these)"
"""Label of a row that is of no class of the source, whatever it is."""

MAX_POOL = 20_000
"""Rows without a label that are looked at for a query; of more, a sample of so many."""


_GAIN = 1.5
"""Gain of accuracy per expected error that gets a label nearby; others profit too. From the draws
on which the constants of :func:`~ilspace.active.estimate_accuracy` were chosen."""


class _Prediction(NamedTuple):
    """What was said of a row before its label was known."""

    label: Any
    confidence: float
    n_learned: int
    is_random: bool


class QuerySelector(MetaEstimatorMixin, BaseEstimator):
    """Choose which target rows to label, and learn from their labels.

    After :meth:`fit`, :meth:`query` says which rows to ask about, best first, and :meth:`teach`
    takes the answers and fits the estimator again. :meth:`estimate_accuracy` says how good it is
    by now, and :meth:`expected_gain` what more labels may bring.

    Parameters
    ----------
    estimator : estimator
        A classifier with ``fit(X, y, Xt, yt)`` and `predict_proba`, such as
        :class:`~ilspace.ILSClassifier`, :class:`~ilspace.TableClassifier`, or one of
        :mod:`ilspace.baselines` whose classifier has probabilities. A clone of it is fitted.
    strategy : str or callable, default="auto"
        One of :data:`~ilspace.active.STRATEGIES`: ``"facility-location"``, ``"clue"``,
        ``"margin"``, ``"entropy"``, ``"committee"`` or ``"random"``; or a function
        ``f(pool, n, *, random_state)`` of a :class:`~ilspace.active.Pool` that returns positions
        in it. ``"auto"``: ``"facility-location"``.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rows, in strategies that do so and where there are many. Does not change that of the
        estimator.

    Attributes
    ----------
    estimator_ : estimator
        Fitted with all labels so far.
    classes_ : ndarray of shape (n_classes,)
        Classes of the source.
    labels_ : ndarray of object, shape (n_target,)
        Labels of the target rows so far, None where there is none; also those that are no class of
        the source.
    skipped_ : bool array of shape (n_target,)
        Rows that are not to be asked about.

    Notes
    -----
    Rows in memory: Dask collections are refused. `sample_weight` and `partial_fit` of the estimator
    are not used, and the selector itself is not saved: save `estimator_`.

    Of more than 20,000 target rows without a label, each query looks at a random sample of so many.

    A label that is no class of the source, a new class or :data:`~ilspace.active.NONE_OF_THESE`,
    is kept in `labels_`, and its row is not asked about again; but the estimator does not learn
    from it, for the methods of this package relate two domains by the classes that they share.
    Such rows count as errors in :meth:`estimate_accuracy`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace import ILSClassifier
    >>> from ilspace.active import QuerySelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> Xs, Xt = (rng.normal(size=(40, 5)) + 2 * y[:, None] for _ in range(2))
    >>> selector = QuerySelector(ILSClassifier(n_components=2), random_state=0).fit(Xs, y, Xt)
    >>> rows = selector.query(3)
    >>> selector.teach(rows, y[rows]).estimator_.score(Xt, y)
    1.0
    """

    _revision: ClassVar[int] = 1

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions({"auto", *STRATEGIES}), callable],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, estimator, strategy="auto", random_state=None):
        self.estimator = estimator
        self.strategy = strategy
        self.random_state = random_state

    # -- fit and teach -----------------------------------------------------------------------------

    def fit(self, Xs, ys, Xt, yt=None, *, cost=None, skip=()):
        """Fit the estimator with the labels that are there before any question.

        Parameters
        ----------
        Xs : array-like, sparse matrix or DataFrame of n rows
            Source rows.
        ys : array-like of shape (n,)
            Their labels.
        Xt : array-like, sparse matrix or DataFrame of nt rows
            Target rows.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where there is none.
        cost : array-like of shape (nt,), optional
            Cost of asking about each target row, positive; by default all cost the same.
        skip : int array-like, default=()
            Target rows that cannot be asked about.

        Returns
        -------
        self
            Fitted.
        """
        self._validate_params()
        self.__dict__.pop("estimator_", None)  # should this fit fail, the last one is gone too
        refuse_dask("QuerySelector", remedy="compute {name} first, or a sample of it", Xs=Xs, Xt=Xt)
        self._source = Xs, np.asarray(natural_labels(ys))
        self._target = Xt if hasattr(Xt, "iloc") or hasattr(Xt, "shape") else np.asarray(Xt)
        self.classes_, _ = encode_source(self._source[1])
        n_rows = self._target.shape[0]
        self.labels_ = np.full(n_rows, None, dtype=object)
        if yt is not None:
            yt = label_values(on_host(yt))
            if yt.shape != (n_rows,):
                raise ValueError(
                    f"yt must have one entry per row of Xt, shape ({n_rows},), but has shape "
                    f"{yt.shape}: mark rows without a label with None."
                )
            given = np.flatnonzero(~unlabelled_rows(yt, self.classes_))
            self.labels_[given] = _objects(yt[given].tolist())
        self.skipped_ = np.zeros(n_rows, dtype=bool)
        self.skipped_[check_rows(skip, n_rows)] = True
        self._cost = check_cost(cost, n_rows)
        self._seed = int(as_generator(self.random_state).integers(2**63))
        self._predicted: dict[int, _Prediction] = {}
        self._refit()
        return self

    def teach(self, rows, labels):
        """Add labels of target rows, and fit the estimator again.

        Parameters
        ----------
        rows : int array-like of shape (n,)
            Row numbers of Xt, which :meth:`query` need not have named. A row that has a label gets
            the new one.
        labels : array-like of shape (n,)
            Their labels. None or NaN where there is no answer: such a row is skipped. A label that
            is no class of the source is kept, and the row is not asked about again, but the
            estimator does not learn from it.

        Returns
        -------
        self
            With `estimator_` fitted anew.
        """
        check_is_fitted(self)
        rows, values = check_answers(rows, labels, len(self.labels_))
        is_missing = missing_labels(values)
        self.skipped_[rows[is_missing]] = True
        answered = rows[~is_missing]
        self._remember_predictions(answered)
        before = self._known_labels()
        for row, label in zip(answered, values[~is_missing].tolist(), strict=True):
            self.labels_[row] = label
        self._refit(unless=before)
        return self

    def forget(self, rows):
        """Take labels and skips of target rows back, and fit the estimator again.

        Parameters
        ----------
        rows : int array-like of shape (n,)
            Row numbers of Xt. They may be asked about again.

        Returns
        -------
        self
            With `estimator_` fitted anew, if a label was taken back.
        """
        check_is_fitted(self)
        rows = check_rows(rows, len(self.labels_))
        before = self._known_labels()
        self.labels_[rows] = None
        self.skipped_[rows] = False
        for row in rows.tolist():
            self._predicted.pop(row, None)
        self._refit(unless=before)
        return self

    def skip(self, rows):
        """Leave target rows out of all queries.

        Parameters
        ----------
        rows : int array-like of shape (n,)
            Row numbers of Xt: rows that cannot be asked about, or that nobody could label.

        Returns
        -------
        self
            The estimator is not fitted again.
        """
        check_is_fitted(self)
        self.skipped_[check_rows(rows, len(self.labels_))] = True
        return self

    def _refit(self, unless: np.ndarray | None = None) -> None:
        """Fit a clone with the labels that are classes of the source, if they changed."""
        known = self._known_labels()
        if unless is not None and np.array_equal(known, unless):
            return
        model = clone(self.estimator)
        given = known if any(each is not None for each in known) else None
        self.estimator_ = model.fit(*self._source, self._target, given)
        self._seen: Seen | None = None

    def _known_labels(self) -> np.ndarray:
        """Labels of the target rows, None where there is none or it is no class of the source."""
        classes = set(self.classes_.tolist())
        return _objects([each if each in classes else None for each in self.labels_])

    def _remember_predictions(self, rows: np.ndarray) -> None:
        """Keep what the estimator, which has not seen their labels, says of rows."""
        new = np.array([row for row in rows if self.labels_[row] is None], dtype=np.intp)
        if not len(new) or not hasattr(self.estimator_, "predict_proba"):
            return
        found = ask_probabilities(self.estimator_, self._target, new)
        labels = self._model_classes()[found.argmax(axis=1)].tolist()
        n_learned, is_random = self._n_learned(), self.strategy == "random"
        for row, label, sure in zip(new.tolist(), labels, found.max(axis=1).tolist(), strict=True):
            self._predicted[row] = _Prediction(label, sure, n_learned, is_random)

    def _n_learned(self) -> int:
        """Number of target labels that the estimator has learned from."""
        return sum(each is not None for each in self._known_labels())

    def _model_classes(self) -> np.ndarray:
        return np.asarray(getattr(self.estimator_, "classes_", self.classes_))

    # -- query -------------------------------------------------------------------------------------

    def query(self, n=1, *, cost=None, exclude=()):
        """Choose the rows to ask about next.

        Parameters
        ----------
        n : int, default=1
            How many.
        cost : array-like of shape (nt,), optional
            Cost of asking about each target row, positive; by default that of :meth:`fit`.
        exclude : int array-like, default=()
            Further rows to leave out this time, such as those that are being asked about.

        Returns
        -------
        int array of shape (n,)
            Row numbers of Xt, best first: rows without a label that are not skipped; fewer than n
            if no more are left. The same until something is taught or skipped.
        """
        check_is_fitted(self)
        if n < 1 or n != int(n):
            raise ValueError(f"n must be a positive integer, got {n!r}.")
        cost = self._cost if cost is None else check_cost(cost, len(self.labels_))
        rows, pool = self._pool(self._askable(exclude), cost, n)
        strategy = self.strategy
        if isinstance(strategy, str):
            strategy = STRATEGIES["facility-location" if strategy == "auto" else strategy]
        chosen = strategy(pool, int(n), random_state=self._generator(1))
        return rows[np.asarray(chosen, dtype=np.intp)]

    def _askable(self, exclude=()) -> np.ndarray:
        askable = ~self._has_label() & ~self.skipped_
        askable[check_rows(exclude, len(self.labels_))] = False
        return askable

    def _pool(self, askable: np.ndarray, cost: np.ndarray | None = None, n: int = 1):
        """Row numbers of the pool, ascending, and the pool."""
        seen = self._seen
        if seen is None or askable[seen.rows].sum() < min(n, askable.sum()):
            seen = self._seen = self._look(askable, n)
        pool = Pool(
            seen.latent,
            seen.probabilities,
            np.flatnonzero(askable[seen.rows]),
            np.flatnonzero(self._has_label()[seen.rows]),
            seen.members,
            None if cost is None else cost[seen.rows],
        )
        return seen.rows, pool

    def _look(self, askable: np.ndarray, n: int) -> Seen:
        """Ask the estimator about all rows with a label, and a sample of the others."""
        has_label = self._has_label()
        rng = self._generator(0)
        others = ~has_label & ~askable
        kept = [np.flatnonzero(each) for each in (askable, others)]
        total = sum(map(len, kept))
        if total > MAX_POOL:  # those that cannot be asked about keep their share
            sizes = [-(-MAX_POOL * len(each) // total) for each in kept]
            sizes[0] = min(max(sizes[0], n), len(kept[0]))
            kept = [rng.choice(*each, replace=False) for each in zip(kept, sizes, strict=True)]
        rows = np.sort(np.concatenate([np.flatnonzero(has_label), *kept]))
        return look(self.estimator_, self._target, rows)

    def _has_label(self) -> np.ndarray:
        return np.array([each is not None for each in self.labels_], dtype=bool)

    def _generator(self, purpose: int) -> np.random.Generator:
        """Source of randomness, the same until something is taught or skipped."""
        n_answers = int(np.sum(self._has_label()) + np.sum(self.skipped_))
        return np.random.default_rng([self._seed, purpose, n_answers])

    # -- when to stop ------------------------------------------------------------------------------

    def estimate_accuracy(self, level=0.9):
        """Estimate the accuracy of `estimator_` on the target rows without a label.

        Rows are asked about because the model is unsure of them, so they are no random sample. How
        often it was right on them, before it saw their labels, is therefore related to its
        confidence and to the labels that it knew by then, and so carried over to the others; see
        :func:`~ilspace.active.estimate_accuracy`. Nothing is held out, and labels given to
        :meth:`fit` are not used: no prediction is known that had not seen them.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the interval.

        Returns
        -------
        AccuracyEstimate
            Without any answer, what the confidence alone says.
        """
        check_is_fitted(self)
        _, pool = self._pool(self._askable())
        has_label = np.zeros(len(pool.rows), dtype=bool)
        has_label[pool.labelled] = True
        if has_label.all():
            raise ValueError(
                "Accuracy is estimated for rows without a label, but every target row has one: "
                "there is nothing left to predict."
            )
        return estimate_accuracy(
            pool.probabilities[~has_label].max(axis=1),
            self._asked(),
            self._n_learned(),
            n_rows=int(np.sum(~self._has_label())),
            level=level,
        )

    def expected_gain(self, n=5):
        """Accuracy that the next n labels are expected to add.

        The probability of an error of each row without a label, times how much nearer, in terms of
        similarity, its nearest labelled row gets; averaged. It is a forecast, and no bound.

        Parameters
        ----------
        n : int, default=5
            Labels of the next batch.

        Returns
        -------
        float
            From 0 to 1; compare :meth:`estimate_accuracy`.
        """
        next_rows = self.query(n)
        rows, pool = self._pool(self._askable())
        sure = pool.probabilities.max(axis=1)
        errors = 1 - right_chances(sure, self._asked(), self._n_learned())
        return _GAIN * covered_doubt(pool, np.searchsorted(rows, next_rows), errors)

    def _asked(self) -> Asked:
        """What was predicted of rows before their labels were known."""
        said = self._predicted
        return Asked(
            np.array([each.confidence for each in said.values()]),
            np.array([each.label == self.labels_[row] for row, each in said.items()], dtype=bool),
            np.array([each.n_learned for each in said.values()]),
            np.array([each.is_random for each in said.values()], dtype=bool),
        )

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "estimator_")


def _objects(labels: list) -> np.ndarray:
    """Labels as an array of objects."""
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found
