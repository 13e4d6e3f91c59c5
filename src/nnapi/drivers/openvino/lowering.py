"""Lowering of a model to OpenVINO's graph."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.contract.workload import find_work
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.computed_indices import ComputedIndices, list_extremes
from nnapi.drivers.openvino.context import COMPUTED_RULES, RULES, Bounds, OpenvinoContext
from nnapi.drivers.openvino.control_flow import GraphLowering
from nnapi.drivers.openvino.data_sizes import DataSizeError, DataSizes, as_unknown
from nnapi.drivers.openvino.sizes import declare, integers, partial_shape
from nnapi.drivers.openvino.value import ELEMENTS, Node, Value, round_half
from nnapi.errors import OpFailedError
from nnapi.lowering.lower import KnownTypes, assume_shapes, match_of, name_of, normalize_call
from nnapi.lowering.refusal import Unsupported, require
from nnapi.model.call import Call, NotYetKnown
from nnapi.model.facts import Kind
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import NHWC_TO_NCHW, ScalarParameter, ValuesParameter
from nnapi.operation_codes import COMPOSITE_CODES, FAMILY_OF, CompositeCode
from nnapi.ops.quantized_values import same_quantization
from nnapi.ops.shapes import Pair
from nnapi.shapes.array import has_sizes
from nnapi.shapes.size import Size

LARGE = 200
"""Maximum number of elementwise operations in a chain, or on one value. Known networks have fewer."""
PAIRWISE = (Op.SELECT, CompositeCode.SCATTER_ELEMENTS, CompositeCode.GATHER_ELEMENTS)
"""Operations besides the binary ones whose inputs have sizes in common along all axes."""
ELEMENTWISE = (Kind.ELEMENTWISE, Kind.TRANSCENDENTAL)
CONVERSIONS, RESHAPES = ("Convert", "FakeQuantize"), ("Reshape", "Squeeze", "Unsqueeze")
"""Types of nodes that the engine may compute in the memory of their input."""


def lower_model(
    model: Model, shapes: Sequence[Shape | None] | None = None, tiles: Mapping[int, Pair] | None = None
) -> "Lowered":
    """Lower a model for input shapes, by default the assumed ones. Verdicts contain the reasons of refusals. ``tiles``
    are those of :class:`~nnapi.lowering.lower.Lowering`."""
    work = Lowered(model, shapes or assume_shapes(model))
    work.tiles = tiles or work.tiles
    return work.run()


class Lowered(GraphLowering):
    """The values of a model's operands, as far as they can be lowered, and a verdict on each operation."""

    rules = RULES
    no_rule = "the engine has no operation with this meaning"
    failures = (RuntimeError,)
    folds_dequantize = True
    casts_round = False
    decomposes = True

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        super().__init__(model, [shape if shape and all(shape) else () for shape in shapes])
        self.parameters: dict[int, Any] = {}
        self.bounds: list[Bounds] = []
        sizes: list[Any] = [size for index in model.inputs for size in model.operands[index].type.dimensions]
        given: Any = next((size.symbols for size in sizes if isinstance(size, Size)), None)
        self.sizes = DataSizes(given)
        """The sizes that depend on data."""
        self.computed: list[ComputedIndices] = []
        """The computed indices that each run checks."""
        inputs = [model.operands[index].type for index in model.inputs]
        unknown = (not model.operands[index].type.is_known for call in model.operations for index in call.outputs)
        is_dynamic = any(has_sizes(type.dimensions) for type in inputs)
        self._tests_computed = is_dynamic or (all(type.is_known for type in inputs) and any(unknown))
        """Whether runs check computed indices: of a model for all sizes, which no other device takes, or of one that
        finds indices of data, and takes elements at them."""
        self.is_quantized = any(operand.type.is_quantized for operand in model.operands)

    def graph(self) -> ov.Model:
        """Return OpenVINO's model; its outputs have NNAPI's storage types."""
        nodes = [self.values[index].node("stored") for index in self.model.outputs]  # first make all nodes
        extremes = [list_extremes(self.computed)] if self.computed else []
        results = [
            *map(self.make_result, nodes),
            *map(op.result, [*self.turns_left, *extremes]),
        ]  # first make all nodes
        return ov.Model(results, [*self.list_parameters(), *self.turns], self.model.name)

    def list_parameters(self) -> list[Any]:
        return [self.parameters[index] for index in self.model.inputs if index in self.parameters]

    def make_result(self, node: Node) -> Any:
        return op.result(_make_readable(node))

    @property
    def may_fuse(self) -> bool:
        """Whether the engine may fuse elementwise operations. Its search for groups takes quadratic time, and groups
        with rounding to float16 may end the process."""
        if any(operand.type.code == OperandCode.TENSOR_FLOAT16 for operand in self.model.operands):
            return False
        return len(self.model.operations) <= LARGE or self._measure_chains() <= LARGE

    def _measure_chains(self) -> int:
        """Return the maximum number of elementwise operations in a chain, or that read the same value.

        Every operation of another kind begins a new stage. A chain continues only within a stage, as in a residual
        network: a group across stages would depend on itself.
        """
        depths: dict[int, int] = {}
        stages: dict[int, int] = {}
        readers: Counter[int] = Counter()
        for call in self.model.operations:
            works = self.parts.get(call.number) or [find_work(self.model, call)]
            stage = max((stages.get(index, 0) for index in call.inputs), default=0)
            if length := sum(work.kind in ELEMENTWISE for work in works):
                before = (depths.get(index, 0) for index in call.inputs if stages.get(index, 0) == stage)
                depths.update(dict.fromkeys(call.outputs, length + max(before, default=0)))
                readers.update({index for index in call.inputs if index not in self.constants})
            stages.update(dict.fromkeys(call.outputs, stage if length else stage + 1))
        return max([0, *depths.values(), *(readers[index] for index in readers)])

    def context(self, call: Call) -> OpenvinoContext:
        checked = {} if self.depth or self.is_nested else self.parameters  # their inputs may be computed
        tests_computed = self._tests_computed and not (self.depth or self.is_nested)
        return OpenvinoContext(call, checked, self.is_quantized, tests_computed=tests_computed)

    def _lower_as_parts(self, call: OperationCall, refusal: Exception) -> None:
        """Do not decompose NNAPI's operations in dynamic models, where other shapes may give other operations. Do not
        decompose recurrent cells: the engine fails to compile some of one unit, and xnnpack-cpu has its own."""
        is_dynamic = not all(self.model.operands[index].type.is_known for index in self.model.inputs)
        if FAMILY_OF.get(call.code) == "recurrent" or (is_dynamic and call.code not in COMPOSITE_CODES):
            raise refusal
        super()._lower_as_parts(call, refusal)

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        part = super().make_part(model, origins)
        part.sizes = self.sizes
        part.is_quantized |= self.is_quantized
        return part

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        super().adopt_part(call, part)
        for index in call.outputs:
            self.values[index].name = name_of(self.model.operands[index])

    def add_input(self, operand: Operand) -> None:
        type = self.types.get(operand.index)
        is_given = operand.index in self.values or operand.index in self.constants
        if type is not None and type.code in ELEMENTS and not is_given:
            parameter = op.parameter(partial_shape(type.dimensions), ELEMENTS[OperandCode(type.code)])
            declare(parameter, type.dimensions)
            self.parameters[operand.index] = parameter
            self.values[operand.index] = Value.of(parameter, type, "stored", name=name_of(operand))

    def make_value(self, operand: Operand) -> Value:
        type = self.types[operand.index]
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        require(type.code in ELEMENTS, f"{name_of(operand)} is {type.name}, which the engine does not support")
        value = self.find_constant(operand.index)
        require(value is not None, f"{name_of(operand)} has dimensions that are not known: {type}")
        return Value(type, name_of(operand), value)

    def transpose(self, context: OpenvinoContext, value: Value, order: tuple[int, ...]) -> Value:
        return value.store_as_nchw() if order == NHWC_TO_NCHW else value.view_as_image()

    def round_half(self, context: OpenvinoContext, value: Value) -> Value:
        first = value.is_channels_first
        return Value.of(round_half(value.real(first)), value.type, "real", first=first, name=value.name)

    def accept_results(self, call: OperationCall, context: OpenvinoContext, results: list[Value]) -> list[Value]:
        types = context.call.requantized_results()
        require(
            not context.activation or all(map(same_quantization, context.call.stored_results(), types)),
            "the result has another scale than the activation's limits are rounded to",
        )
        kept = [result.requantize(type) for result, type in zip(results, types, strict=True)]
        for i, index in enumerate(call.outputs):
            kept[i].name = name_of(self.model.operands[index])
            self.sizes.declare(kept[i])
            self.types.setdefault(index, kept[i].type)
        self.bounds += context.bounds
        self.computed += context.computed
        return kept

    def _normalize(self, call: OperationCall) -> Call:
        try:
            return super()._normalize(call)
        except OpFailedError:
            alike = self._assume_alike(call)
            if alike is None:
                raise
        try:
            normal = normalize_call(self.model, call, alike, self.constants.get)
        except OpFailedError as error:
            raise DataSizeError(f"it fails if sizes that depend on the data are alike: {error}") from None
        normal.results = tuple(type.with_dimensions(as_unknown(type.dimensions)) for type in normal.results)
        return normal

    def _assume_alike(self, call: OperationCall) -> KnownTypes | None:
        """Return the types of inputs whose sizes agree where these depend on data; None without such sizes.

        The engine compares the sizes in each run. A size along an axis of a pairwise operation is that of the others.
        """
        types = {index: type for index in call.inputs if (type := self.types[index]) is not None}
        sizes = [each for type in types.values() for each in type.dimensions if has_sizes([each])]
        if not sizes:
            return None
        is_pairwise, alike = FAMILY_OF.get(call.code) == "binary" or call.code in PAIRWISE, self.types.copy()
        for index, type in types.items():
            others = [each.dimensions for each in types.values()]
            found = [
                (_find_static(others, axis) if is_pairwise else None) or sizes[0] if has_sizes([own]) else own
                for axis, own in enumerate(type.dimensions, -type.rank)
            ]
            alike[index] = type.with_dimensions(found)
        return alike

    def check_result(self, operand: Operand, type: OperandType) -> None:
        is_empty = 0 in type.dimensions and not self.is_nested  # branches may be empty
        require(not is_empty, f"{name_of(operand)} has no elements: {list(type.dimensions)}")

    def _lower_by_rule(self, call: OperationCall) -> None:
        try:
            super()._lower_by_rule(call)
        except (NotYetKnown, DataSizeError):
            rule = COMPUTED_RULES.find(call.code)
            if rule is None or self._reads_parameters(call):
                raise
            self._lower_computed(call, rule)

    def _reads_parameters(self, call: OperationCall) -> bool:
        """Return whether a program gives parameters of a call, which the engine would use unchecked."""
        match = match_of(call)
        return any(
            call.inputs[position] in self.model.inputs
            for slot in match.overload.inputs
            if isinstance(slot, ScalarParameter | ValuesParameter)
            for position in match.inputs.get(slot.name, ())
        )

    def _lower_computed(self, call: OperationCall, rule: Callable[..., Any]) -> None:
        """Lower a call whose parameters the engine computes. Its results have the dimensions that the model declares;
        the others depend on data."""
        match, operands = match_of(call), self.model.operands
        declared = tuple(operands[index].type for index in call.outputs)
        for operand, type in zip(call.outputs, declared, strict=True):
            require(type.dimensions, f"the rank of {name_of(operands[operand])} is not known")
        results = tuple(type.with_dimensions(as_unknown(type.dimensions)) for type in declared)
        context = self.context(Call(REGISTRY[call.code], {}, {}, call.outputs, results, declared=declared))
        given: dict[str, Any] = {}
        for name, positions in match.inputs.items():
            if positions:
                (index,) = [call.inputs[position] for position in positions]
                is_number = operands[index].type.is_scalar and index in self.constants
                given[name] = self.constants[index].item() if is_number else self.value(index)
        found = rule(context, **given)
        found = list(found) if isinstance(found, list | tuple) else [found]
        self.values.update(zip(call.outputs, self.accept_results(call, context, found), strict=True))

    def continue_after(self, call: OperationCall) -> None:
        for index in call.outputs:
            operand = self.model.operands[index]
            type = operand.type.with_dimensions([dimension or 1 for dimension in operand.type.dimensions])
            if type.is_known:
                self.types[index] = type
                self.add_input(operand)


def _find_static(shapes: Iterable[Shape], axis: int) -> int | None:
    """Return the static size, other than 1, of an axis that counts from the end; None if there is none."""
    sizes = (shape[axis] for shape in shapes if len(shape) >= -axis)
    return next((size for size in sizes if not has_sizes([size]) and size != 1), None)


def _make_readable(node: Node) -> Node:
    """Return a node that the engine can return as a result.

    The engine does not copy a model input that is an output. If a result reshapes a value that others read, these would
    read memory without a value. Such a result becomes a view of a copy.
    """
    if isinstance(node, ov.op.Parameter):
        return op.reshape(node, integers(list(node.get_output_shape(0))), False)
    output = node if isinstance(node, ov.Output) else node.output(0)
    return _detach(output) if _is_view(output) else node


def _detach(output: Node) -> Node:
    """Return a view of a copy. Copies of each view do not suffice: the engine computes several in one memory."""
    node = output.get_node()
    name, (source, *limits) = node.get_type_name(), node.input_values() or [None]
    if name in RESHAPES:
        shape = op.shape_of(output) if output.get_partial_shape().is_dynamic else integers(output.shape)
        return op.reshape(_detach(source), shape, False)
    if name == "FakeQuantize":
        return op.fake_quantize(_detach(source), *limits, node.get_attributes()["levels"])
    return op.convert(_detach(source), output.get_element_type()) if name == "Convert" else _copy(output)


def _copy(output: Node) -> Node:
    """Copy a value by an operator that the engine does not optimize away."""
    type = output.get_element_type()
    if type == ov.Type.i32:
        return op.maximum(output, output)
    if type.is_real():
        return op.prelu(output, op.constant(np.ones(1, type.to_dtype())))
    return op.convert(op.convert(output, "i32"), type)


def _is_view(output: Node) -> bool:
    """Return whether a result is a reshape, maybe converted or transposed, of a value that other nodes read.

    The engine transposes some values by another view of their memory.
    """
    is_reshaped = False
    while (name := output.get_node().get_type_name()) in (*CONVERSIONS, *RESHAPES, "Transpose"):
        is_reshaped |= name in RESHAPES
        output = output.get_node().input_value(0)
        if is_reshaped and len(output.get_target_inputs()) > 1:
            return True
    return False
