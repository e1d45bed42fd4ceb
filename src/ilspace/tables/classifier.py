"""An estimator of tables: mixed columns and missing values in, labels out."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.domains import check_domain
from ilspace.domains.labels import natural_labels
from ilspace.estimators.saving import save_estimator
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import SCALINGS, Encoded, TableEncoder, default_scaling
from ilspace.tables.learning import AdaptedRule, PooledRule
from ilspace.tables.pair import Pair, as_pair
from ilspace.tables.values import TableError, as_table

METHODS = ("auto", "committee", "ils")


class TableClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Label the rows of a table, given a labelled table of another domain, or several.

    Mixed columns are encoded by skrub and labelled by a committee: the mean probability of gradient
    boosting, extra trees and logistic regression. Features of one kind, such as pixels, counts or
    embeddings, are labelled by :class:`~ilspace.ILSClassifier`.

    Parameters
    ----------
    method : str or estimator, default="auto"
        ``"committee"``, ``"ils"``, the name of a class of :mod:`ilspace.baselines`, an estimator
        with their signature, or any scikit-learn classifier or pipeline. By default the committee
        for tables of mixed columns and where there is no target; ILS for features of one kind,
        where all columns are texts, and for tables without common columns.
    kind : {"auto", "table", "features"}, default="auto"
        What the tables are taken for; see :func:`~ilspace.tables.columns.plan_columns`.
    own_scaling : bool, default=False
        Whether numbers become ranks within their own table, and the committee learns a second time
        from the surest half of its predictions. For tables that were measured differently: with
        another device, in another unit, of another species. Where the target is another population
        measured alike, it costs accuracy. ILS and the baselines always scale each table by itself.
    class_prior : {"auto", "source"}, mapping, array-like or None, default="auto"
        Shares of the classes in the target, by name or in the order of `classes_`. Those given
        correct the probabilities of tables and weigh the source rows of features. ``"auto"``
        estimates them for features and texts, and does nothing for tables.
    scaling : {"auto", "zscore", "zscore-l2", "sqrt-zscore-l2", "l2-zscore-l2", "l2", "none"}, \
            default="auto"
        How ILS and the baselines scale columns and rows; :func:`ilspace.datasets.preprocess`
        explains the steps. By default z-scores; from 50 columns on rows of length 1: of z-scores,
        for counts of those of square roots, for pixels and the like of the numbers as they are.
    matching : {"auto", "by-name", "none"}, default="auto"
        Whether columns of the same name mean the same. By default they do, unless the tables have
        none in common, or number their columns up to different ends.
    ids, ignored, keep, text : sequence of str, default=()
        Columns that identify rows; to leave out; to use although a rule would leave them out; of
        free text.
    random_state : int, RandomState instance or None, default=0
        Same number, same result.
    callback : callable, default=None
        Called with a ``Step`` at each iteration of ILS; a true answer stops the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    kind_ : {"table", "features"}
        What the tables were taken for.
    plan_ : ColumnPlan
        What was done with the columns.
    encoders_ : dict of str to TableEncoder
        From rows to numbers, by domain; that of the target alone where the tables share columns.
    rule_ : PooledRule or AdaptedRule
        What learned from the numbers.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed.
    source_names_ : tuple of str
        Names of the sources.
    n_features_in_, n_target_features_in_ : int
        Number of columns of the source, and of the target.

    Examples
    --------
    >>> import pandas as pd
    >>> from ilspace import TableClassifier
    >>> source = pd.DataFrame({"size": [1.0, 1.2, 0.9, 4.0, 4.1, 3.8], "color": list("rrgbbb")})
    >>> target = pd.DataFrame({"color": list("rgbb"), "size": [1.1, 1.0, 4.0, None]})
    >>> clf = TableClassifier().fit(source, ["s", "s", "s", "l", "l", "l"], target)
    >>> clf.predict(target).tolist()
    ['s', 's', 'l', 'l']
    """

    _revision: ClassVar[int] = 7

    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        "Xt": True,
        "yt": True,
        "sample_domain": True,
    }

    _parameter_constraints = {
        "method": [str, BaseEstimator],
        "kind": [StrOptions({"auto", "table", "features"})],
        "own_scaling": ["boolean"],
        "class_prior": [StrOptions({"auto", "source"}), dict, "array-like", None],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "matching": [StrOptions({"auto", "by-name", "none"})],
        "ids": ["array-like"],
        "ignored": ["array-like"],
        "keep": ["array-like"],
        "text": ["array-like"],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        method: Any = "auto",
        *,
        kind="auto",
        own_scaling=False,
        class_prior: Any = "auto",
        scaling="auto",
        matching="auto",
        ids=(),
        ignored=(),
        keep=(),
        text=(),
        random_state: Any = 0,
        callback=None,
    ):
        self.method = method
        self.kind = kind
        self.own_scaling = own_scaling
        self.class_prior = class_prior
        self.scaling = scaling
        self.matching = matching
        self.ids = ids
        self.ignored = ignored
        self.keep = keep
        self.text = text
        self.random_state = random_state
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, Xt=None, yt=None, sample_domain=None, *, source_names=None):
        """Learn from a labelled table, or several, and one with few labels or none.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d), or list of them
            Rows of the source; or one table per source, of which the columns are used that all
            have.
        y : array-like of shape (n,), or list of them
            Their labels.
        Xt : DataFrame or array-like of shape (nt, dt), optional
            Rows of the target; without it the committee learns from the source alone.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where there is none.
        sample_domain : array-like of shape (n,), optional
            Number of the domain of each row of `X`: positive of a source, negative of the target.
        source_names : sequence of str, optional
            Names of the sources.

        Returns
        -------
        self
            Fitted.
        """
        self.fit_pair(as_pair(X, y, Xt, yt, sample_domain, source_names))
        return self

    def fit_pair(self, pair: Pair) -> Encoded:
        """Learn from tables that were read.

        Parameters
        ----------
        pair : Pair
            The tables and their labels.

        Returns
        -------
        Encoded
            The rows as numbers, for what comes next.
        """
        self.__dict__.pop("classes_", None)  # should this fit fail, the last one is gone too
        self._find_method()
        plan = plan_columns(
            pair.source,
            pair.target,
            **{name: getattr(self, name) for name in ("kind", "matching", "ignored", "keep")},
            text=self.text,
            ids=self.ids,
        )
        if not plan.are_shared and not (pair.known >= 0).any():
            raise TableError(
                "Tables whose columns are not matched by name are related by labels alone, but no "
                "target row has one: label a few target rows of each class, or give both tables "
                "the same columns."
            )
        self.plan_, self.kind_, self.source_names_ = plan, plan.kind, pair.source_names
        widths = [each.shape[1] for each in (pair.source, pair.target) if each is not None]
        self.n_features_in_, self.n_target_features_in_ = widths[0], widths[-1]
        encoded = self._fit_encoders(pair)
        self.rule_ = self.make_rule(encoded).fit(encoded, pair, self.callback)
        self.class_prior_, self.classes_ = self.rule_.class_prior_, pair.classes
        return encoded

    def _fit_encoders(self, pair: Pair) -> Encoded:
        encoder = TableEncoder(self.plan_, random_state=self.random_state)
        self.encoders_ = {"target": encoder}
        if pair.target is None:
            (source,) = encoder.fit_transform(pair.source)
            return Encoded(source, source[:0])
        if self.plan_.are_shared:
            return Encoded(*encoder.fit_transform(pair.source, pair.target))
        self.encoders_["source"] = TableEncoder(self.plan_, "source", self.random_state)
        (source,) = self.encoders_["source"].fit_transform(pair.source)
        return Encoded(source, *encoder.fit_transform(pair.target))

    def _find_method(self) -> Any:
        """The method; an estimator where it is the name of a baseline."""
        method = self.method
        if not isinstance(method, str) or method in METHODS:
            return method
        from ilspace import baselines  # they are many, and the others need none of them

        if method not in baselines.__all__:
            names = ", ".join((*METHODS, *baselines.__all__))
            raise TableError(f"The method must be one of {names}, but is {method!r}.")
        return getattr(baselines, method)()

    def make_rule(self, encoded: Encoded) -> PooledRule | AdaptedRule:
        """Make what learns from encoded rows, not fitted.

        Parameters
        ----------
        encoded : Encoded
            Rows of tables whose columns are planned.

        Returns
        -------
        PooledRule or AdaptedRule
            By `method`, `own_scaling`, `scaling` and `class_prior`.
        """
        method, has_target = self._find_method(), len(encoded.target) > 0
        called = self.method if isinstance(self.method, str) else type(self.method).__name__
        if method == "auto":
            texts_alone = set(self.plan_.texts) == set(self.plan_.target)
            is_one_kind = self.kind_ == "features" or texts_alone
            relates = is_one_kind or not self.plan_.are_shared
            method = "ils" if relates and has_target else "committee"
        options: dict[str, Any] = {
            "class_prior": self.class_prior,
            "random_state": self.random_state,
        }
        adapts = method == "ils" or (method != "committee" and _adapts(method))
        if not adapts and not self.plan_.are_shared:
            raise TableError(
                f"The method {called} needs tables that share their columns, and these do not: use "
                "ils."
            )
        if not adapts:
            classifier = None if method == "committee" else method
            return PooledRule(classifier, own_scaling=self.own_scaling, **options)
        if not has_target:
            raise TableError(f"The method {called} adapts to a target, but there is none: pass Xt.")
        scaling = self.scaling
        if scaling == "auto":
            scaling = default_scaling(self.plan_, encoded)
        return AdaptedRule(
            None if method == "ils" else method,
            scaling=scaling,
            are_shared=self.plan_.are_shared,
            **options,
        )

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self):
        """Say that missing values and strings are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    # -- after fit -------------------------------------------------------------------------------

    def encode(self, X, domain="target"):
        """Rows as numbers.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            NaN where a number is missing.
        """
        check_is_fitted(self)
        if domain not in self.source_names_:
            check_domain(domain)
        table, side = as_table(X), "target" if domain == "target" else "source"
        expected = self.n_target_features_in_ if side == "target" else self.n_features_in_
        if not hasattr(X, "columns") and table.shape[1] != expected:  # without names they count
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input."
            )
        return self.encoders_.get(side, self.encoders_["target"]).transform(table)

    def member_probabilities(self, X, domain="target"):
        """Probabilities by each member of the committee.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n_members, n, n_classes)
            One member where the method is no committee.
        """
        rows = self.encode(X, domain)
        return self.rule_.votes(rows, domain)

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Mean over the members; rows sum to 1.
        """
        return self.member_probabilities(X, domain).mean(axis=0)

    def predict(self, X, domain="target"):
        """Class of each row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        codes = self.predict_proba(X, domain).argmax(axis=1)
        return self.classes_[codes]

    def score(self, X, y, sample_weight=None, *, domain="target"):
        """Accuracy on labelled rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        y : array-like of shape (n,)
            Their true labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        float
            Accuracy.
        """
        truth = natural_labels(y, "row")
        return accuracy_score(truth, self.predict(X, domain), sample_weight=sample_weight)

    def transform(self, X, domain="target", *, sample_domain=None):
        """Rows where their distances mean something.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.
        sample_domain : array-like of shape (n,), optional
            Number of the source of each row, from 1, where they are of several.

        Returns
        -------
        ndarray of shape (n, n_components)
            In the latent space of ILS; else on principal axes of the encoded rows.
        """
        rows = self.encode(X, domain)
        return self.rule_.latent(rows, domain, sample_domain=sample_domain)

    def fit_transform(self, X, y=None, Xt=None, yt=None, sample_domain=None, *, source_names=None):
        """Fit, then send the rows of X where their distances mean something.

        Parameters
        ----------
        X, y, Xt, yt, sample_domain, source_names : array-like
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n, n_components)
            Each row of X as one of its own domain; of a list of sources one after another.
        """
        pair = as_pair(X, y, Xt, yt, sample_domain, source_names)
        encoded = self.fit_pair(pair)
        owners = None if pair.owners is None else pair.owners + 1
        rows = self.rule_.latent(encoded.source, "source", sample_domain=owners)
        if sample_domain is None or Xt is not None:
            return rows
        whole, is_source = np.empty((len(X), rows.shape[1])), np.asarray(sample_domain) > 0
        whole[is_source] = rows
        if not is_source.all():
            whole[~is_source] = self.rule_.latent(encoded.target)
        return whole

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
            One per component.
        """
        check_is_fitted(self)
        return np.array([f"latent{i}" for i in range(self.rule_.n_components_)], dtype=object)

    def save(self, path):
        """Write the fitted classifier to a file that :func:`ilspace.load` reads.

        Parameters
        ----------
        path : str or path-like
            Where; the folder must exist, and a file that is there is replaced.
        """
        check_is_fitted(self)
        save_estimator(self, path)


def _adapts(estimator: Any) -> bool:
    """Tell estimators that take a target from those of scikit-learn."""
    return "Xt" in signature(estimator.fit).parameters
