"""Activations that are fused into the operator before."""

from types import SimpleNamespace

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.codes import FuseCode  # noqa: E402
from nnapi.importers.onnx.fusion import _activation  # noqa: E402


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
    assert _activation(helper.make_node("Clip", ["x"], ["y"], **attributes), {}) == fused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "fused"),
    [
        (0, 6, FuseCode.FUSED_RELU6),
        (-1, 1, FuseCode.FUSED_RELU1),
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
    assert _activation(node, tensors) == fused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "domain", "fused"),
    [
        ("Relu", "", FuseCode.FUSED_RELU),
        ("Clip", "other", FuseCode.FUSED_NONE),
        ("Sigmoid", "", FuseCode.FUSED_NONE),
    ],
)
def test_other_operators(kind: str, domain: str, fused: FuseCode) -> None:
    node = helper.make_node(kind, ["x"], ["y"], domain=domain, **({"min": 0.0, "max": 6.0} if domain else {}))  # type: ignore[arg-type]
    assert _activation(node, {}) == fused
