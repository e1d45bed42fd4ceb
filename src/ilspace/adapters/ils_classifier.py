"""Nearest neighbours in the invariant latent space."""

from __future__ import annotations

from numbers import Real

from sklearn.utils._param_validation import Interval, StrOptions

from ilspace.adapters.ils import ILSTransformer
from ilspace.adapters.ils_state import labelled_state, restore_labelled
from ilspace.adapters.nearest import NearestClassifier
from ilspace.adapters.persistence import loadable
from ilspace.storage import ModelFileError, check_keys, entry


@loadable
class ILSClassifier(NearestClassifier, ILSTransformer):
    r"""Classify target rows by their nearest labelled row in the invariant latent space.

    Learns the space as :class:`ILSTransformer` does, then gives a row the class of the nearest
    labelled row there. The labelled rows are those of the source, sent through the source
    projection, and the labelled target rows, if there are any.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the latent space.
    source_vote : float, "auto" or None, default="auto"
        How source rows and labelled target rows decide together. None: the nearest row of
        either. A number v between 0 and 1: a class is as far as v times the squared distance of
        its nearest source row plus (1 - v) times that of its nearest labelled target row, so that
        many source rows cannot drown a few target rows. ``"auto"``: 0.3 for domains of different
        columns, None otherwise.
    trade_off : float, default=1.0
        Weight of the discrepancy between the domains.
    metric_weight : float, default=20.0
        Weight of the regulariser that keeps the metric near the identity.
    source_anchor, target_anchor : float, default=1.0 and 40.0
        Weights that hold the projections near their start.
    margin_scale : float, default=5.0
        Mean squared distance of similar pairs at the start, in margins.
    sharpness : float or "auto", default="auto"
        Sharpness of the loss.
    pairs : {"all", "sampled"}, default="all"
        Which pairs of labelled rows to compare.
    slack_weight : float, default=None
        Weight of the slacks of the soft margin; None for a hard margin.
    shrinkage : float, default=1e-3
        Share of the identity in each covariance.
    start : {"auto", "target-pca", "joint-pca", "pls", "class-means"} or array(s), default="auto"
        Where the projections begin; :class:`ILSTransformer` says when to use which.
    metric_start : {"identity", "kissme"} or array of shape (p, p), default="identity"
        Where the metric begins.
    solver : str, default="conjugate-gradient"
        How to minimise: ``"conjugate-gradient"``, ``"steepest-descent"``, ``"lbfgs"``,
        ``"alternating"``, ``"projected-gradient"``, ``"sgd"`` or ``"adam"``; the last two are
        stochastic, for many labelled rows.
    block_size : int, default=512
        Labelled rows that a step of ``"sgd"`` and ``"adam"`` sees.
    retraction : {"qr", "polar"}, default="qr"
        How a step returns to orthonormal projections.
    orthonormal : bool, default=True
        Whether the projections keep orthonormal columns.
    mobility : tuple of 4 float, default=None
        How fast source projection, target projection, metric and slacks move.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-3
        Stop once the objective decreases by less than this share an iteration.
    patience : int, default=3
        Iterations that `tol` looks back over.
    reduce : bool, default=True
        Whether to optimise in the span of the rows.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the dissimilar pairs of ``pairs="sampled"`` and the blocks of the stochastic
        solvers.
    verbose : int, default=0
        1 writes a line to standard error every ten iterations and one at the end, 2 for each.
    callback : callable, default=None
        Called with the number of iterations and the iterate; a true answer stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_vote_ : float or None
        The vote used.
    source_projection_, target_projection_, metric_, solution_, ... : as in ILSTransformer
        What :class:`ILSTransformer` learns.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace import ILSClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog"], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * (y == "dog")[:, None]
    >>> Xt = X @ np.diag([1, 2, 1, 0.5, 1]) + 3
    >>> clf = ILSClassifier(n_components=2).fit(X, y, Xt)
    >>> clf.predict(Xt[[0, -1]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **ILSTransformer._parameter_constraints,
        "source_vote": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        n_components=None,
        *,
        source_vote="auto",
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
        super().__init__(
            n_components,
            trade_off=trade_off,
            metric_weight=metric_weight,
            source_anchor=source_anchor,
            target_anchor=target_anchor,
            margin_scale=margin_scale,
            sharpness=sharpness,
            pairs=pairs,
            slack_weight=slack_weight,
            shrinkage=shrinkage,
            start=start,
            metric_start=metric_start,
            solver=solver,
            block_size=block_size,
            retraction=retraction,
            orthonormal=orthonormal,
            mobility=mobility,
            max_iter=max_iter,
            tol=tol,
            patience=patience,
            reduce=reduce,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.source_vote = source_vote

    def _store(self, assembly, solution, domains) -> None:
        super()._store(assembly, solution, domains)
        self.source_vote_ = (
            (None if self._shares_features else 0.3)
            if isinstance(self.source_vote, str)
            else self.source_vote
        )
        self._store_labelled(domains)

    def _get_state(self):
        return {
            "latent": super()._get_state(),
            "labelled": labelled_state(self),
            "source_vote": self.source_vote_,
        }

    def _set_state(self, state):
        check_keys(state, ("latent", "labelled", "source_vote"))
        vote = entry(state, "source_vote", (Real, type(None)))
        if vote is not None and not 0 <= vote <= 1:
            raise ModelFileError(f"its source_vote is {vote}, not a share")
        super()._set_state(entry(state, "latent", dict))
        restore_labelled(self, entry(state, "labelled", list))
        self.source_vote_ = vote
