"""Operators with scales and zero points as inputs: DequantizeLinear, a float operator, QuantizeLinear."""

import math
from collections.abc import Sequence

import numpy as np

from nnapi.importers.graph import FLOAT32, INT32, QUANT8, Value
from nnapi.importers.onnx.fusion import quantized_type
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.rule_results import apply_rule, compose
from nnapi.importers.onnx.rules.quantization import as_int32, quantize_to
from nnapi.importers.onnx.tensors import FLOAT, INT8, UINT8, OnnxTensor, constant
from nnapi.importers.onnx.tensors import INT32 as ELEM_INT32
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term


def _dequantize(node: OnnxNode, i: int, axis: int = 1) -> OnnxTensor:
    """Dequantize input ``i``; the next two inputs are its scale and zero point."""
    return compose(node, "DequantizeLinear", node.tensor(i), node.tensor(i + 1), node.given(i + 2), axis=axis)


def _requantize(node: OnnxNode, kind: str, tensors: Sequence[OnnxTensor | None], i: int) -> OnnxTensor:
    """Apply a float operator, and quantize its result; inputs ``i`` and ``i + 1`` are scale and zero point."""
    type = quantized_type(node.tensor(i), node.given(i + 1))
    if type is None:
        expressible(math.prod(node.static_shape(i)) == 1, "its result has a scale for each channel")
        return compose(node, "QuantizeLinear", apply_rule(node, kind, tensors), node.tensor(i), node.given(i + 1))
    found = apply_rule(node, kind, tensors, type)
    quantized = quantize_to(node, found.materialize(), type)
    return node.result(quantized, found.shape, elem=UINT8 if type.code == QUANT8 else INT8, is_nhwc=found.is_nhwc)


def _bias(node: OnnxNode, i: int) -> OnnxTensor | None:
    if not node.has(i):
        return None
    if any(node.tensor(scale).array is None for scale in (1, 4)):
        scale = compose(node, "Mul", compose(node, "Mul", node.tensor(1), node.tensor(4)), _alpha(node))
        return compose(node, "Mul", compose(node, "Cast", node.tensor(i), to=FLOAT), scale)
    scales = node.array(1).astype(np.float64) * node.array(4).astype(np.float64)
    numbers = node.array(i).astype(np.float64) * scales.reshape(-1) * _alpha(node)
    return constant(f"{node.name}:bias", numbers.astype(np.float32))


def _alpha(node: OnnxNode) -> float:
    return float(node.attribute("alpha", 1.0))


@rule("QLinearConv")
def qlinear_conv(node: OnnxNode) -> Result:
    return _requantize(node, "Conv", [_dequantize(node, 0), _dequantize(node, 3, axis=0), _bias(node, 8)], 6)


@rule("com.microsoft:QGemm")
def qgemm(node: OnnxNode) -> Result:
    """Lower QGemm; without an output scale its result is float."""
    axis = 0 if node.attribute("transB") else 1
    tensors = [_dequantize(node, 0), _dequantize(node, 3, axis), _bias(node, 6)]
    return _requantize(node, "Gemm", tensors, 7) if node.has(7) else apply_rule(node, "Gemm", tensors)


@rule("QLinearMatMul", "com.microsoft:QLinearAdd", "com.microsoft:QLinearMul")
def qlinear_pair(node: OnnxNode) -> Result:
    kind = node.kind.removeprefix("QLinear")
    axes = (-2, -1) if kind == "MatMul" else (1, 1)
    return _requantize(node, kind, [_dequantize(node, i, axis) for i, axis in zip((0, 3), axes, strict=True)], 6)


@rule(
    "com.microsoft:QLinearSigmoid",
    "com.microsoft:QLinearLeakyRelu",
    "com.microsoft:QLinearSoftmax",
    "com.microsoft:QLinearAveragePool",
    "com.microsoft:QLinearGlobalAveragePool",
)
def qlinear_of_one(node: OnnxNode) -> Result:
    expressible(not node.attribute("channels_last"), "its image is NHWC")
    return _requantize(node, node.kind.removeprefix("QLinear"), [_dequantize(node, 0)], 3)


@rule("com.microsoft:QLinearWhere")
def qlinear_where(node: OnnxNode) -> Result:
    return _requantize(node, "Where", [node.tensor(0), _dequantize(node, 1), _dequantize(node, 4)], 7)


@rule("com.microsoft:QLinearConcat")
def qlinear_concat(node: OnnxNode) -> Result:
    expressible(node.count % 3 == 2, f"it has {node.count} inputs")
    return _requantize(node, "Concat", [_dequantize(node, i) for i in range(2, node.count, 3)], 0)


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: OnnxNode) -> Sequence[Result]:
    """Lower DynamicQuantizeLinear by its definition, also for float16, whose range it computes in float32."""
    x = node.tensor(0)
    x = x if x.elem == FLOAT else compose(node, "Cast", x, to=FLOAT)
    low = compose(node, "Min", compose(node, "ReduceMin", x, keepdims=0), 0.0)
    high = compose(node, "Max", compose(node, "ReduceMax", x, keepdims=0), 0.0)
    scale = compose(node, "Div", compose(node, "Sub", high, low), 255.0)
    point = compose(node, "Clip", compose(node, "Neg", compose(node, "Div", low, scale)), 0.0, 255.0)
    point = compose(node, "Cast", compose(node, "Round", point), to=UINT8)
    return [compose(node, "QuantizeLinear", x, scale, point), scale, point]


@rule("MatMulInteger")
def matmul_integer(node: OnnxNode) -> Result:
    rows = int(node.has(2) and len(node.shape(2)) == 1)
    values = [_whole(node, 0, ones_behind=rows), _whole(node, 1)]
    tensors = [OnnxTensor(node.name, ELEM_INT32, node.shape(i), value=value) for i, value in enumerate(values)]
    found = apply_rule(node, "MatMul", tensors)
    found.elem = ELEM_INT32
    return found


@rule("ConvInteger")
def conv_integer(node: OnnxNode) -> Result:
    node.note("sums of int32 are computed as float32, exact up to 2**24")
    values = [_whole(node, 0), _whole(node, 1, ones_behind=node.tensor(1).rank - 1)]
    reals = [node.cast(value, FLOAT32) for value in values]
    tensors = [OnnxTensor(node.name, FLOAT, node.shape(i), real.array, real) for i, real in enumerate(reals)]
    found = apply_rule(node, "Conv", tensors)
    return node.result(node.cast(found.materialize(), INT32), found.shape, elem=ELEM_INT32, is_nhwc=found.is_nhwc)


def _whole(node: OnnxNode, i: int, *, ones_behind: int = 0) -> Value:
    """Return input ``i`` as int32 less its zero point, to which ``ones_behind`` axes of 1 are appended."""
    whole = as_int32(node, node.stored(i))
    if not node.has(i + 2):
        return whole
    zero = as_int32(node, node.stored(i + 2))
    beside = zero if zero.shape == (1,) else node.view(zero, (*zero.shape, *(1,) * ones_behind))
    return (Term(node, whole) - Term(node, beside)).value
