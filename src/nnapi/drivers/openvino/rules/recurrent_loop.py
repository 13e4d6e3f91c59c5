"""GRU as a loop over time, whose body has several steps of single operators.

The engine's own GRU takes 3 to 20 times as long if it resets before the product.
"""

from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.context import integers
from nnapi.drivers.openvino.value import Node

STEPS_OF_PASS = 10
"""Steps of the body. Fewer take longer per step, as each pass starts a graph; more take longer to compile."""


def repeat_gru(
    x: Node, weights: Node, recurrent: Node, bias: Node, recurrent_bias: Node, state: Node, reverse: bool
) -> tuple[Node, Node]:
    """Return all outputs, [time, batch, units], and the last one. ``x`` is [time, batch, size]."""
    (count, batch, size), units = x.shape, state.shape[1]
    cell = _Cell(recurrent, recurrent_bias, batch, units)
    flat = op.reshape(x, integers([count * batch, size]), False)
    rows = op.add(op.matmul(flat, weights, False, True), op.unsqueeze(bias, integers([0])))
    looped = count - count % STEPS_OF_PASS if count > STEPS_OF_PASS else 0
    begin = count - looped if reverse else 0
    outputs: list[Node] = []
    if looped:
        part = _cut(rows, begin * batch, looped * batch)
        made, state = _loop(cell, part, state, reverse)
        outputs.append(made)
    if looped < count:
        rest = _cut(rows, 0 if reverse else looped * batch, (count - looped) * batch)
        made, state = cell.run(rest, state, reverse)
        outputs.append(made)
    whole = op.concat(outputs[::-1] if reverse else outputs, 0)
    return op.reshape(whole, integers([count, batch, units]), False), state


def _cut(x: Node, begin: int, size: int) -> Node:
    """Return ``size`` rows from ``begin`` on."""
    return op.slice(x, integers([begin]), integers([begin + size]), integers([1]), integers([0]))


def _loop(cell: "_Cell", rows: Node, state: Node, reverse: bool) -> tuple[Node, Node]:
    """Run the steps of ``rows`` in passes, from the end if ``reverse``."""
    size = STEPS_OF_PASS * cell.batch
    piece = op.parameter([size, rows.shape[1]], rows.get_element_type())
    before = op.parameter(list(state.shape), state.get_element_type())
    outputs, after = map(op.result, cell.run(piece, before, reverse))
    loop = op.tensor_iterator()
    loop.set_body(ov.Model([outputs, after], [piece, before], "steps"))
    start, step, end = (-1, -size, 0) if reverse else (0, size, -1)
    loop.set_sliced_input(piece, _output(rows), start, step, size, end, 0)
    loop.set_merged_input(before, _output(state), _output(after))
    last = loop.get_iter_value(_output(after), -1)
    return loop.get_concatenated_slices(_output(outputs), start, step, size, end, 0), last


def _output(node: Node) -> Node:
    return node if isinstance(node, ov.Output) else node.output(0)


class _Cell:
    """The recurrent weights: of the gates update and reset, and of the candidate."""

    def __init__(self, recurrent: Node, bias: Node, batch: int, units: int) -> None:
        self.batch, self.units = batch, units
        self.weights = _cut(recurrent, 0, 2 * units), _cut(recurrent, 2 * units, units)
        self.bias = [op.unsqueeze(_cut(bias, *each), integers([0])) for each in ((0, 2 * units), (2 * units, units))]

    def run(self, rows: Node, state: Node, reverse: bool) -> tuple[Node, Node]:
        """Run the steps of ``rows``, the input's products; return the outputs as rows, and the last state."""
        sizes = integers([2 * self.units, self.units])
        parts = op.variadic_split(rows, integers(1), sizes).outputs()
        count = rows.shape[0] // self.batch
        pieces = [op.split(part, integers(0), count).outputs() for part in parts]
        outputs: list[Node] = []
        for gates, candidate in list(zip(*pieces, strict=True))[:: -1 if reverse else 1]:
            state = self._step(gates, candidate, state)
            outputs.append(state)
        return op.concat(outputs[::-1] if reverse else outputs, 0), state

    def _step(self, gates: Node, candidate: Node, state: Node) -> Node:
        both = op.sigmoid(op.add(gates, self._multiply(0, state)))
        update, reset = op.split(both, integers(1), 2).outputs()
        new = op.tanh(op.add(candidate, self._multiply(1, op.multiply(reset, state))))
        return op.add(new, op.multiply(update, op.subtract(state, new)))

    def _multiply(self, gate: int, x: Node) -> Node:
        return op.add(op.matmul(x, self.weights[gate], False, True), self.bias[gate])
