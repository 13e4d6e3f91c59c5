"""An operation of a file during its import; each format derives its own node."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import INT32, Graph, Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import Code
from nnapi.ops.shapes import axis_of
from nnapi.shapes.size import is_same

FLOAT16 = OperandCode.TENSOR_FLOAT16
I32, FLAG, REAL = OperandCode.INT32, OperandCode.BOOL, OperandCode.FLOAT32
LIMIT = 2**31
INTEGER_BOUNDS: dict[Code, tuple[int, int | None]] = {
    OperationCode.RELU: (0, None),
    OperationCode.RELU1: (-1, 1),
    OperationCode.RELU6: (0, 6),
}


class Node(ABC):
    """An operation of a file. ``outputs`` are the values to write; temporaries get the first one's name or ``kind``."""

    def __init__(self, graph: Graph, kind: str, outputs: list[Value]) -> None:
        self.graph = graph
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

    # Scalars

    def i32(self, value: int) -> Value:
        if not -LIMIT < value < LIMIT:
            raise Refused(f"{value} does not fit 32 bits")
        return self.graph.scalar(I32, int(value))

    def flag(self, value: object) -> Value:
        return self.graph.scalar(FLAG, bool(value))

    def real(self, value: float, like: Value) -> Value:
        """Return a float scalar for an operation on ``like``: FLOAT16 if that is float16, else FLOAT32."""
        return self.graph.scalar(OperandCode.FLOAT16 if like.type.code == FLOAT16 else REAL, float(value))

    # Tensors

    def like(self, value: Value, number: float) -> Value:
        """Return a constant of one element, of the type of a float or int32 tensor."""
        type = OperandType(value.type.code, (1,))
        return self.graph.constant(np.full(1, number, type.dtype), type)

    def temporary(self, type: OperandType, suffix: str = "step") -> Value:
        name = self.outputs[0].name if self.outputs else self.kind
        return Value(type, f"{name}:{suffix}")

    # Operations

    def emit(self, code: Code, *inputs: Value, to: Value | Sequence[Value] | None = None) -> Value:
        """Append an operation that writes ``to``, by default the first output; return the first value written."""
        targets = [self.output] if to is None else [to] if isinstance(to, Value) else list(to)
        self.graph.emit(code, inputs, targets)
        return targets[0]

    def activate(self, code: Code, value: Value, to: Value) -> None:
        """Apply RELU, RELU1, RELU6 or TANH."""
        if value.type.code != INT32:
            self.graph.emit(code, [value], [to])
            return
        low, high = INTEGER_BOUNDS[code]
        raised = value if high is None else self.temporary(to.type, "raised")
        self.graph.emit(OperationCode.MAXIMUM, [value, self.like(value, low)], [to if high is None else raised])
        if high is not None:
            self.graph.emit(OperationCode.MINIMUM, [raised, self.like(value, high)], [to])

    def apply(self, code: Code, *inputs: Value, shape: Shape | None = None, type: OperandType | None = None) -> Value:
        """Append an operation and return its result, by default of the first input's type and the output's shape."""
        leader = type or inputs[0].type
        if shape is None:
            shape = self.output.shape
        result = self.temporary(OperandType(leader.code, shape, leader.scale, leader.zero_point))
        self.graph.emit(code, inputs, [result])
        return result

    def reshape(self, value: Value, shape: Sequence[int], to: Value | None = None) -> Value:
        """Reshape a value; one dimension may be dynamic (0)."""
        if to is None and is_same(shape, value.shape):
            return value
        if list(shape).count(0) > 1:
            raise Refused(f"several dimensions of {list(shape)} are dynamic")
        wanted = self.graph.ints([dimension or -1 for dimension in shape])
        if to is None:
            return self.apply(OperationCode.RESHAPE, value, wanted, shape=tuple(shape))
        return self.emit(OperationCode.RESHAPE, value, wanted, to=to)

    def static_shape_of(self, value: Value) -> Shape:
        """Return the dimensions of a value; raise Refused if one is dynamic."""
        if not value.type.is_known:
            raise Refused(f"{value.name} has dynamic dimensions {list(value.shape)}")
        return value.shape

    def reals(self) -> list[Value]:
        return [self.graph.real(value) for value in self.inputs]
