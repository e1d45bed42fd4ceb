"""The record every loader returns."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Domain:
    """One domain: features, labels, name and provenance.

    Two records are equal only when they are the same object, since comparing arrays has no
    single answer. The arrays are kept as given, not copied.

    Attributes
    ----------
    name : str
        Short name, as tables print it.
    X : array of shape (n_samples, n_features)
        Features, one row per sample; a floating dtype.
    y : array of shape (n_samples,)
        Labels.
    provenance : str
        One sentence: which data these are and who made them.

    Raises
    ------
    ValueError
        When `X` is not a 2-d floating array, or `y` does not hold one label per row.

    Examples
    --------
    >>> import numpy as np
    >>> webcam = Domain("W", np.zeros((3, 2)), np.array([1, 1, 2]), "an example")
    >>> webcam.n_samples, webcam.n_features
    (3, 2)
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    provenance: str

    def __post_init__(self) -> None:
        """Validate the arrays."""
        if self.X.ndim != 2 or not np.issubdtype(self.X.dtype, np.floating):
            raise ValueError(
                f"X of domain {self.name!r} must be a 2-d array of floats, "
                f"got shape {self.X.shape} and dtype {self.X.dtype}"
            )
        if self.y.shape != self.X.shape[:1]:
            raise ValueError(
                f"y of domain {self.name!r} must hold one label for each of the {len(self.X)} "
                f"rows of X, got shape {self.y.shape}"
            )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]
