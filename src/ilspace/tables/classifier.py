"""An estimator of tables: mixed columns and missing values in, labels and their trust out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace.backend import as_generator
from ilspace.domains import check_domain
from ilspace.domains.labels import encode_source, encode_target, natural_labels
from ilspace.estimators import ILSClassifier
from ilspace.estimators.persistence import Fitted, loadable, save_estimator, training_record
from ilspace.rules.class_prior import (
    overlap_of_classes,
)
from ilspace.selection.calibration import raised
from ilspace.storage import schema
from ilspace.tables import encoding
from ilspace.tables.agreement import Agreement, measure_agreement
from ilspace.tables.column import STRING
from ilspace.tables.columns import ColumnPlan, plan_columns
from ilspace.tables.committee import (
    ADAPTED,
    UNADAPTED,
    ask_members,
    target_views,
    with_shares,
)
from ilspace.tables.errors import TableError
from ilspace.tables.held_out import (
    N_FOLDS,
    HeldOut,
)
from ilspace.tables.members import (
    ASKED,
    MEMBERS,
    METHODS,
    LogisticRule,
)
from ilspace.tables.restored import check_restored
from ilspace.tables.sentences import AUTO, TEXT_FEATURES
from ilspace.tables.several import several_sources
from ilspace.tables.training import COMMITTEE, Tables, Training
from ilspace.tables.trust import Trust, in_words, learn_trust

JUDGED_ROWS = 20_000
"""Target rows that stand for all where it is judged how far members agree."""

_FEWEST_KNOWN = 0.5
"""Share of its columns in which a row must have a value, for its label to be trusted."""


_WEIGHTS = schema.Check("be 0 or more", lambda weights: np.all(weights >= 0))


def _check_method(method: object) -> None:
    """Refuse the name of a method that there is not; baselines are loaded for their names alone."""
    if not isinstance(method, str) or method == COMMITTEE or method in METHODS:
        return
    from ilspace import baselines

    names = (COMMITTEE, *METHODS, *baselines.__all__)
    if method not in names:
        raise TableError(f"The method must be one of {', '.join(names)}, but is {method!r}.")


@loadable
class TableClassifier(ClassifierMixin, BaseEstimator):
    """Label the rows of a table, given a labelled table of another domain, or several.

    Finds out what the columns are, fills missing values, asks a committee of classifiers, some of
    which adapt to the target and some do not, and averages what they say. Probabilities are as
    high as the members agree, and predictions on which they do not are not trusted.

    Parameters
    ----------
    method : str or estimator, default="committee"
        The committee, or one classifier alone: a member (``"linear"``, ``"linear-own"``,
        ``"self-training"``, ``"self-training-own"``, ``"ils"``), ``"linear-target"``, which learns
        from target labels alone, the name of a class of
        :mod:`ilspace.baselines`, or an estimator with the signature of those.
    class_prior : {"auto", "source"}, mapping, array-like or None, default="auto"
        Shares of the classes in the target: estimated, as in the source, or given, by name or in
        the order of `classes_`. None leaves it to each member. They weigh the source rows in all
        that is learned from them; a class of share 0 is never predicted.
    scaling : {"auto", "zscore", "zscore-l2", "sqrt-zscore-l2", "l2-zscore-l2", "l2", "none"}, \
            default="auto"
        How columns and rows are scaled; :func:`ilspace.datasets.preprocess` explains the steps.
        By default z-scores, and rows of length 1 where there are 50 columns or more; of these,
        pixels, whose columns share one range, are not made z-scores, and of counts the square
        roots are taken.
    matching : {"auto", "by-name", "none"}, default="auto"
        Whether columns of the same name mean the same. By default they do, unless the tables have
        none in common, or number their columns up to different ends.
    ids, ignored : sequence of str, default=()
        Columns that name rows, and columns to leave out.
    text : sequence of str, default=()
        Columns of free text; columns of many different sentences are found without.
    text_features : {"auto", "tfidf", "wordllama", "both"}, default="auto"
        What describes free text: dimensions that its words and parts of words span; sentence
        embeddings that come with the package wordllama, of English above all; or both. By default
        both where that package is installed, and else the first.
    trust : float, default=0.85
        Probability from which on a prediction that all members share may be trusted; below 1.
    random_state : int, default=0
        Draws rows where there are many.
    callback : callable, default=None
        Called with a ``Step`` at each iteration of a member; a true answer stops that fit.

    Attributes
    ----------
    members_ : tuple of Asked
        The fitted members.
    unadapted_ : LogisticRule or None
        What is said without adaptation: logistic regression on the source labels alone, both
        tables in the source's scaling. None where the tables share no columns.
    plan_ : ColumnPlan
        What was done with the columns.
    source_encoder_, target_encoder_ : encoding.TableEncoder
        From rows of each domain to numbers.
    own_encoder_ : encoding.TableEncoder
        As `source_encoder_`, with the moments of source rows weighed by the class shares.
    source_names_ : tuple of str
        Names of the sources.
    source_weights_ : ndarray of shape (n_sources,)
        Their weights, of sum 1, found without target labels: rows of a source weigh so much in all
        members, but not in `unadapted_`.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed.
    prior_estimate_ : ClassPriorEstimate or None
        How they were estimated, if they were; not saved.
    member_weights_ : ndarray of shape (n_members,)
        Weights of the members in the average: equal without target labels, else by how probable
        each of them finds labels that it did not see.
    held_out_ : HeldOut or None
        What the members say of such labels; None without, and not saved.
    agreement_ : Agreement
        How far the members agree on target rows without a label, and what that says of their
        accuracy.
    trust_ : Trust
        Bounds of what is trusted.
    recommended_ : {"adapted", "unadapted"}
        Which label :meth:`label_rows` gives; ``"adapted"`` unless a verdict says otherwise.
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

    _revision: ClassVar[int] = 6

    _parameter_constraints = {
        "method": [str, BaseEstimator],
        "class_prior": [StrOptions({"auto", "source"}), dict, "array-like", None],
        "scaling": [StrOptions({"auto", *encoding.SCALINGS})],
        "matching": [StrOptions({"auto", "by-name", "none"})],
        "ids": ["array-like"],
        "ignored": ["array-like"],
        "text": ["array-like"],
        "text_features": [StrOptions(set(TEXT_FEATURES))],
        "trust": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    _schema = {
        "members_": schema.Each(ASKED, check=schema.NOT_EMPTY),
        "unadapted_": schema.Optional(Fitted(LogisticRule, {"n_features_in_": "source"})),
        "source_encoder_": encoding.encoder_schema("source"),
        "own_encoder_": encoding.encoder_schema("source"),
        "target_encoder_": encoding.encoder_schema("target"),
        "plan_": schema.Record(
            partial(ColumnPlan, source=(), target=()),  # the encoders know them
            {
                "ids": schema.Each(STRING),
                "are_shared": schema.Value(bool),
                "notes": schema.Each(STRING),
            },
        ),
        "source_names_": schema.Each(STRING, "sources", check=schema.NOT_EMPTY),
        "source_weights_": schema.ArrayOf(("sources",), check=schema.POSITIVE),
        "class_prior_": schema.ArrayOf(("c",)),
        "member_weights_": schema.ArrayOf(("m",), check=_WEIGHTS),
        "agreement_": Agreement.schema,
        "trust_": Trust.schema,
        "recommended_": schema.Value(
            str, check=schema.Check("be adapted or unadapted", (ADAPTED, UNADAPTED).__contains__)
        ),
    }

    def __init__(
        self,
        method: Any = "committee",
        *,
        class_prior: Any = "auto",
        scaling="auto",
        matching="auto",
        ids=(),
        ignored=(),
        text=(),
        text_features=AUTO,
        trust=0.85,
        random_state=0,
        callback=None,
    ):
        self.method = method
        self.class_prior = class_prior
        self.scaling = scaling
        self.matching = matching
        self.ids = ids
        self.ignored = ignored
        self.text = text
        self.text_features = text_features
        self.trust = trust
        self.random_state = random_state
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, Xt=None, yt=None, sample_domain=None, *, source_names=None):
        """Learn from a labelled table, or several, and one with few labels or none.

        Parameters
        ----------
        X : DataFrame, or list of DataFrame
            Rows of the source; or one table per source, of which the columns are used that all
            have.
        y : array-like of shape (n,), or list of them
            Their labels.
        Xt : DataFrame
            Rows of the target.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 where there is none.
        sample_domain : array-like of shape (n,), optional
            Positive number of the source of each row of `X`, where it holds several.
        source_names : sequence of str, optional
            Names of the sources.

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
        _check_method(self.method)
        X, y, owners, names, notes = several_sources(X, y, sample_domain, source_names)
        y = np.asarray(natural_labels(y))
        check_consistent_length(X, y)
        classes, codes = encode_source(y)
        known = encode_target(yt, classes, len(Xt))
        plan = plan_columns(
            X,
            Xt,
            ids=self.ids,
            ignored=self.ignored,
            text=self.text,
            text_features=self.text_features,
            matching=self.matching,
        )
        self.plan_, self.source_names_ = replace(plan, notes=(*notes, *plan.notes)), names
        if not self.plan_.are_shared and (known < 0).all():
            raise TableError(
                "Tables whose columns are not matched by name are related by labels alone, but no "
                "target row has one: label a few target rows of each class, or give both tables "
                "the same columns."
            )
        self.n_features_in_ = len(self.plan_.source)
        scaling = self.scaling
        if scaling == "auto":
            scaling = encoding.default_scaling((X, self.plan_.source), (Xt, self.plan_.target))
        self.source_encoder_, _ = encoding.fit_encoder(X, self.plan_.source, scaling=scaling)
        self.target_encoder_, _ = encoding.fit_encoder(Xt, self.plan_.target, scaling=scaling)
        self._fit_encoded(classes, Tables(X, codes, Xt, known, owners))
        return self

    def refit(self, X, y, Xt, yt=None, sample_domain=None, *, target_encoder):
        """Learn again from the same tables, with another scaling of the target.

        Parameters
        ----------
        X : DataFrame
            Rows of the source.
        y : array-like of shape (n,)
            Their labels.
        Xt : DataFrame
            Rows of the target.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None where there is none.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.
        target_encoder : encoding.TableEncoder
            For the columns of the last fit.

        Returns
        -------
        self
            Fitted.
        """
        X, y, owners, *_ = several_sources(X, y, sample_domain, None)
        classes, codes = encode_source(np.asarray(natural_labels(y)))
        self.target_encoder_ = target_encoder
        known = encode_target(yt, classes, len(Xt))
        self._fit_encoded(classes, Tables(X, codes, Xt, known, owners))
        return self

    def _training(self, classes: np.ndarray) -> Training:
        """How members are trained, once the columns are known."""
        return Training(
            self.method,
            self.class_prior,
            self.random_state,
            self.callback,
            classes,
            self.plan_,
            self.source_encoder_,
            self.target_encoder_,
            self.source_names_,
        )

    def _fit_encoded(self, classes: np.ndarray, tables: Tables) -> None:
        """Learn from tables whose encoders are known."""
        training, (_, codes, Xt, known, _) = self._training(classes), tables
        learned = training.train(tables)
        self.members_, views = learned.members, learned.views
        self.class_prior_, self.prior_estimate_ = learned.prior, learned.estimate
        self.own_encoder_, self.source_weights_ = learned.own_encoder, learned.source_weights
        self.unadapted_ = training.train_unadapted(views, codes)
        self.held_out_: HeldOut | None = None
        self.member_weights_ = np.full(len(self.members_), 1 / len(self.members_))
        if len(self.members_) > 1 and tables.has_labels.sum() >= N_FOLDS:
            self.held_out_ = training.hold_out(tables, learned.prior)
            self.member_weights_ = self.held_out_.member_weights()
        free = known < 0 if (known < 0).any() else known >= 0
        adapts = np.array([each.adapts for each in self.members_])
        judged = views.target
        if len(known) > JUDGED_ROWS:
            rng = as_generator(self.random_state)
            free = rng.permutation(np.flatnonzero(free))[:JUDGED_ROWS]
            judged, free = {name: rows[free] for name, rows in judged.items()}, slice(None)
        self.agreement_ = measure_agreement(
            ask_members(learned.members, learned.prior, judged)[:, free],
            adapts,
            self.member_weights_,
            held_out=self.held_out_,
        )
        overlap = 1.0
        if self.plan_.are_shared:
            overlap = overlap_of_classes(
                views.source["source"],
                codes,
                views.target["source"],
                rng=as_generator(self.random_state),
            )
        self.trust_ = learn_trust(
            self.agreement_,
            self.target_encoder_.distances(self.target_encoder_.read(Xt)),
            n_members=len(self.members_),
            counts=np.bincount(codes)[self.class_prior_ > 0],
            overlap=overlap,
            probability=self.trust,
        )
        self.recommended_ = ADAPTED
        self.classes_ = classes

    def hold_out(self, X, y, Xt, yt, sample_domain=None):
        """Find what is said of labelled target rows without their own labels.

        Parameters
        ----------
        X : DataFrame
            Rows of the source.
        y : array-like of shape (n,)
            Their labels.
        Xt : DataFrame
            Rows of the target.
        yt : array-like of shape (nt,)
            Labels of the target rows; None where there is none.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.

        Returns
        -------
        HeldOut
            As `held_out_`, which a committee has since its fit.
        """
        check_is_fitted(self)
        X, y, owners, *_ = several_sources(X, y, sample_domain, None)
        _, codes = encode_source(np.asarray(natural_labels(y)))
        known = encode_target(yt, self.classes_, len(Xt))
        tables = Tables(X, codes, Xt, known, owners)
        return self._training(self.classes_).hold_out(tables, self.class_prior_)

    def _target_views(self, entries: encoding.Entries) -> dict[str, np.ndarray]:
        """Target rows, by scaling."""
        shared = self.source_encoder_ if self.plan_.are_shared else None
        return target_views(entries, self.target_encoder_, shared)

    def _method_parts(self) -> list[Any]:
        """What it makes for itself, for records of how results were made."""
        if not isinstance(self.method, str):
            return []
        if self.method != COMMITTEE and self.method not in METHODS:
            from ilspace import baselines

            is_known = self.method in baselines.__all__
            return [getattr(baselines, self.method)()] if is_known else []
        names = MEMBERS if self.method == COMMITTEE else [self.method]
        return [METHODS[name].make() for name in names]

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "classes_")

    # -- after fit -------------------------------------------------------------------------------

    @property
    def ils_(self) -> Any:
        """The member that has a latent space, an ILSClassifier; None if there is none."""
        found = [each.estimator for each in self.members_]
        return next((each for each in found if isinstance(each, ILSClassifier)), None)

    def _check_domain(self, domain: object) -> None:
        if domain not in self.source_names_:
            check_domain(domain)

    def encode(self, X, domain="target"):
        """Rows as numbers, each table scaled by itself.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n, n_encoded)
            Missing values filled, categories as indicators, scaled.
        """
        check_is_fitted(self)
        self._check_domain(domain)
        return (self.target_encoder_ if domain == "target" else self.own_encoder_).encode(X)

    def member_probabilities(self, X, domain="target"):
        """What each member says of rows.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n_members, n, n_classes)
            Probabilities, in the order of `members_`.
        """
        check_is_fitted(self)
        self._check_domain(domain)
        if domain == "target":
            views = self._target_views(self.target_encoder_.read(X))
        else:
            views = {"source": self.source_encoder_.encode(X), "own": self.own_encoder_.encode(X)}
        return ask_members(self.members_, self.class_prior_, views, domain)

    def _average(self, said: np.ndarray) -> np.ndarray:
        """Calibrated average of what the members say."""
        average = np.tensordot(self.member_weights_, said, axes=1)
        return raised(average, self.agreement_.inverse_temperature)

    def predict_entries(self, entries):
        """Probabilities of the classes of target rows whose entries are read already.

        Parameters
        ----------
        entries : encoding.Entries
            From `target_encoder_`, or some that were changed since.

        Returns
        -------
        ndarray of shape (n, n_classes)
            By what the labels of :meth:`label_rows` come from: as :meth:`predict_proba`, or without
            adaptation where the verdict recommends that.
        """
        check_is_fitted(self)
        views = self._target_views(entries)
        plain = self._plain(views) if self.recommended_ == UNADAPTED else None
        if plain is not None:
            return plain
        return self._average(ask_members(self.members_, self.class_prior_, views))

    def unadapted_probabilities(self, X):
        """What is said of target rows without adaptation.

        Parameters
        ----------
        X : DataFrame
            Rows of the target.

        Returns
        -------
        ndarray of shape (n, n_classes) or None
            Probabilities by `unadapted_`; None where the tables share no columns.
        """
        check_is_fitted(self)
        return self._plain(self._target_views(self.target_encoder_.read(X)))

    def _plain(self, views: dict[str, np.ndarray]) -> np.ndarray | None:
        if self.unadapted_ is None:
            return None
        return with_shares(self.unadapted_.predict_proba(views["source"]), self.class_prior_)

    def predict_proba(self, X, domain="target"):
        """Probabilities of the classes.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n, n_classes)
            The mean of what the members say, by their weights, less sure the less they agree on the
            target. Rows sum to 1.
        """
        return self._average(self.member_probabilities(X, domain))

    def predict(self, X, domain="target"):
        """Class of each row, by the committee.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        found = self.predict_proba(X, domain)
        return self.classes_[found.argmax(axis=1)]

    def label_rows(self, X):
        """Labels of target rows, and how far to trust them.

        Parameters
        ----------
        X : DataFrame
            Rows of the target, seen at fit or not.

        Returns
        -------
        DataFrame
            ``label`` (what the verdict recommends), ``probability`` of that label, ``trusted``,
            ``doubts`` (why not: ``unsure`` and ``far`` are beyond the bounds of trust,
            ``contested`` are of a class on whose rows the members agree too seldom, ``missing``
            lack half of the columns, of ``split`` the members say different things, and
            ``withheld`` are all where too little is known of the target), ``adapted`` and
            ``unadapted``, the labels with and without adaptation; the latter is missing where the
            tables share no columns.
        """
        import pandas as pd

        check_is_fitted(self)
        entries = self.target_encoder_.read(X)
        views = self._target_views(entries)
        said = ask_members(self.members_, self.class_prior_, views)
        found, plain = self._average(said), self._plain(views)
        adapted = found.argmax(axis=1)
        unadapted, codes = None, adapted
        if plain is not None:
            unadapted = plain.argmax(axis=1)
            codes = unadapted if self.recommended_ == UNADAPTED else adapted
        each = np.arange(len(codes))
        distances = self.target_encoder_.distances(entries)
        doubts = self.trust_.doubts(found[each, codes], distances, codes)
        doubts["missing"] = entries.n_known / len(self.target_encoder_.columns) < _FEWEST_KNOWN
        doubts["split"] = (said.argmax(axis=2) != codes).any(axis=0)
        words = in_words(doubts)
        without = np.array(None) if unadapted is None else self.classes_[unadapted]
        return pd.DataFrame(
            {
                "label": self.classes_[codes],
                "probability": found[each, codes],
                "trusted": words == "",
                "doubts": words,
                ADAPTED: self.classes_[adapted],
                UNADAPTED: np.broadcast_to(without, len(codes)),
            }
        )

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
        """Rows in the latent space.

        Parameters
        ----------
        X : DataFrame
            Rows of one domain.
        domain : {"target", "source"} or str, default="target"
            Which one; of several sources one by its name, ``"source"`` for the first.
        sample_domain : array-like of shape (n,), optional
            Number of the source of each row, from 1, where they are of several.

        Returns
        -------
        ndarray of shape (n, n_components)
            Where Euclidean distance is the learned one.
        """
        rows, ils = self.encode(X, domain), self.ils_
        if ils is None:
            raise TableError(f"The method {self.method} has no latent space: use ils.")
        if sample_domain is not None:
            known = ils.source_names_
            numbers = [known.index(name) + 1 if name in known else 1 for name in self.source_names_]
            sample_domain = np.array(numbers)[np.asarray(sample_domain, dtype=int) - 1]
        elif domain != "target" and domain not in ils.source_names_:
            domain = "source"
        return ils.transform(rows, domain, sample_domain=sample_domain)

    # -- on disk ---------------------------------------------------------------------------------

    def save(self, path):
        """Write the fitted classifier to a file that :func:`ilspace.load` reads.

        As :meth:`ilspace.ILSTransformer.save`. The committee and its members can be saved, other
        methods cannot.

        Parameters
        ----------
        path : str or path-like
            Where; the folder must exist, and a file that is there is replaced.
        """
        check_is_fitted(self)
        ils = self.ils_
        save_estimator(self, path, training=None if ils is None else training_record(ils))

    def _saved_parameters(self):
        method = self.method
        prior = self.class_prior
        plain: dict[str, Any] = {}
        if not (prior is None or isinstance(prior, str)):
            plain["class_prior"] = self.class_prior_.tolist()
        if not isinstance(method, str):
            plain["method"] = self.members_[0].estimator
        return self.get_params(deep=False) | plain

    def _restored(self):
        """Complete the attributes that a file gave, and refuse those that do not agree."""
        source, target = self.source_encoder_, self.target_encoder_
        self.plan_ = replace(self.plan_, source=source.columns, target=target.columns)
        self.prior_estimate_, self.held_out_ = None, None
        self.n_features_in_ = len(source.columns)
        self.classes_ = self.members_[0].estimator.classes_
        check_restored(self)
