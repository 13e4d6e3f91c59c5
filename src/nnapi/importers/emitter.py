"""Append operations to the graph of an import: the scalars, constants and temporaries that operations need."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import INT32, Graph, Value
from nnapi.importers.refusals import Refused
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import Code
from nnapi.ops.quantized_values import RECTIFIERS
from nnapi.shapes.size import is_same

FLOAT16 = OperandCode.TENSOR_FLOAT16
I32, FLAG, REAL = OperandCode.INT32, OperandCode.BOOL, OperandCode.FLOAT32
LIMIT = 2**31


class Emitter:
    """Appends operations to ``graph``; the names of temporaries begin with ``name``."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    # Scalars

    def i32(self, value: int) -> Value:
        if not -LIMIT < value < LIMIT:
            raise Refused(f"{value} does not fit 32 bits")
        return self.graph.scalar(I32, int(value))

    def flag(self, value: object) -> Value:
        return self.graph.scalar(FLAG, bool(value))

    def real(self, value: float, like: Value | None = None) -> Value:
        """Return a float scalar for an operation on ``like``: FLOAT16 if that is float16, else FLOAT32."""
        is_half = like is not None and like.type.code == FLOAT16
        return self.graph.scalar(OperandCode.FLOAT16 if is_half else REAL, float(value))

    # Tensors

    def like(self, value: Value, number: float) -> Value:
        """Return a constant of one element, a stored value of the tensor's type."""
        type = value.type.with_dimensions((1,))
        return self.graph.constant(np.full(1, number, type.dtype), type)

    def temporary(self, type: OperandType, suffix: str = "step") -> Value:
        return Value(type, f"{self.name}:{suffix}")

    # Operations

    def emit(self, code: Code, *inputs: Value, to: Value | Sequence[Value]) -> Value:
        """Append an operation that writes ``to``; return the first value written."""
        targets = [to] if isinstance(to, Value) else list(to)
        self.graph.emit(code, inputs, targets)
        return targets[0]

    def activate(self, code: Code, value: Value, to: Value) -> None:
        """Apply RELU, RELU1, RELU6 or TANH."""
        if value.type.code != INT32:
            self.graph.emit(code, [value], [to])
            return
        low, high = RECTIFIERS[code]
        raised = value if high is None else self.temporary(to.type, "raised")
        self.graph.emit(OperationCode.MAXIMUM, [value, self.like(value, low)], [to if high is None else raised])
        if high is not None:
            self.graph.emit(OperationCode.MINIMUM, [raised, self.like(value, high)], [to])

    def apply(self, code: Code, *inputs: Value, shape: Shape | None = None, type: OperandType | None = None) -> Value:
        """Append an operation and return its result, by default of the first input's type; its shape is inferred."""
        leader = type or inputs[0].type
        result = self.temporary(OperandType(leader.code, shape or (), leader.scale, leader.zero_point))
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
