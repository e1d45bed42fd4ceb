"""Selected self-training in the space of any adapter, or without adaptation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ilspace.backend import as_generator, on_host
from ilspace.baselines._base import ScoringBaseline
from ilspace.domains import Domain, Domains
from ilspace.ils.map import to_latent
from ilspace.ils.plain import plain_map
from ilspace.ils.ridge_rule import LANDMARKS, SELECTED_WEIGHT
from ilspace.rules.class_prior import LABEL_WEIGHT
from ilspace.rules.ridge import KernelExpansion, laplacian_ridge, unit_rows
from ilspace.rules.self_training import selective_ridge


class SelfTraining(ScoringBaseline):
    """The rule of ILSClassifier in the space of another method.

    A kernel ridge regression that varies little between neighbours is trained on the labelled rows,
    then on its own surest predictions, in each step on more of them and chosen anew. What it gains
    in the space of a method, against what that method gains, tells the two apart.

    Parameters
    ----------
    adapter : estimator, default=None
        Sends both domains to one space: a transformer of this package, such as CORAL or
        ILSTransformer. None for the first 100 principal axes of both domains, each centred, for
        domains of the same columns, and for axes aligned by the labelled class means for others.
    n_steps : int, default=3
        Steps in which the share of selected predictions grows to 1; 0 to learn from the given
        labels alone.
    smoothness : float, default=0.5
        Weight of the graph Laplacian, by which the rule varies little between neighbours.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the landmarks of the rule where there are more than 2,500 rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    adapter_ : estimator or None
        The fitted adapter; its classes are positions in `classes_`.
    expansion_ : KernelExpansion
        The rule, on rows of length 1.

    See Also
    --------
    ilspace.ILSClassifier : The same rule around a latent space that learns from it.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import CORAL, SelfTraining
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = X @ np.diag([1, 2, 1, 0.5, 1]) + 3
    >>> SelfTraining(CORAL()).fit(X, y, Xt).score(Xt, y)
    1.0
    """

    _takes_different_columns = True

    adapter_: Any
    expansion_: KernelExpansion

    def __init__(self, adapter=None, *, n_steps=3, smoothness=0.5, random_state=None):
        self.adapter = adapter
        self.n_steps = n_steps
        self.smoothness = smoothness
        self.random_state = random_state

    def _adapt(self, source: Domain, target: Domain) -> None:
        alone = source is target
        if self.adapter is None:
            domains = Domains(
                (source,), None if alone else target, self.classes_, self._shares_features
            )
            self.adapter_, self._plain = None, plain_map(domains)
        else:
            if not self._shares_features and source.n_features == target.n_features:
                raise ValueError(
                    "SelfTraining hands columns to its adapter without their names, so domains of "
                    "as many columns must have the same ones, but these have others: leave the "
                    "adapter out."
                )
            given = () if alone else (target.X, target.codes)
            self.adapter_ = clone(self.adapter).fit(source.X, source.codes, *given)
        parts = [(source, True)] if alone else [(source, True), (target, False)]
        rows = [self._space(domain.X, np.full(domain.n_rows, flag)) for domain, flag in parts]
        codes = np.concatenate([domain.codes for domain, _ in parts])
        weights = [np.ones(source.n_rows)]
        if not alone:
            weights.append(np.where(target.codes >= 0, LABEL_WEIGHT, SELECTED_WEIGHT))
        ridge = laplacian_ridge(
            np.concatenate(rows),
            LANDMARKS,
            as_generator(self.random_state),
            smoothness=self.smoothness,
        )
        found = selective_ridge(
            ridge, codes, np.concatenate(weights), len(self.classes_), n_steps=self.n_steps
        )
        self.expansion_ = found.expansion

    def _space(self, X, is_source: np.ndarray) -> np.ndarray:
        """Rows in the space, at length 1."""
        if self.adapter_ is None:
            position = np.where(is_source, 0, -1)
            return unit_rows(to_latent(X, self._plain.means, self._plain.maps, position))
        signs = np.where(is_source, 1, -1)
        return unit_rows(np.asarray(on_host(self.adapter_.transform(X, sample_domain=signs))))

    def _scores(self, X, is_source: np.ndarray) -> np.ndarray:
        scores = self.expansion_.scores(self._space(X, is_source).astype(np.float64))
        return scores if scores.shape[1] > 2 else scores[:, 1:] - scores[:, :1]
