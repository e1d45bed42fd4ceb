"""How a picture is made ready for a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ilspace.images.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

CONFIG = "preprocessor_config.json"
"""The file beside a model that says how its pictures are prepared, as Hugging Face names it."""

SIDE = 224
"""Pixels along a side where neither the model nor a file says otherwise."""


@dataclass(frozen=True)
class Preparation:
    """Shorter side to a length, a square from the centre, and colours centred and scaled.

    Attributes
    ----------
    crop : int
        Side of the square, in pixels.
    shorter : int
        Length of the shorter side before.
    mean, std : tuple of float
        Of red, green and blue, each from 0 to 1; by default those of ImageNet.
    """

    crop: int = SIDE
    shorter: int = 256
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)

    def __call__(self, picture: Image.Image) -> np.ndarray:
        """Prepare a picture.

        Parameters
        ----------
        picture : Image
            In RGB.

        Returns
        -------
        ndarray of float32, shape (3, crop, crop)
            Colours first.
        """
        from PIL import Image

        ratio = self.shorter / min(picture.size)
        width, height = (max(self.crop, round(each * ratio)) for each in picture.size)
        # the square of the original that is seen: an odd shape is not made huge on the way
        share = self.crop / width, self.crop / height
        left, top = ((1 - each) / 2 * side for each, side in zip(share, picture.size, strict=True))
        box = (left, top, picture.width - left, picture.height - top)
        square = picture.resize((self.crop, self.crop), Image.Resampling.BICUBIC, box=box)
        values = np.asarray(square, np.float32) / 255
        values = (values - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(values.transpose(2, 0, 1))


def read_preparation(model: Path, side: int | None) -> Preparation:
    """How the pictures of a model are prepared: as a file beside it says, or as for ImageNet.

    Parameters
    ----------
    model : Path
        The model; a file ``preprocessor_config.json`` may lie beside it.
    side : int or None
        Side of the pictures that it takes; None if it takes any.

    Returns
    -------
    Preparation
        With the mean and the deviation of ImageNet where the file does not say otherwise.
    """
    file = model.parent / CONFIG
    said: dict[str, Any] = {}
    if file.is_file():
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            size = said.get("crop_size") if said.get("do_center_crop", True) else None
            size = _side(size) or _side(said.get("size"))
            crop = side or size or SIDE
            shorter = _side(said.get("size")) or crop
            default = Preparation()
            is_scaled = said.get("do_normalize", True)
            mean = said.get("image_mean", default.mean) if is_scaled else (0.0, 0.0, 0.0)
            std = said.get("image_std", default.std) if is_scaled else (1.0, 1.0, 1.0)
            mean, std = (tuple(float(each) for each in values) for values in (mean, std))
            if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
                raise ValueError
            return Preparation(crop, max(shorter, crop), mean, std)
        except (ValueError, TypeError, AttributeError):
            raise PictureError(
                f"{file} must say how pictures are prepared, as image_mean, image_std, size and "
                "crop_size, but does not: correct it, or move it away."
            ) from None
    crop = side or SIDE
    return Preparation(crop, round(crop * 256 / 224) if crop > 64 else crop)


def _side(size: Any) -> int | None:
    """A length out of the ways in which such files write one."""
    if isinstance(size, dict):
        size = size.get("shortest_edge") or size.get("height")
    return int(size) if size else None
