"""The invariant latent space as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace._typing import Array
from ilspace._warnings import warn
from ilspace.backend import array_namespace, as_generator, holds_dask, to_numpy
from ilspace.dask import refuse_in_one_place
from ilspace.domains import Domains
from ilspace.domains.several import is_list_of_sources
from ilspace.estimators.base import DomainAdapter, Position, latent_distance, latent_of
from ilspace.estimators.batches import check_batch
from ilspace.estimators.class_prior import Assumed, assume, assume_in_batches
from ilspace.estimators.source_weights import weigh_sources
from ilspace.estimators.unseen import batch_centred, blocks_centred
from ilspace.ils import INITS, ILSMap, ObjectiveSettings, OnlineState, fit_ils, update_ils
from ilspace.ils.map import to_latent
from ilspace.optimizers import SOLVERS, STOCHASTIC_SOLVERS, Solution, Status
from ilspace.rules.class_prior import ClassPriorEstimate

_REMEDIES = {
    Status.EXHAUSTED: "raise max_iter, or raise tol if the accuracy suffices",
    Status.STALLED: (
        "the result is usable; if it disappoints, scale the columns alike, raise shrinkage, or "
        'try solver="lbfgs"'
    ),
    Status.DIVERGED: "scale the columns alike, raise shrinkage, or lower margin_scale",
}


class ILSTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DomainAdapter):
    r"""Send two or more domains to one latent space in which equal classes are close.

    Learns an orthonormal projection for each domain and one Mahalanobis metric, so that labelled
    rows of one class come closer than the margin, rows of different classes stay farther apart
    than the margin, and the covariances of both domains agree :cite:p:`herath2017`:

    .. math::

       \min_{W_s, W_t, M}\ &\sum_k w_k\,\ell_\beta\bigl(y_k(d_k - 1)\bigr)
         + \tfrac{\mu}{p}\,\delta(M, I)
         + \tfrac\lambda p\,\delta(W_s^\top\Sigma_sW_s, W_t^\top\Sigma_tW_t) \\
         &+ \tfrac{a_s}{p}\|W_s - W_{s,0}\|^2 + \tfrac{a_t}{p}\|W_t - W_{t,0}\|^2

    over the product of two Stiefel manifolds and the cone of positive definite matrices. The
    last two terms are not in the paper, whose objective loses target accuracy when it is minimised
    to convergence; with them the minimiser itself is good. :meth:`as_in_paper` gives the paper's.
    Of several sources, ``fit([X1, X2], [y1, y2], Xt)``, each has a projection and an anchor of its
    own and is compared with the target; the pairs are those of the rows of all domains.

    Parameters
    ----------
    n_components : int, default=None
        Dimension p of the latent space. By default 30 for domains of the same columns and 20
        for others, or the rank of the rows if that is smaller. On Office+Caltech10, which has ten
        classes, 20 to 50 are alike; 10 are too few, and 100 too many where target labels exist.
    n_atoms : int, default=None
        Number of atoms of a dictionary that all domains share. Latent rows then become sparse
        combinations of atoms, which removes some of their noise; None for no dictionary. On
        Office+Caltech10 100 atoms are good.
    class_prior : {"source", "auto"}, array-like of shape (n_classes,) or mapping, default=None
        Shares of the classes in the target. None: nothing is said of them; they should be about
        those of the source. ``"source"``: they are. ``"auto"``: they are estimated by
        :func:`~ilspace.rules.estimate_class_prior`, or counted where 20 or more target
        labels look randomly chosen. Or the shares, in the order of `classes_` or by class; sums
        within 1 % of one are normalised. Source rows then weigh q / p times as much, with q the
        share of their class in the target and p its share in the source: in the mean and
        covariance of the source and in the loss. Rows of a class of share 0 are left out.
    unseen_mean : {"batch"}, default=None
        What centres rows of a domain that `fit` did not see, of models that were fitted without a
        target. None: the mean of all source rows. ``"batch"``: their own mean, so that all rows of
        one call must be of one domain, and are predicted together.
    objective : ObjectiveSettings, default=None
        Weights of the terms, and what else experts and the reproduction of the paper need; None
        for the defaults of :class:`~ilspace.ObjectiveSettings`. Pass one, so that a search finds
        nested names such as ``objective__trade_off``.
    init : {"auto", "target-pca", "joint-pca", "pls", "class-means"} or array(s), default="auto"
        Initial projections, toward which they are regularised. ``"target-pca"``: all at the
        principal axes of the target, the best for domains of the same columns and their default;
        ``"joint-pca"``: of both domains; ``"pls"``: partial least squares of the source;
        ``"class-means"``: principal axes of the target, and source directions turned so that the
        labelled class means agree, the default for domains of different columns. Or an array of
        shape (n_features, p), or a tuple of one per domain.
    solver : str, default="conjugate-gradient"
        Optimizer: ``"conjugate-gradient"``, ``"steepest-descent"``, ``"lbfgs"``,
        ``"alternating"``, ``"projected-gradient"``, ``"sgd"`` or ``"adam"``. The last two are
        stochastic: a step compares the rows of one mini-batch, so that it costs the same however
        many labelled rows there are; 20 steps are an iteration. They pay from some thousand rows
        on.
    batch_size : int, default=512
        Labelled rows per mini-batch of ``"sgd"`` and ``"adam"``, about equally many of each
        class. Where it is no less than their number each step sees them all.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when the relative decrease of the objective per iteration, averaged over the last
        `objective.patience` ones, falls below `tol`. Needs no labels. 0 goes on until `max_iter`,
        or until the gradient has fallen to 1e-8 of the first.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the dissimilar pairs of ``pairs="sampled"`` and the mini-batches of the stochastic
        solvers; nothing else is random.
    verbose : int, default=0
        1 writes a line to standard error every ten iterations and one at the end, 2 for each.
    callback : callable, default=None
        Called with the number of iterations and the :class:`~ilspace.optimizers.Iterate`, whose
        point holds the projections and the metric; a true answer stops.

    Attributes
    ----------
    source_projection_, target_projection_ : array of shape (n_features, p)
        Projections of centred rows, orthonormal unless that was turned off. Of several sources
        this, the mean and the scale are those of the first; `map_` has all.
    metric_ : array of shape (p, p)
        Mahalanobis metric of the latent space.
    map_ : ILSMap
        All of this in one record, with the maps that :meth:`transform` applies.
    source_mean_, target_mean_ : array of shape (n_features,)
        Means of the domains.
    source_scale_, target_scale_ : float
        Factors of the centred rows.
    sharpness_ : float
        The sharpness used.
    n_components_ : int
        Dimension of the latent space.
    source_names_ : tuple of str
        Names of the sources; where none were given ``"source"``, or ``"source 1"`` and so on.
    source_weights_ : ndarray of shape (n_sources,)
        Weights of the sources, of sum 1, in the rule; the space is learned with their fourth roots.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that were assumed in the target: given, estimated, or the weighted
        ones of the source.
    class_prior_estimate_ : ClassPriorEstimate or None
        The estimate of ``class_prior="auto"``, with an interval for each share and whether labels
        were counted; None otherwise.
    solution_ : Solution
        Status, history and final point of the optimization.
    n_iter_ : int
        Number of iterations.
    n_features_in_, feature_names_in_
        Columns of the source, or of the first of several.
    n_target_features_in_, target_feature_names_in_
        Columns of the target.

    See Also
    --------
    ILSClassifier : The same with a nearest-neighbour rule in the latent space.

    Notes
    -----
    `n_atoms` works with arrays of any library, Dask collections, of which a sample is read once
    more, several sources, all solvers, `sample_weight`, `class_prior` and :meth:`save`; not with
    :meth:`partial_fit`. Atoms are learned from 2,000 rows at most, whose weights do not count.

    Several sources work with arrays of any library, Dask collections, all solvers, `sample_weight`,
    `class_prior` and :meth:`save`; not with :meth:`partial_fit`. Where the columns of one source
    are not those of the target, labels must relate all of them to it. Several sources without a
    target give a map for any domain to come, ``domain="unseen"``. The weights of the sources
    cost one self-training rule in a space that is not learned; :class:`~ilspace.ObjectiveSettings`
    has a parameter for other ones.

    `class_prior` works with arrays of any library, Dask collections, all solvers, `sample_weight`,
    which it multiplies, :meth:`save`, and :meth:`partial_fit`; ``"auto"`` needs all rows at once,
    and of Dask collections reads the blocks of the rows that it draws once more.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace import ILSTransformer
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = X @ np.diag([1, 2, 1, 0.5, 1]) + 3
    >>> ils = ILSTransformer(n_components=2).fit(X, y, Xt)
    >>> ils.transform(Xt).shape, ils.transform(X, domain="source").shape
    ((40, 2), (40, 2))
    """

    __metadata_request__fit = {"source_names": True}
    __metadata_request__partial_fit = {"Xt": True, "yt": True, "classes": True}

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_atoms": [Interval(Integral, 1, None, closed="left"), None],
        "class_prior": [StrOptions({"source", "auto"}), "array-like", Mapping, None],
        "unseen_mean": [StrOptions({"batch"}), None],
        "objective": [ObjectiveSettings, None],
        "init": [StrOptions({"auto", *INITS}), "array-like", tuple],
        "solver": [StrOptions({*SOLVERS, *STOCHASTIC_SOLVERS})],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    _takes_several_sources = True

    _as_in_paper: ClassVar[dict[str, Any]] = {}
    """Further parameters of :meth:`as_in_paper`."""

    map_: ILSMap
    _n_rows: tuple[int, ...]
    _class_counts: tuple[np.ndarray, ...]
    _possible: np.ndarray
    _online: OnlineState
    source_weights_: np.ndarray
    class_prior_: np.ndarray
    class_prior_estimate_: ClassPriorEstimate | None

    def __init__(
        self,
        n_components=None,
        *,
        n_atoms: int | None = None,
        class_prior: Any = None,
        unseen_mean: str | None = None,
        objective=None,
        init="auto",
        solver="conjugate-gradient",
        batch_size=512,
        max_iter=200,
        tol=1e-3,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_components = n_components
        self.n_atoms = n_atoms
        self.class_prior = class_prior
        self.unseen_mean = unseen_mean
        self.objective = objective
        self.init = init
        self.solver = solver
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def as_in_paper(cls, n_components=20, *, objective=None, **parameters):
        """Make an estimator with the paper's objective to the letter.

        All similar pairs and as many random dissimilar ones, slacks of weight 1, metric
        regulariser of weight 1, no anchors, on the product manifold with the polar retraction.
        The initial projections, and for different columns the vote, remain ours: the paper names
        none that work. Minimised to convergence this objective loses target accuracy, so it stops,
        by a rule that sees no labels, at the first relative decrease below 1.5 %.

        Parameters
        ----------
        n_components : int, default=20
            Dimension of the latent space.
        objective : ObjectiveSettings, default=None
            ``ObjectiveSettings.as_in_paper()`` by default.
        **parameters
            Any other parameters of the class; they take precedence.

        Returns
        -------
        estimator
            Not fitted.
        """
        preset = {
            "objective": ObjectiveSettings.as_in_paper() if objective is None else objective,
            "solver": "steepest-descent",
            "tol": 0.015,
            **cls._as_in_paper,
        }
        return cls(n_components, **(preset | parameters))

    def __sklearn_tags__(self):
        """Say what the common checks may expect."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "solution_")

    # -- fit -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y=None,
        Xt=None,
        yt=None,
        *,
        sample_domain=None,
        sample_weight=None,
        source_names=None,
    ):
        """Learn the latent space.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n, n_features)
            Source rows, or a list of one such per source, whose widths may differ; or rows of all
            domains, told apart by `sample_domain`. Rows in a Dask array or dataframe stay where
            they are.
        y : array-like or Dask collection of shape (n,)
            Their labels, or a list of one such per source.
        Xt : array-like, sparse matrix or Dask collection of shape (nt, n_target_features), optional
            Target rows. Without, a metric is learned on one domain; of several sources, a map for
            any domain to come.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 mark those without.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows of X, one number per source, and negative for target rows.
        sample_weight : array-like of shape (n,) or (n + nt,), optional
            Weights of the rows of X, or of X and then Xt; or a list of one array per domain. With
            all pairs a row of weight 2 counts as two rows; a sampled pair weighs the product of its
            rows' weights.
        source_names : sequence of str, optional
            Names of the sources, in the order of the list or of their numbers.

        Returns
        -------
        self
            Fitted.

        Notes
        -----
        In cross-validation give both domains in X with `sample_domain`, and turn scikit-learn's
        metadata routing on, so that scoring is told the domain of each row too. ``Xt=`` works as
        well, but then the folds are source rows, which `score` takes for target rows unless it is
        given ``domain="source"``; and an `Xt` as long as X is cut into folds like X.
        """
        # a fit that fails half-way must not leave a model made of two
        for name in ("solution_", "_online", "_rule"):
            self.__dict__.pop(name, None)
        if holds_dask(X, Xt):
            self._check_supported_on_workers()  # before a pass over the rows
        given = {"sample_domain": sample_domain, "sample_weight": sample_weight}
        domains = self._check_domains(X, y, Xt, yt, **given, source_names=source_names)
        weighed, assumed = domains, Assumed(domains.source_shares)
        if self.class_prior is not None:
            weighed, assumed = assume(self.class_prior, domains, self.random_state)
        if len(domains.sources) > 1 or self.objective is not None:  # which may ask for weights
            told = {"verbose": self.verbose, "name": type(self).__name__}
            weighed = weigh_sources(self.objective, weighed, self.random_state, **told)
        weighed = weighed.with_unseen()
        learned = self._learn(weighed)
        self._remember_columns(domains)
        self._store(learned, weighed, assumed)
        self.solution_ = self.map_.solution  # the last, as it tells a finished fit
        if self.max_iter:
            _warn_unless_successful(self.solution_, type(self).__name__)
        return self

    def _learn(self, domains: Domains) -> Any:
        """What is learned from the domains, for `_store`."""
        return fit_ils(domains, random_state=self.random_state, **self._method())

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X=None, y=None, Xt=None, yt=None, *, classes=None, sample_weight=None):
        """Learn the latent space from one batch of the data after another.

        The first batch decides the columns, the classes and the dimension of the latent space; it
        should have as many rows as that is wide, or more, and rows of two classes at least. Later
        batches may bring rows of either
        domain or of both. Means and covariances become exactly those of all rows that have come.
        Pairs are those of the batch and of the rows kept from earlier ones: a uniform sample
        of at most 5,000 labelled rows of each domain, as many of each class and no fewer than two,
        which also are the neighbours that a classifier looks at. A call takes steps of the
        stochastic `solver` (``"adam"`` where a batch solver is chosen) until `tol` or `max_iter`
        is reached; it works in all columns, whatever `objective.reduce` says. The axes of the
        latent space turn as rows come. A batch that is refused, or interrupted, leaves the model
        as it was.

        A model that was fitted at once, or loaded from a file, has no rows to go on from: the next
        batch is then the first one of a new model, with a warning.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), optional
            Source rows.
        y : array-like of shape (n,), optional
            Their labels.
        Xt : array-like or sparse matrix of shape (nt, n_target_features), optional
            Target rows. Where the first call has none, a metric is learned on one domain.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 mark those without.
        classes : array-like of shape (n_classes,), optional
            All classes that will come in any call. The first call needs them unless `y` has them
            all; later ones do not.
        sample_weight : array-like of shape (n,), (nt,) or (n + nt,), optional
            Weights of the rows of X, or of X and then Xt.

        Returns
        -------
        self
            Fitted.
        """
        self._check_supported_in_batches()
        before = self.__dict__.copy()
        try:
            self._update(X, y, Xt, yt, classes=classes, sample_weight=sample_weight)
        except BaseException:  # Ctrl-C too: all of a batch is learned, or nothing
            self.__dict__ = before
            raise
        return self

    def _update(self, X, y, Xt, yt, **given) -> None:
        before = getattr(self, "_online", None)
        batch, rng = check_batch(self, X, y, Xt, yt, before=before, **given), None
        if before is None:
            rng = as_generator(self.random_state)
            self._remember_columns(batch)
        batch, shares = assume_in_batches(self, batch, before)
        ils, kept, online = update_ils(batch, before, rng=rng, **self._method())
        so_far = kept.source_shares
        if isinstance(self.class_prior, str):
            kept = replace(kept, class_prior=so_far)
        self._store(ils, kept, Assumed(so_far if shares is None else shares))
        self._online = online
        self.solution_ = ils.solution

    def _method(self) -> dict[str, Any]:
        """What :func:`~ilspace.ils.fit_ils` is told of the parameters."""
        names = ("n_components", "n_atoms", "objective", "init", "solver", "batch_size", "max_iter")
        chosen = {name: getattr(self, name) for name in (*names, "tol", "verbose", "callback")}
        return chosen | {"name": type(self).__name__}

    def _check_supported_in_batches(self) -> None:
        """Refuse settings that need all rows at once."""
        if isinstance(self.class_prior, str) and self.class_prior == "auto":
            raise ValueError(
                'partial_fit sees some rows at a time, but class_prior="auto" needs all of them to '
                "estimate class shares: give the shares, or fit."
            )

    def _check_supported_on_workers(self) -> None:
        """Refuse settings that need all rows in one place."""
        if self.objective is not None and self.objective.pairs == "sampled":
            refuse_in_one_place('pairs="sampled"', 'use pairs="all"')
        if isinstance(self.init, str) and self.init == "pls":
            refuse_in_one_place('init="pls"', 'use init="target-pca"')
        if self.solver in STOCHASTIC_SOLVERS:
            refuse_in_one_place(f'solver="{self.solver}"', 'use solver="conjugate-gradient"')

    def _store(self, ils: Any, domains: Domains, assumed: Assumed) -> None:
        """Keep what was learned, but for columns, classes and `solution_`."""
        self.class_prior_, self.class_prior_estimate_ = assumed
        some = len(domains.classes) < len(self.classes_)
        self._possible = np.flatnonzero(assumed.shares) if some else np.arange(len(self.classes_))
        self.source_weights_ = domains.shares_of_sources
        self._n_rows = tuple(domain.n_rows for domain in domains.all)
        self._class_counts = tuple(map(self._counts_of, domains.all))
        self._set_map(ils)

    def _counts_of(self, domain: Any) -> np.ndarray:
        """Labelled rows of each class of `classes_`."""
        counts = np.zeros(len(self.classes_), dtype=np.int64)
        counts[self._possible] = domain.class_counts(len(self._possible))
        return counts

    def _set_map(self, ils: ILSMap) -> None:
        """Set the attributes that describe the maps."""
        self.map_ = ils
        self.source_projection_, self.target_projection_ = ils.projections[0], ils.projections[-1]
        self.source_mean_, self.target_mean_ = ils.means[0], ils.means[-1]
        self.source_scale_, self.target_scale_ = ils.scales[0], ils.scales[-1]
        self.metric_, self.sharpness_ = ils.metric, ils.sharpness
        self.n_components_ = self._n_features_out = ils.n_components
        self.n_iter_ = ils.solution.n_iter

    # -- after fit -------------------------------------------------------------------------------

    def transform(
        self, X, domain: str | float = "target", *, sample_domain=None, allow_source=False
    ):
        """Send rows to the latent space, where Euclidean distance is the learned one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source", "unseen"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
            ``"unseen"`` is any other domain, where `fit` had no target.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows; each row then goes through the
            projection of its own domain.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_components_)
            The rows in the latent space. Of a Dask collection a Dask array, block by block, of
            which nothing is computed yet.
        """
        check_is_fitted(self)
        return self._on_rows(latent_of, X, domain, sample_domain, width=self._n_features_out)

    def _recentred(self, X, position: Position) -> tuple[Any, Position]:
        if self.unseen_mean is None or self._has_target:
            return X, position
        return batch_centred(X, position, self.target_mean_), position

    def _recentred_blocks(self, X, domain: str | float, sample_domain):
        if self.unseen_mean is None or self._has_target:
            return X
        if sample_domain is not None or self._position(domain) >= 0:
            return X
        return blocks_centred(X, to_numpy(self.target_mean_))

    def _latent(self, X, position: Position) -> Array:
        return self.map_.transform(X, position)

    def sparse_codes(
        self, X, domain: str | float = "target", *, sample_domain=None, allow_source=False
    ):
        """Sparse codes of rows in the dictionary of the latent space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_atoms)
            The codes, most of them 0. Of a Dask collection a Dask array, block by block, of which
            nothing is computed yet.
        """
        check_is_fitted(self)
        if self.map_.dictionary is None:
            raise ValueError(
                "Sparse codes need a dictionary, but the model was fitted with n_atoms=None: give "
                "n_atoms, and fit."
            )
        width = self.map_.dictionary.atoms.shape[1]
        return self._on_rows(_codes_of, X, domain, sample_domain, width=width)

    def fit_transform(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, **fit_parameters):
        """Fit, then send the rows of X to the latent space, each through its own projection.

        Parameters
        ----------
        X, y, Xt, yt : array-like
            As for :meth:`fit`.
        sample_domain : array-like of shape (n,), optional
            As for :meth:`fit`.
        **fit_parameters
            What else :meth:`fit` takes, such as `sample_weight`.

        Returns
        -------
        array of shape (n, n_components_)
            The rows of X: source rows, unless `sample_domain` says otherwise; of several sources
            in a list, one after another.
        """
        self.fit(X, y, Xt, yt, sample_domain=sample_domain, **fit_parameters)
        if is_list_of_sources(X):
            latent = [self.transform(each, number) for number, each in enumerate(X, start=1)]
            return array_namespace(latent[0]).concat(latent, axis=0)
        return self.transform(X, "source", sample_domain=sample_domain, allow_source=True)

    # -- the learned metric, under the names that metric-learn gave them -------------------------

    def get_mahalanobis_matrix(self, domain: str | float = "target"):
        """Learned metric in the columns of one domain.

        Parameters
        ----------
        domain : {"target", "source"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.

        Returns
        -------
        array of shape (n_features, n_features)
            Positive semi-definite, of rank `n_components_`.
        """
        check_is_fitted(self)
        position = self._position(domain)
        mapping = self.map_.maps[position]
        return mapping @ mapping.mT

    def pair_distance(self, pairs, domain: str | float = "target"):
        """Learned distance between the two rows of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of rows of one domain.
        domain : {"target", "source"}, str or number, default="target"
            Which one; of several sources ``"source"`` is the first, others have names and numbers.

        Returns
        -------
        array of shape (n_pairs,)
            Distances, not squared.
        """
        return latent_distance(self, pairs, domain)


def _codes_of(model: ILSTransformer, X, position: Position) -> Array:
    ils: Any = model.map_
    return ils.dictionary.codes(to_latent(X, ils.means, ils.maps, position))


def _warn_unless_successful(solution: Solution, name: str) -> None:
    """Warn, whatever the verbosity, if an optimization did not end where it should."""
    if solution.status.is_success:
        return
    warn(
        f"{name} stopped after {solution.n_iter} iterations: {solution.status.value} "
        f"(status {solution.status.name}); {_REMEDIES[solution.status]}.",
        ConvergenceWarning,
    )
