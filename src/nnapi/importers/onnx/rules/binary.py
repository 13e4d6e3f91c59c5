"""Binary and n-ary operators with broadcasting: arithmetic, comparisons, logic."""

from functools import reduce
from operator import add

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import BOOL8, FLOATS, INT32, Value
from nnapi.importers.onnx.layout import Layout, align, align_from
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.tensors import BOOL, BYTES, FLOAT, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, as_bytes, divide_towards_zero
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

ARITHMETIC = {name: OperationCode[name.upper()] for name in ("Add", "Sub", "Mul", "Div")}
COMPARISONS = {
    "And": OperationCode.LOGICAL_AND,
    "Or": OperationCode.LOGICAL_OR,
    "Xor": OperationCode.NOT_EQUAL,
    "Equal": OperationCode.EQUAL,
    "Greater": OperationCode.GREATER,
    "GreaterOrEqual": OperationCode.GREATER_EQUAL,
    "Less": OperationCode.LESS,
    "LessOrEqual": OperationCode.LESS_EQUAL,
}
EXTREMES = {"Max": OperationCode.MAXIMUM, "Min": OperationCode.MINIMUM}


@rule(*ARITHMETIC)
def arithmetic(node: OnnxNode) -> OnnxTensor:
    """Lower arithmetic. Bytes are computed as int32, because ONNX lets them wrap around."""
    code, elem = ARITHMETIC[node.kind], node.tensor(0).elem
    if node.kind != "Div" and computes_quantized(node, 0, 1):
        values, layout = align(node, 0, 1, quantized=True)
        found = node.apply(code, *values, node.activation_operand(), type=node.wanted)
        return layout.result(node, node.claim_activation(found), FLOAT)
    values, layout = _align_operands(node)
    x, y = (Term(node, node.cast(value, INT32) if elem in BYTES else value) for value in values)
    if node.kind == "Div" and x.value.type.code == INT32:
        result = divide_towards_zero(x, y).value
    elif x.value.type.code in FLOATS:
        result = node.claim_activation(node.apply(code, x.value, y.value, node.activation_operand()))
    else:
        result = x.apply(code, y).value
    return layout.result(node, as_bytes(node, result, values[0].type) if elem in BYTES else result, elem)


def _align_operands(node: OnnxNode) -> tuple[list[Value], Layout]:
    """Return the inputs aligned; before opset 7 the second input's axes begin at attribute ``axis``."""
    axis = node.attribute("axis") if node.since < 7 else None
    if axis is not None:
        align_from(node, axis)
    return align(node, 0, 1)


@rule("Pow")
def power(node: OnnxNode) -> OnnxTensor:
    """Lower Pow; integers are computed as float32, exact up to 2**24."""
    (base, exponent), layout = _align_operands(node)
    target = base.type.code
    expressible(node.tensor(0).elem not in BYTES, "NNAPI raises no bytes to a power")
    code = target if target in FLOATS else OperandCode.TENSOR_FLOAT32
    if target == INT32:
        node.note("powers of int32 are computed as float32, exact up to 2**24")
    raised = node.apply(OperationCode.POW, node.cast(base, code), node.cast(node.graph.real(exponent), code))
    return layout.result(node, node.cast(raised, target), node.tensor(0).elem)


@rule("Mod")
def mod(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, 0, 1)
    elem = node.tensor(0).elem
    x, y = (node.cast(value, INT32) if elem in BYTES else value for value in values)
    result = node.apply(CompositeCode.MOD, x, y, node.flag(node.attribute("fmod")))
    return layout.result(node, as_bytes(node, result, values[0].type) if elem in BYTES else result, elem)


@rule("Sum", "Mean")
def total(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, *range(node.count))
    for value in values:
        expressible(value.type.code in FLOATS, f"NNAPI computes it on floats only, not on {value.type.name}")
    found = reduce(add, (Term(node, value) for value in values))
    return layout.result(node, (found * (1 / node.count) if node.kind == "Mean" else found).value)


@rule(*EXTREMES)
def extreme(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, *range(node.count))
    found = reduce(lambda x, y: node.apply(EXTREMES[node.kind], x, y), values)
    return layout.result(node, found, node.tensor(0).elem)


@rule(*COMPARISONS)
def compare(node: OnnxNode) -> OnnxTensor:
    values, layout = align(node, 0, 1)
    return layout.result(node, node.apply(COMPARISONS[node.kind], *values, type=OperandType(BOOL8)), BOOL)
