"""Emit operations into the graph of an import: the scalars, constants and temporaries that operations need."""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import INT32, Graph, Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.emitter import Emitter
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import Code
from nnapi.ops.quantized_values import RECTIFIERS

FLOAT16 = OperandCode.TENSOR_FLOAT16
I32, FLAG, REAL = OperandCode.INT32, OperandCode.BOOL, OperandCode.FLOAT32
LIMIT = 2**31


class GraphEmitter(Emitter[Value, Value]):
    """Emits into ``graph``, which computes operations on constants. The names of temporaries begin with ``name``."""

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

    def full(self, type: OperandType, value: float) -> Value:
        return self.graph.full(type, value)

    def like(self, value: Value, number: float) -> Value:
        """Return a constant of one element, a stored value of the tensor's type."""
        type = value.type.with_dimensions((1,))
        return self.graph.constant(np.full(1, number, type.dtype), type)

    def temporary(self, type: OperandType, suffix: str = "step") -> Value:
        return Value(type, f"{self.name}:{suffix}")

    def operand(self, given: Any) -> Value:
        """Return an input of an operation: a value as it is, a number as a scalar, several integers as a tensor."""
        if isinstance(given, Value):
            return given
        if isinstance(given, bool):
            return self.flag(given)
        return self.i32(int(given)) if isinstance(given, Integral) else self.graph.ints(given)

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

    def append(self, code: Code, inputs: Sequence[Any], results: Sequence[Value | OperandType]) -> list[Value]:
        values = [each if isinstance(each, Value) else self.temporary(each) for each in results]
        self.emit(code, *[each if isinstance(each, Value) else self.operand(each) for each in inputs], to=values)
        return values

    def apply(self, code: Code, *inputs: Value, shape: Shape | None = None, type: OperandType | None = None) -> Value:
        """Append an operation and return its result, by default of the first input's type; its shape is inferred."""
        leader = type or inputs[0].type
        return self.append(code, inputs, [OperandType(leader.code, shape or (), leader.scale, leader.zero_point)])[0]

    # Movement

    def reshape(self, x: Value, shape: Sequence[int], to: Value | None = None) -> Value:
        if list(shape).count(0) > 1 and (to is not None or tuple(shape) != x.shape):
            raise Refused(f"several dimensions of {list(shape)} are dynamic")
        return super().reshape(x, shape, to)

    def gather_transposed(self, x: Value, order: Sequence[int], to: Value | None = None) -> Value:
        if list(order) == [1, 0] and any(x.shape) and not all(x.shape):
            axis = 0 if x.shape[0] else 1
            parts = [self.reshape(part, (0,)) for part in self.split(x, axis, x.shape[axis])]
            result = x.type.with_dimensions(x.shape[::-1]) if to is None else to
            return self.append(OperationCode.PACK, [1 - axis, *parts], [result])[0]
        self.graph.reserve(4 * math.prod(self.static_shape_of(x)))
        return super().gather_transposed(x, order, to)

    def split(self, x: Value, axis: int, count: int) -> list[Value]:
        expressible(count > 0, f"a cut into {count} pieces")
        return super().split(x, axis, count)

    def pick_rows(self, x: Value, indices: Value | Array) -> Value:
        """Gather along the first axis; constant ``indices`` are flattened first."""
        if not isinstance(indices, Value):
            return self.pick(x, 0, indices.reshape(-1))
        return self.apply(OperationCode.GATHER, x, self.i32(0), indices, shape=(*indices.shape, *x.shape[1:]))

    def static_shape_of(self, value: Value) -> Shape:
        """Return the dimensions of a value; raise Refused if one is dynamic."""
        if not value.type.is_known:
            raise Refused(f"{value.name} has dynamic dimensions {list(value.shape)}")
        return value.shape
