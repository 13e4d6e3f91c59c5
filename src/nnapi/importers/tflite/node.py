"""One operator of the file on its way into the graph: what rules are given and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOAT32, INT32, SAME_SCALE, Graph, Value
from nnapi.importers.tflite.reader import OMITTED, Operator, Options, Tensor
from nnapi.importers.tflite.tensors import Refused, expressible
from nnapi.model.operand import OperandType, Shape
from nnapi.ops.shapes import axis_of

if TYPE_CHECKING:
    from nnapi.importers.tflite.convert import Conversion

FLOAT16 = OperandCode.TENSOR_FLOAT16
I32, FLAG, REAL, HALF = OperandCode.INT32, OperandCode.BOOL, OperandCode.FLOAT32, OperandCode.FLOAT16
LIMIT = 2**31
TANH, SIGN_BIT = 4, 5
"""Fused activations of TFLite that NNAPI has no FuseCode for; 0 to 3 are the same in both."""


class Node:
    """An operator with its inputs and outputs as values of the graph."""

    def __init__(self, conversion: Conversion, operator: Operator, options: str | None) -> None:
        self.conversion = conversion
        self.operator = operator
        self.graph: Graph = conversion.graph
        self._kind = options or "AddOptions"
        self._options: Options | None = None
        self._after: OperationCode | None = None
        self.outputs: list[Value] = [conversion.written(index) for index in operator.outputs]

    # What the file says

    @property
    def options(self) -> Options:
        """The parameters, as the schema's table that the rule names has them."""
        if self._options is None:
            self._options = self.operator.options(self._kind)
        return self._options

    @property
    def count(self) -> int:
        """Number of inputs, omitted ones included."""
        return len(self.operator.inputs)

    def has(self, i: int) -> bool:
        """Whether input ``i`` is given."""
        return i < self.count and self.operator.inputs[i] != OMITTED

    def tensor(self, i: int) -> Tensor:
        """Input ``i`` as the file describes it."""
        if not self.has(i):
            raise Refused(f"input {i} is not given")
        return self.conversion.subgraph.tensors[self.operator.inputs[i]]

    def input(self, i: int) -> Value:
        """Input ``i``; Refused where it is not given."""
        indices = self.operator.inputs
        if i >= len(indices) or indices[i] == OMITTED:
            raise Refused(f"input {i} is not given")
        return self.conversion.read(indices[i])

    @property
    def inputs(self) -> list[Value]:
        return [self.input(i) for i in range(self.count)]

    def optional(self, i: int, code: OperandCode = FLOAT32) -> Value:
        """Input ``i``, or a value that is omitted."""
        return self.input(i) if self.has(i) else self.graph.omitted(code)

    def numbers(self, i: int) -> list[int]:
        """The integers of a constant input; Refused where it is computed."""
        value = self.input(i)
        if value.array is None:
            raise Refused(f"{value.name} is computed, NNAPI needs a constant")
        expressible(not value.open_extents, f"{value.name} depends on extents that only a run knows")
        expressible(value.array.dtype.kind in "iu", f"{value.name} is not of integers")
        numbers: list[int] = value.array.reshape(-1).tolist()
        return numbers

    def number(self, i: int) -> int:
        """The one integer of a constant input."""
        found = self.numbers(i)
        expressible(len(found) == 1, f"{self.input(i).name} holds {len(found)} numbers, must be 1")
        return found[0]

    def axis(self, axis: int, rank: int) -> int:
        """A possibly negative axis as 0 to ``rank`` - 1; Refused outside."""
        expressible(-rank <= axis < rank, f"axis {axis} is outside rank {rank}")
        return axis_of(axis, rank)

    @property
    def output(self) -> Value:
        if not self.outputs:
            raise Refused("it has no output")
        return self.outputs[0]

    def bind(self, i: int, value: Value) -> None:
        """Let output ``i`` be a value that exists already."""
        self.conversion.bind(self.operator.outputs[i], value)

    def note(self, sentence: str) -> None:
        """Record something about the import that the user of the model should know."""
        self.conversion.note(sentence)

    # Scalars

    def i32(self, value: int) -> Value:
        if not -LIMIT < value < LIMIT:
            raise Refused(f"{value} does not fit 32 bits")
        return self.graph.scalar(I32, int(value))

    def flag(self, value: object) -> Value:
        return self.graph.scalar(FLAG, bool(value))

    def real(self, value: float, like: Value) -> Value:
        """A float scalar beside a tensor: FLOAT16 beside float16."""
        return self.graph.scalar(HALF if like.type.code == FLOAT16 else REAL, float(value))

    def activation(self, code: int, result: Value | None = None) -> Value:
        """The FuseCode of a fused activation; what NNAPI cannot fuse follows as an operation of its own."""
        if code == 0:
            return self.i32(0)
        expressible(0 <= code < SIGN_BIT, f"its fused activation {code} is not one of NNAPI's")
        if code == TANH or (result or self.output).type.code == INT32:
            expressible(code != TANH or self.output.is_float, "its fused TANH is of codes")
            self._after = FUSED[code]
            return self.i32(0)
        return self.i32(code)

    def fused_after(self, code: int) -> None:
        """Let a fused activation follow as an operation of its own: NNAPI fuses none here."""
        expressible(code in FUSED, f"its fused activation {code} is not one of NNAPI's")
        self._after = FUSED[code]

    # Tensors

    def like(self, value: Value, number: float) -> Value:
        """A constant of one number in the type of a float or int32 tensor."""
        type = OperandType(value.type.code, (1,))
        return self.graph.constant(np.full(1, number, type.dtype), type)

    def temporary(self, type: OperandType, suffix: str = "step") -> Value:
        name = self.outputs[0].name if self.outputs else self.operator.kind
        return Value(type, f"{name}:{suffix}")

    # Operations

    def emit(self, code: OperationCode, *inputs: Value, to: Value | Sequence[Value] | None = None) -> Value:
        """Append an operation that writes ``to``, else the operator's first output; gives what is written."""
        targets = [self.output] if to is None else [to] if isinstance(to, Value) else list(to)
        after, self._after = self._after, None
        if after is None or targets[0] is not self.output:
            self.graph.emit(code, inputs, targets)
            self._after = after
            return targets[0]
        before = self.temporary(self.output.type, "before activation")
        self.graph.emit(code, inputs, [before, *targets[1:]])
        self.activate(after, before, self.output)
        return self.output

    def activate(self, code: OperationCode, value: Value, to: Value) -> None:
        """Apply RELU, RELU1, RELU6 or TANH."""
        if value.type.code != INT32:
            self.graph.emit(code, [value], [to])
            return
        low, high = {OperationCode.RELU: (0, None), OperationCode.RELU1: (-1, 1), OperationCode.RELU6: (0, 6)}[code]
        raised = value if high is None else self.temporary(to.type, "raised")
        self.graph.emit(OperationCode.MAXIMUM, [value, self.like(value, low)], [to if high is None else raised])
        if high is not None:
            self.graph.emit(OperationCode.MINIMUM, [raised, self.like(value, high)], [to])

    def apply(
        self, code: OperationCode, *inputs: Value, shape: Shape | None = None, type: OperandType | None = None
    ) -> Value:
        """The result of an operation in between: of the first input's type, or ``type``; ``shape`` where it is not
        that of the operator's output."""
        leader = type or inputs[0].type
        if shape is None:
            shape = self.output.shape
        result = self.temporary(OperandType(leader.code, shape, leader.scale, leader.zero_point))
        self.graph.emit(code, inputs, [result])
        return result

    def reshape(self, value: Value, shape: Sequence[int], to: Value | None = None) -> Value:
        """The same elements under other extents, of which one may be open (0)."""
        if list(shape).count(0) > 1:
            raise Refused(f"several extents of {list(shape)} are open")
        wanted = self.graph.ints([extent or -1 for extent in shape])
        if to is None:
            if tuple(shape) == value.shape:
                return value
            return self.apply(OperationCode.RESHAPE, value, wanted, shape=tuple(shape))
        return self.emit(OperationCode.RESHAPE, value, wanted, to=to)

    def known(self, value: Value) -> Shape:
        """The extents of a value; Refused where one is open."""
        if not value.type.is_known:
            raise Refused(f"{value.name} has open extents {list(value.shape)}")
        return value.shape

    def deliver(self, value: Value, i: int = 0) -> None:
        """Let output ``i`` be a value: itself where it has the output's type, else converted to it."""
        target = self.outputs[i]
        same = (value.type.code, value.type.zero_point) == (target.type.code, target.type.zero_point)
        if same and abs(value.type.scale - target.type.scale) <= SAME_SCALE * target.type.scale:
            if value.name.startswith(f"{self.outputs[0].name}:"):
                value.name = target.name
            self.bind(i, value)
        elif target.type.is_quantized:
            self.graph.quantize(self.graph.real(value), target)
        else:
            self.graph.emit(OperationCode.CAST, [value], [target])

    def reals(self) -> list[Value]:
        """All inputs, codes as the real numbers that they stand for."""
        return [self.graph.real(value) for value in self.inputs]


FUSED = {1: OperationCode.RELU, 2: OperationCode.RELU1, 3: OperationCode.RELU6, TANH: OperationCode.TANH}
"""The operation that does what a fused activation of TFLite does."""
