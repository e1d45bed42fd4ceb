"""Train the members of a committee, with all labels or with some held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ilspace.backend import as_generator
from ilspace.domains import Domain, check_class_prior
from ilspace.domains.class_prior import class_factors, refuse_labels_of_no_share
from ilspace.estimators import ILSClassifier
from ilspace.ils import ObjectiveSettings
from ilspace.ils.rounds import PAIR_ROWS
from ilspace.rules.class_prior import (
    ClassPriorEstimate,
    counted_class_prior,
    estimate_class_prior,
    sample_of_classes,
)
from ilspace.tables import encoding
from ilspace.tables.columns import ColumnPlan
from ilspace.tables.committee import (
    UNADAPTED,
    Learned,
    Views,
    ask_members,
    target_views,
    with_shares,
)
from ilspace.tables.errors import TableError
from ilspace.tables.held_out import (
    N_FOLDS,
    HeldOut,
    folds_of_rows,
    rows_to_learn_from,
    weights_of_rows,
)
from ilspace.tables.members import (
    MEMBERS,
    METHODS,
    Asked,
    LogisticRule,
    TargetLogisticRule,
    TwoTables,
)
from ilspace.tables.several import ONE_SOURCE, weights_of_tables

COMMITTEE = "committee"

TARGET_ALONE = "linear-target"
"""The method that learns from target labels alone."""

_NOT_ADAPTED = ("SourceOnly", "TargetOnly", "Pooled")
"""Baselines that do not adapt."""


class Step(NamedTuple):
    """What is known during a fit.

    Attributes
    ----------
    member : str
        Which classifier learns.
    iteration : int
        Of its optimizer, from 0.
    objective : float
        What is minimised.
    """

    member: str
    iteration: int
    objective: float


class Tables(NamedTuple):
    """Two tables with the codes of their labels.

    Attributes
    ----------
    X : DataFrame of n rows
        Of the source.
    codes : ndarray of int, shape (n,)
        Their classes.
    Xt : DataFrame of nt rows
        Of the target.
    known : ndarray of int, shape (nt,)
        Their classes; -1 where there is no label.
    owners : ndarray of int, shape (n,), or None
        Number of the source of each row of `X`, from 0; None where there is one.
    """

    X: Any
    codes: np.ndarray
    Xt: Any
    known: np.ndarray
    owners: np.ndarray | None = None

    @property
    def has_labels(self) -> np.ndarray:
        """Which target rows have a label."""
        return self.known >= 0

    def rows(self, source: np.ndarray, target: np.ndarray) -> Tables:
        """Some rows of both tables.

        Parameters
        ----------
        source, target : ndarray of int
            Their positions.

        Returns
        -------
        Tables
            With these rows.
        """
        owners = None if self.owners is None else self.owners[source]
        parts = self.X.iloc[source], self.codes[source], self.Xt.iloc[target], self.known[target]
        return Tables(*parts, owners)

    def without_labels(self, rows: np.ndarray) -> Tables:
        """Hide some target labels.

        Parameters
        ----------
        rows : ndarray of int
            Positions of target rows.

        Returns
        -------
        Tables
            In which these have no label.
        """
        known = self.known.copy()
        known[rows] = -1
        return self._replace(known=known)


@dataclass(frozen=True, eq=False)
class Training:
    """How members are trained on two tables whose columns and classes are known.

    Attributes
    ----------
    method : str or estimator
        The committee, or one classifier alone.
    class_prior : {"auto", "source"}, mapping, array-like or None
        Shares of the classes in the target.
    random_state : int, Generator or None
        Draws rows where there are many.
    callback : callable or None
        Called with a :class:`Step` at each iteration of a member.
    classes : ndarray of shape (n_classes,)
        The classes.
    plan : ColumnPlan
        What is done with the columns.
    source_encoder, target_encoder : encoding.TableEncoder
        From rows of each table to numbers.
    source_names : tuple of str
        Names of the sources.
    """

    method: Any
    class_prior: Any
    random_state: Any
    callback: Callable[[Step], object] | None
    classes: np.ndarray
    plan: ColumnPlan
    source_encoder: encoding.TableEncoder
    target_encoder: encoding.TableEncoder
    source_names: tuple[str, ...] = ONE_SOURCE

    def train(self, tables: Tables, during: str = "") -> Learned:
        """Fit the members.

        Parameters
        ----------
        tables : Tables
            To learn from.
        during : str, default=""
            Names the fit to the callback, where it is not the only one.

        Returns
        -------
        Learned
            The members, and what they learned from.
        """
        classes, codes, known = self.classes, tables.codes, tables.known
        estimate = self._estimate_prior(tables)
        prior = self.class_prior if estimate is None else estimate.shares
        if prior is None or isinstance(prior, str):
            prior = np.bincount(codes) / len(codes)
        else:
            prior = check_class_prior(prior, classes)
        counts = np.bincount(known[known >= 0], minlength=len(classes))
        refuse_labels_of_no_share(counts, prior, classes)
        own_encoder, _ = encoding.fit_encoder(
            tables.X,
            self.plan.source,
            scaling=self.source_encoder.scaling,
            weights=class_factors(prior, np.bincount(codes))[codes],
        )
        source = {"source": self.source_encoder.encode(tables.X)}
        source["own"] = own_encoder.encode(tables.X)
        shared = self.source_encoder if self.plan.are_shared else None
        entries = self.target_encoder.read(tables.Xt)
        views = Views(source, target_views(entries, self.target_encoder, shared))
        y, given = classes[codes], self._given(known)
        weights = self._source_weights(tables, views)
        members = []
        for name, scaling, estimator in self._candidates(prior):
            can_tell = self.callback is not None and "callback" in estimator.get_params(deep=False)
            own = estimator.callback if can_tell else None
            if can_tell:
                estimator.set_params(callback=self._told(name + during, own))
            rows, labels = slice(None), given
            if name in METHODS and METHODS[name].sums_pairs:
                rows, labels = _some_labels(codes, given, known, as_generator(self.random_state))
            sources = views.source[scaling][rows], y[rows]
            if tables.owners is None:
                estimator.fit(*sources, views.target[scaling], labels)
            else:
                at_target, owners = (views.target[scaling], labels), tables.owners[rows]
                _fit_several(estimator, sources, at_target, owners, weights, self.source_names)
            if can_tell:
                estimator.set_params(callback=own)
            adapts = METHODS[name].adapts if name in METHODS else name not in _NOT_ADAPTED
            members.append(Asked(name, scaling, adapts, estimator))
        return Learned(tuple(members), prior, estimate, own_encoder, views, weights)

    def train_unadapted(self, views: Views, codes: np.ndarray) -> LogisticRule | None:
        """Fit the rule that does not adapt, on the source labels alone.

        Parameters
        ----------
        views : Views
            Both tables as numbers.
        codes : ndarray of int, shape (n,)
            Classes of the source rows.

        Returns
        -------
        LogisticRule or None
            None where the tables share no columns.
        """
        if not self.plan.are_shared:
            return None
        return LogisticRule().fit(views.source["source"], self.classes[codes])

    def hold_out(self, tables: Tables, prior: np.ndarray) -> HeldOut:
        """Fit again without the labels of each fold.

        Parameters
        ----------
        tables : Tables
            To learn from.
        prior : ndarray of shape (n_classes,)
            Shares of the classes in the target.

        Returns
        -------
        HeldOut
            What is said of labelled target rows without their own labels.
        """
        tables = tables.rows(*rows_to_learn_from(tables.codes, tables.known))
        labelled = np.flatnonzero(tables.has_labels)
        truth = tables.known[labelled]
        folds = folds_of_rows(truth)
        said = np.empty(0)
        rivals: dict[str, np.ndarray] = {}
        for fold in range(N_FOLDS):
            own = folds == fold
            hidden = labelled[own]
            given = tables.without_labels(hidden)
            learned = self.train(given, f", labels held out {fold + 1} of {N_FOLDS}")
            views = {name: rows[hidden] for name, rows in learned.views.target.items()}
            found = ask_members(learned.members, learned.prior, views)
            if fold == 0:
                said = np.empty((len(found), len(truth), len(self.classes)))
            said[:, own] = found
            for name, rule, scaling in (
                (UNADAPTED, self.train_unadapted(learned.views, given.codes), "source"),
                (TARGET_ALONE, self._train_on_target(learned.views, given), "own"),
            ):
                if rule is not None:
                    codes = rivals.setdefault(name, np.full(len(truth), -1))
                    found = with_shares(rule.predict_proba(views[scaling]), learned.prior)
                    codes[own] = found.argmax(axis=1)
        counts = np.bincount(truth, minlength=len(self.classes))
        random = counted_class_prior(counts, all_known=bool(tables.has_labels.all())) is not None
        return HeldOut(truth, folds, said, rivals, weights_of_rows(truth, prior, random=random))

    def _source_weights(self, tables: Tables, views: Views) -> np.ndarray:
        """Weights of the sources, of sum 1."""
        if tables.owners is None:
            return np.ones(1)
        return weights_of_tables(
            views.source["own"],
            tables.codes,
            tables.owners,
            Domain(views.target["own"], tables.known),
            self.classes,
            are_shared=self.plan.are_shared,
            random_state=as_generator(self.random_state),
        )

    def _given(self, known: np.ndarray) -> np.ndarray | None:
        """Target labels, None for a row without; or none at all."""
        has_label = known >= 0
        return np.where(has_label, self.classes[known], np.array(None)) if has_label.any() else None

    def _train_on_target(self, views: Views, tables: Tables) -> LogisticRule | None:
        """Fit the rule that knows target labels alone, where there are any."""
        given = self._given(tables.known)
        if given is None:
            return None
        y = self.classes[tables.codes]
        return TargetLogisticRule().fit(views.source["own"], y, views.target["own"], given)

    def _estimate_prior(self, tables: Tables) -> ClassPriorEstimate | None:
        """Estimate the shares of the classes in the target, if that is asked for and possible."""
        prior = self.class_prior
        if not (isinstance(prior, str) and prior == "auto" and self.plan.are_shared):
            return None
        rows, others = (self.source_encoder.encode(each) for each in (tables.X, tables.Xt))
        rng = as_generator(self.random_state)
        n_classes = len(self.classes)
        return estimate_class_prior(rows, tables.codes, others, tables.known, n_classes, rng=rng)

    def _candidates(self, prior: np.ndarray) -> list[tuple[str, str, Any]]:
        """Name, scaling and estimator of all that are asked."""
        method = self.method
        if not isinstance(method, str):
            return [(type(method).__name__, "own", clone(method))]
        options: dict[str, Any] = {
            "class_prior": None if self.class_prior is None else prior,
            "random_state": self.random_state,
        }
        if method == COMMITTEE:
            names = [name for name in MEMBERS if self.plan.are_shared or name == "ils"]
        elif method in METHODS:
            names = [method]
            if not self.plan.are_shared and method != "ils":
                raise TableError(
                    f"The method {method} needs tables that share their columns, and these do "
                    "not: use ils."
                )
        else:
            from ilspace import baselines  # they are many, and the others need none of them

            return [(method, "own", getattr(baselines, method)())]
        return [(name, METHODS[name].scaling, METHODS[name].make(**options)) for name in names]

    def _told(self, name: str, own: Callable[..., object] | None) -> Callable[..., object]:
        """Make the callback of a member; its own is called as well, and each may stop the fit."""
        tell: Any = self.callback

        def step(iteration: int, now) -> object:
            wants_end = tell(Step(name, iteration, float(now.progress.value)))
            return (own is not None and own(iteration, now)) or wants_end

        return step


def _some_labels(
    codes: np.ndarray, given: np.ndarray | None, known: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray | slice, np.ndarray | None]:
    """Source rows, and target labels, for a member that sums over all pairs of labelled rows."""
    rows: np.ndarray | slice = slice(None)
    if len(codes) > PAIR_ROWS:
        rows = sample_of_classes(codes, PAIR_ROWS, rng)
    labelled = np.flatnonzero(known >= 0)
    if given is not None and len(labelled) > PAIR_ROWS:
        kept = labelled[sample_of_classes(known[labelled], PAIR_ROWS, rng)]
        given = np.where(np.isin(np.arange(len(known)), kept), given, np.array(None))
    return rows, given


def _fit_several(
    estimator: Any,
    sources: tuple[np.ndarray, np.ndarray],
    target: tuple[np.ndarray, np.ndarray | None],
    owners: np.ndarray,
    weights: np.ndarray,
    names: tuple[str, ...],
) -> None:
    """Fit a member to several sources: apart where it can, else to their rows as one table."""
    X, y = sources
    if isinstance(estimator, ILSClassifier):
        # a sample of many rows may have left too little of a small source
        kept = [i for i in range(len(names)) if np.sum(owners == i) > 1]
        settings = clone(estimator.objective) if estimator.objective else ObjectiveSettings()
        if settings.source_weights is None:
            settings.set_params(source_weights=weights[kept].tolist())
        parts = [(X[owners == i], y[owners == i]) for i in kept]
        rows, labels = map(list, zip(*parts, strict=True))
        estimator.set_params(objective=settings)
        estimator.fit(rows, labels, *target, source_names=[names[i] for i in kept])
    elif isinstance(estimator, TwoTables):
        estimator.fit(X, y, *target, sample_weight=(weights / weights.max())[owners])
    else:
        estimator.fit(X, y, *target)
