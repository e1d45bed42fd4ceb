"""Backbones of timm, which torch runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ilspace.images.backbones import TIMM
from ilspace.images.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image


class TimmBackbone:
    """A model of timm without its last layer, on a GPU where there is one.

    Its weights are downloaded the first time, to where the Hugging Face Hub keeps them.

    Parameters
    ----------
    name : str
        ``timm:`` and the name of a model, such as ``timm:resnet18.a1_in1k``.
    """

    is_slow = True
    scaling = "auto"

    def __init__(self, name: str):
        try:
            import timm
            import torch
        except ImportError as error:
            raise ImportError(
                f"The backbone {name} needs {error.name}, which is not installed: "
                'pip install "ilspace[timm]"'
            ) from error
        self.name = name
        model = name.removeprefix(TIMM)
        try:
            self._model = timm.create_model(model, pretrained=True, num_classes=0).eval()
        except Exception as error:  # an unknown name, no weights, no network
            reason = " ".join(str(error).split())[:200]
            raise PictureError(
                f"The backbone {name} must be a model of timm with weights, but cannot be loaded "
                f"({reason}): check the name and the network, or use a file MODEL.onnx."
            ) from None
        config = timm.data.resolve_model_data_config(self._model)
        self._transform = timm.data.create_transform(**config, is_training=False)
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model.to(self._device)
        self.side = int(max(config["input_size"][1:]) / config.get("crop_pct", 0.875) + 1)
        self.key = f"{name} {self._model.pretrained_cfg.get('tag')} {timm.__version__}"

    def prepare(self, picture: Image.Image) -> np.ndarray:
        """Prepare a picture as the model was trained.

        Parameters
        ----------
        picture : Image
            In RGB.

        Returns
        -------
        ndarray of float32, shape (3, height, width)
            Colours first.
        """
        return self._transform(picture).numpy()

    def features(self, batch: np.ndarray) -> np.ndarray:
        """Describe pictures.

        Parameters
        ----------
        batch : ndarray of float32, shape (n, 3, height, width)
            Prepared pictures.

        Returns
        -------
        ndarray of float32, shape (n, n_features)
            A row for each.
        """
        with self._torch.inference_mode():
            found = self._model(self._torch.from_numpy(batch).to(self._device))
        return found.float().cpu().numpy()
