"""Operators on the bits of integers, and BitCast."""

from nnapi.codes import OperandCode
from nnapi.importers.graph import INT32, Value
from nnapi.importers.onnx.layout import align, real_input
from nnapi.importers.onnx.narrowing import narrow
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import (
    BOOL,
    BYTES,
    CODES,
    DOUBLE,
    DTYPES,
    NAMES,
    STORED,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    OnnxTensor,
    code_of,
)
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

PAIRWISE = {f"Bitwise{name}": CompositeCode[f"BITWISE_{name.upper()}"] for name in ("And", "Or", "Xor")}
ONES = {UINT8: 0xFF, UINT16: 0xFFFF}
"""Unsigned integers of which all bits are set; signed ones are -1."""


@rule(*PAIRWISE)
def pairwise(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, 0, 1)
    return layout.result(node, node.apply(PAIRWISE[node.kind], *values), node.tensor(0).elem)


@rule("BitwiseNot")
def complement(node: OnnxNode) -> OnnxTensor:
    elem = node.tensor(0).elem
    expressible(elem not in (UINT32, UINT64), f"complements of {NAMES[elem]} are beyond int32, in which NNAPI has them")
    x, layout = real_input(node)
    ones = node.like(x, ONES.get(elem, -1))
    return layout.result(node, node.apply(CompositeCode.BITWISE_XOR, x, ones), elem)


@rule("BitShift")
def shift(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, 0, 1)
    elem, is_left = node.tensor(0).elem, node.attribute("direction") == "LEFT"
    code = CompositeCode.LEFT_SHIFT if is_left else CompositeCode.RIGHT_SHIFT
    shifted = node.apply(code, *values)
    return layout.result(node, narrow(node, shifted, elem) if is_left else shifted, elem)


@rule("BitCast")
def reinterpret(node: OnnxNode) -> OnnxTensor:
    source, elem = node.tensor(0).elem, int(node.attribute("to"))
    code_of(elem, node.name)
    expressible(source in STORED and DTYPES[source].itemsize == DTYPES[elem].itemsize, "its types differ in size")
    expressible(source == elem or DOUBLE not in (source, elem), "NNAPI stores 64-bit floats in 32 bits")
    x, layout = real_input(node)
    return layout.result(node, x if source == elem else _reinterpret(node, x, elem), elem)


def _reinterpret(node: OnnxNode, x: Value, elem: int) -> Value:
    target = CODES[elem]
    if elem in (*BYTES, BOOL):
        return node.cast(x, target)
    if x.type.code != target:
        x = node.apply(CompositeCode.BITCAST, x, type=OperandType(OperandCode(target)))
    return narrow(node, x, elem) if target == INT32 else x
