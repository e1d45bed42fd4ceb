"""An estimator of tables: mixed columns and missing values in, labels and their trust out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import as_generator
from ilspace.domains import check_domain
from ilspace.domains.labels import encode_source, encode_target, natural_labels
from ilspace.estimators import ILSClassifier
from ilspace.estimators.persistence import Fitted, loadable, save_estimator, training_record
from ilspace.rules.calibration import fitting_exponent
from ilspace.selection import LabelFreeSearch, default_grid
from ilspace.selection.calibration import log_probabilities, raised
from ilspace.selection.hold_out import hold_out
from ilspace.storage import ModelFileError, schema
from ilspace.tables import encoding
from ilspace.tables.columns import ColumnPlan, plan_columns
from ilspace.tables.errors import TableError
from ilspace.tables.kinds import STRING, is_whole
from ilspace.tables.monitor import Monitor
from ilspace.tables.second_opinion import NearestMean, is_blind, nearest_mean
from ilspace.tables.trust import Trust, in_words, learn_trust

_FEWEST_KNOWN = 0.5
"""Share of its columns in which a row must have a value, for its label to be trusted."""


class Step(NamedTuple):
    """What is known during a fit.

    Attributes
    ----------
    stage : {"held-out", "all"}
        Whether some source rows are held out.
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


_BOUND = schema.Value(float, check=schema.Check("be 0 or more", lambda bound: bound >= 0))


@loadable
class TableClassifier(ClassifierMixin, BaseEstimator):
    """Label the rows of a table, given a labelled table of another domain.

    Finds out what the columns are, fills missing values, scales each domain by itself, fits an
    estimator, and learns from held-out rows of the source how sure its predictions may be, and
    which of them to trust.

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
    text : sequence of str, default=()
        Columns of free text, which becomes dimensions that its words and parts of words span;
        columns of many different sentences are found without.
    holdout : float, default=0.2
        Share of the source that is held out to learn what to trust, before the final fit takes
        all rows. Without, or with too few rows, nothing is trusted and no probability calibrated.
    trust : float, default=0.9
        Accuracy to reach, at a confidence level of 75 %, among trusted rows like the held-out
        ones; below 1.
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
    source_encoder_, target_encoder_ : encoding.TableEncoder
        From rows of each domain to numbers.
    trust_ : Trust
        Bounds of what is trusted.
    exponent_ : float
        Power of the estimator's probabilities that made them as sure as they were right on the
        held-out rows; 1 without such rows.
    unadapted_ : NearestMean
        What has to agree with a prediction for it to be trusted: the nearest class mean of the
        source, without adaptation; or of the labelled target rows.
    asks_target_labels_ : bool
        Whether it is of the target: if all classes have labelled target rows, or if the tables
        share no columns.
    is_unchecked_ : bool
        Whether it says the same of nearly all target rows, as it does where they are in other
        units: nothing is trusted then.
    holdout_score_ : float or None
        Accuracy on the held-out rows; None if there are too few rows of a class to hold one out.
    holdout_rows_, holdout_estimator_ : ndarray of int, estimator
        The rows held out, and the estimator that was fitted without them; or None. Not saved.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features of the source: columns, not what they become.

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
        "scaling": [StrOptions({"auto", *encoding.SCALINGS})],
        "matching": [StrOptions({"auto", "by-name", "none"})],
        "ids": ["array-like"],
        "ignored": ["array-like"],
        "text": ["array-like"],
        "holdout": [Interval(Real, 0, 1, closed="left")],
        "trust": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    _schema = {
        "estimator_": Fitted(
            ILSClassifier, {"n_features_in_": "source", "n_target_features_in_": "target"}
        ),
        "source_encoder_": encoding.encoder_schema("source"),
        "target_encoder_": encoding.encoder_schema("target"),
        "plan_": schema.Record(
            partial(ColumnPlan, source=(), target=()),  # the encoders know them
            {
                "ids": schema.Each(STRING),
                "are_shared": schema.Value(bool),
                "notes": schema.Each(STRING),
            },
        ),
        "trust_": schema.Record(Trust, {"confidence": _BOUND, "distance": _BOUND}),
        "exponent_": schema.Value(float, check=schema.POSITIVE),
        "unadapted_": schema.Record(
            NearestMean,
            {
                "codes": schema.ArrayOf(("k",), kinds="i", check=schema.NOT_EMPTY),
                "means": schema.ArrayOf(("k", "width")),
            },
        ),
        "asks_target_labels_": schema.Value(bool),
        "is_unchecked_": schema.Value(bool),
        "holdout_score_": schema.Optional(schema.Value(float, check=schema.SHARE)),
    }

    def __init__(
        self,
        estimator=None,
        *,
        scaling="auto",
        matching="auto",
        ids=(),
        ignored=(),
        text=(),
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
        self.text = text
        self.holdout = holdout
        self.trust = trust
        self.random_state = random_state
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, Xt=None, yt=None):
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
            Labels of the target rows; None, NaN or -1 where there is none.

        Returns
        -------
        self
            Fitted.
        """
        self.__dict__.pop("classes_", None)  # should this fit fail, the last one is gone too
        if y is None or Xt is None:
            raise ValueError(
                "TableClassifier learns from a labelled table and another one, but "
                f"{'y' if y is None else 'Xt'} is None: requires y to be passed, and Xt."
            )
        y = np.asarray(natural_labels(y))
        check_consistent_length(X, y)
        classes, _ = encode_source(y)
        codes = encode_target(yt, classes, len(Xt))
        yt = np.where(codes >= 0, classes[codes], np.array(None)) if (codes >= 0).any() else None
        self.plan_ = plan_columns(
            X, Xt, ids=self.ids, ignored=self.ignored, text=self.text, matching=self.matching
        )
        if not self.plan_.are_shared and yt is None:
            raise TableError(
                "Tables whose columns are not matched by name are related by labels alone, but no "
                "target row has one: label a few target rows of each class, or give both tables "
                "the same columns."
            )
        self.n_features_in_ = len(self.plan_.source)
        scaling = self.scaling
        if scaling == "auto":
            scaling = encoding.default_scaling(self.plan_.source, self.plan_.target)
        self.source_encoder_, rows = encoding.fit_encoder(X, self.plan_.source, scaling=scaling)
        self.target_encoder_, target_rows = encoding.fit_encoder(
            Xt, self.plan_.target, scaling=scaling
        )
        chosen, self.search_ = self.estimator or ILSClassifier(), None
        if isinstance(chosen, LabelFreeSearch):
            if not isinstance(chosen.estimator, ILSClassifier):
                raise ValueError(
                    "A search for tables must try settings of an ILSClassifier, but tries those "
                    f"of a {type(chosen.estimator).__name__}: search over ILSClassifier()."
                )
            search = clone(chosen).set_params(estimator=_nearest(chosen.estimator))
            self.search_ = _within_ranks(search, rows, target_rows).fit(rows, y, target_rows, yt)
            chosen = self.search_.best_estimator_
            _check_rule(chosen)  # it may have been searched over
        else:
            chosen = _nearest(chosen)
        self._hold_out(chosen, rows, y, target_rows, yt)
        self._learn_means(rows, y, Xt, yt)
        told = self._told("all", self.holdout_score_, chosen.callback)
        self.estimator_ = clone(chosen).set_params(callback=told).fit(rows, y, target_rows, yt)
        self.estimator_.set_params(callback=chosen.callback)
        self.classes_ = self.estimator_.classes_
        return self

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "classes_")

    # -- what can be trusted ---------------------------------------------------------------------

    def _hold_out(self, chosen, rows: np.ndarray, y: np.ndarray, target_rows, yt) -> None:
        """Fit without some source rows, and learn from these what to trust."""
        self.trust_, self.exponent_, self.holdout_score_ = Trust(np.inf, np.inf), 1.0, None
        self.holdout_rows_ = self.holdout_estimator_ = None
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        # a class of one row has none to spare, and one class says nothing
        if self.holdout == 0 or np.sum(counts > 1) < 2:
            return
        held = hold_out(codes, self.holdout, as_generator(self.random_state))
        kept = np.setdiff1d(np.arange(len(y)), held)
        monitor = Monitor(rows[kept], codes[kept], rows[held], codes[held])
        told = self._told("held-out", monitor, chosen.callback)
        fitted = clone(chosen).set_params(callback=told)
        fitted.fit(rows[kept], y[kept], target_rows, yt)
        label, probabilities, distance = fitted.nearest(rows[held], "source")
        is_right = label == y[held]
        self.holdout_score_ = float(np.mean(is_right))
        self.exponent_ = fitting_exponent(
            log_probabilities(probabilities), codes[held], n_uniform=1
        )
        probability = raised(probabilities, self.exponent_).max(axis=1)
        self.trust_ = learn_trust(probability, distance, is_right=is_right, accuracy=self.trust)
        self.holdout_rows_, self.holdout_estimator_ = held, fitted

    def _learn_means(self, rows: np.ndarray, y: np.ndarray, Xt, yt) -> None:
        """Learn what would be said without adaptation, from target labels if they suffice."""
        classes, source_codes = np.unique(y, return_inverse=True)
        codes = encode_target(yt, classes, len(Xt))
        labelled = codes >= 0
        has_all = len(np.unique(codes[labelled])) == len(classes)
        entries = self.target_encoder_.read(Xt)
        target_rows = self.target_encoder_.scale_entries(entries)
        self.asks_target_labels_ = has_all or not self.plan_.are_shared
        known = (target_rows[labelled], codes[labelled])
        self.unadapted_ = nearest_mean(
            *(known if self.asks_target_labels_ else (rows, source_codes))
        )
        said = self.unadapted_(self._unadapted_rows(entries, target_rows))
        self.is_unchecked_ = is_blind(said, source_codes)

    def _told(
        self, stage: str, accuracy: Monitor | float | None, own: Callable[..., object] | None
    ) -> Callable[..., object] | None:
        """Make the callback of a fit, which knows the accuracy or how to compute it.

        The estimator's own is called as well; each may stop the fit.
        """
        tell = self.callback
        if tell is None:
            return own

        def step(iteration: int, now) -> object:
            found = accuracy(now.point) if isinstance(accuracy, Monitor) else accuracy
            wants_end = tell(Step(stage, iteration, float(now.progress.value), found))
            return (own is not None and own(iteration, now)) or wants_end

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
            Missing values filled, categories as indicators, scaled.
        """
        return self._encoder(domain).encode(X)

    def _encoder(self, domain: str) -> encoding.TableEncoder:
        check_is_fitted(self)
        check_domain(domain)
        return self.target_encoder_ if domain == "target" else self.source_encoder_

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
            latent space, ``trusted``, and ``doubts``, why not: ``unsure`` and ``far`` are beyond
            the bounds of trust, ``missing`` lack half of the columns; of ``unadapted`` the nearest
            class mean says something else, with each table scaled by itself or without; and where
            it says the same of all rows, all are ``unchecked``. For target rows also
            ``unadapted``, the label that the nearest class mean would give without adaptation.
        """
        import pandas as pd

        encoder = self._encoder(domain)
        entries = encoder.read(X)
        rows = encoder.scale_entries(entries)
        known = entries.n_known / len(encoder.columns)
        label, probabilities, distance = self.estimator_.nearest(rows, domain)
        probability = raised(probabilities, self.exponent_).max(axis=1)
        told = {"label": label, "probability": probability, "distance": distance}
        doubts = self.trust_.doubts(probability, distance) | {"missing": known < _FEWEST_KNOWN}
        others = {}
        if domain == "target":
            # the nearest mean once for rows scaled by their own table and once as if there were
            # one: other class frequencies mislead the first, other units the second
            alone = self.classes_[self.unadapted_(rows)]
            unadapted = self.classes_[self.unadapted_(self._unadapted_rows(entries, rows))]
            others["unadapted"] = unadapted
            doubts["unadapted"] = (alone != label) | (unadapted != label)
            if self.is_unchecked_:
                doubts["unchecked"] = np.full(len(label), True)
        words = in_words(doubts)
        return pd.DataFrame(told | {"trusted": words == "", "doubts": words} | others)

    def _unadapted_rows(self, entries: encoding.Entries, rows: np.ndarray) -> np.ndarray:
        """Target rows as the rule without adaptation takes them."""
        return rows if self.asks_target_labels_ else self.source_encoder_.scale_entries(entries)

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

    def score(self, X, y, sample_weight=None, *, domain="target"):
        """Share of rows that are given their true class.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        y : array-like of shape (n,)
            Their true labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        float
            Accuracy.
        """
        truth = natural_labels(y, "row")
        return accuracy_score(truth, self.predict(X, domain), sample_weight=sample_weight)

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

    def save(self, path):
        """Write the fitted classifier to a file that :func:`ilspace.load` reads.

        As :meth:`ilspace.ILSTransformer.save`; of a search the chosen estimator is saved.

        Parameters
        ----------
        path : str or path-like
            Where; the folder must exist, and a file that is there is replaced.
        """
        check_is_fitted(self)
        save_estimator(self, path, training=training_record(self.estimator_))

    def _saved_parameters(self):
        return self.get_params(deep=False) | {"estimator": clone(self.estimator_)}

    def _restored(self):
        """Complete the attributes that a file gave, and refuse those that do not agree."""
        source, target = self.source_encoder_, self.target_encoder_
        self.plan_ = replace(self.plan_, source=source.columns, target=target.columns)
        self.search_ = self.holdout_rows_ = self.holdout_estimator_ = None
        self.n_features_in_ = len(source.columns)
        self.classes_ = self.estimator_.classes_
        if not all(is_whole(str(each)) for each in self.classes_):
            raise ModelFileError("a class of it holds half a character")
        if self.plan_.are_shared and source.columns != target.columns:
            raise ModelFileError("its tables should share their columns and do not")
        if not (self.plan_.are_shared or self.asks_target_labels_):
            raise ModelFileError("its rule without adaptation needs columns that are not shared")
        codes, means = self.unadapted_.codes, self.unadapted_.means
        if codes.min() < 0 or codes.max() >= len(self.classes_):
            raise ModelFileError("its class means are not of its classes")
        width = len((target if self.asks_target_labels_ else source).center)
        if means.shape[1] != width:
            raise ModelFileError(f"its class means have {means.shape[1]} columns, not {width}")


def _within_ranks(search: LabelFreeSearch, *domains: np.ndarray) -> LabelFreeSearch:
    """A search that tries no more dimensions than the rows of each domain have.

    They may have fewer than columns: the categories of a column add up to one.
    """
    if search.param_grid is not None:
        return clone(search)
    kept = 1 - search.held_out
    shapes = [
        (int(len(rows) * kept), int(np.linalg.matrix_rank(rows - rows.mean(axis=0))))
        for rows in domains
    ]
    return clone(search).set_params(param_grid=default_grid(search.estimator, shapes=shapes))


def _nearest(estimator: ILSClassifier) -> ILSClassifier:
    """An estimator whose rule is the nearest labelled row: its distance says what to trust."""
    _check_rule(estimator)
    rounds = estimator.self_training
    rounds = 0 if isinstance(rounds, str) else rounds
    return clone(estimator).set_params(classifier="nearest", self_training=rounds)


def _check_rule(estimator: ILSClassifier) -> None:
    """Refuse a rule that has no distances."""
    rule = estimator.classifier
    if not isinstance(rule, str) or rule not in ("auto", "nearest"):
        raise ValueError(
            f'The classifier of an estimator of tables must be "nearest", but is {rule!r}: what is '
            "trusted depends on the distance to the nearest labelled row."
        )
