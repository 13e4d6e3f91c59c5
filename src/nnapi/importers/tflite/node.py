"""One operator of a .tflite file during its import."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nnapi.codes import OperationCode
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.reader import OMITTED, Operator, Options, Subgraph, Tensor
from nnapi.importers.graph import INT32, SAME_SCALE, Graph, Value
from nnapi.importers.node import Node
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.block_weights import Packed
from nnapi.importers.tflite.variables import Variables
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import CODES, Code

HIGHEST_RANK = 4
TANH, SIGN_BIT = 4, 5
"""Fused activations without a FuseCode; 0 to 3 are the same in TFLite and NNAPI."""
FUSED = {1: OperationCode.RELU, 2: OperationCode.RELU1, 3: OperationCode.RELU6, TANH: OperationCode.TANH}


def is_alike(x: OperandType, y: OperandType) -> bool:
    """Return whether two types store values alike; their scales may differ by rounding."""
    same = (x.code, x.zero_point) == (y.code, y.zero_point)
    return same and abs(x.scale - y.scale) <= SAME_SCALE * y.scale


class Scope(Protocol):
    """The conversion of the subgraph that a node's operator belongs to."""

    graph: Graph
    subgraph: Subgraph
    states: Mapping[int, Value]
    keeps_weights: bool
    variables: Variables

    def read(self, index: int) -> Value: ...
    def read_weights(self, index: int) -> Value: ...
    def read_packed(self, index: int) -> Packed | None: ...
    def make_output(self, index: int) -> Value: ...
    def bind(self, index: int, value: Value) -> None: ...
    def note(self, message: str) -> None: ...
    def inline(self, index: int, values: Sequence[Value]) -> list[Value]: ...
    def list_floats(self, index: int) -> list[Array]: ...
    def model(self, index: int) -> Model | None: ...
    def initialize(self, index: int) -> None: ...
    def assign(self, name: str, value: Value) -> None: ...


class TfliteNode(Node):
    def __init__(self, scope: Scope, operator: Operator) -> None:
        super().__init__(scope.graph, operator.kind, [scope.make_output(index) for index in operator.outputs])
        self.scope = scope
        self.operator = operator
        self._options: Options | None = None
        self._after: OperationCode | None = None

    @property
    def options(self) -> Options:
        if self._options is None:
            self._options = self.operator.options()
        return self._options

    @property
    def code(self) -> Code:
        return CODES[row_of(self.kind).nnapi or self.kind]

    @property
    def count(self) -> int:
        return len(self.operator.inputs)

    def has(self, i: int) -> bool:
        return 0 <= i < self.count and self.operator.inputs[i] != OMITTED

    def index(self, i: int) -> int:
        """Return the index of the tensor of input ``i``; raise Refused if it is omitted."""
        if not self.has(i):
            raise Refused(f"input {i} is not given")
        return self.operator.inputs[i]

    def tensor(self, i: int) -> Tensor:
        return self.scope.subgraph.tensors[self.index(i)]

    def is_scalar(self, i: int) -> bool:
        """Return whether input ``i`` is a scalar in the file; its operand then has shape [1]."""
        return self.tensor(i).shape == () and self.input(i).shape == (1,)

    def input(self, i: int) -> Value:
        return self.scope.read(self.index(i))

    def weights(self, i: int) -> Value:
        """Return input ``i``, the weights of an operator on floats; quantized weights are signed, with zero point 0."""
        return self.scope.read_weights(self.index(i))

    def bind(self, i: int, value: Value) -> None:
        self.scope.bind(self.operator.outputs[i], value)

    def keep_state(self, i: int, value: Value) -> None:
        self.scope.bind(self.operator.inputs[i], value)

    def make_states(self, values: Mapping[int, Value]) -> list[Value]:
        """Return values for the new states of variables, in the order of ``values``; [] unless states are kept."""
        if not all(self.has(i) and self.operator.inputs[i] in self.scope.states for i in values):
            return []
        states = [self.temporary(value.type, "state") for value in values.values()]
        for i, state in zip(values, states, strict=True):
            self.keep_state(i, state)
        return states

    def row(self, i: int) -> Value:
        """Return input ``i``, or its row if it has more than four dimensions."""
        value = self.input(i)
        if value.row is not None or value.rank <= HIGHEST_RANK:
            return value.row or value
        expressible(value.array is not None, f"NNAPI's operations take no tensor of rank {value.rank}")
        array = value.constant
        return Value(value.type.with_dimensions((array.size,)), value.name, array.reshape(-1))

    def deliver_row(self, row: Value, i: int = 0) -> None:
        out = self.outputs[i]
        if out.rank <= HIGHEST_RANK:
            self.deliver(self.reshape(row, self.static_shape_of(out)), i)
            return
        type = out.type.with_dimensions(row.shape)
        if (row.type.scale, row.type.zero_point) != (type.scale, type.zero_point):
            converted = Value(type, f"{out.name}:quantized")
            self.graph.quantize(self.graph.real(row), converted)
            row = converted
        out.row = row
        self.bind(i, out)

    def deliver(self, value: Value, i: int = 0) -> None:
        """Make ``value`` output ``i``; convert it to the output's type if necessary."""
        target = self.outputs[i]
        if is_alike(value.type, target.type):
            if value.name.startswith(f"{self.outputs[0].name}:"):
                value.name = target.name
            self.bind(i, value)
        elif target.type.is_quantized:
            self.graph.quantize(self.graph.real(value), target)
        else:
            self.graph.emit(OperationCode.CAST, [value], [target])

    def deliver_activated(self, value: Value) -> None:
        """Make ``value`` the output, after the pending activation."""
        if self._after is None:
            self.deliver(value)
            return
        after, self._after = self._after, None
        self.activate(after, value, self.output)

    def note(self, message: str) -> None:
        self.scope.note(message)

    def activation(self, code: int, result: Value | None = None) -> Value:
        """Return the FuseCode of an activation. If NNAPI cannot fuse it, a second operation applies it."""
        if code == 0:
            return self.i32(0)
        expressible(0 <= code < SIGN_BIT, f"its fused activation {code} is not one of NNAPI's")
        if code == TANH or (result or self.output).type.code == INT32:
            expressible(code != TANH or self.output.is_float, "its fused TANH is quantized")
            self._after = FUSED[code]
            return self.i32(0)
        return self.i32(code)

    def activate_after(self, code: int) -> None:
        """Apply the fused activation by an operation of its own, for operations of NNAPI that fuse none."""
        expressible(code in FUSED, f"its fused activation {code} is not one of NNAPI's")
        self._after = FUSED[code]

    def apply(self, code: Code, *inputs: Value, shape: Shape | None = None, type: OperandType | None = None) -> Value:
        """Append an operation and return its result, by default of the first input's type and the output's shape."""
        return super().apply(code, *inputs, shape=self.output.shape if shape is None else shape, type=type)

    def emit(self, code: Code, *inputs: Value, to: Value | Sequence[Value] | None = None) -> Value:
        """Append an operation; if it writes the node's output, append the pending activation too."""
        targets = [self.output] if to is None else [to] if isinstance(to, Value) else list(to)
        if self._after is None or self.output not in targets:
            return super().emit(code, *inputs, to=targets)
        after, self._after = self._after, None
        before = self.temporary(self.output.type, "before activation")
        super().emit(code, *inputs, to=[before if target is self.output else target for target in targets])
        self.activate(after, before, self.output)
        return targets[0]
