"""Files of one input and one output, for tests of operators of ONNX."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402

X = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)


def made(nodes: list[Any], constants: dict[str, Any], x: Any, elem: int = 0, opset: int = 17) -> bytes:
    """A file of one input ``x`` and one output ``y``, of a type that may be left out."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    found = helper.make_tensor_value_info("y", elem, None) if elem else onnx.ValueInfoProto(name="y")
    graph = helper.make_graph(nodes, "g", [given], [found], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    content: bytes = proto.SerializeToString()
    return content


def loaded(nodes: list[Any], constants: dict[str, Any] | None = None, opset: int = 17, x: Any = X) -> nnapi.Model:
    """A model of one input ``x`` and one output ``y``."""
    return nnapi.load(made(nodes, constants or {}, x, opset=opset))


def computed(model: nnapi.Model, x: Any = X) -> Any:
    return nnapi.compile(model, "nnapi-reference").run(x)[0]
