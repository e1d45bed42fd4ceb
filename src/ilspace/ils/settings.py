"""Expert settings, which also reproduce the paper, in one object."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions


class ObjectiveSettings(BaseEstimator):
    r"""Expert settings of the objective and of the optimizer.

    An estimator takes it as its parameter ``objective``; then nested names such as
    ``objective__slack_weight`` are reachable by :class:`sklearn.model_selection.GridSearchCV`.

    Parameters
    ----------
    trade_off : float, default=1.0
        Weight :math:`\lambda` of the discrepancy between the domains. On Office+Caltech10 nothing
        changes between 0.1 and 1, and 10 costs a point.
    metric_weight : float, default=20.0
        Weight :math:`\mu` of the regulariser that keeps M near the identity. At 1, the paper's
        value, M overfits the labels, which costs target accuracy.
    source_anchor, target_anchor : float, default=1.0 and 40.0
        Weights :math:`a_s, a_t` that regularise the projections toward their initialisation.
        Without, the source projection overfits the labels and the target cannot follow, which
        costs target accuracy.
    margin_scale : float, default=5.0
        Mean squared distance of similar pairs at initialisation, in margins: all rows are
        multiplied by one factor to reach it. 5 and 10 are alike; at 1 the loss hardly separates the
        classes, which costs target accuracy.
    sharpness : float or "auto", default="auto"
        Sharpness :math:`\beta` of the loss; one over the standard deviation of the similar
        pairs' squared distances by default.
    pairs : {"all", "sampled"}, default="all"
        All pairs of labelled rows, similar and dissimilar ones balanced; or the paper's, all
        similar pairs and as many dissimilar ones drawn at random.
    slack_weight : float, default=None
        Weight of the slacks of the soft margin, one per sampled pair; None for a hard margin. The
        paper has 1, and needs ``pairs="sampled"``.
    shrinkage : float, default=1e-3
        Shrinkage intensity of each covariance :math:`\Sigma` toward
        :math:`(\operatorname{tr}\Sigma/d) I`, so that it can be inverted.
    metric_init : {"identity", "kissme"} or array of shape (p, p), default="identity"
        Initial metric. The paper uses KISSME with target labels; the identity does better in both
        settings.
    retraction : {"qr", "polar"}, default="qr"
        How a step returns to orthonormal projections; "polar" is the paper's, "qr" the faster.
    orthonormal : bool, default=True
        Whether the projections keep orthonormal columns, as the paper's do; without, they are
        free matrices.
    step_weights : tuple of 4 float, default=None
        Relative step sizes of source projection, target projection, metric and slacks (a
        preconditioner). By default each is the smaller the more its regulariser weighs, which
        speeds up convergence and does not change the minimiser.
    patience : int, default=3
        Number of iterations over which `tol` averages the relative decrease.
    reduce : bool, default=True
        Whether to optimise in the span of the rows, where that pays. The result is the same.
    source_weights : "equal" or array-like of shape (n_sources,), default=None
        Weights of several sources in the rule, or all alike; the space is learned with their fourth
        roots. None: they are found without target labels, see :func:`~ilspace.ils.source_evidence`.
    moment_weight : float, default=0.0
        Weight :math:`\eta` of the discrepancy of the third and fourth cumulants of the latent
        domains; 0 leaves it out. It costs a pass over all rows per evaluation, so that a step of
        a stochastic solver takes the longer the more rows there are; unlabelled rows of a Dask
        collection are read anew in each. Not with ``partial_fit``, which keeps no unlabelled rows.
    moment_sketch : int, default=64
        Number of random latent directions along which cumulants are compared, besides the axes;
        they sketch the joint cumulants. 0: those of each axis alone.

    See Also
    --------
    ilspace.ILSTransformer : States the objective.

    Examples
    --------
    >>> from ilspace import ILSClassifier, ObjectiveSettings
    >>> clf = ILSClassifier(objective=ObjectiveSettings(trade_off=0.1))
    >>> clf.set_params(objective__metric_weight=5.0).objective
    ObjectiveSettings(metric_weight=5.0, trade_off=0.1)
    """

    _parameter_constraints = {
        "trade_off": [Interval(Real, 0, None, closed="left")],
        "metric_weight": [Interval(Real, 0, None, closed="left")],
        "source_anchor": [Interval(Real, 0, None, closed="left")],
        "target_anchor": [Interval(Real, 0, None, closed="left")],
        "margin_scale": [Interval(Real, 0, None, closed="neither")],
        "sharpness": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "pairs": [StrOptions({"all", "sampled"})],
        "slack_weight": [Interval(Real, 0, None, closed="left"), None],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
        "metric_init": [StrOptions({"identity", "kissme"}), "array-like"],
        "retraction": [StrOptions({"qr", "polar"})],
        "orthonormal": ["boolean"],
        "step_weights": [tuple, list, None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "reduce": ["boolean"],
        "source_weights": [StrOptions({"equal"}), "array-like", None],
        "moment_weight": [Interval(Real, 0, None, closed="left")],
        "moment_sketch": [Interval(Integral, 0, None, closed="left")],
    }

    _came_later: ClassVar[frozenset[str]] = frozenset(
        {"source_weights", "moment_weight", "moment_sketch"}
    )
    """As that of the estimators: what its default does not change is no part of a description."""

    def __init__(
        self,
        *,
        trade_off=1.0,
        metric_weight=20.0,
        source_anchor=1.0,
        target_anchor=40.0,
        margin_scale=5.0,
        sharpness: float | str = "auto",
        pairs="all",
        slack_weight: float | None = None,
        shrinkage=1e-3,
        metric_init: Any = "identity",
        retraction: Any = "qr",
        orthonormal=True,
        step_weights: tuple[float, ...] | None = None,
        patience=3,
        reduce=True,
        source_weights: Any = None,
        moment_weight=0.0,
        moment_sketch=64,
    ):
        self.trade_off = trade_off
        self.metric_weight = metric_weight
        self.source_anchor = source_anchor
        self.target_anchor = target_anchor
        self.margin_scale = margin_scale
        self.sharpness = sharpness
        self.pairs = pairs
        self.slack_weight = slack_weight
        self.shrinkage = shrinkage
        self.metric_init = metric_init
        self.retraction = retraction
        self.orthonormal = orthonormal
        self.step_weights = step_weights
        self.patience = patience
        self.reduce = reduce
        self.source_weights = source_weights
        self.moment_weight = moment_weight
        self.moment_sketch = moment_sketch

    @classmethod
    def as_in_paper(cls, **parameters) -> ObjectiveSettings:
        """The paper's objective, with the step weights that reproduce its accuracies.

        Parameters
        ----------
        **parameters
            Any parameters of the class; they take precedence.

        Returns
        -------
        ObjectiveSettings
            All similar pairs and as many random dissimilar ones, slacks and metric regulariser of
            weight 1, no anchors, the polar retraction.
        """
        paper = {
            "pairs": "sampled",
            "slack_weight": 1.0,
            "metric_weight": 1.0,
            "source_anchor": 0.0,
            "target_anchor": 0.0,
            "margin_scale": 10.0,
            "step_weights": (1.0, 0.1, 1.0, 1.0),
            "retraction": "polar",
            "patience": 1,
        }
        return cls(**(paper | parameters))

    def checked(self, *, stochastic: bool) -> ObjectiveSettings:
        """Refuse invalid values and combinations.

        Parameters
        ----------
        stochastic : bool
            Whether the solver steps on mini-batches.

        Returns
        -------
        ObjectiveSettings
            Itself.
        """
        self._validate_params()
        if self.slack_weight is not None and self.pairs != "sampled":
            raise ValueError(
                f"A slack belongs to a sampled pair, but slack_weight is {self.slack_weight} with "
                f'pairs="{self.pairs}": use pairs="sampled", or slack_weight=None.'
            )
        if stochastic and self.pairs != "all":
            raise ValueError(
                "A stochastic solver compares all pairs of the rows that it draws, but pairs is "
                f'"{self.pairs}": use pairs="all", or fit with another solver.'
            )
        weights = self.step_weights
        if weights is not None and (
            len(weights) != 4
            or not all(isinstance(each, Real) and 0 < float(each) < np.inf for each in weights)
        ):
            raise ValueError(
                "step_weights must hold 4 positive numbers, for source projection, target "
                f"projection, metric and slacks, but is {weights!r}."
            )
        return self

    def factor_weights(self, n_sources: int, *, has_target: bool) -> tuple[float, ...]:
        """Step weights of all factors of the product manifold.

        Parameters
        ----------
        n_sources : int
            Number of sources.
        has_target : bool
            Whether there is a target.

        Returns
        -------
        tuple of float
            Of each source projection, the target projection, the metric and the slacks.
        """
        weights = self.step_weights
        if weights is None:
            # a preconditioner: the second derivative of an anchor is 2 a / p, that of the metric's
            # regulariser at the identity is μ / (4 p), an eighth of it
            stiffness = (self.source_anchor, self.target_anchor, self.metric_weight / 8, 0.0)
            weights = tuple(1 / (1 + each) for each in stiffness)
        source, target, metric, slack = weights
        return (*(source,) * n_sources, *(target,) * has_target, metric, slack)

    def anchors(self, n_sources: int, *, has_target: bool) -> tuple[float, ...]:
        """Weights of the anchors of all projections.

        Parameters
        ----------
        n_sources : int
            Number of sources.
        has_target : bool
            Whether there is a target.

        Returns
        -------
        tuple of float
            One per domain.
        """
        return (*(self.source_anchor,) * n_sources, *(self.target_anchor,) * has_target)
