"""From a model to a graph for the engine: each call by its rule, or refused with the rule's reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nnapi.codes import OperandCode, OperationCode
from nnapi.drivers.base import Verdict
from nnapi.drivers.xnnpack.engine.limits import complaint
from nnapi.drivers.xnnpack.site import Refused, Site, need, tensor_of
from nnapi.errors import NnapiError
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.writer_schema import TYPES as ELEMENTS
from nnapi.model.call import UNKNOWN, Call, NotYetKnown, check_declared, normalise
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import Several, ValuesParameter

NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)

TAKEN = Verdict(True)
Rule = Callable[..., "Tensor | Sequence[Tensor]"]
R = TypeVar("R", bound=Rule)
STORED = ("filter", "weights", "bias")
"""Arguments whose constants a rule converts itself: it is given their types, not tensors."""
CONSTANT, TEMPORARY = Lifetime.CONSTANT, Lifetime.TEMPORARY  # a member of an enumeration is slow to look up
LEARNT = frozenset({OperationCode.QUANTIZED_LSTM})
"""Operations whose optional tensors the engine needs constant."""
MANY = 16
"""Inputs from which on a call is compared with others before it is normalised."""
RULES: dict[int, Rule] = {}
"""The lowering rule of each operation that has one, by operation code."""


def lower(*operations: OperationCode) -> Callable[[R], R]:
    """Register a rule. It is called with the site and the call's arguments by name, tensors as the graph's tensors, and
    gives the tensor of each result."""

    def register(rule: R) -> R:
        RULES.update(dict.fromkeys(operations, rule))
        return rule

    return register


@dataclass(frozen=True)
class Lowered:
    """A graph for those operations of a model that are supported, and the verdict on each."""

    graph: Graph
    verdicts: tuple[Verdict, ...]


def lowered(model: Model, shapes: Sequence[Shape | None] | None = None) -> Lowered:
    """Lower what can be lowered; every operation that cannot has its reason.

    ``shapes`` are the extents of the inputs where the model leaves some open, None for one that is omitted; by default
    they are :func:`assumed`.
    """
    if shapes is not None:
        return _Lowering(model, shapes, "when it runs").run()
    is_open = any(not model.operands[index].type.is_known for index in model.inputs)
    when = "with 1 for each extent that the model leaves open" if is_open else "when it runs"
    return _Lowering(model, assumed(model), when).run()


def assumed(model: Model) -> list[Shape | None]:
    """Extents of the inputs with 1 for those that the model leaves open; None for what is open and may be omitted."""
    optional = may_be_omitted(model)
    types = [(index in optional, model.operands[index].type) for index in model.inputs]
    return [
        None if loose and not type.is_known else tuple(extent or 1 for extent in type.dimensions)
        for loose, type in types
    ]


def may_be_omitted(model: Model) -> frozenset[int]:
    """Inputs that operations read only where an operand is optional. Not values that decide a shape: a call would be
    taken as if they were omitted, and refused once a run gives them."""
    inputs = set(model.inputs)
    optional: set[int] = set()
    needed: set[int] = set()
    for call in model.operations:
        if inputs.isdisjoint(call.inputs) or call.match is None:
            continue
        for slot in call.match.form.inputs:
            places = call.match.inputs.get(slot.name, ())
            loose = not isinstance(slot, Several | ValuesParameter) and slot.optional
            (optional if loose else needed).update(call.inputs[place] for place in places)
    return frozenset(inputs & optional - needed)


class _Types(dict[int, OperandType | None]):
    """Types of operands by index, None for an omitted one; asking for one that is not known yet raises NotYetKnown."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __missing__(self, index: int) -> OperandType | None:
        raise NotYetKnown(self._model.operands[index].name or "an extent", index)


class _Lowering:
    def __init__(self, model: Model, shapes: Sequence[Shape | None], when: str) -> None:
        """``when`` says of calls that fail with these shapes when they do."""
        self.model, self.when = model, when
        self.graph = Graph()
        self.types = _Types(model)
        self.values: dict[int, Array] = {}
        self.tensors: dict[int, Tensor] = {}
        self.findings: dict[Any, Any] = {}
        """What rules found out about tensors, for other calls that share them."""
        self.sound: set[Tensor] = set()
        """Tensors that were found to be such as the engine takes."""
        for operand in model.operands:
            lifetime = operand.lifetime
            if lifetime is TEMPORARY:
                continue
            if lifetime is CONSTANT:  # whose extents are known
                self.types[operand.index] = operand.type
                self.values[operand.index] = operand.value
            elif lifetime is Lifetime.NO_VALUE:
                self.types[operand.index] = None
            elif operand.type.is_known:
                self.types[operand.index] = operand.type

        for index, shape in zip(model.inputs, shapes, strict=True):
            if shape is None:
                self.types[index] = None
            elif shape:
                self.types[index] = model.operands[index].type.with_dimensions(shape)

    def run(self) -> Lowered:
        for index in self.model.inputs:
            self._try_input(index)
        verdicts = tuple(self._verdict(call) for call in self.model.operations)
        self.graph.outputs = [self._output(index) for index in self.model.outputs if index in self.tensors]
        return Lowered(self.graph, verdicts)

    def _try_input(self, index: int) -> None:
        try:
            inner = self._tensor(index)
        except Refused:
            return  # whoever reads it is refused
        outer = self._outer(index, inner)
        if outer is not inner:
            self._cast(outer, inner)
        self.graph.inputs.append(outer)

    def _output(self, index: int) -> Tensor:
        inner = self.tensors[index]
        outer = self._outer(index, inner)
        if outer is not inner:
            self._cast(inner, outer)
        return outer

    def _outer(self, index: int, inner: Tensor) -> Tensor:
        """What the model's user sees of a tensor: halves, which the graph holds as singles."""
        is_half = self.model.operands[index].type.code == OperandCode.TENSOR_FLOAT16
        return inner.like(type="f16") if is_half else inner

    def _cast(self, source: Tensor, target: Tensor) -> None:
        options = {"source": ELEMENTS[source.type], "target": ELEMENTS[target.type]}
        self.graph.operators.append(Operator("CAST", [source], [target], options))

    def _verdict(self, call: OperationCall) -> Verdict:
        try:
            self._lower(call)
        except Refused as refused:
            return self._refuse(call, str(refused))
        except NotYetKnown as unknown:
            return self._refuse(call, f"{unknown}")
        except NnapiError as error:
            return self._refuse(call, f"it fails {self.when}: {error}")
        return TAKEN

    def _refuse(self, call: OperationCall, reason: str) -> Verdict:
        for index in call.outputs:
            self.types.setdefault(index, self.model.operands[index].type)
        return Verdict(False, f"{call}: {reason}")

    def _lower(self, call: OperationCall) -> None:
        rule = RULES.get(call.code)
        if rule is None or call.match is None:
            need(call.code in REGISTRY and call.match, "the engine knows no extension or OEM operation")
            raise Refused("the engine has no operator with this meaning")
        if call.code in LEARNT:
            self._need_constants(call)
        normal = self._normal(call)
        site = Site(normal, self.values.get, self._tensor, self.findings)
        results = rule(site, **self._arguments(normal, site))
        results = [results] if isinstance(results, Tensor) else list(results)
        if normal.nchw:
            results = self._as_stored(normal, site, results)
        kept = normal.kept_results()
        if kept is not normal.results:
            results = [site.kept(*pair) for pair in zip(results, normal.stored_results(), kept, strict=True)]
        for operator in site.operators:
            reason = complaint(operator, self.sound)
            if reason is not None:
                raise Refused(reason)
            for output in operator.outputs:
                output.origin = call.number
        self.graph.operators += site.operators
        for index, result in zip(call.outputs, results, strict=True):
            result.name = self.model.operands[index].name or result.name
            self.tensors[index] = result

    def _need_constants(self, call: OperationCall) -> None:
        """Refuse inputs that are taken for omitted, but may be given when the model runs."""
        for index in call.inputs:
            operand = self.model.operands[index]
            may_be_given = operand.lifetime is Lifetime.INPUT and self.types.get(index, operand.type) is None
            need(not may_be_given, f"{operand} is computed, the engine needs it constant")

    def _normal(self, call: OperationCall) -> Call:
        operands = self.model.operands
        declared = tuple([operands[index].type for index in call.outputs])
        normal = self._normalised(call, declared) if len(call.inputs) < MANY else self._repeated(call, declared)
        for index, result in zip(call.outputs, normal.kept_results(), strict=True):
            operand = operands[index]
            if result is not operand.type:
                check_declared(result, operand.type, is_model_output=operand.lifetime is Lifetime.OUTPUT)
            if UNKNOWN not in result.dimensions:
                self.types[index] = result
        return normal

    def _repeated(self, call: OperationCall, declared: tuple[OperandType, ...]) -> Call:
        """The normal call where another may have been the same but for the operands that are computed, as the steps of
        a recurrent cell are."""
        types, values, inputs = self.types, self.values, call.inputs
        key = call.code, declared, *[index if index in values else types.get(index, index) for index in inputs]
        normal = self.findings.get(key)
        if normal is None:
            normal = self.findings[key] = self._normalised(call, declared)
            return normal
        assert call.match is not None
        places = call.match.inputs
        operands = {name: tuple([inputs[place] for place in places[name]]) for name in normal.operands}
        return Call(
            normal.operation, normal.arguments, operands, call.outputs, normal.results, normal.activation, normal.nchw,
            normal.declared,
        )  # fmt: skip

    def _normalised(self, call: OperationCall, declared: tuple[OperandType, ...]) -> Call:
        assert call.match is not None
        return normalise(
            REGISTRY[call.code],
            call.match,
            call.inputs,
            call.outputs,
            declared,
            self.types.__getitem__,
            self.values.get,
        )

    def _arguments(self, normal: Call, site: Site) -> dict[str, Any]:
        images = normal.images() if normal.nchw else frozenset()
        arguments = dict(normal.arguments)
        for name, value in normal.arguments.items():
            if name in STORED:
                continue
            if isinstance(value, OperandType):
                if not value.is_scalar:
                    index = normal.operands[name][0]
                    arguments[name] = self._argument(index, name in images, site) if images else self._tensor(index)
            elif isinstance(value, list) and value and isinstance(value[0], OperandType):
                arguments[name] = [self._argument(i, name in images, site) for i in normal.operands[name]]
        return arguments

    def _argument(self, index: int, is_nchw: bool, site: Site) -> Tensor:
        tensor = self._tensor(index)
        return site.transposed(tensor, NCHW_TO_NHWC) if is_nchw and len(tensor.shape) == 4 else tensor

    def _tensor(self, index: int) -> Tensor:
        tensor = self.tensors.get(index)
        if tensor is None:
            operand = self.model.operands[index]
            name = operand.name or f"operand {index}"
            type = self.types.get(index, operand.type)
            if type is None:
                raise Refused(f"{name} is omitted")
            tensor = self.tensors[index] = tensor_of(type, name, self.values.get(index))
        return tensor

    def _as_stored(self, normal: Call, site: Site, results: list[Tensor]) -> list[Tensor]:
        images, slots = normal.images(), normal.operation.outputs
        return [
            site.transposed(result, NHWC_TO_NCHW) if slot.name in images and len(result.shape) == 4 else result
            for slot, result in zip(slots, results, strict=False)
        ]
