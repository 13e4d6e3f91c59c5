"""LSTM as NNAPI's sequence; GRU and RNN, which NNAPI's cells do not compute, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import add, multiply, subtract
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.movement import cut, join, permute_axes
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, OperandType

DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
FUNCTIONS = {
    "sigmoid": OperationCode.LOGISTIC,
    "tanh": OperationCode.TANH,
    "relu": OperationCode.RELU,
}
TANH = 4
"""NNAPI's number for the activation of an LSTM."""
MOST_STEPS = 256
"""The largest number of time steps that are unrolled."""

Cell = Callable[[Node, int, Sequence[Value], Value], list[Value]]


@rule("LSTM")
def lstm(node: Node) -> Sequence[Tensor | None]:
    expressible(not node.attribute("input_forget", 0), "its gates are coupled")
    expressible(
        _activations(node) == ["sigmoid", "tanh", "tanh"] * _directions(node), "NNAPI squashes by other functions"
    )
    expressible(node.attribute("clip") is None, "NNAPI clips the state, not what is squashed")
    x = _sequence(node)
    runs = [_run_direction(node, k, x, partial(_lstm_run, node, k)) for k in range(_directions(node))]
    return _outputs(node, runs)


def _lstm_run(node: Node, k: int, x: Value) -> list[Value]:
    """One direction: all outputs, the last one, the last state. ONNX orders gates as input, output, forget, cell."""
    weights, recurrent = node.array(1)[k], node.array(2)[k]
    units = recurrent.shape[1]
    need(weights.shape[0] == recurrent.shape[0] == 4 * units, "its weights are not of four gates", BadDataError)
    bias = node.array(3)[k] if node.has(3) else np.zeros(8 * units, weights.dtype)
    bias = bias[: 4 * units] + bias[4 * units :]
    peepholes = np.split(node.array(7)[k], 3) if node.has(7) else None
    gates = [np.split(each, 4) for each in (weights, recurrent, bias)]
    order = (0, 2, 3, 1)
    none = node.graph.no_value(x.type.code)
    peeps: list[Value] = [none] * 3 if peepholes is None else [_constant(node, peepholes[i], x) for i in (0, 2, 1)]
    parts = [[_constant(node, each[i], x) for i in order] for each in gates]
    states = [_state(node, i, k, units, x) for i in (5, 6)]
    scalars = (node.i32(TANH), node.real(0.0, x), node.real(0.0, x), node.flag(True))
    operands = (x, *parts[0], *parts[1], *peeps, *parts[2], none, none, *states, *scalars, *[none] * 4)
    types = [x.type.with_dimensions(())] * 3
    return node.several(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, operands, types)


@rule("GRU")
def gru(node: Node) -> Sequence[Tensor | None]:
    expressible(_activations(node)[:2] == ["sigmoid", "tanh"], "it squashes by other functions")
    return _outputs(node, _unroll_steps(node, 3, _gru_step))


def _gru_step(node: Node, k: int, gates: Sequence[Value], last: Value) -> list[Value]:
    """Compute one step of a GRU (update, reset, candidate) from the gates of the input."""
    recurrent = node.array(2)[k]
    units = recurrent.shape[1]
    biases = np.split(node.array(3)[k][3 * units :] if node.has(3) else np.zeros(3 * units, np.float32), 3)
    update, reset, hidden = np.split(recurrent, 3)
    squash = OperationCode.LOGISTIC
    z = node.apply(squash, add(node, gates[0], _product(node, last, update, biases[0])))
    r = node.apply(squash, add(node, gates[1], _product(node, last, reset, biases[1])))
    if node.attribute("linear_before_reset", 0):
        past = multiply(node, r, _product(node, last, hidden, biases[2]))
    else:
        past = _product(node, multiply(node, r, last), hidden, biases[2])
    candidate = node.apply(OperationCode.TANH, add(node, gates[2], past))
    kept = multiply(node, z, last)
    return [add(node, subtract(node, candidate, multiply(node, z, candidate)), kept)]


@rule("RNN")
def rnn(node: Node) -> Sequence[Tensor | None]:
    return _outputs(node, _unroll_steps(node, 1, _rnn_step))


def _rnn_step(node: Node, k: int, gates: Sequence[Value], last: Value) -> list[Value]:
    recurrent = node.array(2)[k]
    units = recurrent.shape[1]
    bias = node.array(3)[k][units:] if node.has(3) else np.zeros(units, np.float32)
    function = _activations(node)[k]
    expressible(function in FUNCTIONS, f"it squashes by {function}")
    return [node.apply(FUNCTIONS[function], add(node, gates[0], _product(node, last, recurrent, bias)))]


def _product(node: Node, x: Value, weights: Array, bias: Array) -> Value:
    """x times weights of [units, depth], plus a bias."""
    operands = (_constant(node, weights, x), _constant(node, bias, x), node.i32(0))
    return node.apply(OperationCode.FULLY_CONNECTED, x, *operands)


def _unroll_steps(node: Node, gates: int, step: Cell) -> list[list[Value]]:
    """Return the outputs of each direction, and the last one: the input's product for all gates at once, then step by
    step."""
    expressible(node.attribute("clip") is None, "it clips what is squashed")
    x, runs = _sequence(node), []
    steps, batch, depth = node.static_shape_of(x)
    expressible(steps <= MOST_STEPS, f"its {steps} steps are too many to write out")
    for k in range(_directions(node)):
        weights = node.array(1)[k]
        units = node.array(2).shape[2]
        need(weights.shape == (gates * units, depth), f"its weights are {list(weights.shape)}", BadDataError)
        bias = node.array(3)[k][: gates * units] if node.has(3) else np.zeros(gates * units, weights.dtype)

        def run(
            value: Value, k: int = k, weights: Array = weights, bias: Array = bias, units: int = units
        ) -> list[Value]:
            rows = node.view(value, (steps * batch, depth))
            parts = cut(node, _product(node, rows, weights, bias), 1, [units] * gates)
            pieces = [cut(node, node.view(part, (steps, batch, units)), 0, [1] * steps) for part in parts]
            last, outputs = _state(node, 5, k, units, value), []
            for each in zip(*pieces, strict=True):
                last = step(node, k, [node.view(piece, (batch, units)) for piece in each], last)[0]
                outputs.append(node.view(last, (1, batch, units)))
            return [join(node, outputs, 0), last]

        runs.append(_run_direction(node, k, x, run))
    return runs


def _sequence(node: Node) -> Value:
    """The input, time first."""
    x = node.input(0)
    expressible(x.type.code in FLOATS and x.rank == 3, "its input is not a float sequence of rank 3")
    steps = node.shape(0)[1 if node.attribute("layout", 0) else 0]
    if node.has(4):
        expressible((node.array(4) == steps).all(), f"its sequences are shorter than {steps} steps")
    return permute_axes(node, x, (1, 0, 2)) if node.attribute("layout", 0) else x


def _run_direction(node: Node, k: int, x: Value, run: Callable[[Value], list[Value]]) -> list[Value]:
    """A direction: the second of two, and the only one where it is called reverse, runs from the end."""
    if k == 0 and node.attribute("direction", "forward") != "reverse":
        return run(x)
    axis = node.graph.ints([0])
    outputs, *states = run(node.apply(OperationCode.REVERSE, x, axis))
    return [node.apply(OperationCode.REVERSE, outputs, axis), *states]


def _directions(node: Node) -> int:
    return 2 if node.attribute("direction", "forward") == "bidirectional" else 1


def _activations(node: Node) -> list[str]:
    given = node.attribute("activations") or DEFAULTS[node.kind] * _directions(node)
    return [(each.decode() if isinstance(each, bytes) else str(each)).lower() for each in given]


def _constant(node: Node, array: Array, x: Value) -> Value:
    return node.constant(np.ascontiguousarray(array), x)


def _state(node: Node, i: int, k: int, units: int, x: Value) -> Value:
    """The state before the first step, zero where it is not given."""
    batch = x.shape[1]
    if not node.has(i):
        return node.spread(OperandType(x.type.code), 0, (batch, units))
    given = node.input(i)
    axis = 1 if node.attribute("layout", 0) else 0
    return node.view(cut(node, given, axis, [1] * given.shape[axis])[k], (batch, units))


def _outputs(node: Node, runs: Sequence[Sequence[Value]]) -> Sequence[Tensor | None]:
    """Y, with an axis of directions behind that of time, and the last states, directions first."""
    steps, batch, units = node.static_shape_of(runs[0][0])
    first = bool(node.attribute("layout", 0))
    along = [node.view(run[0], (steps, 1, batch, units)) for run in runs]
    found = join(node, along, 1)
    tensors: list[Tensor | None] = [node.result(permute_axes(node, found, (2, 0, 1, 3)) if first else found)]
    for i in range(1, len(runs[0])):
        shape = (batch, 1, units) if first else (1, batch, units)
        tensors.append(node.result(join(node, [node.view(run[i], shape) for run in runs], int(first))))
    return tensors
