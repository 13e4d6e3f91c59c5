"""LSTM as NNAPI's sequence; GRU and RNN, which NNAPI's cells do not compute, step by step."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.formulas import Term, tanh
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.control_flow import MOST_STEPS
from nnapi.importers.onnx.rules.movement import concatenate_values, permute_axes, split_by_sizes
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
"""NNAPI's code of an LSTM's activation."""

Cell = Callable[[Sequence[Term], Term], Term]
"""One time step: takes a part of the input's product for each group of gates, and the last output; returns the next
output."""


@rule("LSTM")
def lstm(node: Node) -> Sequence[Tensor | None]:
    expressible(not node.attribute("input_forget"), "its gates are coupled")
    squashes = _activations(node) == ["sigmoid", "tanh", "tanh"] * _directions(node)
    expressible(squashes, "NNAPI squashes by other functions")
    expressible(node.attribute("clip") is None, "NNAPI clips the state, not what is squashed")
    x = _sequence(node)
    runs = [_run_direction(node, k, x, partial(_lstm_run, node, k)) for k in range(_directions(node))]
    return _outputs(node, runs)


def _lstm_run(node: Node, k: int, x: Value) -> list[Value]:
    """Return all outputs, the last output and the last cell state. ONNX orders gates as input, output, forget, cell."""
    weights, recurrent = node.array(1)[k], node.array(2)[k]
    units = recurrent.shape[1]
    expressible(weights.shape[0] == recurrent.shape[0] == 4 * units, "its weights are not of four gates")
    bias = _biases(node, k, 8 * units)
    gates = [np.split(each, 4) for each in (weights, recurrent, bias[: 4 * units] + bias[4 * units :])]
    none = node.graph.no_value(x.type.code)
    peeps = [none] * 3
    if node.has(7):
        parts = np.split(node.array(7)[k], 3)
        peeps = [node.constant(parts[i], x) for i in (0, 2, 1)]
    weights_of, recurrent_of, bias_of = ([node.constant(each[i], x) for i in (0, 2, 3, 1)] for each in gates)
    states = [_state(node, i, k, units, x) for i in (5, 6)]
    scalars = (node.i32(TANH), node.real(0.0, x), node.real(0.0, x), node.flag(True))
    operands = (x, *weights_of, *recurrent_of, *peeps, *bias_of, none, none, *states, *scalars, *[none] * 4)
    return node.several(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, operands, [x.type.with_dimensions(())] * 3)


def _biases(node: Node, k: int, count: int) -> Array:
    """Return the biases of direction ``k``: first those of the input, then those of the recurrence."""
    return node.array(3)[k] if node.has(3) else np.zeros(count, node.array(1).dtype)


@rule("GRU")
def gru(node: Node) -> Sequence[Tensor | None]:
    """Lower GRU to steps; drivers whose engine has a GRU cell recognize these steps."""
    expressible(_activations(node)[:2] == ["sigmoid", "tanh"], "it squashes by other functions")
    resets_late, units = bool(node.attribute("linear_before_reset")), node.array(2).shape[2]

    def cell(k: int, x: Value) -> Cell:
        gates, candidate = _recurrent(node, k, 3, [2 * units, units], x)

        def step(parts: Sequence[Term], last: Term) -> Term:
            update, reset = split_by_sizes(
                node, (parts[0] + gates(last)).apply(OperationCode.LOGISTIC).value, 1, [units] * 2
            )
            z, r = Term(node, update), Term(node, reset)
            new = tanh(parts[1] + (r * candidate(last) if resets_late else candidate(r * last)))
            return new + z * (last - new)

        return step

    return _outputs(node, _unroll_steps(node, [2 * units, units], cell))


@rule("RNN")
def rnn(node: Node) -> Sequence[Tensor | None]:
    units = node.array(2).shape[2]

    def cell(k: int, x: Value) -> Cell:
        function = _activations(node)[k]
        expressible(function in FUNCTIONS, f"it squashes by {function}")
        (recurrent,) = _recurrent(node, k, 1, [units], x)
        return lambda parts, last: (parts[0] + recurrent(last)).apply(FUNCTIONS[function])

    return _outputs(node, _unroll_steps(node, [units], cell))


def _recurrent(node: Node, k: int, gates: int, sizes: Sequence[int], x: Value) -> list[Callable[[Term], Term]]:
    """Return functions of the last output: its product with ``sizes[j]`` rows of the recurrent weights, plus a bias."""
    weights, units = node.array(2)[k], node.array(2).shape[2]
    expressible(weights.shape == (gates * units, units), f"its weights are {list(weights.shape)}")
    bias, ends = _biases(node, k, 2 * gates * units)[gates * units :], np.cumsum(sizes)[:-1]
    return [_product(node, *each, x) for each in zip(np.split(weights, ends), np.split(bias, ends), strict=True)]


def _product(node: Node, weights: Array, bias: Array, like: Value) -> Callable[[Term], Term]:
    """Return a function that multiplies by weights [units, depth] and adds a bias."""
    operands = (node.constant(weights, like), node.constant(bias, like), node.i32(0))
    return lambda x: Term(node, node.apply(OperationCode.FULLY_CONNECTED, x.value, *operands))


def _unroll_steps(node: Node, sizes: Sequence[int], cell: Callable[[int, Value], Cell]) -> list[list[Value]]:
    """Return all outputs and the last output of each direction. One product computes the input's share for all steps;
    its columns are divided by ``sizes``."""
    expressible(node.attribute("clip") is None, "it clips what is squashed")
    x, units, rows = _sequence(node), node.array(2).shape[2], sum(sizes)
    steps, batch, depth = node.static_shape_of(x)
    expressible(steps <= MOST_STEPS, f"its {steps} steps are too many to unroll")

    def run(k: int, value: Value) -> list[Value]:
        weights = node.array(1)[k]
        expressible(weights.shape == (rows, depth), f"its weights are {list(weights.shape)}")
        product = _product(node, weights, _biases(node, k, 2 * rows)[:rows], x)
        whole = product(Term(node, node.view(value, (steps * batch, depth)))).value
        pieces = [split_by_sizes(node, part, 0, [batch] * steps) for part in split_by_sizes(node, whole, 1, sizes)]
        step, last, outputs = cell(k, x), Term(node, _state(node, 5, k, units, value)), []
        for each in zip(*pieces, strict=True):
            last = step([Term(node, piece) for piece in each], last)
            outputs.append(last.value)
        return [node.view(concatenate_values(node, outputs, 0), (steps, batch, units)), last.value]

    return [_run_direction(node, k, x, partial(run, k)) for k in range(_directions(node))]


def _sequence(node: Node) -> Value:
    x = node.input(0)
    expressible(x.type.code in FLOATS and x.rank == 3, "its input is not a float sequence of rank 3")
    steps = node.shape(0)[1 if node.attribute("layout") else 0]
    if node.has(4):
        expressible((node.array(4) == steps).all(), f"its sequences are shorter than {steps} steps")
    return permute_axes(node, x, (1, 0, 2)) if node.attribute("layout") else x


def _run_direction(node: Node, k: int, x: Value, run: Callable[[Value], list[Value]]) -> list[Value]:
    if k == 0 and node.attribute("direction") != "reverse":
        return run(x)
    axis = node.graph.ints([0])
    outputs, *states = run(node.apply(OperationCode.REVERSE, x, axis))
    return [node.apply(OperationCode.REVERSE, outputs, axis), *states]


def _directions(node: Node) -> int:
    return 2 if node.attribute("direction") == "bidirectional" else 1


def _activations(node: Node) -> list[str]:
    given = node.attribute("activations") or DEFAULTS[node.kind] * _directions(node)
    return [(each.decode() if isinstance(each, bytes) else str(each)).lower() for each in given]


def _state(node: Node, i: int, k: int, units: int, x: Value) -> Value:
    batch = x.shape[1]
    if not node.has(i):
        return node.spread(OperandType(x.type.code), 0, (batch, units))
    given = node.input(i)
    axis = 1 if node.attribute("layout") else 0
    return node.view(split_by_sizes(node, given, axis, [1] * given.shape[axis])[k], (batch, units))


def _outputs(node: Node, runs: Sequence[Sequence[Value]]) -> Sequence[Tensor | None]:
    """Return Y, [time, directions, batch, units], and the last states, [directions, batch, units]."""
    steps, batch, units = node.static_shape_of(runs[0][0])
    first = bool(node.attribute("layout"))
    along = [node.view(run[0], (steps, 1, batch, units)) for run in runs]
    found = concatenate_values(node, along, 1)
    tensors: list[Tensor | None] = [node.result(permute_axes(node, found, (2, 0, 1, 3)) if first else found)]
    for i in range(1, len(runs[0])):
        shape = (batch, 1, units) if first else (1, batch, units)
        tensors.append(node.result(concatenate_values(node, [node.view(run[i], shape) for run in runs], int(first))))
    return tensors
