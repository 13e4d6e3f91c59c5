"""Operators that say scales and zero points themselves: those of ONNX, and those that ONNX Runtime's quantiser writes.

Each is an operator on real numbers between DequantizeLinear and QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import subtract
from nnapi.importers.graph import FLOAT32, INT32, QUANT8
from nnapi.importers.onnx.followers import quantised_type
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import Result, rule, rule_for
from nnapi.importers.onnx.rules.quantization import quantised, whole_numbers
from nnapi.importers.onnx.terms import FLOAT, Term, constant
from nnapi.importers.onnx.terms import INT32 as ELEM_INT32
from nnapi.importers.refusals import expressible


def dequantised(node: Node, x: int, scale: int, point: int, axis: int = 1) -> Term:
    """Input ``x`` with its scale and zero point as DequantizeLinear would give it."""
    terms = [node.term(x), node.term(scale), node.terms[point] if node.has(point) else None]
    return node.conversion.computed("DequantizeLinear", terms, node.name, axis=axis)


def in_codes(node: Node, kind: str, terms: Sequence[Term | None], scale: Term, point: Term | None) -> Term:
    """An operator on real numbers whose result is wanted in codes."""
    type = quantised_type(scale, point)
    expressible(type is not None, "the scale or zero point of its result is computed, or one for each channel")
    rule = rule_for(kind)
    assert rule is not None
    assert type is not None
    inner = Node(node.conversion, node.proto, terms, node.conversion.schema(kind), kind=kind)
    inner.wanted = type
    found = rule.function(inner)
    term = found if isinstance(found, Term) else None
    assert term is not None
    assert term.value is not None
    return node.result(
        quantised(node, term.value, type), term.shape, elem=2 if type.code == QUANT8 else 3, turned=term.turned
    )


@rule("QLinearConv")
def qlinear_conv(node: Node) -> Result:
    """The bias has the scale of input times filter."""
    bias = None
    if node.has(8):
        scales = node.array(1).astype(np.float64) * node.array(4).astype(np.float64)
        numbers = (node.array(8).astype(np.float64) * scales.reshape(-1)).astype(np.float32)
        bias = constant(f"{node.name}:bias", numbers)
    terms = [dequantised(node, 0, 1, 2), dequantised(node, 3, 4, 5, axis=0), bias]
    return in_codes(node, "Conv", terms, node.term(6), node.term(7))


@rule("QLinearMatMul")
def qlinear_matmul(node: Node) -> Result:
    terms: list[Term | None] = [dequantised(node, 0, 1, 2, axis=-2), dequantised(node, 3, 4, 5, axis=-1)]
    return in_codes(node, "MatMul", terms, node.term(6), node.term(7))


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
        values.append(Term(node.name, ELEM_INT32, node.shape(i), value=whole))
    found = node.conversion.applied("MatMul", values, node)
    found.elem = ELEM_INT32
    return found


@rule("ConvInteger")
def conv_integer(node: Node) -> Result:
    """As float32, exact up to 2**24."""
    node.note("sums of int32 are computed as float32, exact up to 2**24")
    values: list[Term | None] = []
    for i, point in ((0, 2), (1, 3)):
        array = node.term(i).array
        if array is not None:
            zero = node.array(point).astype(np.float32) if node.has(point) else np.zeros((), np.float32)
            zero = zero.reshape(-1, *(1,) * (array.ndim - 1)) if zero.size > 1 else zero.reshape(())
            values.append(constant(node.name, array.astype(np.float32) - zero))
            continue
        whole = whole_numbers(node, node.codes(i))
        if node.has(point):
            beside = whole_numbers(node, node.codes(point))
            if i == 1 and beside.shape != (1,):
                beside = node.view(beside, (*beside.shape, *(1,) * (node.term(i).rank - 1)))
            whole = subtract(node, whole, beside)
        values.append(Term(node.name, FLOAT, node.shape(i), value=node.cast(whole, FLOAT32)))
    found = node.conversion.applied("Conv", values, node)
    assert found.value is not None
    return node.result(node.cast(found.value, INT32), found.shape, elem=ELEM_INT32, turned=found.turned)


@rule("com.microsoft:QLinearAdd", "com.microsoft:QLinearMul")
def qlinear_pair(node: Node) -> Result:
    kind = node.kind.removeprefix("QLinear")
    terms = [dequantised(node, 0, 1, 2), dequantised(node, 3, 4, 5)]
    return in_codes(node, kind, terms, node.term(6), node.terms[7] if node.has(7) else None)


@rule(
    "com.microsoft:QLinearSigmoid",
    "com.microsoft:QLinearLeakyRelu",
    "com.microsoft:QLinearSoftmax",
    "com.microsoft:QLinearAveragePool",
    "com.microsoft:QLinearGlobalAveragePool",
)
def qlinear_of_one(node: Node) -> Result:
    expressible(not node.attribute("channels_last", 0), "its image is NHWC")
    terms = [dequantised(node, 0, 1, 2)]
    return in_codes(
        node, node.kind.removeprefix("QLinear"), terms, node.term(3), node.terms[4] if node.has(4) else None
    )


@rule("com.microsoft:QLinearConcat")
def qlinear_concat(node: Node) -> Result:
    need(node.count % 3 == 2, f"it has {node.count} inputs", BadDataError)
    terms = [dequantised(node, i, i + 1, i + 2) for i in range(2, node.count, 3)]
    return in_codes(node, "Concat", terms, node.term(0), node.term(1))


@rule("com.microsoft:QGemm")
def qgemm(node: Node) -> Result:
    """The bias has the scale of the product; without a scale for the result that is real."""
    turned = bool(node.attribute("transB", 0))
    terms: list[Term | None] = [dequantised(node, 0, 1, 2), dequantised(node, 3, 4, 5, axis=0 if turned else 1)]
    if node.has(6):
        scales = node.array(1).astype(np.float64) * node.array(4).astype(np.float64)
        numbers = node.array(6).astype(np.float64) * scales.reshape(-1) * float(node.attribute("alpha", 1.0))
        terms.append(constant(f"{node.name}:bias", numbers.astype(np.float32)))
    if node.has(7):
        return in_codes(node, "Gemm", terms, node.term(7), node.terms[8] if node.has(8) else None)
    return node.conversion.applied("Gemm", terms, node)
