"""Optimal transport: move each source row to the target rows that it is coupled with."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from ilspace._typing import Array
from ilspace._warnings import warn
from ilspace.baselines._base import LatentBaseline, by_domain, dense_rows
from ilspace.domains import Domain
from ilspace.ils.map import as_dtype

_DISAGREEMENT = 10.0
"""Cost of coupling rows of different labels, in largest costs: finite, so that some plan exists."""


def transport_plan(
    source: Domain,
    target: Domain,
    *,
    reg_e: float,
    reg_cl: float,
    norm: str | None,
    max_inner_iter: int,
) -> np.ndarray:
    r"""Regularised optimal plan between the rows of two domains.

    .. math:: \min_{\gamma \ge 0}\langle\gamma, C\rangle
        + r_e\sum_{ij}\gamma_{ij}\log\gamma_{ij}
        + r_{cl}\sum_j\sum_c\Bigl(\sum_{i \in c}\gamma_{ij}\Bigr)^{1/2}
        \quad\text{s.t.}\quad \gamma\mathbf 1 = \tfrac1{n_s}\mathbf 1, \quad
        \gamma^\top\mathbf 1 = \tfrac1{n_t}\mathbf 1

    with normalised squared distances C, ten times their maximum for rows whose labels differ.

    Parameters
    ----------
    source, target : Domain
        Dense rows of the domains; all source rows have labels.
    reg_e : float
        Weight :math:`r_e` of the entropy.
    reg_cl : float
        Weight :math:`r_{cl}` of the classes.
    norm : {"median", "max"} or None
        Statistic of the costs that they are divided by.
    max_inner_iter : int
        Maximum number of Sinkhorn iterations, for each linearisation of the last term.

    Returns
    -------
    ndarray of shape (n_source, n_target)
        The plan :math:`\gamma`, as POT finds it.
    """
    try:
        from ot.da import SinkhornLpl1Transport
    except ImportError:
        raise ImportError(
            'OTDA needs the package POT, which is missing: pip install "ilspace[pot]".'
        ) from None
    options = {"norm": norm, "max_inner_iter": max_inner_iter, "limit_max": _DISAGREEMENT}
    solver = SinkhornLpl1Transport(reg_e, reg_cl, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = solver.fit(source.X, source.codes, target.X, target.codes).coupling_
    if not np.isfinite(plan).all() or not plan.any(axis=1).all():
        raise ValueError(
            f"reg_e must be large enough for exp(-cost / reg_e) not to vanish, but is {reg_e}: "
            'choose a larger one, or norm="median".'
        )
    has_converged = True
    for each in caught:
        if "did not converge" in str(each.message):
            has_converged = False
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if not has_converged:
        warn(
            f"The transport plan did not converge in {max_inner_iter} iterations: choose a larger "
            "max_inner_iter or reg_e.",
            ConvergenceWarning,
        )
    return plan


class OTDA(LatentBaseline):
    r"""Optimal transport for domain adaptation, OTDA :cite:p:`courty2014,courty2017`.

    .. math:: \min_{\gamma \ge 0}\langle\gamma, C\rangle
        + r_e\sum_{ij}\gamma_{ij}\log\gamma_{ij}
        + r_{cl}\sum_j\sum_c\Bigl(\sum_{i \in c}\gamma_{ij}\Bigr)^{1/2}
        \quad\text{s.t.}\quad \gamma\mathbf 1 = \tfrac1{n_s}\mathbf 1, \quad
        \gamma^\top\mathbf 1 = \tfrac1{n_t}\mathbf 1

    with the squared distances C between source and target rows. The last term, the concave
    :math:`\ell_p\ell_1` regularisation of classes, lets each target row be coupled with source rows
    of few classes. A source row becomes the mean of the target rows, weighted by its row of the
    plan; one that was not seen at fit moves as its nearest source row does. Target rows stay as
    they are. Source rows and labelled target rows of different classes are hardly coupled.

    Use it where the domains share their columns and have classes in about the same shares. A
    large weight of the entropy draws all source rows together at the target's mean, where only
    their directions from there tell them apart. Needs the package POT (``pip install
    "ilspace[pot]"``), which solves the problem. Costs :math:`O(n_sn_t)` in memory and per
    iteration.

    Parameters
    ----------
    reg_e : float, default=1.0
        Weight :math:`r_e` of the entropy, POT's default.
    reg_cl : float, default=0.1
        Weight :math:`r_{cl}` of the classes, POT's default.
    norm : {"median", "max"} or None, default="median"
        Statistic of the squared distances that they are divided by, so that the units of the
        columns do not matter; None leaves them as they are.
    max_inner_iter : int, default=200
        Maximum number of Sinkhorn iterations for each of the ten linearisations of the last term,
        POT's default. A smaller weight of the entropy needs more.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on the transported source rows and the labelled target rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coupling_ : ndarray of shape (n_source, n_target)
        The plan :math:`\gamma`.
    source_rows_ : ndarray of shape (n_source, n_features)
        Source rows of the fit.
    transported_ : ndarray of shape (n_source, n_features)
        The same rows, transported.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import OTDA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> OTDA().fit(X, y, X + 3).score(X + 3, y)
    1.0
    """

    def __init__(
        self, reg_e=1.0, reg_cl=0.1, *, norm="median", max_inner_iter=200, classifier="1nn"
    ):
        self.reg_e = reg_e
        self.reg_cl = reg_cl
        self.norm = norm
        self.max_inner_iter = max_inner_iter
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        if source is target:  # one domain: every row is where it belongs
            self.coupling_ = np.eye(len(source.X)) / len(source.X)
        else:
            names = ("reg_e", "reg_cl", "norm", "max_inner_iter")
            options = {name: getattr(self, name) for name in names}
            self.coupling_ = transport_plan(source, target, **options)
        shares = self.coupling_ / self.coupling_.sum(axis=1, keepdims=True)
        self.source_rows_, self.transported_ = source.X.copy(), shares @ target.X
        self._n_features_out = target.X.shape[1]

    def _latent(self, X, is_source: np.ndarray) -> Array:
        latent = by_domain(self._moved, X, is_source, self._n_features_out)
        return as_dtype(latent, X.dtype)

    def _moved(self, X, is_source: bool) -> np.ndarray:
        """Rows of one domain, moved to the target."""
        rows = dense_rows(X)
        if not is_source:
            return rows
        nearest = pairwise_distances_argmin(rows, self.source_rows_)
        return rows + (self.transported_ - self.source_rows_)[nearest]
