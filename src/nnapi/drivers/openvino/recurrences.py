"""GRU cells that importers have unrolled along time, recognized and lowered to OpenVINO's GRUSequence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import integers
from nnapi.drivers.openvino.value import Node, constant
from nnapi.model.graph import Graph, OperationCall
from nnapi.model.operand import Array

Pattern: TypeAlias = "str | tuple[Any, ...]"
"""A name for an operand, or an operation with patterns of its inputs."""

ACTIVATED = (Op.ADD, Op.SUB, Op.MUL, Op.FULLY_CONNECTED)
"""Operations whose last input is an activation."""
OUTPUT = (Op.ADD, "candidate", (Op.MUL, "z", (Op.SUB, "last", "candidate")))
GATES = (Op.SPLIT, (Op.LOGISTIC, (Op.ADD, "gates", (Op.FULLY_CONNECTED, "last", "gate weights", "gate bias"))))
"""The gates z (update) and r (reset). "gates" and "new" are parts of the product with the input."""
LATE = (Op.TANH, (Op.ADD, "new", (Op.MUL, "r", (Op.FULLY_CONNECTED, "last", "weights", "bias"))))
EARLY = (Op.TANH, (Op.ADD, "new", (Op.FULLY_CONNECTED, (Op.MUL, "r", "last"), "weights", "bias")))
PART = (Op.SPLIT, (Op.SLICE, (Op.FULLY_CONNECTED, "x", "input weights", "input bias"), "begin"))
WEIGHTS, BIASES = ("input weights", "gate weights", "weights"), ("input bias", "gate bias", "bias")
OF_STEP = ("candidate", "z", "r", "gates", "new")
"""Names of operands that differ between steps."""


class Gru(NamedTuple):
    """A sequence, with operand indices of its input ``x``, first state, concatenated outputs and last output.

    ``calls`` are the numbers of the operations that it replaces.
    """

    x: int
    first: int
    outputs: int
    last: int
    steps: int
    batch: int
    weights: Sequence[Array]
    biases: Sequence[Array]
    resets_late: bool
    calls: frozenset[int]

    def make(self, x: Node, first: Node) -> tuple[Node, Node]:
        """Return all outputs, [time * batch, units], and the last one, [batch, units]."""
        weights, gates, candidate = (each.astype(np.float32) for each in self.weights)
        own, *recurrent = (each.astype(np.float32) for each in self.biases)
        units, middle, axes = len(candidate), 2 * len(candidate), integers([1])
        bias = own + np.concatenate(recurrent)
        if self.resets_late:  # the reset gate multiplies this product with its bias
            bias = np.concatenate([bias[:middle], own[middle:], recurrent[1]])
        sequence = op.gru_sequence(
            swap(op.reshape(x, integers([self.steps, self.batch, weights.shape[1]]), False)),
            op.unsqueeze(first, axes),
            integers([self.steps] * self.batch),
            constant(weights[np.newaxis]),
            constant(np.concatenate([gates, candidate])[np.newaxis]),
            constant(bias[np.newaxis]),
            units,
            "forward",
            linear_before_reset=self.resets_late,
        )
        outputs, last = (op.squeeze(output, axes) for output in sequence.outputs())
        return op.reshape(swap(outputs), integers([self.steps * self.batch, units]), False), last


def swap(x: Node) -> Node:
    """Swap the axes of batch and time."""
    return op.transpose(x, integers([1, 0, 2]))


class Search:
    """Finds the GRU sequences among a model's operations; ``constants`` are the model's by index."""

    def __init__(self, model: Graph, constants: Mapping[int, Array]) -> None:
        self._model, self._constants = model, constants
        self._makers = {index: call for call in model.operations for index in call.outputs}
        self._seen: set[int] = set()

    def run(self) -> Iterator[Gru]:
        for call in self._model.operations:
            if call.code == Op.CONCATENATION and len(call.inputs) > 2:
                self._seen = {call.number}
                found = self._match_sequence(call)
                if found is not None:
                    yield found

    def _match_sequence(self, call: OperationCall) -> Gru | None:
        *outputs, _ = call.inputs
        known: dict[str, int] = {}
        pieces: list[tuple[int, int]] = []
        candidate = LATE if self._match_step(outputs[0], LATE, {}) else EARLY
        for before, output in zip([-1, *outputs], outputs, strict=False):
            for name in OF_STEP:
                known.pop(name, None)
            if before >= 0:
                known["last"] = before
            if not self._match_step(output, candidate, known):
                return None
            known.setdefault("first", known["last"])
            pieces.append((known["gates"], known["new"]))
        batch, units = self._model.operands[known["first"]].type.dimensions
        for piece, begin in zip(zip(*pieces, strict=True), (0, 2 * units), strict=True):
            known.pop("begin", None)
            if not self._match(piece[0], PART, known) or self._makers[piece[0]].outputs != piece:
                return None
            if self._constant(known["begin"]).tolist() != [0, begin]:
                return None
        arrays = [self._constant(known[name]) for name in (*WEIGHTS, *BIASES)]
        shape = self._model.operands[call.outputs[0]].type.dimensions
        if shape != (len(outputs) * batch, units) or any(array.dtype.kind != "f" for array in arrays):
            return None
        ends = known["x"], known["first"], call.outputs[0], outputs[-1]
        return Gru(*ends, len(outputs), batch, arrays[:3], arrays[3:], candidate is LATE, frozenset(self._seen))

    def _match_step(self, output: int, candidate: Pattern, known: dict[str, int]) -> bool:
        if not self._match(output, OUTPUT, known) or not self._match(known["z"], GATES, known):
            return False
        gates = self._makers[known["z"]].outputs
        known["r"] = gates[-1]
        return gates == (known["z"], known["r"]) and self._match(known["candidate"], candidate, known)

    def _match(self, index: int, pattern: Pattern, known: dict[str, int]) -> bool:
        """Return whether an operand matches a pattern; add the operands that the pattern names to ``known``."""
        if isinstance(pattern, str):
            return known.setdefault(pattern, index) == index
        code, *inputs = pattern
        call = self._makers.get(index)
        if call is None or call.code != code or (code in ACTIVATED and self._constant(call.inputs[-1]).tolist() != 0):
            return False
        self._seen.add(call.number)
        return all(self._match(each, one, known) for each, one in zip(call.inputs, inputs, strict=False))

    def _constant(self, index: int) -> Array:
        """Return a constant; an empty array for a computed operand."""
        return self._constants.get(index, np.zeros(0, np.uint8))
