"""Backbones of timm, with random weights, as those of ImageNet would have to be downloaded."""

import numpy as np
import pytest

timm = pytest.importorskip("timm")
Image = pytest.importorskip("PIL.Image")

from ilspace.images import PictureError, make_backbone  # noqa: E402


@pytest.fixture
def offline(monkeypatch):
    create = timm.create_model
    monkeypatch.setattr(
        timm, "create_model", lambda *args, **more: create(*args, **more | {"pretrained": False})
    )


def test_features_are_those_before_the_last_layer(offline):
    backbone = make_backbone("timm:test_resnet.r160_in1k")
    pictures = [Image.new("RGB", (90, 40), colour) for colour in ("red", "blue", "red")]
    rows = backbone.features(np.stack([backbone.prepare(each) for each in pictures]))
    assert rows.shape == (3, 96)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows[0], rows[2], rtol=1e-5)
    assert not np.allclose(rows[0], rows[1])


def test_a_name_that_timm_does_not_know_is_refused():
    with pytest.raises(PictureError, match="check the name"):
        make_backbone("timm:nonsense")
