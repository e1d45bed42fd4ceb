"""Choose parameters without target labels."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from ilspace.backend import as_generator, refuse_dask
from ilspace.domains import split_domains, take_rows
from ilspace.domains.labels import encode_source, encode_target, natural_labels
from ilspace.domains.several import is_list_of_sources
from ilspace.selection._delegate import DelegatingSearch
from ilspace.selection._domains import as_rows, fit_domains
from ilspace.selection._trial import Task
from ilspace.selection.criteria import CRITERIA, Criterion
from ilspace.selection.evidence import Evidence
from ilspace.selection.grid import default_grid, with_settings
from ilspace.selection.hold_out import hold_out

_RESERVED = {"params", "seconds", "warnings", "error", "choice"}


class LabelFreeSearch(DelegatingSearch, MetaEstimatorMixin, BaseEstimator):
    """Grid search that scores settings without target labels.

    Some source rows are held out. Each setting is fitted on the others and the target, and scored
    by all criteria on the held-out rows and the unlabelled target rows; the best by `choose_by` is
    refitted on all rows. Target labels given as `yt` are training data, and enter no criterion.

    Parameters
    ----------
    estimator : estimator
        One with ``fit(X, y, Xt, yt)``, or a pipeline with ``fit(X, y, sample_domain=...)``.
    param_grid : dict or list of dict, default=None
        Values to try, as :class:`sklearn.model_selection.ParameterGrid` takes them; by default
        :func:`default_grid`.
    criteria : list of str, dict of str to Criterion, or None, default=None
        Criteria to compute: names of ``CRITERIA``, or a dict of your own; None for all of
        ``CRITERIA``. Circular validation doubles the time.
    choose_by : str, list or tuple of str, default=("calibrated", "mixval", "source")
        Criterion to select by, or several, whose ranks are averaged; the first of tied settings
        is taken. The default did best on Office+Caltech10.
    held_out : float, default=0.25
        Fraction of the source rows of each class held out for scoring.
    n_jobs : int, default=None
        Number of settings to fit in parallel.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the held-out rows.
    callback : callable, default=None
        Called as ``callback(done, total, record)`` after each setting; the record is
        the entry of `cv_results_` of this setting.

    Attributes
    ----------
    cv_results_ : dict of str to array or list
        One entry per setting: ``"params"``, a column per criterion (greater is better, NaN where it
        failed), ``"choice"``, the value selected by, ``"seconds"``, ``"warnings"`` and ``"error"``.
        ``pandas.DataFrame(search.cv_results_)`` shows it.
    best_index_ : int
        Index of the chosen setting.
    best_params_ : dict
        The chosen setting.
    best_estimator_ : estimator
        Refitted with it on all rows.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Columns of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace import ILSClassifier
    >>> from ilspace.selection import LabelFreeSearch
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog"], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * (y == "dog")[:, None]
    >>> Xt = X @ np.diag([1, 2, 1, 0.5, 1]) + 3
    >>> search = LabelFreeSearch(ILSClassifier(), {"n_components": [1, 3]}, random_state=0)
    >>> search.fit(X, y, Xt).predict(Xt[[0, -1]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict", "set_params"])],
        "param_grid": [dict, list, None],
        "criteria": [list, tuple, dict, None],
        "choose_by": [str, list, tuple],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "callback": [callable, None],
    }

    __metadata_request__fit = {"Xt": True, "yt": True, "sample_domain": True}

    def __init__(
        self,
        estimator,
        param_grid=None,
        *,
        criteria=None,
        choose_by=("calibrated", "mixval", "source"),
        held_out=0.25,
        n_jobs=None,
        random_state=None,
        callback=None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.criteria = criteria
        self.choose_by = choose_by
        self.held_out = held_out
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def __sklearn_tags__(self):
        """Estimator tags of scikit-learn: those of the estimator."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "transformer_tags", "target_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.input_tags = inner.input_tags
        return tags

    def __sklearn_is_fitted__(self):
        """Whether the search has finished."""
        return hasattr(self, "best_estimator_")

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None):
        """Evaluate all settings, and refit the best on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Source rows; or rows of both domains, distinguished by `sample_domain`.
        y : array-like of shape (n,)
            Their labels.
        Xt : array-like or sparse matrix of shape (nt, n_target_features), optional
            Target rows; by default the source is the target too.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where a label is missing.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows of X, which are one source here, negative for target rows.

        Returns
        -------
        self
            Fitted.
        """
        self.__dict__.pop("best_estimator_", None)
        criteria, names = self._check_criteria()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: the "
                "source rows need labels."
            )
        refuse_dask(
            type(self).__name__,
            remedy="compute it ({name}.compute()), or a sample of it to search with, and then fit "
            "an estimator with the best_params_ to the whole",
            X=X,
            Xt=Xt,
        )
        if is_list_of_sources(X):
            raise ValueError(
                f"{type(self).__name__} searches with one source, but X is a list of {len(X)}: "
                "pool their rows for the search, and then fit an estimator with the best_params_ "
                "to the list."
            )
        if sample_domain is not None:
            X, y, Xt, yt, _ = split_domains(X, y, Xt, yt, sample_domain, None)
        X, Xt = as_rows(X), None if Xt is None else as_rows(Xt)
        task = self._task(X, y, Xt, yt, criteria)
        settings = list(ParameterGrid(self._check_grid(task)))
        if not settings:
            raise ValueError(f"param_grid must have settings, but is {self.param_grid!r}.")
        attempts = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(task.attempt)(setting) for setting in settings
        )
        records = []
        for record in attempts:
            records.append(record)
            if self.callback is not None:
                self.callback(len(records), len(settings), record)
        self.cv_results_ = _columns(records)
        self.cv_results_["choice"] = choice = _choice(records, names)
        self.best_index_ = int(np.argmax(choice))
        self.best_params_ = records[self.best_index_]["params"]
        best = with_settings(self.estimator).set_params(**clone(self.best_params_, safe=False))
        self.best_estimator_ = fit_domains(best, X, y, Xt, yt)
        return self

    def _check_criteria(self) -> tuple[dict[str, Criterion], list[str]]:
        """Criteria by name, and the names to select by."""
        given = self.criteria if self.criteria is not None else list(CRITERIA)
        if not isinstance(given, Mapping):
            unknown = [name for name in given if name not in CRITERIA]
            if unknown:
                raise ValueError(
                    f"criteria may name {', '.join(CRITERIA)}, but {unknown[0]!r} is none of "
                    "them: give a dict from names to criteria for your own."
                )
            given = {name: CRITERIA[name]() for name in given}
        names = [self.choose_by] if isinstance(self.choose_by, str) else list(self.choose_by)
        missing = [name for name in names if name not in given]
        if missing or not names:
            raise ValueError(
                f"choose_by must name some of the criteria computed ({', '.join(given)}), but "
                f"names {', '.join(map(repr, missing)) or 'none'}."
            )
        if taken := _RESERVED.intersection(given):
            raise ValueError(
                f"A criterion may not be called {taken.pop()!r}: cv_results_ reserves that key."
            )
        return dict(given), names

    def _check_grid(self, task: Task) -> Any:
        if self.param_grid is not None:
            return self.param_grid
        shapes = [(len(task.evidence.learned), task.evidence.source.shape[1])]
        shapes += [] if task.Xt is None else [task.Xt.shape]
        return default_grid(self.estimator, shapes=shapes)

    def _task(self, X, y, Xt, yt, criteria) -> Task:
        y = np.asarray(natural_labels(y))
        check_consistent_length(X, y)
        if len(y) == 0:
            raise ValueError("X must have rows, but has none: add source rows.")
        classes, codes = encode_source(y)
        rng = as_generator(self.random_state)
        target, n_hints = (X if Xt is None else Xt), 0
        if Xt is not None and yt is not None:
            labelled = encode_target(yt, classes, Xt.shape[0]) >= 0
            if np.sum(~labelled) >= 2:  # labelled target rows are training data
                target = take_rows(Xt, np.flatnonzero(~labelled))
            n_hints = int(np.ceil(np.sum(labelled) / len(classes)))
        held_out = hold_out(codes, self.held_out, rng)
        seed = int(rng.integers(2**31))
        estimator = with_settings(self.estimator)
        return Task(Evidence(estimator, X, y, held_out, target, n_hints, seed), Xt, yt, criteria)


def _columns(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records as columns: arrays of numbers, lists of anything else."""
    columns = {name: [record[name] for record in records] for name in records[0]}
    return {
        name: np.array(values) if isinstance(values[0], float) else values
        for name, values in columns.items()
    }


def _choice(records: list[dict[str, Any]], names: list[str]) -> np.ndarray:
    """One value per setting, greatest for the best: the criterion, or the mean rank of several."""
    values = np.array([[record[name] for name in names] for record in records], dtype=np.float64)
    values = np.where(np.isnan(values), -np.inf, values)
    if not np.isfinite(values).any():
        first = records[0]["error"] or "numbers that are not finite"
        raise ValueError(
            f"At least one of the {len(records)} settings must be fitted and scored by "
            f"{' and '.join(names)}, but none could be; the first ended with {first}"
        )
    if len(names) == 1:
        return values[:, 0]
    return rankdata(values, axis=0).mean(axis=1)
