"""Balanced distribution adaptation: how much the domains count, and how much their classes."""

from __future__ import annotations

from ilspace.baselines.jda import JDA


class BDA(JDA):
    r"""Balanced distribution adaptation, BDA :cite:p:`wang2017`.

    .. math:: &\min_W\; \operatorname{tr}(W^\top KMKW) + \lambda\operatorname{tr}(W^\top W)
        \quad\text{s.t.}\quad W^\top KHKW = I, \\
        &M = (1 - \mu)\,C\,M_0 + \mu\sum_{c=1}^CM_c

    This is :class:`JDA` with a balance :math:`\mu` between the discrepancy of the domains and that
    of their classes: 0.5 is JDA; with 0 the domains alone count, with 1 the classes.

    Use it as JDA where the classes are as in the source but the domains are far apart (a small
    :math:`\mu`), or where the domains are alike and the classes are not (a large one); and with
    ``balance="auto"`` where nothing is known. That also costs a singular value decomposition of the
    rows, and one per class and round of the rows of the class.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, by default 100 or the most that the rows and columns allow.
    balance : float or "auto", default="auto"
        The balance :math:`\mu`, between 0 and 1; "auto" estimates it in each round by A-distances,
        as the authors do in :class:`MEDA`. Where no target row has a label yet, only the domains
        count; where the columns of each domain are standardised, later about only the classes.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of rows x, y of unit length: :math:`x^\top y` or
        :math:`\exp(-\texttt{gamma}\|x-y\|^2)`.
    gamma : float, default=1.0
        Decay of the rbf kernel.
    regularization : float, default=1.0
        Weight :math:`\lambda` of the size of W; small values bring the means closer.
    max_iter : int, default=10
        Maximum number of rounds; they end before where no label changes.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on the components of all labelled rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    balance_ : float
        The balance of the last round.
    rows_ : ndarray of shape (n, n_features)
        Rows of both domains from their common mean, of unit length.
    weights_ : ndarray of shape (n, n_components_)
        The matrix W.
    eigenvalues_ : ndarray of shape (n_components_,)
        Scatter over cost of each component, the largest first.
    pseudo_labels_ : ndarray of shape (n_target,)
        Labels of the target rows, those known and those predicted in the last round.
    n_iter_ : int
        Number of rounds.
    n_components_ : int
        Number of components.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    See Also
    --------
    JDA : The balance 0.5.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import BDA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None] * np.arange(5)
    >>> Xt = X + [9, 0, 0, 0, 0]
    >>> BDA(2).fit(X, y, Xt).score(Xt, y)
    1.0
    """

    def __init__(
        self,
        n_components=None,
        *,
        balance: float | str = "auto",
        kernel="linear",
        gamma=1.0,
        regularization=1.0,
        max_iter=10,
        classifier="1nn",
    ):
        self.balance = balance
        super().__init__(
            n_components,
            kernel=kernel,
            gamma=gamma,
            regularization=regularization,
            max_iter=max_iter,
            classifier=classifier,
        )

    def _balance(self) -> float | str:
        return self.balance
