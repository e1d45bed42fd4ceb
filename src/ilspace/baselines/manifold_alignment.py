"""Manifold alignment: one linear map per domain that joins classes and keeps neighbourhoods."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from sklearn.neighbors import kneighbors_graph

from ilspace.backend import fix_signs, symmetric_part
from ilspace.baselines._base import LatentBaseline, mean_length
from ilspace.baselines._subspaces import principal_subspace
from ilspace.domains import Domain
from ilspace.pairs import pair_statistics


def neighbour_graph(
    rows: np.ndarray, n_neighbors: int, gamma: float | None = None
) -> sparse.csr_array:
    r"""Similarities of neighbouring rows.

    .. math:: W_{ij} = \exp(-\gamma\|x_i - x_j\|^2)

    where one of the two is among the nearest neighbours of the other, and 0 elsewhere.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows of one domain.
    n_neighbors : int
        Neighbours of a row, itself not counted; at most ``n - 1`` are taken.
    gamma : float, optional
        Decay of the similarities, by default one over the mean squared distance to a neighbour.

    Returns
    -------
    sparse array of shape (n, n)
        Symmetric.
    """
    n_neighbors = min(n_neighbors, len(rows) - 1)
    graph = sparse.csr_array(kneighbors_graph(rows, n_neighbors, mode="distance"))
    squares = graph.data**2
    graph.data = np.exp(-squares * (gamma or 1 / (squares.mean() or 1.0)))
    return graph.maximum(graph.T)


def graph_spread(rows: np.ndarray, graph: sparse.csr_array) -> np.ndarray:
    r"""Mean outer product of the differences along the edges of a graph.

    .. math:: \sum_{ij}W_{ij}(x_i - x_j)(x_i - x_j)^\top\Big/\sum_{ij}W_{ij}
       = 2X^\top LX\Big/\sum_{ij}W_{ij}

    with the graph's Laplacian L.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows X.
    graph : sparse array of shape (n, n)
        Symmetric similarities W.

    Returns
    -------
    ndarray of shape (d, d)
        The mean.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    laplacian = (rows * degrees[:, None]).T @ rows - rows.T @ (graph @ rows)
    return symmetric_part(2 * laplacian / degrees.sum())


def alignment_problem(
    rows: np.ndarray, codes: np.ndarray, graph: sparse.csr_array, neighbour_weight: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Matrices whose quotient manifold alignment minimises.

    .. math::

       A = \mu\,\bar\Sigma_{\text{neighbours}} + \Sigma_{\text{similar}}, \qquad
       B = \Sigma_{\text{dissimilar}}

    Each :math:`\Sigma` is the mean outer product of differences over the pairs of its kind, which
    is the Laplacian :math:`Z^\top LZ` of their graph but for a factor. Sums over pairs of labelled
    rows come from the classes' scatters, so no graph of labels is stored.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows Z of all domains, each in columns of its own with zeros in those of the others.
    codes : ndarray of shape (n,)
        Their classes, two at least, -1 without label.
    graph : sparse array of shape (n, n)
        Similarities of neighbours within the domains.
    neighbour_weight : float
        Weight :math:`\mu`.

    Returns
    -------
    A, B : ndarray of shape (d, d)
        Symmetric positive semi-definite.
    """
    labelled = np.flatnonzero(codes >= 0)
    statistics = pair_statistics(rows[labelled], codes[labelled])
    similar = np.nan_to_num(statistics.similar_covariance)  # no pairs where all rows differ
    together = neighbour_weight * graph_spread(rows, graph) + similar
    return symmetric_part(together), symmetric_part(statistics.dissimilar_covariance)


def smallest_quotients(
    together: np.ndarray, apart: np.ndarray, n_components: int, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Directions of the smallest quotients of two quadratic forms.

    .. math:: (A + \rho\tfrac{\mathrm{tr} A}{d}I)v = \lambda Bv

    Solved for the largest :math:`1/\lambda`, as B is singular where few rows have labels.

    Parameters
    ----------
    together, apart : ndarray of shape (d, d)
        The matrices A and B.
    n_components : int
        Number of directions.
    ridge : float
        Regularisation :math:`\rho`.

    Returns
    -------
    quotients : ndarray of shape (n_components,)
        The inverse quotients :math:`1/\lambda`, the largest first.
    directions : ndarray of shape (d, n_components)
        Columns v, with :math:`v^\top(A + \ldots)v = 1`.
    """
    d = len(together)
    # directions in which no row differs, as of constant columns, have a quotient too: 0 / 0
    floor = max(ridge, 100 * d * np.finfo(float).eps) * np.trace(together) / d or 1.0
    values, vectors = linalg.eigh(
        apart, together + floor * np.eye(d), subset_by_index=(d - n_components, d - 1)
    )
    return values[::-1], fix_signs(np.ascontiguousarray(vectors[:, ::-1]))


class ManifoldAlignment(LatentBaseline):
    r"""Manifold alignment with labels, DAMA :cite:p:`wang2011`.

    .. math::

       \min_{F_s, F_t}\ \mathrm{tr}\Bigl[\bigl(F^\top Z^\top L_dZF\bigr)^{-1}
         F^\top Z^\top(\mu L + L_s)ZF\Bigr], \qquad
       Z = \begin{pmatrix}X_s & \\ & X_t\end{pmatrix}, \quad
       F = \begin{pmatrix}F_s\\ F_t\end{pmatrix}

    L, :math:`L_s` and :math:`L_d` are the Laplacians of three graphs on the rows of both domains:
    of neighbours within a domain, of labelled pairs of one class, and of labelled pairs of
    different classes, within and across the domains. F holds the eigenvectors of the smallest
    eigenvalues of :math:`Z^\top(\mu L + L_s)Zf = \lambda Z^\top L_dZf`; rows are represented by
    :math:`F_s^\top x` or :math:`F_t^\top x`, seen at fit or not. Each graph is divided by its
    total weight, so that :math:`\mu` means the same for all numbers of rows.

    Use it where the domains have different columns and the target some labels. With more columns
    than labelled rows the maps overfit the labels, so each domain is reduced to a few principal
    axes first. Costs these two analyses, :math:`O(nd\min(n, d))`, the search for neighbours,
    :math:`O(n^2q)` time in blocks of rows, and an eigenproblem of the size 2q for q axes.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the latent space, by default 15 or the number of axes of a domain if it is
        smaller. Between 9 and 30 little changes on ten classes.
    neighbour_weight : float, default=1.0
        Weight :math:`\mu` of the neighbours against the pairs of one class. Values
        from 1/3 to 1 do as well, 0.1 or 10 loses several points.
    n_neighbors : int, default=5
        Neighbours of a row.
    n_axes : int or None, default=30
        Principal axes kept of each domain, at most as many as it has rows and columns; None keeps
        all columns. On 800 columns with 23 labelled rows per class, 20 to 40 are alike and 100
        lose five points.
    ridge : float, default=1e-3
        Ridge :math:`\rho` added to the left side, relative to its mean eigenvalue.
    classifier : {"1nn", "svm"} or estimator, default="1nn"
        Trained on all labelled rows in the latent space.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    source_mean_, target_mean_ : ndarray of shape (n_features,)
        Means of the domains.
    source_projection_, target_projection_ : ndarray of shape (n_features, n_components)
        The maps of centred rows.
    quotients_ : ndarray of shape (n_components,)
        Inverse eigenvalues :math:`1/\lambda`, descending: spread of dissimilar pairs over that of
        neighbours and similar pairs.
    n_components_ : int
        Dimension of the latent space.
    classifier_ : estimator
        The fitted classifier; its classes are positions in `classes_`.

    Examples
    --------
    >>> import numpy as np
    >>> from ilspace.baselines import ManifoldAlignment
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 5)) + 4 * y[:, None]
    >>> Xt = 7 - 2 * X[:, :3]
    >>> few = np.where(np.arange(40) % 4 == 0, y, -1)
    >>> ManifoldAlignment(1).fit(X, y, Xt, few).score(Xt, y)
    1.0
    """

    _needs_target_labels = True
    _takes_different_columns = True

    def __init__(
        self,
        n_components=None,
        *,
        neighbour_weight=1.0,
        n_neighbors=5,
        n_axes: int | None = 30,
        ridge=1e-3,
        classifier="1nn",
    ):
        self.n_components = n_components
        self.neighbour_weight = neighbour_weight
        self.n_neighbors = n_neighbors
        self.n_axes = n_axes
        self.ridge = ridge
        self.classifier = classifier

    def _adapt(self, source: Domain, target: Domain) -> None:
        n_domains = 1 if target is source else 2
        offsets = self._center(source, target)[:n_domains]
        codes = np.concatenate([source.codes, target.codes][:n_domains])
        bases = [self._basis(each) for each in offsets]
        reduced = [rows @ basis for rows, basis in zip(offsets, bases, strict=True)]
        widths = [rows.shape[1] for rows in reduced]
        p = self._check_components(self.n_components, sum(widths), default=min(15, *widths))
        graphs = [neighbour_graph(rows, self.n_neighbors) for rows in reduced]
        together, apart = alignment_problem(
            linalg.block_diag(*reduced),
            codes,
            sparse.block_diag(graphs, format="csr"),
            self.neighbour_weight,
        )
        self.quotients_, directions = smallest_quotients(together, apart, p, self.ridge)
        parts = np.split(directions, np.cumsum(widths)[:-1])
        self._source_map, self._target_map = bases[0] @ parts[0], bases[-1] @ parts[-1]
        self.source_projection_, self.target_projection_ = self._source_map, self._target_map
        self.n_components_ = self._n_features_out = p

    def _basis(self, offsets: np.ndarray) -> np.ndarray:
        """Leading principal axes, scaled so that the rows have length 1 on average.

        The length changes nothing but the ridge, which then treats the domains alike.
        """
        if self.n_axes is None:
            basis = np.eye(offsets.shape[1])
        else:
            basis = principal_subspace(offsets, min(self.n_axes, *offsets.shape))
        return basis / mean_length(offsets @ basis)
