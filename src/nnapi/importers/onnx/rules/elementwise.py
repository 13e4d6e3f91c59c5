"""Operations on each element that NNAPI has itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import BOOL8, FLOATS, INT32, QUANT8, Value
from nnapi.importers.onnx.layout import Layout, align, align_from
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.quantized_operands import apply_in_codes, computes_in_codes
from nnapi.importers.onnx.tensors import BOOL, BYTES, CODES, DTYPES, FLOAT, NARROWED, Tensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import OperandType

QUANT8_SIGNED = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
BYTE_CODES = (QUANT8, QUANT8_SIGNED)
UNARY = {
    "Abs": OperationCode.ABS,
    "Exp": OperationCode.EXP,
    "Floor": OperationCode.FLOOR,
    "Log": OperationCode.LOG,
    "Neg": OperationCode.NEG,
    "Sin": OperationCode.SIN,
    "Sqrt": OperationCode.SQRT,
}
ARITHMETIC = {
    "Add": OperationCode.ADD,
    "Sub": OperationCode.SUB,
    "Mul": OperationCode.MUL,
    "Div": OperationCode.DIV,
}


def real_input(node: Node, i: int = 0, *, of_any_rank: bool = False) -> tuple[Value, Layout]:
    """Return an input as float values in its stored layout, and the layout; its rank is reduced to the one that most
    NNAPI operations take."""
    (value,), layout = align(node, i)
    value = node.graph.real(value) if node.tensor(i).elem not in BYTES else value
    if value.rank > HIGHEST_RANK and value.type.is_known and not of_any_rank:
        value = node.view(value, (int(np.prod(value.shape)),))
    return value, layout


def floats(node: Node, *indices: int) -> tuple[list[Value], Layout]:
    """Return inputs that broadcast to each other, as float values; raise Refused where they are integers."""
    values, layout = align(node, *indices)
    reals = [node.graph.real(value) for value in values]
    for value in reals:
        expressible(value.type.code in FLOATS, f"NNAPI computes it on floats only, not on {value.type.name}")
    return reals, layout


@rule(*UNARY)
def unary(node: Node) -> Tensor:
    x, layout = real_input(node, of_any_rank=node.kind != "Floor")
    if x.type.code in BYTE_CODES:
        whole = node.cast(x, INT32)
        return layout.result(node, as_bytes(node, node.apply(UNARY[node.kind], whole), x.type), node.tensor(0).elem)
    return layout.result(node, node.apply(UNARY[node.kind], x))


@rule(*ARITHMETIC)
def arithmetic(node: Node) -> Tensor:
    """Bytes are computed as int32 and cut to bytes again, as they wrap around."""
    if node.kind != "Div" and computes_in_codes(node, 0, 1):
        values, layout = align(node, 0, 1, of_constants=True)
        return layout.result(
            node,
            node.claim_activation(apply_in_codes(node, ARITHMETIC[node.kind], *values, node.activation_operand())),
            FLOAT,
        )
    values, layout = align_operands(node)
    bytes = node.tensor(0).elem in BYTES
    reals = [node.cast(value, INT32) if bytes else node.graph.real(value) for value in values]
    result = compute(node, ARITHMETIC[node.kind], *reals, fuses=not bytes)
    return layout.result(node, as_bytes(node, result, values[0].type) if bytes else result, node.tensor(0).elem)


def align_operands(node: Node) -> tuple[list[Value], Layout]:
    """The two inputs; before opset 7 the second lies along the first from an axis on, where one is given."""
    axis = node.attribute("axis") if node.since < 7 else None
    if axis is not None:
        align_from(node, 1, 0, axis)
    return align(node, 0, 1)


def compute(node: Node, code: OperationCode, x: Value, y: Value, *, fuses: bool = False) -> Value:
    """ADD, SUB, MUL or DIV; the quotient of integers is rounded towards zero in ONNX, in NNAPI down."""
    if code == OperationCode.DIV and x.type.code == INT32:
        return divide_towards_zero(node, x, y)
    if not fuses or x.type.code not in FLOATS:
        return node.apply(code, x, y, node.i32(0))
    return node.claim_activation(node.apply(code, x, y, node.activation_operand()))


def divide_towards_zero(node: Node, x: Value, y: Value) -> Value:
    sizes = [node.apply(OperationCode.ABS, value) for value in (x, y)]
    size = node.apply(OperationCode.DIV, *sizes, node.i32(0))
    signs = [node.apply(OperationCode.LESS, value, node.like(value, 0), type=OperandType(BOOL8)) for value in (x, y)]
    differ = node.apply(OperationCode.NOT_EQUAL, *signs, type=OperandType(BOOL8))
    return node.apply(OperationCode.SELECT, differ, node.apply(OperationCode.NEG, size), size, type=OperandType(INT32))


def as_bytes(node: Node, value: Value, type: OperandType) -> Value:
    """The lowest 8 bits of an int32 as bytes that stand for themselves."""
    turns = node.apply(OperationCode.DIV, _shift(node, value, type), node.like(value, 256), node.i32(0))
    back = node.apply(OperationCode.MUL, turns, node.like(value, 256), node.i32(0))
    within = node.apply(OperationCode.SUB, value, back, node.i32(0))
    if type.code == QUANT8:
        return node.apply(OperationCode.CAST, within, type=OperandType(QUANT8, (), 1.0, 0))
    real = node.apply(OperationCode.CAST, within, type=OperandType(OperandCode.TENSOR_FLOAT32))
    return node.apply(OperationCode.QUANTIZE, real, type=OperandType(QUANT8_SIGNED, (), 1.0, 0))


def _shift(node: Node, value: Value, type: OperandType) -> Value:
    """So that whole turns of 256 begin at the lowest byte."""
    if type.code == QUANT8:
        return value
    return node.apply(OperationCode.ADD, value, node.like(value, 128), node.i32(0))


@rule("Pow")
def power(node: Node) -> Tensor:
    """Integers are raised as float32, exactly up to 2**24."""
    values, layout = align_operands(node)
    base = node.graph.real(values[0])
    target = base.type.code
    expressible(target not in BYTE_CODES, "NNAPI raises no bytes to a power")
    code = target if target in FLOATS else OperandCode.TENSOR_FLOAT32
    if target == INT32:
        node.note("powers of int32 are computed as float32, exact up to 2**24")
    raised = node.apply(OperationCode.POW, node.cast(base, code), node.cast(node.graph.real(values[1]), code))
    return layout.result(node, node.cast(raised, target), node.tensor(0).elem)


@rule("Identity", "Dropout")
def identity(node: Node) -> list[Tensor | None]:
    """Dropout drops nothing where a model is only run."""
    if node.kind == "Dropout":
        training = node.since >= 12 and node.has(2) and bool(node.array(2).any())
        ratio = float(node.array(1)) if node.has(1) else 0.5
        expressible(not training or ratio == 0, "it is to drop elements at random")
    tensor = node.tensor(0)
    same = replace(tensor, name=node.name)
    if not node.wants(1):
        return [same]
    return [same, node.constant_result(np.ones(node.static_shape(0), np.bool_))]


@rule("Cast")
def cast(node: Node) -> Tensor:
    return cast_to(node, int(node.attribute("to")))


def cast_to(node: Node, elem: int) -> Tensor:
    """Convert stored values to another type."""
    target, source = node.type_for(elem).code, node.tensor(0).elem
    x, layout = real_input(node)
    if elem in NARROWED and source not in NARROWED:
        node.note(f"a cast to {DTYPES[elem].name} gives {OperandType(CODES[elem]).name}")
    if x.type.code == target:
        narrower = DTYPES[elem].itemsize < DTYPES[source].itemsize and DTYPES[elem].itemsize < 4
        expressible(not narrower or elem == BOOL, f"it cuts integers to {DTYPES[elem].name}")
        return layout.result(node, x, elem)
    if target in BYTE_CODES:
        expressible(x.type.code in (INT32, BOOL8, *FLOATS), f"NNAPI casts {x.type.name} to bytes in another way")
        return layout.result(node, as_bytes(node, node.cast(x, INT32), OperandType(target)), elem)
    if x.type.code == QUANT8_SIGNED:
        x = node.apply(OperationCode.DEQUANTIZE, x, type=OperandType(OperandCode.TENSOR_FLOAT32))
        if target == OperandCode.TENSOR_FLOAT32:
            return layout.result(node, x, elem)
    if elem not in CODES:
        raise Refused(f"it casts to type {elem}")
    return layout.result(node, node.cast(x, target), elem)
