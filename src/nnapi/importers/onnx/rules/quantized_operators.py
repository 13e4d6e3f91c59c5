"""Operators with scales and zero points as inputs: those of ONNX, and those that ONNX Runtime's quantizer writes.

Each is a float operator between DequantizeLinear and QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import subtract
from nnapi.importers.graph import FLOAT32, INT32, QUANT8
from nnapi.importers.onnx.fusion import type_of_codes
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import Result, rule
from nnapi.importers.onnx.rules.quantization import quantize_to, whole_numbers
from nnapi.importers.onnx.tensors import FLOAT, INT8, UINT8, Tensor, constant
from nnapi.importers.onnx.tensors import INT32 as ELEM_INT32
from nnapi.importers.refusals import Refused, expressible


def dequantize_input(node: Node, x: int, scale: int, point: int, axis: int = 1) -> Tensor:
    """Input ``x`` with its scale and zero point as DequantizeLinear would give it."""
    tensors = [node.tensor(x), node.tensor(scale), node.tensors[point] if node.has(point) else None]
    return node.conversion.apply_operator("DequantizeLinear", tensors, node.name, axis=axis)


def apply_quantized(
    node: Node, kind: str, tensors: Sequence[Tensor | None], scale: Tensor, point: Tensor | None
) -> Tensor:
    """Apply a float operator whose result is quantized."""
    type = type_of_codes(scale, point)
    if type is None:
        raise Refused("the scale or zero point of its result is computed, or one for each channel")
    found = node.conversion.apply_rule(kind, tensors, node, type)
    codes = quantize_to(node, found.materialize(), type)
    return node.result(codes, found.shape, elem=UINT8 if type.code == QUANT8 else INT8, is_nhwc=found.is_nhwc)


@rule("QLinearConv")
def qlinear_conv(node: Node) -> Result:
    """The bias has the scale of input times filter."""
    bias = None
    if node.has(8):
        scales = node.array(1).astype(np.float64) * node.array(4).astype(np.float64)
        numbers = (node.array(8).astype(np.float64) * scales.reshape(-1)).astype(np.float32)
        bias = constant(f"{node.name}:bias", numbers)
    tensors = [dequantize_input(node, 0, 1, 2), dequantize_input(node, 3, 4, 5, axis=0), bias]
    return apply_quantized(node, "Conv", tensors, node.tensor(6), node.tensor(7))


@rule("QLinearMatMul")
def qlinear_matmul(node: Node) -> Result:
    tensors: list[Tensor | None] = [dequantize_input(node, 0, 1, 2, axis=-2), dequantize_input(node, 3, 4, 5, axis=-1)]
    return apply_quantized(node, "MatMul", tensors, node.tensor(6), node.tensor(7))


@rule("MatMulInteger")
def matmul_integer(node: Node) -> Result:
    """A product of int32, less the zero points."""
    values = []
    for i, point in ((0, 2), (1, 3)):
        whole = whole_numbers(node, node.codes(i))
        if node.has(point):
            zero = whole_numbers(node, node.codes(point))
            rows = i == 0 and zero.shape != (1,) and len(node.shape(point)) == 1
            whole = subtract(node, whole, node.view(zero, (*zero.shape, 1)) if rows else zero)
        values.append(Tensor(node.name, ELEM_INT32, node.shape(i), value=whole))
    found = node.conversion.apply_rule("MatMul", values, node)
    found.elem = ELEM_INT32
    return found


@rule("ConvInteger")
def conv_integer(node: Node) -> Result:
    """As float32, exact up to 2**24."""
    node.note("sums of int32 are computed as float32, exact up to 2**24")
    values: list[Tensor | None] = []
    for i, point in ((0, 2), (1, 3)):
        array = node.tensor(i).array
        if array is not None:
            zero = node.array(point).astype(np.float32) if node.has(point) else np.zeros((), np.float32)
            zero = zero.reshape(-1, *(1,) * (array.ndim - 1)) if zero.size > 1 else zero.reshape(())
            values.append(constant(node.name, array.astype(np.float32) - zero))
            continue
        whole = whole_numbers(node, node.codes(i))
        if node.has(point):
            beside = whole_numbers(node, node.codes(point))
            if i == 1 and beside.shape != (1,):
                beside = node.view(beside, (*beside.shape, *(1,) * (node.tensor(i).rank - 1)))
            whole = subtract(node, whole, beside)
        values.append(Tensor(node.name, FLOAT, node.shape(i), value=node.cast(whole, FLOAT32)))
    found = node.conversion.apply_rule("Conv", values, node)
    return node.result(node.cast(found.materialize(), INT32), found.shape, elem=ELEM_INT32, is_nhwc=found.is_nhwc)


@rule("com.microsoft:QLinearAdd", "com.microsoft:QLinearMul")
def qlinear_pair(node: Node) -> Result:
    kind = node.kind.removeprefix("QLinear")
    tensors = [dequantize_input(node, 0, 1, 2), dequantize_input(node, 3, 4, 5)]
    return apply_quantized(node, kind, tensors, node.tensor(6), node.tensors[7] if node.has(7) else None)


@rule(
    "com.microsoft:QLinearSigmoid",
    "com.microsoft:QLinearLeakyRelu",
    "com.microsoft:QLinearSoftmax",
    "com.microsoft:QLinearAveragePool",
    "com.microsoft:QLinearGlobalAveragePool",
)
def qlinear_of_one(node: Node) -> Result:
    expressible(not node.attribute("channels_last", 0), "its image is NHWC")
    tensors = [dequantize_input(node, 0, 1, 2)]
    return apply_quantized(
        node, node.kind.removeprefix("QLinear"), tensors, node.tensor(3), node.tensors[4] if node.has(4) else None
    )


@rule("com.microsoft:QLinearConcat")
def qlinear_concat(node: Node) -> Result:
    need(node.count % 3 == 2, f"it has {node.count} inputs", BadDataError)
    tensors = [dequantize_input(node, i, i + 1, i + 2) for i in range(2, node.count, 3)]
    return apply_quantized(node, "Concat", tensors, node.tensor(0), node.tensor(1))


@rule("com.microsoft:QGemm")
def qgemm(node: Node) -> Result:
    """The bias has the scale of the product; without a scale for the result that is real."""
    is_nhwc = bool(node.attribute("transB", 0))
    tensors: list[Tensor | None] = [
        dequantize_input(node, 0, 1, 2),
        dequantize_input(node, 3, 4, 5, axis=0 if is_nhwc else 1),
    ]
    if node.has(6):
        scales = node.array(1).astype(np.float64) * node.array(4).astype(np.float64)
        numbers = node.array(6).astype(np.float64) * scales.reshape(-1) * float(node.attribute("alpha", 1.0))
        tensors.append(constant(f"{node.name}:bias", numbers.astype(np.float32)))
    if node.has(7):
        return apply_quantized(node, "Gemm", tensors, node.tensor(7), node.tensors[8] if node.has(8) else None)
    return node.conversion.apply_rule("Gemm", tensors, node)
