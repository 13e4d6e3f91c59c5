"""Export IF and WHILE: the models that a model refers to become graphs within its file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Generic, TypeVar

from nnapi.codes import OperationCode
from nnapi.lowering.lower import Context, Lowering, require
from nnapi.model.model import Model, OperationCall
from nnapi.model.nesting import list_called
from nnapi.model.operand import OperandType

V = TypeVar("V")
C = TypeVar("C", bound=Context)


class NestingLowering(Lowering[V, C], Generic[V, C]):
    """A lowering that also takes IF and WHILE. Nested models have no dynamic dimensions: the types of their inputs
    decide them."""

    @abstractmethod
    def choose(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append an IF of a condition, which comes first of what is given; the types of its results."""

    @abstractmethod
    def repeat(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a WHILE; the types of its results."""

    def _lower(self, call: OperationCall) -> None:
        if call.code not in (OperationCode.IF, OperationCode.WHILE):
            super()._lower(call)
            return
        models: list[Model] = list_called(self.model, call)
        inner = {id(model) for model in models}
        given = [index for index in call.inputs if id(self.model.operands[index].value) not in inner]
        require(all(self.types[index] is not None for index in given), "an input of its models is omitted")
        append = self.choose if call.code == OperationCode.IF else self.repeat
        for index, type in zip(call.outputs, append(call, models, given), strict=True):
            self.types[index] = type

    def say_refused(self) -> str:
        """Return the operations that cannot be written, grouped by kind and reason; empty where all can."""
        groups: dict[tuple[str, str], list[int]] = {}
        for call, verdict in zip(self.model.operations, self.verdicts, strict=True):
            if not verdict.supported:
                reason = verdict.reason.removeprefix(f"{call}: ")
                groups.setdefault((call.name, reason), []).append(call.number)
        parts = []
        for (name, reason), numbers in groups.items():
            count = f" ×{len(numbers)}" if len(numbers) > 1 else ""
            parts.append(f"{name}{count} ({_say_places(numbers)}): {reason}")
        return "; ".join(parts)

    def given_types(self, given: Sequence[int]) -> list[OperandType]:
        """Return the types of the operands that are passed to a nested model."""
        types = [self.types[index] for index in given]
        return [type for type in types if type is not None]


def _say_places(numbers: Sequence[int]) -> str:
    """Format the numbers of operations, consecutive ones as #3–#5."""
    runs = [[*run] for _, run in groupby(enumerate(sorted(numbers)), lambda each: each[1] - each[0])]
    return ", ".join(f"#{run[0][1]}" if len(run) == 1 else f"#{run[0][1]}–#{run[-1][1]}" for run in runs)


def need_alike(name: str, first: Sequence[OperandType], second: Sequence[OperandType]) -> None:
    """Raise Unsupported where dimensions depend on the branch that is taken: a file must state them."""
    for a, b in zip(first, second, strict=False):
        require(a.dimensions == b.dimensions, f"{name} differ in their dimensions: {a} and {b}")
