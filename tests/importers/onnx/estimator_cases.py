"""Files of one operator of ai.onnx.ml, and the comparison of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nnapi

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

rng = np.random.default_rng(5)
X = rng.normal(size=(7, 3)).astype(np.float32)
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def made(kind: str, x: Any, outputs: Sequence[str] = ("y",), dynamic: bool = False, **attributes: Any) -> bytes:
    node = helper.make_node(kind, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    return graph([node], x, outputs, dynamic=dynamic)


def graph(
    nodes: Sequence[Any], x: Any, outputs: Sequence[str], constants: Sequence[Any] = (), *, dynamic: bool = False
) -> bytes:
    shape = ["rows" if dynamic else x.shape[0], *x.shape[1:]]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)
    ends = [onnx.ValueInfoProto(name=name) for name in outputs]
    if dynamic:
        ends = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    whole = helper.make_graph(list(nodes), "g", [given], ends, list(constants))
    opsets = [
        helper.make_opsetid("", 17),
        helper.make_opsetid("ai.onnx.ml", 5 if "TreeEnsemble" in {node.op_type for node in nodes} else 3),
    ]
    content: bytes = helper.make_model(whole, opset_imports=opsets, ir_version=8).SerializeToString()
    return content


def check(content: bytes, x: Any, expected: Sequence[Any]) -> None:
    """Compare the outputs with the expected ones; both with ONNX Runtime's."""
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(x)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, 1e-5, 1e-5)
    try:
        import onnxruntime
    except ImportError:
        return
    outputs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, 1e-5, 1e-5)
