"""The context of a lowering rule: the call that is being lowered, and conversions that rules share."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.computed_indices import ComputedIndices, count_from_start
from nnapi.drivers.openvino.data_sizes import DataSizes
from nnapi.drivers.openvino.indices import LOWEST, IndexSource, find_range, find_source
from nnapi.drivers.openvino.sizes import integers, reshape
from nnapi.drivers.openvino.value import STEPS, Node, Value, encode, find_order, node_of, number
from nnapi.lowering import lower as lowering
from nnapi.lowering.refusal import Unsupported, require
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType
from nnapi.ops.index_checks import BadIndexError
from nnapi.ops.quantized_values import BOUNDS, quantized_range
from nnapi.rule_table import LoweringRules
from nnapi.shapes.array import has_sizes
from nnapi.shapes.size import Size

FLOATS = (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16)
MARGIN = 0.25
"""Quantization steps that are added to a clamp's bound, so that the engine rounds it to the intended value."""
BOUNDED = frozenset({"Clamp", "FakeQuantize", "Relu", "Sigmoid", "SoftMax"})
"""Types of nodes whose results are never −inf."""
MOVING = frozenset({"MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Types of nodes whose results are −inf only if an input is."""
REDUCTIONS = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})
"""Types of nodes that the engine computes together with the elementwise operators behind them."""
Function = Callable[..., Node]
RULES = LoweringRules("nnapi.drivers.openvino.rules")
lower = RULES.register
COMPUTED_RULES = LoweringRules("nnapi.drivers.openvino.rules")
"""Rules of calls whose parameters are computed: they get all operands as values, scalars of the model as numbers."""
lower_computed = COMPUTED_RULES.register


class Bounds(NamedTuple):
    """A check of indices, which the engine lacks: the model input at ``position`` must be in ``least..limit - 1``.

    Only every ``columns``-th number is checked, beginning with ``column``.
    """

    position: int
    name: str
    limit: int
    least: int = 0
    column: int = 0
    columns: int = 1

    def check(self, indices: Array) -> None:
        """Raise BadIndexError unless all indices, given as unsigned numbers, are in range."""
        if self.columns > 1:
            indices = indices[self.column :: self.columns]
        if self.least:
            indices = indices - np.uint32(self.least % (1 << 32))
        if np.maximum.reduce(indices) >= self.limit - self.least:
            signed = indices.view(np.int32) + np.int32(self.least)
            low, high = int(signed.min()), int(signed.max())
            raise BadIndexError(self.name, low, high, self.limit, self.least)


class OpenvinoContext(lowering.Context):
    """One call that is being lowered. ``inputs`` are the model's by operand index; ``is_quantized`` says whether the
    model has quantized operands."""

    def __init__(
        self, call: Call, inputs: Mapping[int, Node], is_quantized: bool, *, tests_computed: bool = False
    ) -> None:
        """With ``tests_computed``, runs check all other indices too."""
        super().__init__(call)
        self.computed: list[ComputedIndices] = []
        self._tests_computed = tests_computed
        self.is_quantized = is_quantized
        self.bounds: list[Bounds] = []
        self._inputs = inputs

    def type(self, position: int = 0) -> OperandType:
        """Return the type of a result; images are NHWC."""
        return self.call.results[position]

    def require_range(self, name: str, value: Value, limit: int, *, from_end: bool = False) -> Node:
        """Check that indices are in ``0..limit - 1``, with ``from_end`` in ``-limit..limit - 1``; return them in range.

        Constants are checked now, model inputs before each run, other computed indices after it, unless their
        operators keep them in range.
        """
        depends_on_data = _depend_on_data([limit])
        if value.array is not None and not depends_on_data:
            _require_constants(name, value.array, limit, -limit if from_end else 0)
            return value.node("stored")
        if depends_on_data or (self._tests_computed and isinstance(limit, Size)):
            at = value.node("stored")
            return self._test_computed(name, value, count_from_start(at, limit) if from_end else at, limit, 0)
        limit = int(limit)  # tests of model inputs have no dynamic limits
        first = -limit if from_end else 0
        low, high = find_range(value.node("stored"))
        if low >= first and high < limit:
            return value.node("stored")
        try:
            position, source = self._find_source(name, value, f"{first}..{limit - 1}")
        except Unsupported:
            if self._tests_computed:
                return self._test_computed(name, value, value.node("stored"), limit, first)
            raise
        least = LOWEST if source.is_raised else first
        self.bounds.append(Bounds(position, f"{name} {value.name}", limit, least))
        return value.node("stored")

    def _test_computed(self, name: str, value: Value, at: Node, limit: int, least: int) -> Node:
        require(self._tests_computed, _describe_untested(name, f"{least}..{limit - 1}"))
        found = ComputedIndices(at, f"{name} {value.name}", limit, least)
        self.computed.append(found)
        return found.clamp()

    def require_coordinates(self, name: str, value: Value, limits: Sequence[int], *, from_end: bool) -> Node:
        """Check the coordinates in the last axis like :meth:`require_range`, each against the size of its axis."""
        low, high = find_range(value.node("stored"))
        if not has_sizes(limits) and low >= 0 and high < min(limits):
            return value.node("stored")
        if self._tests_computed and self._must_test(name, value, limits):
            return self._test_columns(name, value, limits, from_end=from_end)
        if value.array is None or _depend_on_data(limits):
            limits = list(map(int, limits))
        least = [-limit if from_end else 0 for limit in limits]
        if value.array is not None:
            for column, limit in enumerate(limits):
                _require_constants(name, value.array[..., column], limit, least[column])
            return value.node("stored")
        if low >= max(least) and high < min(limits):
            return value.node("stored")
        wanted = f"the sizes of axes, {list(limits)}"
        position, source = self._find_source(name, value, wanted)
        if not source.is_in_order:
            raise Unsupported(_describe_untested(name, wanted))
        least = [LOWEST] * len(limits) if source.is_raised else least
        for column, limit in enumerate(limits):
            suffix = f"[..., {column}]" if len(limits) > 1 else ""
            bounds = Bounds(position, f"{name} {value.name}{suffix}", limit, least[column], column, len(limits))
            self.bounds.append(bounds)
        return value.node("stored")

    def _must_test(self, name: str, value: Value, limits: Sequence[int]) -> bool:
        """Return whether only the engine can find the extremes of coordinates."""
        if value.array is not None or has_sizes(limits):
            return value.array is None or _depend_on_data(limits)
        try:
            _, source = self._find_source(name, value, "")
        except Unsupported:
            return True
        return not source.is_in_order

    def _test_columns(self, name: str, value: Value, limits: Sequence[int], *, from_end: bool) -> Node:
        node, columns = value.node("stored"), []
        for column, limit in enumerate(limits):
            part = op.gather(node, integers([column]), integers(-1))
            part = count_from_start(part, limit) if from_end else part
            suffix = f"[..., {column}]" if len(limits) > 1 else ""
            found = ComputedIndices(part, f"{name} {value.name}{suffix}", limit, 0)
            self.computed.append(found)
            columns.append(found.clamp())
        return op.concat(columns, -1)

    def _find_source(self, name: str, indices: Value, wanted: str) -> tuple[int, IndexSource]:
        """Return the model input that computed indices come from, and its position; raise Unsupported for others."""
        names = [node.get_name() for node in self._inputs.values()]
        source = find_source(indices.node("stored"))
        if source is None or source.parameter.get_name() not in names:
            raise Unsupported(_describe_untested(name, wanted))
        return names.index(source.parameter.get_name()), source

    # Results

    def result(self, real: Node, *, first: bool = False, position: int = 0) -> Value:
        """Return a result with these float values, after the call's activation; it is quantized if its type is."""
        type = self.type(position)
        if position == 0:
            real = activate(real, self.activation, type)
        return Value.of(real, type, "raw" if type.is_quantized else "real", first=first)

    def clamped_result(self, real: Node, *, first: bool) -> Value:
        """Return a result with these float values; if it is quantized, clamp its quantized values for the activation.

        The engine moves a clamp of floats before a constant factor, and does not swap its bounds for a negative factor.
        """
        type, activation = self.type(), self.activation
        if not type.is_quantized or quantized_range(type, activation) == quantized_range(type, FuseCode.FUSED_NONE):
            return self.result(real, first=first)
        return Value.of(clamp_stored(encode(real, type), activation, type), type, "stored", first=first)

    def move(self, value: Value, move: Callable[[Node], Node], *, first: bool = False) -> Value:
        """Return the result of an operation that moves, drops or repeats elements of a value."""
        kind, type = value.is_moved_as, self.type()
        result = Value.of(move(value.node(kind, first)), type, kind, first=first)
        if value.quantized is not None:
            source = value.quantized
            kind, type = source.is_moved_as, source.type.with_dimensions(type.dimensions)
            result.quantized = Value.of(move(source.node(kind, first)), type, kind, first=first)
        return result

    def map(self, function: Function, *values: Value) -> Value:
        """Return the result of an elementwise function of one or two values."""
        nodes, first = align(values)
        return self.result(function(*nodes), first=first)


def _depend_on_data(limits: Sequence[int]) -> bool:
    return any(isinstance(each, Size) and isinstance(each.symbols, DataSizes) for each in limits)


def _require_constants(name: str, indices: Array, limit: int, least: int) -> None:
    low, high = int(indices.min()), int(indices.max())
    require(low >= least and high < limit, f"{name} holds {low}..{high}, must be in {least}..{limit - 1}")


def _describe_untested(name: str, wanted: str) -> str:
    return f"{name} is computed, and the engine does not test indices against {wanted}"


def align(values: Sequence[Value]) -> tuple[list[Node], bool]:
    """Return nodes of the same rank, for broadcasting, and whether images in them are NCHW.

    The engine also broadcasts nodes of lower rank, but may then drop axes of length 1 of the others. It computes a
    constant per channel in the node of a reduction of rank 3, with the wrong elements of the constant.
    """
    rank = max(value.type.rank for value in values)
    first = computes_in_nchw(*values)
    nodes = [_of_rank(value, rank, first) for value in values]
    if rank == 3 and any(value.array is not None and value.type.dimensions[-2:-1] > (1,) for value in values):
        nodes = [op.maximum(node, node) if _is_reduced(node) else node for node in nodes]
    return nodes, first


def _is_reduced(node: Node) -> bool:
    """Return whether floats come from a reduction, perhaps by elementwise operators with one computed input."""
    node = node_of(node)
    while node.get_type_name() not in REDUCTIONS:
        computed = [each for each in node.input_values() if each.get_node().get_type_name() != "Constant"]
        if len(computed) != 1 or computed[0].get_partial_shape() != node.get_output_partial_shape(0):
            return False
        node = computed[0].get_node()
    return True


def _of_rank(value: Value, rank: int, first: bool) -> Node:
    if value.type.rank == rank:
        return value.real(first)
    shape = (1,) * (rank - value.type.rank) + value.type.dimensions
    if value.array is not None and not value.type.channel:
        return Value(value.type.with_dimensions(shape), value.name, value.array.reshape(shape)).real(first)
    node = reshape(value.real(), shape)
    return op.transpose(node, integers(find_order(rank, True))) if first else node


def activate(real: Node, activation: FuseCode, type: OperandType) -> Node:
    """Apply a fused activation to floats; unchanged where the range of the quantized values has the same effect.

    The engine may compare quantized values with the bounds. It then rounds a bound between two of them down. If the
    zero point is in the middle of the range, it rounds towards it, as it computes with signed values.
    """
    low, high = BOUNDS[activation]
    if type.is_quantized:
        limits = np.iinfo(type.dtype)
        bounds = quantized_range(type, activation)
        middle = type.zero_point - limits.min == STEPS / 2
        margins = [-MARGIN if middle and bound < type.zero_point else MARGIN for bound in bounds]
        lowest, highest = (
            (bound + margin - type.zero_point) * type.scale for bound, margin in zip(bounds, margins, strict=True)
        )
        low = lowest if bounds[0] > limits.min else -np.inf
        high = highest if bounds[1] < limits.max else np.inf
    if BOUNDS[activation][0] == 0 and low > -np.inf and high == np.inf:
        return op.relu(real)
    if high < np.inf or low > -np.inf:
        return clamp(real, low, high)
    return real


def clamp(real: Node, low: float, high: float) -> Node:
    if low == -np.inf:
        return op.minimum(real, number(high))
    if high == np.inf:
        return op.maximum(real, number(low))
    node = node_of(real)
    if node.get_type_name() == "Multiply":
        require(
            not any(map(_is_nothing, node.input_values())), "the engine divides an activation's limits by a factor 0"
        )
    return op.clamp(real, low, high)


def clamp_stored(quantized: Node, activation: FuseCode, type: OperandType) -> Node:
    """Clamp quantized values to the bounds of a fused activation."""
    low, high = map(type.dtype.type, quantized_range(type, activation))
    return op.minimum(op.maximum(quantized, op.constant(low)), op.constant(high))


def _is_nothing(factor: Node) -> bool:
    node = factor.get_node()
    return node.get_type_name() == "Constant" and not node.get_data().any()


def find_maximum(x: Node, compute: Callable[[Node], Node]) -> Node:
    """Return a maximum of floats, computed by ``compute``, that may be −inf.

    The engine's maximum begins with the lowest finite float, so it never returns −inf. Unless no input can be −inf,
    negative floats are halved before and doubled afterwards: the lowest float then becomes −inf.
    """
    if _is_bounded(x):
        return compute(x)
    return op.prelu(
        compute(op.prelu(x, op.constant(np.array([0.5], np.float32)))), op.constant(np.array([2], np.float32))
    )


def find_minimum(x: Node, compute: Callable[[Node], Node]) -> Node:
    """Return a minimum of floats: the negated maximum of the negated floats."""
    return op.negative(find_maximum(op.negative(x), lambda y: op.negative(compute(op.negative(y)))))


def _is_bounded(x: Node) -> bool:
    """Return whether floats come from an activation that never yields −inf."""
    node = node_of(x)
    while node.get_type_name() in MOVING:
        node = node.input_value(0).get_node()
    return node.get_type_name() in BOUNDED


def computes_in_nchw(*values: Value) -> bool:
    """Return whether an operation without axes has the channels first: if one of its inputs of the highest rank has."""
    rank = max(value.type.rank for value in values)
    return any(value.is_channels_first and value.type.rank == rank for value in values)


def position_of_axis(first: bool, axis: int, rank: int) -> int:
    """Return the position in the graph of an axis of the model; ``first`` means that channels are."""
    return find_order(rank, True).index(axis) if first else axis
