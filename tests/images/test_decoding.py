"""What becomes of the bytes of a picture."""

import base64
import io

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

from ilspace.images import PictureError  # noqa: E402
from ilspace.images.decoding import decode, size_of, thumbnail  # noqa: E402

RED = (255, 0, 0)


def encoded(picture, kind="PNG", **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def corner(content):
    return decode(content).getpixel((0, 0))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK"])
def test_all_modes_become_rgb(mode):
    kind = "TIFF" if mode == "CMYK" else "PNG"
    picture = decode(encoded(Image.new("RGB", (5, 4), "white").convert(mode), kind))
    assert (picture.mode, picture.size) == ("RGB", (5, 4))
    assert picture.getpixel((0, 0)) == (255, 255, 255)


def test_what_is_transparent_is_white():
    half = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    half.putpixel((0, 0), (255, 0, 0, 0))
    picture = decode(encoded(half))
    assert [picture.getpixel((i, 0)) for i in range(2)] == [(255, 255, 255), RED]


def test_sixteen_bits_are_scaled_not_cut_off():
    deep = Image.fromarray(np.array([[0, 0x8000, 0xFFFF]], np.uint16))
    assert np.asarray(decode(encoded(deep)))[0, :, 0].tolist() == [0, 127, 255]


def test_a_picture_is_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn clockwise to be upright
    assert decode(encoded(Image.new("RGB", (6, 2)), "JPEG", exif=exif)).size == (2, 6)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"no picture at all", "not a picture"),
        (encoded(Image.effect_noise((64, 64), 90))[:300], "truncated|broken|incomplete"),
    ],
)
def test_broken_pictures_are_told(content, reason):
    with pytest.raises(PictureError, match=reason):
        decode(content)
    assert size_of(b"") is None


def test_one_of_too_many_pixels_is_not_decoded(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    with pytest.raises(PictureError, match="too many pixels"):
        decode(encoded(Image.new("RGB", (8, 8))))


@pytest.mark.parametrize(("size", "kind"), [((8, 8), "png"), ((300, 200), "jpeg")])
def test_thumbnails_are_small(size, kind):
    found = thumbnail(encoded(Image.effect_noise(size, 90)), side=96)
    head, data = found.split(",")
    assert head == f"data:image/{kind};base64"
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    assert picture.size == ((8, 8) if size == (8, 8) else (96, 64))
