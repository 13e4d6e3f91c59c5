"""The profile of a simulated device: identity, supported operands, declared performance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nnapi.codes import DeviceTypeCode, OperationCode
from nnapi.contract.driver import Capabilities
from nnapi.model.graph import Operand
from nnapi.model.matching import describe_count
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import list_call_references, list_nested
from nnapi.model.operand import type_name
from nnapi.model.operation import REGISTRY


@dataclass(frozen=True)
class OperandLimits:
    types: tuple[int, ...] | None = None
    ranks: tuple[int, ...] | None = None
    largest_dimension: int | None = None
    constant: bool = False
    values: tuple[bool, ...] | None = None
    """Accepted values of a BOOL, such as the layout; None for both."""

    def find_violation(self, operand: Operand, name: str) -> str | None:
        """Return how an operand violates the limits, as a phrase after the device's name; None if it does not."""
        code, dimensions = operand.type.code, operand.type.dimensions
        if self.types is not None and code not in self.types:
            return f"takes {name} as {' or '.join(map(type_name, self.types))}, not as {type_name(code)}"
        if self.ranks is not None and dimensions and len(dimensions) not in self.ranks:
            return f"takes {name} with {describe_count(self.ranks, 'dimension')}, not with {len(dimensions)}"
        if self.largest_dimension is not None and max(dimensions, default=0) > self.largest_dimension:
            return f"takes dimensions up to {self.largest_dimension}, {name} has one of {max(dimensions)}"
        if self.constant and operand.lifetime is not Lifetime.CONSTANT:
            return f"takes {name} as a constant only"
        if self.values is not None and operand.lifetime is Lifetime.CONSTANT:
            return self.find_wrong_flag(bool(operand.value), name)
        return None

    def find_wrong_flag(self, value: bool, name: str) -> str | None:
        """Return how the value of a BOOL violates the limits, as :meth:`find_violation` does."""
        if self.values is None or value in self.values:
            return None
        return f"takes {name} as {str(not value).lower()} only"


ANYTHING = OperandLimits()
PLAIN = Capabilities()


@dataclass(frozen=True)
class OperationLimits:
    """Limits of an operation's operands: of the ``first`` one, and of others by parameter name."""

    first: OperandLimits = ANYTHING
    operands: Mapping[str, OperandLimits] = field(default_factory=dict)

    def find_violation(self, model: Model, call: OperationCall) -> str | None:
        """Return how a call violates the limits, as a phrase after the device's name; None if it does not."""
        named = [*name_operands(call)]
        for number, (name, index) in enumerate(named):
            operand = model.operands[index]
            if operand.lifetime in (Lifetime.NO_VALUE, Lifetime.SUBGRAPH):
                continue
            asked = [self.operands.get(name, ANYTHING), *([] if number else [self.first])]
            for limits in asked:
                if violation := limits.find_violation(operand, name):
                    return violation
        omitted = self.operands.keys() - {name for name, _ in named}
        wrong = (self.operands[name].find_wrong_flag(False, name) for name in sorted(omitted))
        return next(filter(None, wrong), None)


@dataclass(frozen=True)
class Profile:
    """A simulated device.

    ``operations`` maps supported operations to limits; ``others`` limits all others, which None refuses. Device
    ``computed_by`` runs the models that it supports, the reference all others. ``delay_seconds`` is added to each run.
    """

    name: str
    version: str = "1.0"
    type: DeviceTypeCode = DeviceTypeCode.DEVICE_ACCELERATOR
    feature_level: int = 8
    source: str = ""
    capabilities: Capabilities = PLAIN
    operations: Mapping[OperationCode, OperationLimits] = field(default_factory=dict)
    others: OperationLimits | None = None
    computed_by: str | None = None
    delay_seconds: float = 0.0

    def find_refusal(self, model: Model, call: OperationCall) -> str | None:
        """Return why an operation, or one inside control flow, is refused; None if it is supported."""
        if violation := self._find_violation(model, call):
            return f"{call}: {self.name} {violation}"
        for nested in (each for called in list_call_references(model, call) for each in list_nested(called)):
            for inner in nested.operations:
                if violation := self._find_violation(nested, inner):
                    return f"{call}: {inner} inside: {self.name} {violation}"
        return None

    def _find_violation(self, model: Model, call: OperationCall) -> str | None:
        limits = self.operations.get(OperationCode(call.code), self.others) if call.match else None
        return "has no such operation" if limits is None else limits.find_violation(model, call)


def name_operands(call: OperationCall) -> Iterator[tuple[str, int]]:
    """Yield a call's operands with the names of their parameters, inputs first."""
    if call.match is None:
        return
    names = {place: name for name, places in call.match.inputs.items() for place in places}
    yield from ((names[place], index) for place, index in enumerate(call.inputs))
    slots = REGISTRY[call.code].outputs
    yield from ((slots[min(place, len(slots) - 1)].name, index) for place, index in enumerate(call.outputs))
