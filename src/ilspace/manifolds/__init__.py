"""Geometry, independent of any loss."""

from ilspace.manifolds.euclidean import Euclidean
from ilspace.manifolds.oblique import Oblique
from ilspace.manifolds.product import Product
from ilspace.manifolds.spd import SPD
from ilspace.manifolds.stiefel import Stiefel

__all__ = ["SPD", "Euclidean", "Oblique", "Product", "Stiefel"]
