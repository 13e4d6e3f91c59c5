"""Lower a model to a graph for LiteRT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import Verdict
from nnapi.contract.loops import choose_first_turns
from nnapi.drivers.litert.context import RULES, UNSIGNED, LitertContext, tensor_of
from nnapi.drivers.litert.rules.convolution_filters import FilterContext
from nnapi.drivers.litert.unsafe_graphs import find_violation
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.lowering import lower as lowering
from nnapi.lowering.lower import find_omissible, name_of
from nnapi.lowering.nested import DEEPEST_NEST
from nnapi.lowering.refusal import Unsupported, require
from nnapi.lowering.tflite.control_flow import SubgraphLowering, make_cast
from nnapi.model.call import Call
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import Pair

ALL_CONSTANT = frozenset({OperationCode.QUANTIZED_LSTM, CompositeCode.QUANTIZED_LSTM_SEQUENCE})


class TfliteLowering(SubgraphLowering[LitertContext]):
    """The lowering to LiteRT's kernels; the lowerings for XNNPACK and the GPU are subclasses."""

    takes_control_flow = False
    deepest_nest = DEEPEST_NEST
    counts_turns = True
    embeds_constants = True
    rules = RULES
    as_types = ("filter", "weights", "bias")
    folds_dequantize = True
    casts_round = True
    context_type: ClassVar[type[LitertContext]] = FilterContext
    takes_dynamic_range: ClassVar[bool] = False
    """Whether the engine multiplies float inputs by quantized weights, if a model permits that."""

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        super().__init__(model, shapes)
        self.graph = Graph()
        self.dynamic: Mapping[int, Shape] = {}
        """The declared dimensions of operands whose dimensions are assumed, because some are dynamic."""
        self._findings: dict[Any, Any] = {}
        self._sound: set[Tensor] = set()
        """Tensors that are known to be within the engine's limits."""

    def finish(self) -> Graph:
        """Return the graph, with its outputs set."""
        given = [index for index in self.model.inputs if self.types.get(index) is not None]
        results = [index for index in self.model.outputs if index in self.values]
        outputs = [self.as_given(index) for index in results]
        self.graph.outputs = [*outputs, *self.turns_left]  # a loop stays, although its results are unused
        self.graph.flipped = tuple([self.model.operands[index].type.code in UNSIGNED for index in (*given, *results)])
        return replace(self.graph, outputs=outputs)

    def finish_file(self) -> Graph:
        """Return the graph with its subgraphs; the turns of its loops are its last inputs and outputs."""
        graph = self.finish()
        inputs, outputs = [*graph.inputs, *self.turns], [*graph.outputs, *self.turns_left]
        at, count = len(graph.inputs), len(self.turns)
        flipped = (*graph.flipped[:at], *[False] * count, *graph.flipped[at:], *[False] * count)
        turns = tuple([choose_first_turns(*models) for models in self.turn_models])
        ends: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "flipped": flipped}
        return replace(graph, **ends, subgraphs=self.subgraphs, turns=turns, spared=self.spared)

    @property
    def operators(self) -> list[Operator]:  # type: ignore[override]
        return self.graph.operators

    def tensor_of(self, type: OperandType) -> Tensor:
        return tensor_of(type, "a result of its models")

    def as_given(self, index: int) -> Tensor:
        """Round floats that have more bits than float16, because nested models do not know of them."""
        tensor = super().as_given(index)
        if self.halves is None or index not in self.halves.finer or tensor.type != "f32":
            return tensor
        half, rounded = tensor.like(type="f16"), tensor.like()
        self.graph.operators += [make_cast(tensor, half), make_cast(half, rounded)]
        return rounded

    def name_value(self, value: Tensor, operand: Operand) -> Tensor:
        value.name = operand.name or value.name
        return value

    def context(self, call: Call) -> LitertContext:
        known = self.find_constant, self.value, self._findings, self.dynamic, self._find_quantized
        context = self.context_type(call, *known)
        context.permits_dynamic_range = self.takes_dynamic_range and self.model.dynamic_range
        return context

    def _find_quantized(self, index: int) -> Tensor | None:
        source = self.quantized.get(index) if self.takes_dynamic_range and self.model.dynamic_range else None
        return None if source is None else self.value(source)

    def add_input(self, operand: Operand) -> None:
        try:
            inner = self.value(operand.index)
        except Unsupported:
            return  # operations that read it are refused
        outer = self._outer(operand.index, inner)
        if outer is not inner:
            self.graph.operators.append(make_cast(outer, inner))
        self.graph.inputs.append(outer)

    def make_value(self, operand: Operand) -> Tensor:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        return tensor_of(type, name_of(operand), self.find_constant(operand.index))

    def check_call(self, call: OperationCall) -> None:
        """Refuse a dynamic input that counts as omitted now, but may be given at a run."""
        if call.code not in ALL_CONSTANT:
            return
        for index in call.inputs:
            operand = self.model.operands[index]
            may_be_given = operand.lifetime is Lifetime.INPUT and self.types.get(index, operand.type) is None
            require(not may_be_given, f"{operand} is computed, the engine needs it constant")

    def transpose(self, context: LitertContext, value: Tensor, order: tuple[int, ...]) -> Tensor:
        return context.transpose(value, order)

    def accept_results(self, call: OperationCall, context: LitertContext, results: list[Tensor]) -> list[Tensor]:
        normal = context.call
        kept = normal.requantized_results()
        if kept is not normal.results:
            results = [
                context.fit_to_operand(*pair) for pair in zip(results, normal.stored_results(), kept, strict=True)
            ]
        for operator in context.operators:
            self.check_operator(operator)
            for output in operator.outputs:
                output.origin = call.number
        self.graph.operators += context.operators
        for index, result in zip(call.outputs, results, strict=True):
            result.name = self.model.operands[index].name or result.name
        return results

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        part = super().make_part(model, origins)
        part.dynamic = {index: self.dynamic[origin] for index, origin in origins.items() if origin in self.dynamic}
        part._findings, part._sound = self._findings, self._sound
        return part

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        super().adopt_part(call, part)
        for operator in part.graph.operators:
            for output in operator.outputs:
                output.origin = call.number
        self.graph.operators += part.graph.operators
        for index in call.outputs:
            self.values[index].name = self.model.operands[index].name or self.values[index].name

    def round_half(self, context: LitertContext, value: Tensor) -> Tensor:
        return context.round_half(value)

    def check_operator(self, operator: Operator) -> None:
        """Raise Unsupported if the engine must not get an operator."""
        reason = find_violation(operator, self._sound)
        if reason is not None:
            raise Unsupported(reason)

    def _outer(self, index: int, inner: Tensor) -> Tensor:
        """Return a tensor of the operand's type: float16 if the graph computes it in float32."""
        is_half = self.model.operands[index].type.code == OperandCode.TENSOR_FLOAT16
        return inner.like(type="f16") if is_half else inner


@dataclass(frozen=True)
class Lowered:
    """A graph of the supported operations, and a verdict on every operation."""

    graph: Graph
    verdicts: tuple[Verdict, ...]


def lower_model(
    model: Model,
    shapes: Sequence[Shape | None] | None = None,
    lowering: type[TfliteLowering] = TfliteLowering,
    tiles: Mapping[int, Pair] | None = None,
) -> Lowered:
    """Lower a model; each operation that cannot be lowered gets a verdict with the reason.

    ``shapes`` are those of the inputs, None for an omitted one; by default :func:`assume_shapes`. ``tiles`` are as for
    :class:`~nnapi.lowering.lower.Lowering`.
    """
    work = lowering(model, assume_shapes(model) if shapes is None else shapes)
    work.tiles = tiles or work.tiles
    if shapes is None and not all(model.operands[index].type.is_known for index in model.inputs):
        work.when = "with 1 for each dimension that the model leaves unspecified"
        work.dynamic = {
            operand.index: operand.type.dimensions
            for operand in model.operands
            if not operand.type.is_known and operand.lifetime is not Lifetime.NO_VALUE
        }
    work.run()
    return Lowered(work.finish_file(), work.verdicts)


def assume_shapes(model: Model) -> list[Shape | None]:
    """Return the input shapes, with 1 for each dynamic dimension; None for a dynamic input that may be omitted."""
    return lowering.assume_shapes(model, find_omissible(model))


def is_static(model: Model) -> bool:
    """Return whether one graph serves all runs: no input is dynamic or may be omitted."""
    return all(model.operands[index].type.is_known for index in model.inputs) and not find_omissible(model)
