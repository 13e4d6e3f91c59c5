"""Lower IF and WHILE whole, with the models that they refer to."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar, Generic, Self, TypeVar

from nnapi.codes import CONTROL_FLOW, OperationCode
from nnapi.lowering.lower import Context, Lowering, require
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import depths, list_call_references
from nnapi.model.operand import OperandType
from nnapi.printable import shorten

V = TypeVar("V")
C = TypeVar("C", bound=Context)


class NestedLowering(Lowering[V, C], Generic[V, C]):
    """A lowering that also lowers the models of IF and WHILE, for the types of their inputs. If an operation in such a
    model is refused, its reason refuses the IF or WHILE."""

    takes_control_flow: ClassVar[bool] = True
    deepest_nest: ClassVar[int | None] = None
    """Maximum number of models that contain each other in an operation; None if there is no limit."""

    @abstractmethod
    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append an IF on the operands ``given``, of which the first is the condition; return its results' types."""

    @abstractmethod
    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a WHILE on the operands ``given``; return its results' types."""

    def _lower(self, call: OperationCall) -> None:
        if call.code not in CONTROL_FLOW or not self.takes_control_flow:
            super()._lower(call)
            return
        models: list[Model] = list_call_references(self.model, call)
        if self.deepest_nest is not None:
            depth = 1 + max(depths(model)[model] for model in models)
            limit = f"its models are nested {depth} deep, the engine takes at most {self.deepest_nest}"
            require(depth <= self.deepest_nest, limit)
        operands = self.model.operands
        given = [index for index in call.inputs if operands[index].lifetime is not Lifetime.SUBGRAPH]
        require(all(self.types[index] is not None for index in given), "an input of its models is omitted")
        append = self.add_if if call.code == OperationCode.IF else self.add_while
        for index, type in zip(call.outputs, append(call, models, given), strict=True):
            self.types[index] = type

    def given_types(self, given: Sequence[int]) -> list[OperandType]:
        types = [self.types[index] for index in given]
        return [type for type in types if type is not None]

    def result_types(self) -> list[OperandType]:
        return self.given_types(self.model.outputs)

    def require_all(self) -> Self:
        """Return this lowering of a nested model; raise Unsupported with the operations that are refused."""
        refused = self.describe_refused()
        require(not refused, shorten(f"{self.model.name}: {refused}"))
        return self

    def describe_refused(self) -> str:
        groups: dict[tuple[str, str], list[int]] = {}
        for call, verdict in zip(self.model.operations, self.verdicts, strict=True):
            if not verdict.supported:
                reason = verdict.reason.removeprefix(f"{call}: ")
                groups.setdefault((call.name, reason), []).append(call.number)
        parts = []
        for (name, reason), numbers in groups.items():
            count = f" ×{len(numbers)}" if len(numbers) > 1 else ""
            parts.append(f"{name}{count} ({_format_numbers(numbers)}): {reason}")
        return "; ".join(parts)


def need_alike(name: str, first: Sequence[OperandType], second: Sequence[OperandType]) -> None:
    """Raise Unsupported if dimensions depend on which branch runs."""
    for a, b in zip(first, second, strict=False):
        require(a.dimensions == b.dimensions, f"{name} differ in their dimensions: {a} and {b}")


def _format_numbers(numbers: Sequence[int]) -> str:
    runs = [[*run] for _, run in groupby(enumerate(sorted(numbers)), lambda each: each[1] - each[0])]
    return ", ".join(f"#{run[0][1]}" if len(run) == 1 else f"#{run[0][1]}–#{run[-1][1]}" for run in runs)
