"""Nearest neighbours in the invariant latent space."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ilspace._typing import Array
from ilspace.backend import array_namespace, to_numpy
from ilspace.domains import Domains
from ilspace.estimators.base import DomainClassifier, Position
from ilspace.estimators.neighbors import class_distances, vote
from ilspace.estimators.persistence import loadable
from ilspace.estimators.transformer import ILSTransformer
from ilspace.ils import ILSMap
from ilspace.ils.map import as_dtype
from ilspace.storage import ModelFileError
from ilspace.storage.schema import SHARE, ArrayOf, Check, Each, Optional, Record, Value


class LatentRows(NamedTuple):
    """Labelled rows of a domain in the latent space.

    Attributes
    ----------
    rows : array of shape (n, p)
        The rows.
    codes : ndarray of int, shape (n,)
        Positions of their classes in `classes_`.
    """

    rows: Array
    codes: np.ndarray


_HAVE_DISTANCES = Check(
    "be small enough for squared distances",
    lambda rows: np.abs(rows).max(initial=0) < np.finfo(rows.dtype).max ** 0.4,
)


@loadable
class ILSClassifier(DomainClassifier, ILSTransformer):
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
    objective : ObjectiveSettings, default=None
        What is minimised; None for the defaults of :class:`~ilspace.ObjectiveSettings`.
    init : {"auto", "target-pca", "joint-pca", "pls", "class-means"} or array(s), default="auto"
        Initial projections; :class:`ILSTransformer` says when to use which.
    solver : str, default="conjugate-gradient"
        Optimizer: ``"conjugate-gradient"``, ``"steepest-descent"``, ``"lbfgs"``,
        ``"alternating"``, ``"projected-gradient"``, ``"sgd"`` or ``"adam"``; the last two are
        stochastic, for many labelled rows.
    batch_size : int, default=512
        Labelled rows per mini-batch of ``"sgd"`` and ``"adam"``.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when the relative decrease of the objective per iteration falls below `tol`.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the dissimilar pairs of ``pairs="sampled"`` and the mini-batches of the stochastic
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

    __metadata_request__predict_proba = {"sample_domain": True, "allow_source": True}

    _parameter_constraints = {
        **ILSTransformer._parameter_constraints,
        "source_vote": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
    }

    _schema = {
        **ILSTransformer._schema,
        "source_vote_": Optional(Value(Real, check=SHARE)),
        "_labelled": Each(
            Record(
                LatentRows,
                {
                    "rows": ArrayOf(("m#", "p"), dtype="float", check=_HAVE_DISTANCES),
                    "codes": ArrayOf(("m#",), kinds="i"),
                },
            ),
            "n",
        ),
    }

    def __init__(
        self,
        n_components=None,
        *,
        source_vote="auto",
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
        super().__init__(
            n_components,
            objective=objective,
            init=init,
            solver=solver,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.source_vote = source_vote

    def _store(self, ils: ILSMap, domains: Domains, *, columns: bool = True) -> None:
        super()._store(ils, domains, columns=columns)
        self.source_vote_ = (
            (None if self._shares_features else 0.3)
            if isinstance(self.source_vote, str)
            else self.source_vote
        )
        self._labelled = tuple(LatentRows(*each) for each in domains.latent_rows(ils))

    # -- after fit -------------------------------------------------------------------------------

    def class_distances(self, X, domain="target", *, sample_domain=None, allow_source=False):
        """Squared distance of each row to each class, in the latent space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_classes)
            To the nearest labelled row of each class, the domains combined by `source_vote`. Of a
            Dask collection a Dask array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        width = len(self.classes_)
        return self._on_rows(_distances_of, X, domain, sample_domain, width=width)

    def predict_proba(self, X, domain="target", *, sample_domain=None, allow_source=False):
        r"""Probabilities of the classes.

        The loss models the odds that two rows at squared distance d are of one class as
        :math:`e^{-\beta(d - 1)}`; these odds, for the nearest row of each class, are normalised.
        They rank the rows by how sure the rule is, but are not calibrated.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.
        sample_domain : array-like of shape (n,), optional
            Positive for source rows, negative for target rows.
        allow_source : bool, default=False
            Accepted for pipelines that pass it; source rows are always allowed.

        Returns
        -------
        array of shape (n, n_classes)
            Rows sum to 1; the largest entry is the predicted class. Of a Dask collection a Dask
            array, of which nothing is computed yet.
        """
        check_is_fitted(self)
        width = len(self.classes_)
        return self._on_rows(_probabilities_of, X, domain, sample_domain, width=width)

    def nearest(self, X, domain="target"):
        """Class of each row, how sure that is, and how far the nearest labelled row is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of one domain, seen at fit or not.
        domain : {"target", "source"}, default="target"
            Which one.

        Returns
        -------
        label : ndarray of shape (n,)
            As :meth:`predict` gives it.
        probabilities : ndarray of shape (n, n_classes)
            As :meth:`predict_proba` gives them.
        distance : ndarray of shape (n,)
            To the nearest labelled row of any class and domain in the latent space, not squared.
        """
        by_domain = self._domain_distances(*self._check_rows(X, domain))
        combined = self._combined(by_domain)
        codes = np.argmin(to_numpy(combined), axis=1)
        probabilities = to_numpy(self._probabilities(combined))
        squares = np.min([np.min(to_numpy(each), axis=1) for each in by_domain], axis=0)
        return self.classes_[codes], probabilities, np.sqrt(squares)

    def _predict_codes(self, X, position: Position) -> np.ndarray:
        return np.argmin(to_numpy(self._class_distances(X, position)), axis=1)

    def _class_distances(self, X, position: Position) -> Array:
        return self._combined(self._domain_distances(X, position))

    def _domain_distances(self, X, position: Position) -> list[Array]:
        """Class distances to the labelled rows of each domain."""
        latent = self._latent(X, position)
        n_classes = len(self.classes_)
        by_domain = (class_distances(latent, *labelled, n_classes) for labelled in self._labelled)
        return [as_dtype(each, latent.dtype) for each in by_domain]

    def _combined(self, by_domain: list[Array]) -> Array:
        """Distances to the rows of all domains together, as the vote says."""
        if len(by_domain) == 1:
            return by_domain[0]
        from_source, from_target = by_domain
        return as_dtype(vote(from_source, from_target, self.source_vote_), from_source.dtype)

    def _probabilities(self, distances: Array) -> Array:
        xp = array_namespace(distances)
        odds = xp.exp(self.sharpness_ * (xp.min(distances, axis=1, keepdims=True) - distances))
        return odds / xp.sum(odds, axis=1, keepdims=True)

    # -- on disk ---------------------------------------------------------------------------------

    def _restored(self) -> None:
        super()._restored()
        for (_, codes), counts in zip(self._labelled, self._class_counts, strict=True):
            in_range = ((codes >= 0) & (codes < len(counts))).all()
            if not in_range or (np.bincount(codes, minlength=len(counts)) != counts).any():
                raise ModelFileError("its labelled rows are not of the classes that it counts")


def _distances_of(model: ILSClassifier, X, position: Position) -> Array:
    return model._class_distances(X, position)


def _probabilities_of(model: ILSClassifier, X, position: Position) -> Array:
    return model._probabilities(model._class_distances(X, position))
