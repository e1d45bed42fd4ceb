"""The invariant latent space as a scikit-learn transformer."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ilspace.adapters._latent import as_dtype
from ilspace.adapters.distributed import check_supported, distant_domains
from ilspace.adapters.ils_state import latent_state, restore_latent, training_record
from ilspace.adapters.incremental import Incremental
from ilspace.adapters.learning import learn, threads_for
from ilspace.adapters.persistence import Persistent, loadable
from ilspace.adapters.progress import report_end, warn_unless_successful
from ilspace.adapters.starts import STARTS
from ilspace.adapters.streaming import judged_by_all
from ilspace.backend import array_namespace, as_generator, spectral_map
from ilspace.optimizers import SOLVERS, STOCHASTIC_SOLVERS
from ilspace.scale.dask_rows import is_dask

_PAPER = {
    "pairs": "sampled",
    "slack_weight": 1.0,
    "metric_weight": 1.0,
    "source_anchor": 0.0,
    "target_anchor": 0.0,
    "margin_scale": 10.0,
    "solver": "steepest-descent",
    "mobility": (1.0, 0.1, 1.0, 1.0),
    "retraction": "polar",
    "tol": 0.015,
    "patience": 1,
}
"""The paper's objective to the letter, stopped early as its accuracies need."""


@loadable
class ILSTransformer(Incremental, Persistent):
    r"""Send two domains to one latent space in which equal classes are close.

    Learns an orthonormal projection for each domain and one Mahalanobis metric, so that labelled
    rows of one class come closer than the margin, rows of different classes stay farther apart
    than the margin, and the covariances of both domains agree :cite:p:`herath2017`:

    .. math::

       \min_{W_s, W_t, M}\ \sum_k w_k\,\ell_\beta\bigl(y_k(d_k - 1)\bigr)
         + \tfrac{\mu}{p}\,\delta(M, I)
         + \tfrac\lambda p\,\delta(W_s^\top\Sigma_sW_s, W_t^\top\Sigma_tW_t)
         + \tfrac{a_s}{p}\|W_s - W_{s,0}\|^2 + \tfrac{a_t}{p}\|W_t - W_{t,0}\|^2

    over the product of two Stiefel manifolds and the cone of positive definite matrices. The
    anchors are not in the paper, whose objective loses target accuracy when it is minimised to
    the end; with them the minimiser itself is good. :meth:`as_in_paper` gives the paper's.

    Parameters
    ----------
    n_components : int, default=None
        Dimension p of the latent space. By default 30 for domains of the same columns and 20
        for others, or the rank of the rows if that is smaller. On Office+Caltech10, which has ten
        classes, 20 to 50 are alike; 10 are too few, and 100 too many where target labels exist.
    trade_off : float, default=1.0
        Weight :math:`\lambda` of the discrepancy between the domains. On Office+Caltech10 nothing
        changes between 0.1 and 1, and 10 costs a point.
    metric_weight : float, default=20.0
        Weight :math:`\mu` of the regulariser that keeps M near the identity. At 1, the paper's
        value, M overfits the labels, which costs target accuracy.
    source_anchor, target_anchor : float, default=1.0 and 40.0
        Weights :math:`a_s, a_t` that hold the projections near their start. Without, the source
        projection overfits the labels and the target cannot follow, which costs target accuracy.
    margin_scale : float, default=5.0
        Mean squared distance of similar pairs at the start, in margins: all rows are multiplied
        by one factor to reach it. 5 and 10 are alike; at 1 the loss hardly sees the classes, which
        costs target accuracy.
    sharpness : float or "auto", default="auto"
        Sharpness :math:`\beta` of the loss; one over the standard deviation of the similar
        pairs' squared distances by default.
    pairs : {"all", "sampled"}, default="all"
        All pairs of labelled rows, similar and dissimilar in balance; or the paper's, all
        similar pairs and as many dissimilar ones drawn at random.
    slack_weight : float, default=None
        Weight of the slacks of the soft margin, one a sampled pair; None for a hard margin. The
        paper has 1, and needs ``pairs="sampled"``.
    shrinkage : float, default=1e-3
        Share of the identity in each covariance, so that it can be inverted.
    start : {"auto", "target-pca", "joint-pca", "pls", "class-means"} or array(s), default="auto"
        Where the projections begin, and their anchors. ``"target-pca"``: both at the principal
        axes of the target, the best for domains of the same columns and their default;
        ``"joint-pca"``: of both domains; ``"pls"``: partial least squares of the source;
        ``"class-means"``: principal axes of the target, and source directions turned so that the
        labelled class means agree, the default for domains of different columns. Or an array of
        shape (n_features, p), or a tuple of one for each domain.
    metric_start : {"identity", "kissme"} or array of shape (p, p), default="identity"
        Where the metric begins. The paper uses KISSME with target labels; the identity does
        better in both settings.
    solver : str, default="conjugate-gradient"
        How to minimise: ``"conjugate-gradient"``, ``"steepest-descent"``, ``"lbfgs"``,
        ``"alternating"``, ``"projected-gradient"``, ``"sgd"`` or ``"adam"``. The last two are
        stochastic: a step compares the rows of one block, so that it costs the same however many
        labelled rows there are; 20 steps are an iteration. They pay from some thousand rows on.
    block_size : int, default=512
        Labelled rows that a step of ``"sgd"`` and ``"adam"`` sees, about equally many of each
        class. Where it is no less than their number each step sees them all.
    retraction : {"qr", "polar"}, default="qr"
        How a step returns to orthonormal projections; "polar" is the paper's, "qr" the faster.
    orthonormal : bool, default=True
        Whether the projections keep orthonormal columns, as the paper's do; without, they are
        free matrices.
    mobility : tuple of 4 float, default=None
        How fast source projection, target projection, metric and slacks move relative to each
        other. By default each moves the slower the more its regulariser weighs, which shortens
        the way to the minimiser and does not change it.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-3
        Stop once the objective decreases by less than this share an iteration, on average over
        the last `patience` ones. Needs no labels. 0 goes on until `max_iter`, or until the
        gradient has fallen to 1e-8 of the first.
    patience : int, default=3
        Iterations that `tol` looks back over.
    reduce : bool, default=True
        Whether to optimise in the span of the rows, where that pays. The result is the same.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the dissimilar pairs of ``pairs="sampled"`` and the blocks of the stochastic
        solvers; nothing else is random.
    verbose : int, default=0
        1 writes a line to standard error every ten iterations and one at the end, 2 for each.
    callback : callable, default=None
        Called with the number of iterations and the :class:`~ilspace.optimizers.Iterate`, whose
        point holds the projections and the metric; a true answer stops.

    Attributes
    ----------
    source_projection_, target_projection_ : array of shape (n_features, p)
        Projections of centred rows, orthonormal unless that was turned off.
    metric_ : array of shape (p, p)
        Mahalanobis metric of the latent space.
    source_mean_, target_mean_ : array of shape (n_features,)
        Means of the domains.
    source_scale_, target_scale_ : float
        Factors of the centred rows.
    sharpness_ : float
        The sharpness used.
    n_components_ : int
        Dimension of the latent space.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    solution_ : Solution
        Status, history and final point of the optimization.
    n_iter_ : int
        Number of iterations.
    n_features_in_, feature_names_in_
        Columns of the source.
    n_target_features_in_, target_feature_names_in_
        Columns of the target.

    See Also
    --------
    ILSClassifier : The same with a nearest-neighbour rule in the latent space.

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

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "trade_off": [Interval(Real, 0, None, closed="left")],
        "metric_weight": [Interval(Real, 0, None, closed="left")],
        "source_anchor": [Interval(Real, 0, None, closed="left")],
        "target_anchor": [Interval(Real, 0, None, closed="left")],
        "margin_scale": [Interval(Real, 0, None, closed="neither")],
        "sharpness": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "pairs": [StrOptions({"all", "sampled"})],
        "slack_weight": [Interval(Real, 0, None, closed="left"), None],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
        "start": [StrOptions({"auto", *STARTS}), "array-like", tuple],
        "metric_start": [StrOptions({"identity", "kissme"}), "array-like"],
        "solver": [StrOptions({*SOLVERS, *STOCHASTIC_SOLVERS})],
        "block_size": [Interval(Integral, 2, None, closed="left")],
        "retraction": [StrOptions({"qr", "polar"})],
        "orthonormal": ["boolean"],
        "mobility": [tuple, list, None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "reduce": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_components=None,
        *,
        trade_off=1.0,
        metric_weight=20.0,
        source_anchor=1.0,
        target_anchor=40.0,
        margin_scale=5.0,
        sharpness="auto",
        pairs="all",
        slack_weight=None,
        shrinkage=1e-3,
        start="auto",
        metric_start="identity",
        solver="conjugate-gradient",
        block_size=512,
        retraction="qr",
        orthonormal=True,
        mobility=None,
        max_iter=200,
        tol=1e-3,
        patience=3,
        reduce=True,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_components = n_components
        self.trade_off = trade_off
        self.metric_weight = metric_weight
        self.source_anchor = source_anchor
        self.target_anchor = target_anchor
        self.margin_scale = margin_scale
        self.sharpness = sharpness
        self.pairs = pairs
        self.slack_weight = slack_weight
        self.shrinkage = shrinkage
        self.start = start
        self.metric_start = metric_start
        self.solver = solver
        self.block_size = block_size
        self.retraction = retraction
        self.orthonormal = orthonormal
        self.mobility = mobility
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.reduce = reduce
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def as_in_paper(cls, n_components=20, **parameters):
        """Make an estimator with the paper's objective to the letter.

        All similar pairs and as many random dissimilar ones, slacks of weight 1, metric
        regulariser of weight 1, no anchors, on the product manifold with the polar retraction.
        The start, and for different columns the vote, remain ours: the paper names none that work.
        Minimised to the end this objective loses target accuracy, so it stops, by a rule that
        sees no labels, at the first iteration that decreases the objective by less than 1.5 %.

        Parameters
        ----------
        n_components : int, default=20
            Dimension of the latent space.
        **parameters
            Any other parameters of the class; they take precedence.

        Returns
        -------
        estimator
            Not fitted.
        """
        return cls(n_components, **(_PAPER | parameters))

    def __sklearn_is_fitted__(self):
        """Tell a finished fit from one that raised half-way."""
        return hasattr(self, "solution_")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, Xt=None, yt=None, *, sample_domain=None, sample_weight=None):
        """Learn the latent space.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n, n_features)
            Source rows; or rows of both domains, told apart by `sample_domain`. Rows in a Dask
            array or dataframe stay where they are.
        y : array-like or Dask collection of shape (n,)
            Their labels.
        Xt : array-like, sparse matrix or Dask collection of shape (nt, n_target_features), optional
            Target rows. Without, a metric is learned on one domain.
        yt : array-like of shape (nt,), optional
            Labels of the target rows; None, NaN or -1 mark those without.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows of X, negative for target rows.
        sample_weight : array-like of shape (n,) or (n + nt,), optional
            Weights of the rows of X, or of X and then Xt. With ``pairs="all"`` a row of weight 2
            counts as two rows; a sampled pair weighs the product of its rows' weights.

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
        self.__dict__.pop("solution_", None)
        self.__dict__.pop("_increments", None)
        distant = None
        if y is not None and (is_dask(X) or is_dask(Xt)):
            check_supported(self, sample_domain=sample_domain, sample_weight=sample_weight)
            distant, (X, y, Xt, yt) = distant_domains(X, Xt, y=y, yt=yt)
        self.classes_, domains = self._check_domains(X, y, Xt, yt, sample_domain, sample_weight)
        self._check_combination(self.solver)
        with threads_for(domains if distant is None else distant.domains):
            assembly, solution = learn(
                self,
                domains,
                solver=self.solver,
                rng=as_generator(self.random_state),
                n_components=self.n_components,
                distant=distant,
            )
            if assembly.streamed is not None:
                solution = judged_by_all(solution, assembly.problem, assembly.streamed)
            report_end(solution, self.verbose, type(self).__name__)
            solution = assembly.lifted(solution)
            self._store(assembly, solution, domains)
        if distant is not None:
            distant.store(self)
        self.solution_ = solution  # the last, as it tells a finished fit
        if self.max_iter:
            warn_unless_successful(solution, type(self).__name__)
        return self

    def _check_combination(self, solver: str) -> None:
        if self.slack_weight is not None and self.pairs != "sampled":
            raise ValueError(
                f"A slack belongs to a sampled pair, but slack_weight is {self.slack_weight} with "
                f'pairs="{self.pairs}": use pairs="sampled", or slack_weight=None.'
            )
        if solver in STOCHASTIC_SOLVERS and self.pairs != "all":
            raise ValueError(
                f'The stochastic solver "{solver}" compares all pairs of the rows that it draws, '
                f'but pairs is "{self.pairs}": use pairs="all", or fit with another solver.'
            )
        if self.mobility is not None and (
            len(self.mobility) != 4
            or not all(
                isinstance(each, Real) and 0 < float(each) < np.inf for each in self.mobility
            )
        ):
            raise ValueError(
                "mobility must hold 4 positive numbers, for source projection, target projection, "
                f"metric and slacks, but is {self.mobility!r}."
            )

    def _store(self, assembly, solution, domains) -> None:
        """Keep what was learned, but for `solution_`."""
        point = solution.point
        self.n_iter_ = solution.n_iter
        n_domains = len(domains)
        self._n_rows = tuple(len(domain.codes) for domain in domains)
        self._class_counts = tuple(
            np.bincount(domain.codes[domain.labelled], minlength=len(self.classes_))
            for domain in domains
        )
        dtype = domains[0].X.dtype
        source, target, metric = point[0], point[n_domains - 1], point[n_domains]
        self.source_projection_ = as_dtype(source, dtype)
        self.target_projection_ = as_dtype(target, dtype)
        self.metric_ = as_dtype(metric, dtype)
        self.source_mean_ = as_dtype(assembly.spaces[0].mean, dtype)
        self.target_mean_ = as_dtype(assembly.spaces[-1].mean, dtype)
        self.source_scale_, self.target_scale_ = assembly.scales[0], assembly.scales[-1]
        self.sharpness_ = assembly.sharpness
        self.n_components_ = self._n_features_out = self.metric_.shape[0]
        root = spectral_map(metric, array_namespace(metric).sqrt)
        self._source_map = as_dtype(self.source_scale_ * source @ root, dtype)
        self._target_map = as_dtype(self.target_scale_ * target @ root, dtype)

    def _get_state(self):
        return latent_state(self)

    def _set_state(self, state):
        self._check_combination(self.solver)
        restore_latent(self, state)

    def _training(self):
        return training_record(self)
