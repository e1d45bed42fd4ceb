"""Ask for labels of target rows, and learn from the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.active._checks import check_answers, check_cost, check_rows
from ilspace.active.accuracy import estimate_accuracy, expected_progress, right_chances
from ilspace.active.answers import Answers, Prediction
from ilspace.active.facility import covered_doubt
from ilspace.active.pool import (
    Pool,
    Seen,
    append_rows,
    as_rows,
    ask_probabilities,
    look,
    sample_pool,
    share_columns,
)
from ilspace.active.strategies import STRATEGIES
from ilspace.backend import as_generator, refuse_dask
from ilspace.domains.labels import (
    encode_source,
    missing_labels,
    natural_labels,
    unlabelled_rows,
)
from ilspace.domains.several import is_list_of_sources, listed_sources

_GAIN = 1.5
"""Gain of accuracy per expected error that gets a label nearby; others profit too. From the draws
on which the constants of :func:`~ilspace.active.estimate_accuracy` were chosen."""


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
    new_classes : {"learn", "set-aside"}, default="learn"
        What becomes of labels that are no class of the source. ``"learn"``: where two target rows
        or more have the same new label, and the target has the columns of the source, these rows
        are given to the estimator as source rows too, in each of several sources, so that their
        label is a class like others.
        ``"set-aside"``: the estimator does not learn from them.

    Attributes
    ----------
    estimator_ : estimator
        Fitted with all labels so far.
    classes_ : ndarray of shape (n_classes,)
        Classes of the source.
    labels_ : ndarray of object, shape (n_target,)
        Labels of the target rows so far, None where there is none; also those that the estimator
        did not learn from.
    skipped_ : bool array of shape (n_target,)
        Rows that are not to be asked about.

    Notes
    -----
    Rows in memory: Dask collections are refused. `sample_weight` and `partial_fit` of the estimator
    are not used, and the selector itself is not saved: save `estimator_`.

    Of more than 20,000 target rows without a label, each query looks at a random sample of so many.

    A label that is not learned, because it is rare, because the target lacks columns of the source,
    or because it is :data:`~ilspace.active.NONE_OF_THESE`, is kept in `labels_`. Its row is not
    asked about again, and counts as an error in :meth:`estimate_accuracy`.

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

    _revision: ClassVar[int] = 2

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions({"auto", *STRATEGIES}), callable],
        "random_state": ["random_state", np.random.Generator],
        "new_classes": [StrOptions({"learn", "set-aside"})],
    }

    def __init__(self, estimator, strategy="auto", random_state=None, *, new_classes="learn"):
        self.estimator = estimator
        self.strategy = strategy
        self.random_state = random_state
        self.new_classes = new_classes

    # -- fit and teach -----------------------------------------------------------------------------

    def fit(self, Xs, ys, Xt, yt=None, *, source_names=None, cost=None, skip=()):
        """Fit the estimator with the labels that are there before any question.

        Parameters
        ----------
        Xs : array-like, sparse matrix or DataFrame of n rows, or list of them
            Source rows; or those of each of several sources, for an estimator that takes them.
        ys : array-like of shape (n,), or list of them
            Their labels.
        Xt : array-like, sparse matrix or DataFrame of nt rows
            Target rows.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where there is none.
        source_names : sequence of str, optional
            Names of several sources, given to the estimator.
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
        self._named = {} if source_names is None else {"source_names": source_names}
        self._is_list = is_list_of_sources(Xs)
        rows, labels, _ = listed_sources(Xs, ys) if self._is_list else ([Xs], [ys], None)
        labels = [np.asarray(natural_labels(each)) for each in labels]
        self._sources = list(zip(map(as_rows, rows), labels, strict=True))
        self._target = as_rows(Xt)
        self.classes_, _ = encode_source(np.concatenate(labels))
        n_rows = self._target.shape[0]
        can_join = all(share_columns(each, self._target) for each, _ in self._sources)
        takes_new = self.new_classes == "learn" and can_join
        self._answers = answers = Answers(n_rows, self.classes_, takes_new)
        if yt is not None:
            _, yt = check_answers(np.arange(n_rows), yt, n_rows)
            given = np.flatnonzero(~unlabelled_rows(yt, self.classes_))
            answers.put(given, yt[given].tolist())
        answers.skipped[check_rows(skip, n_rows)] = True
        self._cost = check_cost(cost, n_rows)
        self._seed = int(as_generator(self.random_state).integers(2**63))
        self._learned: dict[int, Any] | None = None
        self._refit()
        return self

    def teach(self, rows, labels, *, predicted=None):
        """Add labels of target rows, and fit the estimator again.

        Parameters
        ----------
        rows : int array-like of shape (n,)
            Row numbers of Xt, which :meth:`query` need not have named. A row that has a label gets
            the new one.
        labels : array-like of shape (n,)
            Their labels. None, NaN, or -1 where it is no class, says that there is no answer: such
            a row is skipped. A label may be a new class; see `new_classes`.
        predicted : mapping of int to Prediction, optional
            What was predicted of some of these rows before their labels were known, if not by
            `estimator_`: in an earlier session, say. :meth:`estimate_accuracy` learns from it.

        Returns
        -------
        self
            With `estimator_` fitted anew.
        """
        check_is_fitted(self)
        rows, values = check_answers(rows, labels, len(self.labels_))
        is_missing = missing_labels(values)
        if -1 not in self.classes_.tolist():
            is_missing |= np.array(
                [isinstance(each, int) and each == -1 for each in values.tolist()]
            )
        self.skipped_[rows[is_missing]] = True
        answered = rows[~is_missing]
        new = self._answers.without_label(answered)
        self._answers.remember(self._predictions(new, predicted or {}))
        self._answers.put(answered, values[~is_missing].tolist())
        self._refit()
        return self

    def _predictions(
        self, rows: np.ndarray, earlier: Mapping[int, Prediction]
    ) -> dict[int, Prediction]:
        """What was said of rows earlier, or is said now."""
        found = {row: earlier[row] for row in rows.tolist() if row in earlier}
        others = rows[[row not in found for row in rows.tolist()]]
        if len(others) and hasattr(self.estimator_, "predict_proba"):
            said = ask_probabilities(self.estimator_, self._target, others)
            labels = np.asarray(self.estimator_.classes_)[said.argmax(axis=1)]
            each = zip(others.tolist(), labels.tolist(), said.max(axis=1).tolist(), strict=True)
            options = self._n_learned, self.strategy == "random"
            found |= {row: Prediction(label, sure, *options) for row, label, sure in each}
        return found

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
        self._answers.take_back(rows)
        self._refit()
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

    def _refit(self) -> None:
        """Fit a clone with all labels that can be learned, unless the last one knew the same."""
        known = self._answers.to_learn()
        if known == self._learned:
            return
        sources, Xt = self._sources, self._target
        yt = np.full(len(self.labels_), None, dtype=object)
        for row, label in known.items():
            yt[row] = label
        classes = set(self.classes_.tolist())
        new = {row: label for row, label in known.items() if label not in classes}
        if new:  # the estimators know the classes of the source alone, so these rows join it
            rows, labels = np.array(list(new)), np.array(list(new.values()))
            sources = [(append_rows(X, Xt, rows), np.concatenate([y, labels])) for X, y in sources]
        X, y = map(list, zip(*sources, strict=True)) if self._is_list else sources[0]
        self.estimator_ = clone(self.estimator).fit(X, y, Xt, yt if known else None, **self._named)
        self._learned = known
        self._seen: Seen | None = None

    @property
    def _n_learned(self) -> int:
        """Number of target labels that the estimator has learned from."""
        return len(self._learned or ())

    @property
    def labels_(self) -> np.ndarray:
        """Labels of the target rows so far."""
        return self._answers.labels

    @property
    def skipped_(self) -> np.ndarray:
        """Rows that are not to be asked about."""
        return self._answers.skipped

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
        askable = ~self._answers.has_label & ~self.skipped_
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
            np.flatnonzero(self._answers.has_label[seen.rows]),
            seen.members,
            None if cost is None else cost[seen.rows],
        )
        return seen.rows, pool

    def _look(self, askable: np.ndarray, n: int) -> Seen:
        """Ask the estimator about all rows, or a sample of them."""
        rows = sample_pool(askable, self._answers.has_label, n, self._generator(0))
        return look(self.estimator_, self._target, rows)

    def _generator(self, purpose: int) -> np.random.Generator:
        """Source of randomness, the same until something is taught or skipped."""
        return np.random.default_rng([self._seed, purpose, self._answers.count])

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
            self._answers.asked(),
            self._n_learned,
            n_rows=int(np.sum(~self._answers.has_label)),
            level=level,
        )

    def expected_gain(self, n=5):
        """Accuracy that the next n labels are expected to add.

        The smaller of two forecasts, and no bound. One is the probability of an error of each row
        without a label, times how much nearer, in terms of similarity, its nearest labelled row
        gets; averaged. The other goes on as the labels so far have helped, by the model of
        :func:`~ilspace.active.estimate_accuracy`.

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
        if not len(next_rows):
            return 0.0
        rows, pool = self._pool(self._askable())
        asked, sure = self._answers.asked(), pool.probabilities.max(axis=1)
        errors = 1 - right_chances(sure, asked, self._n_learned)
        covered = _GAIN * covered_doubt(pool, np.searchsorted(rows, next_rows), errors)
        others = sure[~self._answers.has_label[rows]]
        return min(covered, expected_progress(others, asked, self._n_learned, len(next_rows)))

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "estimator_")
