"""An operation of a file during its import; each format derives its own node."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from nnapi.importers.graph import Graph, Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.refusals import Refused, expressible
from nnapi.operation_codes import Code
from nnapi.ops.shapes import axis_of


class Node(GraphEmitter, ABC):
    """An operation of a file. ``outputs`` are the values to write; temporaries get the first one's name or ``kind``."""

    def __init__(self, graph: Graph, kind: str, outputs: list[Value]) -> None:
        super().__init__(graph, outputs[0].name if outputs else kind)
        self.kind = kind
        self.outputs = outputs

    # The operation in the file

    @property
    @abstractmethod
    def count(self) -> int:
        """Return the number of inputs, including omitted ones."""

    @abstractmethod
    def has(self, i: int) -> bool:
        """Return whether input ``i`` is given."""

    @abstractmethod
    def input(self, i: int) -> Value:
        """Return input ``i``; raise Refused if it is omitted."""

    @abstractmethod
    def note(self, message: str) -> None:
        """Record a note for the user of the model."""

    @property
    def inputs(self) -> list[Value]:
        return [self.input(i) for i in range(self.count)]

    def optional(self, i: int) -> Value:
        return self.input(i) if self.has(i) else self.graph.no_value()

    def numbers(self, i: int) -> list[int]:
        """Return the integers of constant input ``i``; raise Refused if it is computed."""
        value = self.input(i)
        array = value.constant
        expressible(not value.is_dynamic_shape, f"{value.name} depends on dimensions that only a run knows")
        expressible(array.dtype.kind in "iu", f"{value.name} is not of integers")
        numbers: list[int] = array.reshape(-1).tolist()
        return numbers

    def number(self, i: int) -> int:
        """Return the integer in constant input ``i``, which has one element."""
        found = self.numbers(i)
        expressible(len(found) == 1, f"{self.input(i).name} holds {len(found)} numbers, must be 1")
        return found[0]

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis from 0 to ``rank`` - 1; negative axes count from the end. Raise Refused for others."""
        expressible(-rank <= axis < rank, f"axis {axis} is outside rank {rank}")
        return axis_of(axis, rank)

    @property
    def output(self) -> Value:
        if not self.outputs:
            raise Refused("it has no output")
        return self.outputs[0]

    def emit(self, code: Code, *inputs: Value, to: Value | Sequence[Value] | None = None) -> Value:
        """Append an operation that writes ``to``, by default the first output; return the first value written."""
        return super().emit(code, *inputs, to=self.output if to is None else to)

    def reals(self) -> list[Value]:
        return [self.graph.real(value) for value in self.inputs]
