"""LSTM, GRU and RNN: NNAPI's sequences where these have the same meaning, else composites."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOATS, INT32, Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.movement import concatenate_values, split_by_sizes
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import Code, CompositeCode

DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
RELU, TANH, LOGISTIC = 1, 4, 6
FUNCTIONS = {"relu": RELU, "tanh": TANH, "sigmoid": LOGISTIC}
"""NNAPI's codes of a cell's activations."""


class Direction(NamedTuple):
    """One direction of a node, with its weights: arrays, or values if the model computes them."""

    node: OnnxNode
    k: int
    x: Value
    weights: Array | Value
    recurrent: Array | Value
    bias: Array | Value
    """First that of the input, then that of the recurrence."""
    peepholes: Array | Value | None
    lengths: Value
    activations: list[int]

    @property
    def time_major(self) -> bool:
        return not self.node.attribute("layout")

    @property
    def is_reverse(self) -> bool:
        return self.k == 1 or self.node.attribute("direction") == "reverse"

    @property
    def is_plain(self) -> bool:
        """Return whether all rows have all steps, and no sum is clipped."""
        return self.lengths.omitted and self.node.attribute("clip") is None

    @property
    def total_bias(self) -> Array | Value:
        own, recurrent = self.split(self.bias, 2)
        if isinstance(own, Value):
            return self.node.apply(OperationCode.ADD, own, recurrent, self.node.i32(0))
        return np.asarray(own + recurrent)

    def split(self, x: Array | Value, count: int) -> Sequence[Any]:
        return self.node.split(x, 0, count) if isinstance(x, Value) else np.split(x, count)

    def operand(self, x: Array | Value) -> Value:
        return x if isinstance(x, Value) else self.node.constant(x, self.x)

    def state(self, i: int) -> Value:
        """Return the first state, input ``i``: [batch, units]."""
        node, k, units = self.node, self.k, self.recurrent.shape[1]
        shape = (self.x.shape[1 if self.time_major else 0], units)
        if not node.has(i):
            return node.spread(OperandType(self.x.type.code), 0, shape)
        given, axis = node.input(i), 0 if self.time_major else 1
        return node.view(split_by_sizes(node, given, axis, [1] * given.shape[axis])[k], shape)

    def compose(self, code: Code, *operands: Value, options: Sequence[bool] = (), results: int = 2) -> list[Value]:
        """Return the results of a composite; ``operands`` are those between the input and the lengths."""
        node = self.node
        scalars = [node.i32(each) for each in self.activations]
        scalars.append(node.real(node.attribute("clip") or 0.0, self.x))
        flags = [node.flag(each) for each in (*options, self.is_reverse, self.time_major)]
        inputs = (self.x, *operands, self.lengths, *scalars, *flags)
        return node.append(code, inputs, [self.x.type.with_dimensions(())] * results)

    def emit_sequence(self, code: OperationCode, operands: Sequence[Value], results: int) -> list[Value]:
        """Return the results of NNAPI's sequence; ``operands`` are those after the input."""
        node, axis = self.node, self.node.graph.ints([0 if self.time_major else 1])
        x = node.apply(OperationCode.REVERSE, self.x, axis) if self.is_reverse else self.x
        made = node.append(code, (x, *operands), [x.type.with_dimensions(())] * results)
        return [node.apply(OperationCode.REVERSE, made[0], axis), *made[1:]] if self.is_reverse else made


@rule("LSTM")
def lstm(node: OnnxNode) -> Sequence[OnnxTensor | None]:
    return _outputs(node, [_run_lstm(direction) for direction in _list_directions(node)])


def _run_lstm(direction: Direction) -> list[Value]:
    """Return all outputs, the last output and the last cell state. ONNX orders gates as input, output, forget, cell."""
    node, states = direction.node, [direction.state(i) for i in (5, 6)]
    is_coupled = bool(node.attribute("input_forget"))
    none = node.graph.no_value(direction.x.type.code)
    peepholes = direction.peepholes
    if is_coupled or not direction.is_plain or direction.activations != [LOGISTIC, TANH, TANH]:
        weights = [direction.operand(each) for each in (direction.weights, direction.recurrent, direction.total_bias)]
        peeps = none if peepholes is None else direction.operand(peepholes)
        return direction.compose(
            CompositeCode.LSTM_SEQUENCE, *weights, peeps, *states, options=(is_coupled,), results=3
        )
    stacked = (direction.weights, direction.recurrent, direction.total_bias)
    weights = [direction.operand(direction.split(each, 4)[i]) for each in stacked for i in (0, 2, 3, 1)]
    peeped = [none] * 3
    if peepholes is not None:
        peeped = [direction.operand(direction.split(peepholes, 3)[i]) for i in (0, 2, 1)]
    zero = node.real(0.0, direction.x)
    scalars = (node.i32(TANH), zero, zero, node.flag(direction.time_major))
    operands = (*weights[:8], *peeped, *weights[8:], none, none, *states, *scalars, *[none] * 4)
    return direction.emit_sequence(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, operands, 3)


@rule("GRU")
def gru(node: OnnxNode) -> Sequence[OnnxTensor | None]:
    late = bool(node.attribute("linear_before_reset"))
    runs = []
    for direction in _list_directions(node):
        arrays = (direction.weights, direction.recurrent, *direction.split(direction.bias, 2))
        weights = [direction.operand(each) for each in arrays]
        runs.append(direction.compose(CompositeCode.GRU, *weights, direction.state(5), options=(late,)))
    return _outputs(node, runs)


@rule("RNN")
def rnn(node: OnnxNode) -> Sequence[OnnxTensor | None]:
    return _outputs(node, [_run_rnn(direction) for direction in _list_directions(node)])


def _run_rnn(direction: Direction) -> list[Value]:
    node, state = direction.node, direction.state(5)
    weights = [direction.operand(each) for each in (direction.weights, direction.recurrent, direction.total_bias)]
    if not direction.is_plain or direction.activations != [RELU]:  # of the other activations, NNAPI has none
        return direction.compose(CompositeCode.RNN_SEQUENCE, *weights, state)
    operands = (*weights, state, node.i32(RELU), node.i32(direction.time_major))
    return direction.emit_sequence(OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN, operands, 2)


def _list_directions(node: OnnxNode) -> list[Direction]:
    x, layout = node.input(0), node.attribute("layout")
    expressible(x.type.code in FLOATS and x.rank == 3, "its input is not a float sequence of rank 3")
    count = 2 if node.attribute("direction") == "bidirectional" else 1
    gates, units = GATES[node.kind], (node.shape(2) or (0,))[-1]
    all_weights = _read_weights(node, 1, (count, gates * units, x.shape[2]))
    all_recurrent = _read_weights(node, 2, (count, gates * units, units))
    wanted = count, 2 * gates * units
    biases = _read_weights(node, 3, wanted) if node.has(3) else np.zeros(wanted, x.type.dtype)
    peepholes = _read_weights(node, 7, (count, 3 * units)) if node.has(7) else [None] * count
    lengths = _read_lengths(node, node.shape(0)[1 if layout else 0])
    named = node.attribute("activations") or DEFAULTS[node.kind] * count
    size = len(DEFAULTS[node.kind])
    expressible(len(named) >= size * count, f"it names {len(named)} activations, must be {size * count}")
    activations = [_find_activation(each) for each in named[: size * count]]
    found = []
    for k in range(count):
        own = activations[k * size : (k + 1) * size]
        weights = all_weights[k], all_recurrent[k], biases[k], peepholes[k]
        found.append(Direction(node, k, x, *weights, lengths, own))
    return found


def _read_weights(node: OnnxNode, i: int, shape: Shape) -> Sequence[Array | Value]:
    """Return input ``i``, which must have this shape, [directions, …], for each direction."""
    tensor = node.tensor(i)
    expressible(tuple(tensor.dims) == shape, f"{tensor.name} is {list(tensor.dims)}, must be {list(shape)}")
    if tensor.array is not None:
        return list(node.array(i))
    x = node.input(i)
    return [node.view(each, shape[1:]) for each in node.split(x, 0, shape[0])]


def _read_lengths(node: OnnxNode, steps: int) -> Value:
    """Return the sequence lengths; an omitted operand if all rows have all steps."""
    if not node.has(4) or (node.tensor(4).array is not None and (node.array(4) == steps).all()):
        return node.graph.no_value(INT32)
    return node.cast(node.input(4), INT32)


def _find_activation(name: bytes | str) -> int:
    function = (name.decode() if isinstance(name, bytes) else str(name)).lower()
    expressible(function in FUNCTIONS, f"it squashes by {function}")
    return FUNCTIONS[function]


def _outputs(node: OnnxNode, runs: Sequence[Sequence[Value]]) -> Sequence[OnnxTensor | None]:
    """Return Y, [time, directions, batch, units], and the last states, [directions, batch, units]. With a layout of 1,
    the batch comes first."""
    *outer, units = node.static_shape_of(runs[0][0])
    batch_first = bool(node.attribute("layout"))
    axis = 2 if batch_first else 1
    shape = (*outer[:axis], 1, *outer[axis:], units)
    along = concatenate_values(node, [node.view(run[0], shape) for run in runs], axis)
    batch = outer[0 if batch_first else 1]
    tensors: list[OnnxTensor | None] = [node.result(along)]
    for i in range(1, len(runs[0])):
        shape = (batch, 1, units) if batch_first else (1, batch, units)
        states = [node.view(run[i], shape) for run in runs]
        tensors.append(node.result(concatenate_values(node, states, int(batch_first))))
    return tensors
