"""Patterns of transformers as ONNX nodes."""

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import nnapi
from nnapi.model.model import Model

NODE = helper.make_node
X = np.random.default_rng(2).normal(0, 3, (2, 7, 16)).astype(np.float32)
ROOT = np.sqrt(2)
NUMBERS = {"root": ROOT, "half_root": 1 / ROOT, "one": 1.0, "half": 0.5}
ABOVE = [NODE("Erf", ["a"], ["b"]), NODE("Add", ["b", "one"], ["c"])]
GELUS = {
    "operator": [NODE("Gelu", ["x"], ["y"])],
    "divided": [
        NODE("Div", ["x", "root"], ["a"]),
        *ABOVE,
        NODE("Mul", ["x", "c"], ["d"]),
        NODE("Mul", ["d", "half"], ["y"]),
    ],
    "multiplied": [
        NODE("Mul", ["x", "half_root"], ["a"]),
        *ABOVE,
        NODE("Mul", ["c", "half"], ["d"]),
        NODE("Mul", ["x", "d"], ["y"]),
    ],
}


def read(nodes: list[onnx.NodeProto], x: Any, **constants: Any) -> Model:
    """The model of nodes that compute y from x; constants are those given and NUMBERS."""
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = helper.make_tensor_value_info("x", kind, x.shape)
    values = {**{name: np.float32(value) for name, value in NUMBERS.items()}, **constants}
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name="y")], held)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    return nnapi.load(proto.SerializeToString())


def normalize(x: Any, epsilon: float = 1e-5) -> Model:
    """A layer normalization of the last axis."""
    scale = np.arange(1, x.shape[-1] + 1, dtype=np.float32)
    node = NODE("LayerNormalization", ["x", "scale", "shift"], ["y"], epsilon=epsilon)
    return read([node], x, scale=scale, shift=scale / 3)
