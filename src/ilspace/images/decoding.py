"""From the bytes of a file to a picture, and to a small one for a page."""

from __future__ import annotations

import base64
import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from ilspace.images.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

_QUALITY = 80
"""Of small pictures in a page, as JPEG has it."""


def pillow():
    """Import Pillow, or say how to install it."""
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError(
            'Pictures need pillow, which is not installed: pip install "ilspace[images]"'
        ) from error
    return PIL


def decode(content: bytes, *, side: int | None = None) -> Image.Image:
    """Decode a picture.

    Parameters
    ----------
    content : bytes
        Of its file.
    side : int, optional
        Pixels that are enough, along the shorter side; a large JPEG is then decoded faster.

    Returns
    -------
    Image
        In RGB, upright; what is transparent is white.

    Raises
    ------
    PictureError
        Why it cannot be decoded, in a few words.
    """
    pillow()
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            # one that is too large for memory is broken; what else is odd is not told
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(content))
            if side is not None:
                picture.draft("RGB", (side, side))
            return _in_rgb(ImageOps.exif_transpose(picture))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError("too many pixels") from None
    except Image.UnidentifiedImageError:
        raise PictureError("empty file" if not content else "not a picture") from None
    except MemoryError:
        raise PictureError("does not fit into memory") from None
    except Exception as error:  # on broken files the decoders raise all kinds
        raise PictureError(" ".join(str(error).split())[:80] or type(error).__name__) from None


def _in_rgb(picture: Image.Image) -> Image.Image:
    from PIL import Image

    if picture.mode.startswith(("I", "F")):  # of which Pillow would cut off all above 255
        values = np.nan_to_num(np.asarray(picture, np.float64))
        low, high = (0, 65535) if picture.mode.startswith("I;16") else (values.min(), values.max())
        picture = Image.fromarray(np.uint8(255 * (values - low) / ((high - low) or 1)))
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    return picture.convert("RGB")


def size_of(content: bytes) -> tuple[int, int] | None:
    """Width and height of a picture, which is not decoded for it.

    Parameters
    ----------
    content : bytes
        Of its file.

    Returns
    -------
    tuple of int or None
        None if it is broken.
    """
    pillow()
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Image.open(io.BytesIO(content)).size
    except Exception:  # as in decode
        return None


def thumbnail(content: bytes, *, side: int = 96) -> str:
    """A small picture for a page.

    Parameters
    ----------
    content : bytes
        Of its file.
    side : int, default=96
        Most pixels along each side; a smaller one stays as it is.

    Returns
    -------
    str
        A data URI: PNG for pictures that are as small, else JPEG.
    """
    picture = decode(content, side=side)
    is_small = max(picture.size) <= side
    picture.thumbnail((side, side))
    stream = io.BytesIO()
    if is_small:
        picture.save(stream, "PNG", optimize=True)
    else:
        picture.save(stream, "JPEG", quality=_QUALITY)
    data = base64.b64encode(stream.getvalue()).decode()
    return f"data:image/{'png' if is_small else 'jpeg'};base64,{data}"
