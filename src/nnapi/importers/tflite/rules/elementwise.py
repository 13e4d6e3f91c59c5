"""Operations on each element: those that NNAPI has itself."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import add, broadcast, choose, divide, multiply, subtract
from nnapi.importers.graph import BOOL8, INT32, QUANT8, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType

FUSING = {
    "ADD": OperationCode.ADD,
    "SUB": OperationCode.SUB,
    "MUL": OperationCode.MUL,
    "DIV": OperationCode.DIV,
}
UNARY = {
    "ABS": OperationCode.ABS,
    "NEG": OperationCode.NEG,
    "EXP": OperationCode.EXP,
    "LOG": OperationCode.LOG,
    "SIN": OperationCode.SIN,
    "SQRT": OperationCode.SQRT,
    "RSQRT": OperationCode.RSQRT,
    "FLOOR": OperationCode.FLOOR,
    "LOGISTIC": OperationCode.LOGISTIC,
    "TANH": OperationCode.TANH,
    "HARD_SWISH": OperationCode.HARD_SWISH,
    "LOGICAL_NOT": OperationCode.LOGICAL_NOT,
    "STABLEHLO_ABS": OperationCode.ABS,
    "STABLEHLO_NEGATE": OperationCode.NEG,
    "STABLEHLO_EXPONENTIAL": OperationCode.EXP,
    "STABLEHLO_LOG": OperationCode.LOG,
    "STABLEHLO_RSQRT": OperationCode.RSQRT,
    "STABLEHLO_FLOOR": OperationCode.FLOOR,
    "STABLEHLO_LOGISTIC": OperationCode.LOGISTIC,
    "STABLEHLO_TANH": OperationCode.TANH,
}
BINARY = {
    "EQUAL": OperationCode.EQUAL,
    "NOT_EQUAL": OperationCode.NOT_EQUAL,
    "LESS": OperationCode.LESS,
    "LESS_EQUAL": OperationCode.LESS_EQUAL,
    "GREATER": OperationCode.GREATER,
    "GREATER_EQUAL": OperationCode.GREATER_EQUAL,
    "LOGICAL_AND": OperationCode.LOGICAL_AND,
    "LOGICAL_OR": OperationCode.LOGICAL_OR,
    "MAXIMUM": OperationCode.MAXIMUM,
    "MINIMUM": OperationCode.MINIMUM,
    "POW": OperationCode.POW,
    "PRELU": OperationCode.PRELU,
    "STABLEHLO_AND": OperationCode.LOGICAL_AND,
    "STABLEHLO_OR": OperationCode.LOGICAL_OR,
    "STABLEHLO_MAXIMUM": OperationCode.MAXIMUM,
    "STABLEHLO_MINIMUM": OperationCode.MINIMUM,
    "STABLEHLO_POWER": OperationCode.POW,
}
RECTIFIERS = {
    "RELU": OperationCode.RELU,
    "RELU_N1_TO_1": OperationCode.RELU1,
    "RELU6": OperationCode.RELU6,
}
COMPARISONS = [
    OperationCode.EQUAL,
    OperationCode.NOT_EQUAL,
    OperationCode.GREATER_EQUAL,
    OperationCode.GREATER,
    OperationCode.LESS_EQUAL,
    OperationCode.LESS,
]
"""By number of StablehloComparisonDirection."""


@rule("ADD")
@rule("SUB")
@rule("MUL")
@rule("DIV")
def arithmetic(node: TfliteNode) -> None:
    code = FUSING[node.kind]
    x, y = node.inputs
    if code == OperationCode.DIV and x.type.code == INT32:
        node.activation(node.options.activation)
        divide_towards_zero(node, x, y)
    else:
        node.emit(code, x, y, node.activation(node.options.activation))


def divide_towards_zero(node: TfliteNode, x: Value, y: Value) -> None:
    """TFLite's quotient of integers is rounded towards zero, NNAPI's down."""
    size = divide(
        node, node.apply(OperationCode.ABS, x, shape=x.shape), node.apply(OperationCode.ABS, y, shape=y.shape)
    )
    zero, bool8 = node.like(x, 0), OperandType(BOOL8)
    signs = [node.apply(OperationCode.LESS, value, zero, shape=value.shape, type=bool8) for value in (x, y)]
    differ = node.apply(OperationCode.NOT_EQUAL, *signs, type=bool8)
    node.emit(OperationCode.SELECT, differ, node.apply(OperationCode.NEG, size), size)


@rule("STABLEHLO_ADD")
@rule("STABLEHLO_SUBTRACT")
@rule("STABLEHLO_MULTIPLY")
@rule("STABLEHLO_DIVIDE")
def plain_arithmetic(node: TfliteNode) -> None:
    names = {"STABLEHLO_ADD": "ADD", "STABLEHLO_SUBTRACT": "SUB", "STABLEHLO_MULTIPLY": "MUL"}
    x, y = node.inputs
    code = FUSING[names.get(node.kind, "DIV")]
    if code == OperationCode.DIV and x.type.code == INT32:
        divide_towards_zero(node, x, y)
    else:
        node.emit(code, x, y, node.i32(0))


@rule(*UNARY)
def unary(node: TfliteNode) -> None:
    node.emit(UNARY[node.kind], node.input(0))


@rule(*BINARY)
def binary(node: TfliteNode) -> None:
    node.emit(BINARY[node.kind], node.input(0), node.input(1))


@rule("STABLEHLO_COMPARE")
def compare(node: TfliteNode) -> None:
    direction = node.options.comparison_direction
    expressible(0 <= direction < len(COMPARISONS), f"its direction {direction} is none")
    node.emit(COMPARISONS[direction], node.input(0), node.input(1))


@rule(*RECTIFIERS)
def rectifier(node: TfliteNode) -> None:
    node.activate(RECTIFIERS[node.kind], node.input(0), node.output)


@rule("RELU_0_TO_1")
def relu_0_to_1(node: TfliteNode) -> None:
    x = node.graph.real(node.input(0))
    raised = node.apply(OperationCode.MAXIMUM, x, node.like(x, 0))
    node.deliver(node.apply(OperationCode.MINIMUM, raised, node.like(x, 1)))


@rule("STABLEHLO_CLAMP")
def clamp(node: TfliteNode) -> None:
    low, x, high = node.inputs
    node.emit(OperationCode.MINIMUM, node.apply(OperationCode.MAXIMUM, x, low), high)


@rule("ELU")
def elu(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(OperationCode.ELU, x, node.real(1.0, x))


@rule("LEAKY_RELU")
def leaky_relu(node: TfliteNode) -> None:
    """Lower LEAKY_RELU to PRELU with one slope; a quantized slope is one quantized value."""
    x, slope = node.input(0), float(node.options.alpha)
    if not x.is_quantized:
        node.emit(OperationCode.PRELU, x, node.like(x, slope))
        return
    zero_point = 0 if slope >= 0 else 1
    type = OperandType(x.type.code, (1,), abs(slope) or 1.0, zero_point)
    code = zero_point + (int(np.sign(slope)))
    node.emit(OperationCode.PRELU, x, node.graph.full(type, code))


@rule("SOFTMAX")
def softmax(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(OperationCode.SOFTMAX, x, node.real(node.options.beta, x))


@rule("LOG_SOFTMAX")
def log_softmax(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(OperationCode.LOG_SOFTMAX, x, node.real(1.0, x), node.i32(-1))


@rule("ADD_N")
def add_n(node: TfliteNode) -> None:
    total, *rest = node.inputs
    if not rest:
        node.bind(0, total)
        return
    for value in rest[:-1]:
        total = add(node, total, value)
    node.emit(OperationCode.ADD, total, rest[-1], node.i32(0))


@rule("SQUARE")
def square(node: TfliteNode) -> None:
    x = node.graph.real(node.input(0))
    node.deliver(multiply(node, x, x))


@rule("SQUARED_DIFFERENCE")
def squared_difference(node: TfliteNode) -> None:
    difference = subtract(node, *node.reals())
    node.deliver(multiply(node, difference, difference))


@rule("SELECT")
@rule("SELECT_V2")
@rule("STABLEHLO_SELECT")
def select(node: TfliteNode) -> None:
    """NNAPI's three inputs have one shape; TFLite stretches them."""
    condition, x, y = node.inputs
    shapes = {condition.shape, x.shape, y.shape}
    if len(shapes) > 1:
        known = [node.static_shape_of(value) for value in (condition, x, y)]
        if node.kind == "SELECT" and condition.rank == 1 and x.rank > 1:  # one condition for each row
            condition = node.reshape(condition, (*condition.shape, *(1 for _ in x.shape[1:])))
            known[0] = condition.shape
        shape = np.broadcast_shapes(*known)
        condition, x, y = (broadcast(node, value, shape) for value in (condition, x, y))
    if x.type.code == BOOL8:
        chosen = choose(node, condition, node.graph.bytes(x), node.graph.bytes(y))
        node.emit(OperationCode.NOT_EQUAL, chosen, node.graph.full(OperandType(QUANT8, (1,), 1.0, 0)))
        return
    node.emit(OperationCode.SELECT, condition, x, y)


@rule("MULTINOMIAL")
def multinomial(node: TfliteNode) -> None:
    seeds = [int(seed) & 0x7FFFFFFF for seed in (node.options.seed, node.options.seed2)]
    count = node.i32(node.number(1))
    node.emit(OperationCode.RANDOM_MULTINOMIAL, node.input(0), count, node.graph.ints(seeds))
