"""Backbones that onnxruntime runs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.images import lite0
from ilspace.images.backbones import LITE0
from ilspace.images.errors import PictureError
from ilspace.images.preparation import Preparation, read_preparation

_PROVIDERS = ("CUDAExecutionProvider", "CPUExecutionProvider")
"""What runs a model, the fastest first; a GPU where onnxruntime knows one."""

_MEAN, _STD = (127 / 255,) * 3, (128 / 255,) * 3
"""Colours as EfficientNet-Lite was trained with; on two photographs its classes are surer so."""

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class OnnxBackbone:
    """A model with one input, pictures, whose first output are their features.

    Features for each place of a picture, or for each of its patches, are averaged.

    Parameters
    ----------
    name : str
        As it is asked for.
    model : bytes
        The model.
    preparation : Preparation or Path
        How pictures are prepared; or where the model is, so that it is read there.
    """

    is_slow = True
    scaling = "auto"

    def __init__(self, name: str, model: bytes, preparation: Preparation | Path):
        self.name = name
        self._session = _session(name, model)
        inputs = self._session.get_inputs()
        shape = inputs[0].shape
        if len(inputs) != 1 or len(shape) != 4 or inputs[0].type not in _TYPES:
            what = ", ".join(f"{each.name} {each.shape} of {each.type}" for each in inputs)
            raise PictureError(
                f"The model {name} must have one input of shape (n, 3, height, width), in floating "
                f"point, but has {what}: export it so."
            )
        self._input, self._dtype = inputs[0].name, _TYPES[inputs[0].type]
        self._colours_last = shape[3] == 3 and shape[1] != 3
        height, width = shape[1:3] if self._colours_last else shape[2:4]
        colours = shape[3] if self._colours_last else shape[1]
        if height != width or (isinstance(colours, int) and colours != 3):
            are_free = not isinstance(height, int) and not isinstance(width, int)
            if not are_free or (isinstance(colours, int) and colours != 3):
                raise PictureError(
                    f"The model {name} must take square pictures in three colours, but takes "
                    f"{shape}: export it so."
                )
        self._batch = shape[0] if isinstance(shape[0], int) else None
        if isinstance(preparation, Path):
            side = height if isinstance(height, int) else None
            preparation = read_preparation(preparation, side)
        self.prepare = preparation
        self.side = preparation.shorter
        self.key = f"onnx {hashlib.sha256(model).hexdigest()} {preparation}"

    @classmethod
    def of_file(cls, path: str) -> OnnxBackbone:
        """Open a model.

        Parameters
        ----------
        path : str
            An ONNX file; its weights must be in it.

        Returns
        -------
        OnnxBackbone
            Ready for use.
        """
        try:
            model = Path(path).read_bytes()
        except OSError as error:
            raise PictureError(
                f"The backbone {path} must be an ONNX file that can be read, but is not "
                f"({error.strerror or error}): check the path."
            ) from None
        return cls(str(Path(path).absolute()), model, Path(path))

    def features(self, batch: np.ndarray) -> np.ndarray:
        """Describe pictures.

        Parameters
        ----------
        batch : ndarray of float32, shape (n, 3, side, side)
            Prepared pictures.

        Returns
        -------
        ndarray of float32, shape (n, n_features)
            A row for each.
        """
        batch = batch.astype(self._dtype, copy=False)
        if self._colours_last:
            batch = np.ascontiguousarray(batch.transpose(0, 2, 3, 1))
        found = []
        step = self._batch or len(batch)
        for start in range(0, len(batch), step):
            rows = batch[start : start + step]
            spare = step - len(rows)  # a model may take so many pictures, no fewer
            if spare:
                rows = np.concatenate([rows, np.repeat(rows[-1:], spare, axis=0)])
            found.append(self._run(rows)[: step - spare])
        return np.concatenate(found)

    def _run(self, batch: np.ndarray) -> np.ndarray:
        try:
            output = self._session.run(None, {self._input: batch})[0]
        except Exception as error:  # the errors of onnxruntime have no class of their own
            reason = " ".join(str(error).split())[:200]
            raise PictureError(
                f"The model {self.name} must take pictures of shape {batch.shape[1:]}, but does "
                f"not ({reason}): export it so, or say their size in a preprocessor_config.json "
                "beside it."
            ) from None
        rows = np.asarray(output, np.float32)
        if len(rows) != len(batch) or rows.ndim < 2:
            raise PictureError(
                f"The first output of the model {self.name} must have a row for each picture, but "
                f"has shape {rows.shape} for {len(batch)} pictures: export it so."
            )
        if rows.ndim == 4:  # places
            rows = rows.mean(axis=(1, 2) if self._colours_last else (2, 3))
        elif rows.ndim == 3:  # patches
            rows = rows.mean(axis=1)
        return rows.reshape(len(rows), -1)


def _session(name: str, model: bytes) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            f"The backbone {name} needs onnxruntime, which is not installed: "
            'pip install "ilspace[images]"'
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    there = onnxruntime.get_available_providers()
    try:
        return onnxruntime.InferenceSession(
            model, options, providers=[each for each in _PROVIDERS if each in there]
        )
    except Exception as error:  # as above
        reason = " ".join(str(error).split())[:200]
        raise PictureError(
            f"The backbone {name} must be an ONNX model that holds its weights, but cannot be "
            f"loaded ({reason}): export it again."
        ) from None


def efficientnet_lite0() -> OnnxBackbone:
    """Make EfficientNet-Lite0 with the weights of its package.

    Returns
    -------
    OnnxBackbone
        With 1280 features.
    """
    weights = lite0.read_weights(lite0.weights_path())
    return OnnxBackbone(LITE0, lite0.onnx_model(weights), Preparation(mean=_MEAN, std=_STD))
