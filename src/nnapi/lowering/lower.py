"""Lower a model for an engine: apply the rule of each call, or record the reason for its refusal.

The drivers of all engines share this module. A driver supplies :class:`LoweringRules`, a :class:`Context` for them, and
a :class:`Lowering` that defines the engine's values.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from nnapi.codes import FuseCode, OperationCode
from nnapi.contract.driver import Verdict
from nnapi.errors import NnapiError, OpFailedError, need
from nnapi.garbage_collection import pause_collecting
from nnapi.lowering.half_precision import find_half_precision
from nnapi.lowering.refusal import Unsupported
from nnapi.model.call import UNKNOWN, Call, NotYetKnown, check_declared, normalize
from nnapi.model.matching import Match
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import NCHW_TO_NHWC, NHWC_TO_NCHW, Several, ValuesParameter
from nnapi.operation_codes import COMPOSITE_CODES, Code
from nnapi.ops.quantized_values import dequantize
from nnapi.ops.shapes import Pair
from nnapi.pauses import pause
from nnapi.rule_table import LoweringRules

if TYPE_CHECKING:
    from nnapi.contract.workload import Work

CONSTANT, TEMPORARY = Lifetime.CONSTANT, Lifetime.TEMPORARY  # access to members of an enumeration is slow
DEQUANTIZE = OperationCode.DEQUANTIZE
MANY = 16
"""Minimum number of inputs of a call whose normal form is cached and reused for similar calls."""
DEEPEST = 8
"""Maximum depth of nested decompositions."""


def need_supported(verdicts: Sequence[Verdict]) -> None:
    """Raise OpFailedError with the reasons of all refused operations, if there are any."""
    refused = [verdict.reason for verdict in verdicts if not verdict.supported]
    need(not refused, "; ".join(refused), OpFailedError)


class Context:
    """The call that a rule lowers. Rules see NHWC images: an NCHW call gets transposes before and after."""

    def __init__(self, call: Call) -> None:
        self.call = call

    @property
    def activation(self) -> FuseCode:
        return self.call.activation

    @property
    def code(self) -> Code:
        return self.call.operation.code


V = TypeVar("V")
C = TypeVar("C", bound=Context)


class KnownTypes(dict[int, OperandType | None]):
    """Types of operands by index, None for an omitted one. Reading a type before it is known raises NotYetKnown."""

    def __init__(self, model: Model, types: dict[int, OperandType | None] | None = None) -> None:
        super().__init__(types or {})
        self._model = model

    def __missing__(self, index: int) -> OperandType | None:
        raise NotYetKnown(f"a dimension of {self._model.operands[index].name}".removesuffix(" of "), index)

    def copy(self) -> "KnownTypes":
        return KnownTypes(self._model, self)


def match_of(call: OperationCall) -> Match:
    """Return the match of a call with its operation's signature; raise Unsupported for extension operations."""
    if call.match is None:
        raise Unsupported("the engine knows no extension or OEM operation")
    return call.match


def normalize_call(model: Model, call: OperationCall, types: KnownTypes, value_of: Callable[[int], Any]) -> Call:
    """Return the call in normal form, by what is known so far, or raise the errors of :func:`normalize`."""
    match, known = match_of(call), (types.__getitem__, value_of)
    declared, empty = tuple([model.operands[index].type for index in call.outputs]), model.empty_tensors
    return normalize(REGISTRY[call.code], match, call.inputs, call.outputs, declared, *known, empty_tensors=empty)


def check_results(model: Model, call: Call, *, lax: bool = False) -> Iterator[tuple[Operand, OperandType]]:
    """Yield the operand and the type of each result; raise OpFailedError if the type contradicts the declared one. With
    ``lax``, quantization is checked for model outputs only."""
    for index, result in zip(call.outputs, call.requantized_results(), strict=True):
        operand = model.operands[index]
        if result is not operand.type:
            is_output = operand.lifetime is Lifetime.OUTPUT
            check_declared(result, operand.type, is_model_output=is_output, lax=lax and not is_output)
        yield operand, result


class Lowering(ABC, Generic[V, C]):
    """The lowering of one model for an engine whose values are of type V.

    ``verdicts`` has one entry per operation, with the reason if it cannot be lowered. ``shapes`` are those of the
    inputs: None for an omitted input, an empty tuple for the model's declared shape.
    """

    rules: ClassVar[LoweringRules]
    no_rule: ClassVar[str] = "the engine has no operator with this meaning"
    failures: ClassVar[tuple[type[Exception], ...]] = ()
    """The exceptions with which the engine refuses an operation; the last line of the message is the reason."""
    folds_dequantize: ClassVar[bool] = False
    """Whether DEQUANTIZE of a constant is folded into a constant, so that no operator computes it at run time."""
    as_types: ClassVar[tuple[str, ...]] = ()
    """Names of arguments that rules get as types, because the rules make the engine's values themselves."""
    decomposes: ClassVar[bool] = False
    """Whether calls of NNAPI's operations without a working rule are lowered as decompositions. Those of composites
    always are."""
    casts_round: ClassVar[bool | None] = None
    """Whether a CAST to float16 rounds; None unless the engine computes float16 in float32."""
    depth: int = 0
    """The number of decompositions that contain this one."""
    tiles: Mapping[int, Pair] = MappingProxyType({})
    """The convolutions that are lowered with fewer multiplications, by number, with their tiles
    (:mod:`nnapi.lowering.winograd`)."""

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        self.model = model
        self.when = "when it runs"
        """The phrase in refusals that says when a call with these shapes fails."""
        self.verdicts: tuple[Verdict, ...] = ()
        self.types = KnownTypes(model)
        self.constants: dict[int, Array] = {}
        self.quantized: dict[int, int] = {}
        """The quantized constant behind each folded DEQUANTIZE: index of its result to index of its input."""
        self.values: dict[int, V] = {}
        self.parts: dict[int, list[Work]] = {}
        """For each decomposed call, by number: the work of the operations that replace it."""
        self.spared = 0
        """MACs that convolutions need less than without tiles."""
        self._repeatable: dict[Any, Call] = {}
        self.halves = find_half_precision(model, self.casts_round)
        for operand in model.operands:
            lifetime = operand.lifetime
            if lifetime is TEMPORARY:
                continue
            if lifetime is CONSTANT:  # its dimensions are static
                self.types[operand.index] = operand.type
                self.constants[operand.index] = operand.value
            elif lifetime is Lifetime.NO_VALUE:
                self.types[operand.index] = None
            elif operand.type.is_known:
                self.types[operand.index] = operand.type
        for index, shape in zip(model.inputs, shapes, strict=True):
            if shape is None:
                self.types[index] = None
            elif shape:
                self.types[index] = model.operands[index].type.with_dimensions(shape)

    # Methods that an engine implements

    @abstractmethod
    def context(self, call: Call) -> C:
        """Return the context for the rule of this call."""

    @abstractmethod
    def make_value(self, operand: Operand) -> V:
        """Return the value of an input or constant, which no rule computes. May raise Unsupported."""

    @abstractmethod
    def transpose(self, context: C, value: V, order: tuple[int, ...]) -> V:
        """Transpose a value of rank 4 by ``order``: NHWC_TO_NCHW or NCHW_TO_NHWC."""

    @abstractmethod
    def accept_results(self, call: OperationCall, context: C, results: list[V]) -> list[V]:
        """Accept a call that its rule lowered; return the rule's results as the values of the model's operands."""

    def add_input(self, operand: Operand) -> None:
        """Add a model input to the engine's graph. Not needed if :meth:`make_value` adds it at first use."""

    def check_call(self, call: OperationCall) -> None:
        """Raise Unsupported for a valid call that the engine restricts."""

    def check_result(self, operand: Operand, type: OperandType) -> None:
        """Raise Unsupported if the engine does not compute a result of this type."""

    def continue_after(self, call: OperationCall) -> None:
        """Declare the results of a refused call as known, so that the calls that read them get verdicts too."""
        known = [index for index in call.outputs if self.model.operands[index].type.is_known]
        for index in known:
            self.types.setdefault(index, self.model.operands[index].type)

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        """Return a lowering of a decomposition; ``origins`` maps its operands to those of the decomposed call."""
        part = type(self)(model, [()] * len(model.inputs))
        part.depth = self.depth + 1
        for index, origin in origins.items():
            if not self.model.operands[origin].type.is_scalar:
                part.values[index] = self.value(origin)
                if self.halves and part.halves and origin in self.halves.finer:
                    part.halves.finer[index] = self.halves.finer[origin]
        return part

    def round_half(self, context: C, value: V) -> V:
        """Round a float16 value that the engine computes in float32. Not needed if ``casts_round`` is None."""
        return value

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        """Use the results of a lowered decomposition as the results of the call."""
        self.values.update(zip(call.outputs, map(part.value, part.model.outputs), strict=True))

    # Methods shared by all engines

    @pause_collecting()
    def run(self) -> Self:
        for index in self.model.inputs:
            self.add_input(self.model.operands[index])
        self.verdicts = tuple([self._judge(call) for call in self.model.operations])
        return self

    def _judge(self, call: OperationCall) -> Verdict:
        """Lower a call and return its verdict."""
        try:
            self._lower(call)
            return Verdict(True, parts=tuple(self.parts.get(call.number, ())))
        except (Unsupported, NotYetKnown) as refused:
            reason = str(refused)
        except NnapiError as error:
            reason = f"it fails {self.when}: {error}"
        except self.failures as error:
            reason = f"the engine refuses it: {str(error).strip().splitlines()[-1]}"
        self.continue_after(call)
        return Verdict(False, f"{call}: {reason}")

    def value(self, index: int) -> V:
        """Return the value of an operand, made at first use."""
        value = self.values.get(index)
        if value is None:
            value = self.values[index] = self.make_value(self.model.operands[index])
        return value

    def _lower(self, call: OperationCall) -> None:
        pause()
        match_of(call)  # refuses operations of extensions
        refusals: tuple[type[Exception], ...] = (Unsupported, *self.failures)
        try:
            if call.number not in self.tiles or not self._lower_with_tile(call, self.tiles[call.number]):
                self._lower_by_rule(call)
        except refusals as refusal:
            self._lower_as_parts(call, refusal)
        if self.halves and not self.depth:
            self.halves.accept(call)

    def _lower_as_parts(self, call: OperationCall, refusal: Exception) -> None:
        """Lower a call as its decomposition; raise ``refusal`` if that is not possible."""
        may_decompose = self.decomposes or call.code in COMPOSITE_CODES
        if not may_decompose or self.depth == DEEPEST or REGISTRY[call.code].shape_function is None:
            raise refusal
        from nnapi.contract.workload import find_work  # on demand: most models have no such calls
        from nnapi.lowering.decompose import decompose_call

        failures: tuple[type[Exception], ...] = (NnapiError, NotYetKnown, *self.failures)
        try:
            decomposition = decompose_call(self.model, call, self._normalize(call), self.types, self.constants)
            if decomposition is None:
                raise refusal
            part = self.make_part(decomposition.model, decomposition.origins)
            for inner in decomposition.model.operations:
                part._lower(inner)
        except Unsupported as refused:
            if self.depth and str(refusal) == self.no_rule:
                raise refused from None  # the inner reason is more specific
            if self.depth or str(refused) == str(refusal) or not isinstance(refusal, Unsupported):
                raise refusal from None
            raise Unsupported(f"{refusal}, and its decomposition is refused: {refused}") from None
        except failures:
            raise refusal from None
        self.adopt_part(call, part)
        inners = decomposition.model.operations
        self.parts[call.number] = [
            work for inner in inners for work in part.parts.get(inner.number) or [find_work(decomposition.model, inner)]
        ]

    def _lower_with_tile(self, call: OperationCall, tile: Pair) -> bool:
        """Lower a convolution with fewer multiplications; return False if the engine refuses one of its parts."""
        from nnapi.contract.workload import find_work  # on demand: few models are lowered so
        from nnapi.lowering.winograd.decomposition import decompose

        refusals: tuple[type[Exception], ...] = (Unsupported, *self.failures)
        try:
            decomposition = decompose(self._normalize(call), self.types, self.constants, tile)
            part = self.make_part(decomposition.model, decomposition.origins)
            for inner in decomposition.model.operations:
                part._lower(inner)
        except refusals:
            return False
        self.adopt_part(call, part)
        needed = sum(find_work(decomposition.model, inner).macs for inner in decomposition.model.operations)
        self.spared += find_work(self.model, call).macs - needed
        return True

    def _lower_by_rule(self, call: OperationCall) -> None:
        rule = self.rules.find(call.code)
        if rule is None:
            raise Unsupported(self.no_rule)
        self.check_call(call)
        context = self.context(self._normalize(call))
        is_inner = self.model.operands[call.outputs[0]].lifetime is TEMPORARY
        if self.folds_dequantize and call.code == DEQUANTIZE and is_inner and call.inputs[0] in self.constants:
            self.quantized[call.outputs[0]] = call.inputs[0]
            return
        to_nhwc = partial(self.transpose, context, order=NCHW_TO_NHWC)
        rounded = self.halves.list_rounded(call) if self.halves else ()

        def read(index: int) -> V:
            value = self.value(index)
            return self.round_half(context, value) if index in rounded else value

        results = rule(context, **context.call.bind(read if rounded else self.value, to_nhwc, self.as_types))
        results = list(results) if isinstance(results, list | tuple) else [results]
        if context.call.nchw:
            results = self._transpose_back(context, results)
        self.values.update(zip(call.outputs, self.accept_results(call, context, results), strict=True))

    def find_constant(self, index: int) -> Array | None:
        """Return the value of a constant or of a dequantized constant; None for computed operands."""
        source = self.quantized.get(index)
        if source is None:
            return self.constants.get(index)
        numbers = dequantize(self.model.operands[source].type, self.constants[source])
        return numbers.astype(self.model.operands[index].type.dtype, copy=False)

    def _normalize(self, call: OperationCall) -> Call:
        few = len(call.inputs) < MANY
        normal = normalize_call(self.model, call, self.types, self.constants.get) if few else self._normalize_once(call)
        for operand, type in check_results(self.model, normal):
            self.check_result(operand, type)
            if UNKNOWN not in type.dimensions:
                self.types[operand.index] = type
        return normal

    def _normalize_once(self, call: OperationCall) -> Call:
        """Return the call in normal form. Calls that differ only in computed operands, such as the steps of a recurrent
        cell, share a cached one."""
        types, constants, inputs = self.types, self.constants, call.inputs
        declared = tuple([self.model.operands[index].type for index in call.outputs])
        key = call.code, declared, *[index if index in constants else types.get(index, index) for index in inputs]
        normal = self._repeatable.get(key)
        if normal is None:
            normal = self._repeatable[key] = normalize_call(self.model, call, types, constants.get)
            return normal
        positions = match_of(call).inputs
        operands = {name: tuple([inputs[position] for position in positions[name]]) for name in normal.operands}
        return replace(normal, operands=operands, outputs=call.outputs)

    def _transpose_back(self, context: C, results: list[V]) -> list[V]:
        images, slots, types = context.call.images, context.call.operation.outputs, context.call.results
        return [
            self.transpose(context, result, NHWC_TO_NCHW) if slot.name in images and type.rank == 4 else result
            for slot, type, result in zip(slots, types, results, strict=False)
        ]


def assume_shapes(model: Model, omitted: Container[int] = ()) -> list[Shape | None]:
    """Return the shapes of the inputs, with 1 for each dynamic dimension, as most are batch sizes. A dynamic input in
    ``omitted`` gets None."""
    operands = [model.operands[index] for index in model.inputs]
    return [
        None if x.index in omitted and not x.type.is_known else tuple(dimension or 1 for dimension in x.type.dimensions)
        for x in operands
    ]


def find_omissible(model: Model) -> frozenset[int]:
    """Return the model inputs that operations read only as optional operands.

    Excluded are inputs that decide a shape. A call would be accepted as if such an input were omitted, and refused when
    a run passes it.
    """
    inputs = set(model.inputs)
    optional: set[int] = set()
    needed: set[int] = set()
    for call in model.operations:
        if inputs.isdisjoint(call.inputs) or call.match is None:
            continue
        for slot in call.match.overload.inputs:
            positions = call.match.inputs.get(slot.name, ())
            is_optional = not isinstance(slot, Several | ValuesParameter) and slot.optional
            (optional if is_optional else needed).update(call.inputs[position] for position in positions)
    return frozenset(inputs & optional - needed)


def name_of(operand: Operand) -> str:
    return operand.name or f"operand {operand.index}"
