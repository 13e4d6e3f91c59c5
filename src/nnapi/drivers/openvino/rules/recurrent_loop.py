"""Recurrent cells as a loop over time, whose body has several steps of single operators.

The engine's own GRU takes 3 to 20 times as long if it resets before the product. With many units, its other cells are
slower too, because it does not multiply by its fast kernels.
"""

from collections.abc import Callable, Sequence

import numpy as np

from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.value import Node, constant
from nnapi.model.operand import Array

STEPS_OF_PASS = 10
"""Steps of the body. Fewer take longer per step, as each pass starts a graph; more take longer to compile."""
States = Sequence[Node]
Step = Callable[[Node, States], States]
"""One time step: takes the rows of this step and the states, returns the next states. The first one is the output."""


def repeat(step: Step, rows: Node, states: States, reverse: bool) -> list[Node]:
    """Run a cell on the products of the input, [time · batch, size]; return all outputs as rows, and the last states.

    The loop's body may refer to constants only.
    """
    batch = states[0].shape[0]
    count = rows.shape[0] // batch
    looped = count - count % STEPS_OF_PASS if count > STEPS_OF_PASS else 0
    outputs: list[Node] = []
    if looped:
        part = _cut(rows, (count - looped if reverse else 0) * batch, looped * batch)
        made, *states = _loop(step, part, states, reverse)
        outputs.append(made)
    if looped < count:
        rest = _cut(rows, 0 if reverse else looped * batch, (count - looped) * batch)
        made, *states = _unroll(step, rest, states, reverse)
        outputs.append(made)
    return [op.concat(outputs[::-1] if reverse else outputs, 0), *states]


def _cut(x: Node, begin: int, size: int) -> Node:
    """Return ``size`` rows from ``begin`` on."""
    return op.slice(x, integers([begin]), integers([begin + size]), integers([1]), integers([0]))


def _loop(step: Step, rows: Node, states: States, reverse: bool) -> list[Node]:
    """Run the steps of ``rows`` in passes, from the end if ``reverse``."""
    size = STEPS_OF_PASS * states[0].shape[0]
    piece, *before = (
        op.parameter(list(shape), rows.get_element_type())
        for shape in ((size, rows.shape[1]), *(state.shape for state in states))
    )
    outputs, *after = map(op.result, _unroll(step, piece, before, reverse))
    loop = op.tensor_iterator()
    loop.set_body(ov.Model([outputs, *after], [piece, *before], "steps"))
    start, stride, end = (-1, -size, 0) if reverse else (0, size, -1)
    loop.set_sliced_input(piece, _output(rows), start, stride, size, end, 0)
    for first, state, result in zip(before, states, after, strict=True):
        loop.set_merged_input(first, _output(state), _output(result))
    last = [loop.get_iter_value(_output(result), -1) for result in after]
    return [loop.get_concatenated_slices(_output(outputs), start, stride, size, end, 0), *last]


def _unroll(step: Step, rows: Node, states: States, reverse: bool) -> list[Node]:
    pieces = op.split(rows, integers(0), rows.shape[0] // states[0].shape[0]).outputs()
    outputs: list[Node] = []
    for piece in pieces[:: -1 if reverse else 1]:
        states = step(piece, states)
        outputs.append(states[0])
    return [op.concat(outputs[::-1] if reverse else outputs, 0), *states]


def _output(node: Node) -> Node:
    return node if isinstance(node, ov.Output) else node.output(0)


# Cells


def multiply(x: Node, weights: Node, bias: Node | None = None) -> Node:
    """Multiply rows by weights [units, size]."""
    product = op.matmul(x, weights, False, True)
    return product if bias is None else op.add(product, op.unsqueeze(bias, integers([0])))


def gru_step(recurrent: Array, bias: Array, late: bool) -> Step:
    """Return a step of update, reset and candidate; ``late`` if it resets after the product."""
    units = recurrent.shape[1]
    sizes = integers([2 * units, units])
    parts = [
        [constant(each[part]) for each in (recurrent, bias)] for part in np.split(np.arange(3 * units), [2 * units])
    ]

    def step(row: Node, states: States) -> States:
        (state,) = states
        gates, candidate = op.variadic_split(row, integers(1), sizes).outputs()
        both = op.sigmoid(op.add(gates, multiply(state, *parts[0])))
        update, reset = op.split(both, integers(1), 2).outputs()
        if late:
            kept = op.multiply(reset, multiply(state, *parts[1]))
        else:
            kept = multiply(op.multiply(reset, state), *parts[1])
        new = op.tanh(op.add(candidate, kept))
        return [op.add(new, op.multiply(update, op.subtract(state, new)))]

    return step


def lstm_step(recurrent: Node) -> Step:
    """Return a step whose gates are in the engine's order: forget, input, cell, output."""

    def step(row: Node, states: States) -> States:
        hidden, memory = states
        forget, entry, cell, output = op.split(op.add(row, multiply(hidden, recurrent)), integers(1), 4).outputs()
        gained = op.multiply(op.sigmoid(entry), op.tanh(cell))
        memory = op.add(op.multiply(op.sigmoid(forget), memory), gained)
        return [op.multiply(op.sigmoid(output), op.tanh(memory)), memory]

    return step


def rnn_step(recurrent: Node, activation: str) -> Step:
    activate = {"relu": op.relu, "tanh": op.tanh, "sigmoid": op.sigmoid}[activation]
    return lambda row, states: [activate(op.add(row, multiply(states[0], recurrent)))]
