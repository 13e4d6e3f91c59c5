"""From a model to the engine's graph: each call by its rule, or refused with the rule's reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nnapi.codes import OperandCode
from nnapi.drivers.base import Verdict
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.site import Range, Refused, Site, need
from nnapi.drivers.openvino.value import ELEMENTS, Value
from nnapi.errors import NnapiError
from nnapi.model.call import UNKNOWN, Call, NotYetKnown, check_declared, normalise
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import REGISTRY, Operation
from nnapi.ops.quantization import same_quantization

Rule = Callable[..., "Value | Sequence[Value]"]
RULES: dict[int, Rule] = {}
"""The lowering rule of each operation that has one, by operation code."""


LARGE = 200
"""Elementwise operations in a row, or on one value: more than networks have."""
ELEMENTWISE = (".elementwise", ".pairwise")
"""The modules of the rules of those."""


def lower(*operations: Operation) -> Callable[[Rule], Rule]:
    """Register a rule. It is called with the site and the call's arguments by name, tensors as values, and gives the
    value of each result."""

    def register(rule: Rule) -> Rule:
        RULES.update((operation.code, rule) for operation in operations)
        return rule

    return register


@dataclass
class Lowered:
    """The values of a model's operands, as far as they can be computed, and the verdict on each operation."""

    model: Model
    verdicts: tuple[Verdict, ...] = ()
    values: dict[int, Value] = field(default_factory=dict)
    parameters: dict[int, Any] = field(default_factory=dict)
    ranges: list[Range] = field(default_factory=list)

    def graph(self) -> ov.Model:
        """The engine's model of what the model's outputs are computed from, stored as NNAPI stores them."""
        results = [op.result(self.values[index].node("stored")) for index in self.model.outputs]
        parameters = [self.parameters[index] for index in self.model.inputs if index in self.parameters]
        return ov.Model(results, parameters, self.model.name)

    @property
    def is_large(self) -> bool:
        """Whether the graph is one whose elementwise operations the engine had better not join into kernels: its search
        for such groups takes the square of their number, or worse."""
        return len(self.model.operations) > LARGE and self._longest_chain() > LARGE

    def _longest_chain(self) -> int:
        """How many elementwise operations follow each other, or else read one value, at most."""
        depths: dict[int, int] = {}
        readers: Counter[int] = Counter()
        for call in self.model.operations:
            if RULES[call.code].__module__.endswith(ELEMENTWISE):
                depth = 1 + max((depths.get(index, 0) for index in call.inputs), default=0)
                depths.update(dict.fromkeys(call.outputs, depth))
                readers.update(set(call.inputs))
        return max([0, *depths.values(), *(readers[index] for index in readers)])


def assumed(type: OperandType) -> OperandType:
    """The type with every extent that is left open, most of them numbers of batches, taken for 1."""
    return type.with_dimensions([extent or 1 for extent in type.dimensions])


def lowered(model: Model, inputs: Sequence[OperandType] | None = None) -> Lowered:
    """Lower what can be lowered for inputs of these types, by default the assumed ones; what cannot has its reason."""
    return _Lowering(model, inputs or [assumed(model.operands[index].type) for index in model.inputs]).run()


class _Lowering:
    def __init__(self, model: Model, inputs: Sequence[OperandType]) -> None:
        self.model = model
        self.done = Lowered(model)
        self.types: dict[int, OperandType | None] = {
            index: type for index, type in zip(model.inputs, inputs, strict=True) if type.is_known
        }
        for operand in model.operands:
            if operand.lifetime == Lifetime.NO_VALUE:
                self.types[operand.index] = None
            elif operand.lifetime in (Lifetime.CONSTANT, Lifetime.OUTPUT) and operand.type.is_known:
                self.types[operand.index] = operand.type

    def run(self) -> Lowered:
        for index in self.model.inputs:
            self._add_parameter(self.model.operands[index], self.types.get(index))
        self.done.verdicts = tuple(self._verdict(call) for call in self.model.operations)
        return self.done

    def _add_parameter(self, operand: Operand, type: OperandType | None) -> None:
        if type is not None and type.code in ELEMENTS:
            parameter = op.parameter(list(type.dimensions), ELEMENTS[OperandCode(type.code)])
            self.done.parameters[operand.index] = parameter
            self.done.values[operand.index] = Value.of(parameter, type, "stored", name=_name(operand))

    def _verdict(self, call: OperationCall) -> Verdict:
        try:
            self._lower(call)
        except (Refused, NotYetKnown) as refused:
            return self._refuse(call, str(refused))
        except NnapiError as error:
            return self._refuse(call, f"it fails when it runs: {error}")
        except RuntimeError as error:  # what the engine raises, many lines of which the last says what is wrong
            return self._refuse(call, f"the engine refuses it: {str(error).strip().splitlines()[-1]}")
        return Verdict(True)

    def _refuse(self, call: OperationCall, reason: str) -> Verdict:
        """Go on behind the call as if its results came from outside."""
        for index in call.outputs:
            operand = self.model.operands[index]
            type = assumed(operand.type)
            if type.is_known:
                self.types[index] = type
                self._add_parameter(operand, type)
        return Verdict(False, f"{call}: {reason}")

    def _lower(self, call: OperationCall) -> None:
        need(call.code in REGISTRY and call.match, "the engine knows no extension or OEM operation")
        need(call.code in RULES, "the engine's operations do not have this meaning")
        normal = self._normal(call)
        site = Site(normal, self.model.inputs)
        results = RULES[call.code](site, **self._arguments(normal))
        results = [results] if isinstance(results, Value) else list(results)
        if normal.nchw:
            results = self._as_stored(normal, results)
        kept = normal.kept_results()
        need(
            not normal.activation or all(map(same_quantization, normal.stored_results(), kept)),
            "the result is kept in another scale than the activation's limits are rounded to",
        )
        results = [result.requantised(type) for result, type in zip(results, kept, strict=True)]
        self.done.ranges += site.ranges
        for index, result in zip(call.outputs, results, strict=True):
            result.name = _name(self.model.operands[index])
            self.done.values[index] = result

    def _normal(self, call: OperationCall) -> Call:
        assert call.match is not None
        operands = self.model.operands
        normal = normalise(
            REGISTRY[call.code], call.match, call.inputs, call.outputs,
            tuple(operands[index].type for index in call.outputs), self._type, self._value,
        )  # fmt: skip
        for index, result in zip(call.outputs, normal.kept_results(), strict=True):
            operand = operands[index]
            check_declared(result, operand.type, is_model_output=operand.lifetime == Lifetime.OUTPUT)
            need(UNKNOWN not in result.dimensions, f"the extents of {_name(operand)} depend on the data")
            need(0 not in result.dimensions, f"{_name(operand)} has no elements: {list(result.dimensions)}")
            self.types[index] = result
        return normal

    def _type(self, index: int) -> OperandType | None:
        if index not in self.types:
            raise NotYetKnown(_name(self.model.operands[index]), index)
        return self.types[index]

    def _value(self, index: int) -> Array | None:
        operand = self.model.operands[index]
        return operand.value if operand.lifetime == Lifetime.CONSTANT else None

    def _arguments(self, normal: Call) -> dict[str, Any]:
        images = normal.images() if normal.nchw else frozenset()
        arguments = dict(normal.arguments)
        for name, argument in normal.arguments.items():
            if isinstance(argument, OperandType) and not argument.is_scalar:
                arguments[name] = self._argument(normal.operands[name][0], name in images)
            elif isinstance(argument, list) and argument and isinstance(argument[0], OperandType):
                arguments[name] = [self._argument(index, name in images) for index in normal.operands[name]]
        return arguments

    def _argument(self, index: int, is_nchw: bool) -> Value:
        value = self._operand_value(self.model.operands[index])
        return value.seen_as_image() if is_nchw and value.type.rank == 4 else value

    def _operand_value(self, operand: Operand) -> Value:
        if operand.index not in self.done.values:
            type = self._type(operand.index)
            assert type is not None
            need(type.code in ELEMENTS, f"{_name(operand)} is {type.name}, which the engine does not compute in")
            need(operand.lifetime == Lifetime.CONSTANT, f"{_name(operand)} has extents that are not known: {type}")
            self.done.values[operand.index] = Value(type, _name(operand), operand.value)
        return self.done.values[operand.index]

    def _as_stored(self, normal: Call, results: list[Value]) -> list[Value]:
        images, slots = normal.images(), normal.operation.outputs
        return [
            result.stored_as_nchw() if slot.name in images and result.type.rank == 4 else result
            for slot, result in zip(slots, results, strict=False)
        ]


def _name(operand: Operand) -> str:
    return operand.name or f"operand {operand.index}"
