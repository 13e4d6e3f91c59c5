"""Activations and quantizations that are fused into the operator before."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.codes import FuseCode, OperandCode  # noqa: E402
from nnapi.importers.onnx.file_graph import FileGraph, FileNode  # noqa: E402
from nnapi.importers.onnx.fusion import Fusion, _activation, find_fusion, quantized_type  # noqa: E402
from nnapi.importers.onnx.tensors import OnnxTensor, constant  # noqa: E402
from nnapi.model.operand import OperandType  # noqa: E402
from tests.importers.onnx.file_nodes import decoded  # noqa: E402


@pytest.mark.parametrize(
    ("attributes", "fused"),
    [
        ({"min": 0.0, "max": 6.0}, FuseCode.FUSED_RELU6),
        ({"min": -1.0, "max": 1.0}, FuseCode.FUSED_RELU1),
        ({"min": 0.0, "max": 5.0}, FuseCode.FUSED_NONE),
        ({"min": 0.0}, FuseCode.FUSED_NONE),
        ({"max": 6.0}, FuseCode.FUSED_NONE),
        ({}, FuseCode.FUSED_NONE),
    ],
)
def test_a_clip_by_attributes_needs_both(attributes: dict[str, float], fused: FuseCode) -> None:
    assert _activation(FileNode(helper.make_node("Clip", ["x"], ["y"], **attributes)), {}) == fused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "fused"),
    [
        (0, 6, FuseCode.FUSED_RELU6),
        (-1, 1, FuseCode.FUSED_RELU1),
        (0, np.inf, FuseCode.FUSED_RELU),
        ([0, 0], 6, FuseCode.FUSED_NONE),
        (None, 6, FuseCode.FUSED_NONE),
        (0, None, FuseCode.FUSED_NONE),
    ],
)
def test_a_clip_by_inputs_needs_two_constants(low: object, high: object, fused: FuseCode) -> None:
    tensors = {
        name: SimpleNamespace(array=None if value is None else np.array(value, np.float32))
        for name, value in (("low", low), ("high", high))
    }
    node = helper.make_node("Clip", ["x", "low", "high"], ["y"])
    assert _activation(FileNode(node), tensors) == fused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "domain", "fused"),
    [
        ("Relu", "", FuseCode.FUSED_RELU),
        ("Clip", "other", FuseCode.FUSED_NONE),
        ("Relu", "other", FuseCode.FUSED_NONE),
        ("Relu", "ai.onnx", FuseCode.FUSED_RELU),
        ("Sigmoid", "", FuseCode.FUSED_NONE),
    ],
)
def test_other_operators(kind: str, domain: str, fused: FuseCode) -> None:
    node = helper.make_node(kind, ["x"], ["y"], domain=domain, **({"min": 0.0, "max": 6.0} if domain else {}))  # type: ignore[arg-type]
    assert _activation(FileNode(node), {}) == fused


def tensor(value: object, dtype: Any = np.float32) -> OnnxTensor:
    return constant("t", np.array(value, dtype))


UINT8, INT8 = OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED


@each_row(
    ("scale", "point", "type"),
    [
        (tensor(0.5), None, OperandType(UINT8, (), 0.5, 0)),
        (tensor([0.5]), tensor(7, np.uint8), OperandType(UINT8, (), 0.5, 7)),
        (tensor(0.5, np.float16), tensor([-7], np.int8), OperandType(INT8, (), 0.5, -7)),
        (None, None, None),
        (OnnxTensor("t", 1, ()), None, None),
        (tensor([0.5, 0.25]), None, None),
        (tensor(1, np.int32), None, None),
        (tensor(0), None, None),
        (tensor(-0.5), None, None),
        (tensor(np.inf), None, None),
        (tensor(np.nan), None, None),
        (tensor(1e-60, np.float64), None, None),
        (tensor(1e60, np.float64), None, None),
        (tensor(0.5), OnnxTensor("t", 2, ()), None),
        (tensor(0.5), tensor([1, 2], np.uint8), None),
        (tensor(0.5), tensor(7, np.int32), None),
    ],
)
def test_scales_and_zero_points_that_nnapi_has(scale: Any, point: Any, type: OperandType | None) -> None:
    assert quantized_type(scale, point) == type


def fused(nodes: list[Any], outputs: tuple[str, ...] = ()) -> Fusion:
    """Return the nodes that are fused into the writer of ``a``."""
    tensors = {"s": tensor(0.5), "z": tensor(7, np.uint8)}
    return find_fusion("a", FileGraph(decoded(nodes), [], outputs), tensors)


RELU = helper.make_node("Relu", ["a"], ["b"])
TYPE = OperandType(UINT8, (), 0.5, 7)


def quantize(*inputs: str, domain: str = "") -> Any:
    return helper.make_node("QuantizeLinear", list(inputs), ["q"], domain=domain)


@pytest.mark.parametrize(
    ("nodes", "outputs", "activation", "quantized"),
    [
        ([RELU], (), FuseCode.FUSED_RELU, None),
        ([RELU], ("a",), FuseCode.FUSED_NONE, None),
        ([RELU, helper.make_node("Neg", ["a"], ["c"])], (), FuseCode.FUSED_NONE, None),
        ([RELU, quantize("b", "s", "z")], (), FuseCode.FUSED_RELU, TYPE),
        ([RELU, quantize("b", "s", "z")], ("b",), FuseCode.FUSED_RELU, None),
        ([quantize("a", "s", "z")], (), FuseCode.FUSED_NONE, TYPE),
        ([quantize("a", "s")], (), FuseCode.FUSED_NONE, TYPE.replace(zero_point=0)),
        ([quantize("a", "s", "")], (), FuseCode.FUSED_NONE, TYPE.replace(zero_point=0)),
        ([quantize("a", "s", "computed")], (), FuseCode.FUSED_NONE, None),
        ([quantize("a", "computed", "z")], (), FuseCode.FUSED_NONE, None),
        ([quantize("a")], (), FuseCode.FUSED_NONE, None),
        ([quantize("a", "s", "z", domain="other")], (), FuseCode.FUSED_NONE, None),
        ([], (), FuseCode.FUSED_NONE, None),
    ],
)
def test_a_single_reader_is_fused(nodes: Any, outputs: Any, activation: FuseCode, quantized: Any) -> None:
    assert fused(nodes, outputs) == Fusion(activation, quantized)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("is_read", [False, True])
def test_a_reader_in_a_subgraph_counts(depth: int, is_read: bool) -> None:
    """As an input of a node there, or as the output of the subgraph itself."""
    info = [onnx.ValueInfoProto(name="c" if is_read else "a")]
    graph = helper.make_graph([helper.make_node("Neg", ["a"], ["c"])] if is_read else [], "g", [], info)
    for _ in range(depth - 1):
        inner = helper.make_node("If", ["k"], ["c"], then_branch=graph)
        graph = helper.make_graph([inner], "g", [], [onnx.ValueInfoProto(name="c")])
    branch = helper.make_node("If", ["k"], ["y"], then_branch=graph)
    assert fused([RELU, branch]).activation == FuseCode.FUSED_NONE
