"""From a model to a graph for the engine: each call by its rule, or refused with the rule's reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nnapi.codes import OperationCode
from nnapi.drivers.base import Verdict
from nnapi.drivers.xnnpack.graph import Graph, Tensor
from nnapi.drivers.xnnpack.site import Refused, Site, need, tensor_of
from nnapi.drivers.xnnpack.validate import complaint
from nnapi.errors import NnapiError
from nnapi.model.call import UNKNOWN, Call, NotYetKnown, check_declared, normalise
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY

NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)

Rule = Callable[..., "Tensor | Sequence[Tensor]"]
R = TypeVar("R", bound=Rule)
STORED = ("filter", "weights", "bias")
"""Arguments whose constants a rule converts itself: it is given their types, not tensors."""
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


def lowered(model: Model, shapes: Sequence[Shape] | None = None) -> Lowered:
    """Lower what can be lowered; every operation that cannot has its reason.

    ``shapes`` are the extents of the inputs where the model leaves some open, by default 1 for each that it does.
    """
    return _Lowering(model, shapes or assumed(model)).run()


def assumed(model: Model) -> list[Shape]:
    """Extents of the inputs with 1 for those that the model leaves open."""
    return [tuple(extent or 1 for extent in model.operands[index].type.dimensions) for index in model.inputs]


class _Lowering:
    def __init__(self, model: Model, shapes: Sequence[Shape]) -> None:
        self.model = model
        self.graph = Graph()
        self.types: dict[int, OperandType | None] = {}
        self.tensors: dict[int, Tensor] = {}
        self.images: dict[Tensor, Tensor] = {}
        for operand in model.operands:
            if operand.lifetime == Lifetime.NO_VALUE:
                self.types[operand.index] = None
            elif operand.lifetime != Lifetime.TEMPORARY and (operand.type.is_known or operand.type.is_scalar):
                self.types[operand.index] = operand.type

        for index, shape in zip(model.inputs, shapes, strict=True):
            if shape:
                self.types[index] = model.operands[index].type.with_dimensions(shape)

    def run(self) -> Lowered:
        for index in self.model.inputs:
            self._try_input(index)
        verdicts = tuple(self._verdict(call) for call in self.model.operations)
        self.graph.outputs = [self.tensors[index] for index in self.model.outputs if index in self.tensors]
        return Lowered(self.graph, verdicts)

    def _try_input(self, index: int) -> None:
        try:
            self.graph.inputs.append(self._tensor(index))
        except Refused:
            return  # whoever reads it is refused

    def _verdict(self, call: OperationCall) -> Verdict:
        try:
            self._lower(call)
        except Refused as refused:
            return self._refuse(call, str(refused))
        except NotYetKnown as unknown:
            return self._refuse(call, f"{unknown}")
        except NnapiError as error:
            return self._refuse(call, f"it fails when it runs: {error}")
        return Verdict(True)

    def _refuse(self, call: OperationCall, reason: str) -> Verdict:
        for index in call.outputs:
            self.types.setdefault(index, self.model.operands[index].type)
        return Verdict(False, f"{call}: {reason}")

    def _lower(self, call: OperationCall) -> None:
        need(call.code in REGISTRY and call.match, "the engine knows no extension or OEM operation")
        need(call.code in RULES, "the engine has no operator with this meaning")
        normal = self._normal(call)
        site = Site(normal, self._value, self._tensor)
        results = RULES[call.code](site, **self._arguments(normal, site))
        results = [results] if isinstance(results, Tensor) else list(results)
        if normal.nchw:
            results = self._as_stored(normal, site, results)
        for operator in site.operators:
            reason = complaint(operator)
            need(reason is None, reason or "")
        self.graph.operators += site.operators
        for index, result in zip(call.outputs, results, strict=True):
            result.name = self.model.operands[index].name or result.name
            self.tensors[index] = result

    def _normal(self, call: OperationCall) -> Call:
        assert call.match is not None
        operands = self.model.operands
        normal = normalise(
            REGISTRY[call.code], call.match, call.inputs, call.outputs,
            tuple(operands[index].type for index in call.outputs), self._type, self._value,
        )  # fmt: skip
        for index, result in zip(call.outputs, normal.stored_results(), strict=True):
            check_declared(result, operands[index].type, is_model_output=operands[index].lifetime == Lifetime.OUTPUT)
            if UNKNOWN not in result.dimensions:
                self.types[index] = result
        return normal

    def _type(self, index: int) -> OperandType | None:
        if index not in self.types:
            raise NotYetKnown(self.model.operands[index].name or "an extent", index)
        return self.types[index]

    def _value(self, index: int) -> Array | None:
        operand = self.model.operands[index]
        return operand.value if operand.lifetime == Lifetime.CONSTANT else None

    def _arguments(self, normal: Call, site: Site) -> dict[str, Any]:
        images = normal.images() if normal.nchw else frozenset()
        arguments = dict(normal.arguments)
        for name, value in normal.arguments.items():
            if name in STORED:
                continue
            if isinstance(value, OperandType) and not value.is_scalar:
                arguments[name] = self._argument(normal.operands[name][0], name in images, site)
            elif isinstance(value, list) and value and isinstance(value[0], OperandType):
                arguments[name] = [self._argument(i, name in images, site) for i in normal.operands[name]]
        return arguments

    def _argument(self, index: int, is_nchw: bool, site: Site) -> Tensor:
        tensor = self._tensor(index)
        return site.transposed(tensor, NCHW_TO_NHWC) if is_nchw and len(tensor.shape) == 4 else tensor

    def _tensor(self, index: int) -> Tensor:
        if index not in self.tensors:
            operand = self.model.operands[index]
            name = operand.name or f"operand {index}"
            type = self.types.get(index, operand.type)
            need(type is not None, f"{name} is omitted")
            assert type is not None
            self.tensors[index] = tensor_of(type, name, self._value(index))
        return self.tensors[index]

    def _as_stored(self, normal: Call, site: Site, results: list[Tensor]) -> list[Tensor]:
        images, slots = normal.images(), normal.operation.outputs
        return [
            site.transposed(result, NHWC_TO_NCHW) if slot.name in images and len(result.shape) == 4 else result
            for slot, result in zip(slots, results, strict=False)
        ]
