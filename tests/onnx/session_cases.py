"""Models for the tests of sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402  # it may be missing

import nnapi.onnx as ours  # noqa: E402  # which needs it

rng = np.random.default_rng(4)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def save(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None) -> bytes:
    takes, gives = ([helper.make_tensor_value_info(*each) for each in side] for side in (inputs, outputs))
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", takes, gives, initializer=held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="tests")
    model.ir_version = 8
    helper.set_model_props(model, {"task": "sums"})
    return bytes(model.SerializeToString())


def dense(rows: int | str = 2) -> bytes:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    constants = {"w": rng.normal(size=(3, 4)).astype(np.float32), "b": np.ones(4, np.float32)}
    return save(nodes, [("x", FLOAT, [rows, 3])], [("y", FLOAT, [rows, 4])], constants)


def session(content: bytes, **options: Any) -> ours.InferenceSession:
    return ours.InferenceSession(content, providers=["nnapi-reference"], **options)
