"""Lower a model for a file: IF and WHILE become nested graphs, operations without a rule are decomposed."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Generic, Self, TypeVar

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.lowering.lower import Context, Lowering, assume_shapes
from nnapi.lowering.refusal import require
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.nesting import list_call_references, list_nested
from nnapi.model.operand import OperandType, Shape
from nnapi.printable import shorten

MOST_COPIES = 100_000
"""Maximum operations that a file has because models that several operations refer to are written several times."""

V = TypeVar("V")
C = TypeVar("C", bound=Context)


class FileLowering(Lowering[V, C], Generic[V, C]):
    """A lowering to a file's ``operators``, in the order of the model.

    An operation that no rule accepts is decomposed. Models of IF and WHILE are lowered for the types of their inputs,
    without dynamic dimensions.
    """

    decomposes = True

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, assume_shapes(model) if shapes is None else shapes)
        self.operators: list[Any] = []

    @abstractmethod
    def name_value(self, value: V, operand: Operand) -> V: ...

    @abstractmethod
    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]: ...

    @abstractmethod
    def add_while(
        self, call: OperationCall, models: Sequence[Model], given: Sequence[int]
    ) -> Sequence[OperandType]: ...

    def _lower(self, call: OperationCall) -> None:
        if call.code not in (OperationCode.IF, OperationCode.WHILE):
            super()._lower(call)
            return
        models: list[Model] = list_call_references(self.model, call)
        inner = {id(model) for model in models}
        given = [index for index in call.inputs if id(self.model.operands[index].value) not in inner]
        require(all(self.types[index] is not None for index in given), "an input of its models is omitted")
        append = self.add_if if call.code == OperationCode.IF else self.add_while
        for index, type in zip(call.outputs, append(call, models, given), strict=True):
            self.types[index] = type

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        super().adopt_part(call, part)
        self.operators += part.operators
        results = self.name_results([self.values[index] for index in call.outputs], call)
        self.values.update(zip(call.outputs, results, strict=True))

    def transpose(self, context: Any, value: V, order: tuple[int, ...]) -> V:
        result: V = context.transpose(value, order)
        return result

    def accept_results(self, call: OperationCall, context: Any, results: list[V]) -> list[V]:
        made, kept = context.call.stored_results(), context.call.requantized_results()
        results = [context.fit_to_operand(*each) for each in zip(results, made, kept, strict=False)]
        own = {value for operator in context.operators for value in operator.outputs}
        for position, value in enumerate(results):
            if value not in own:
                results[position] = context.copy(value)
        self.operators += context.operators
        return self.name_results(results, call)

    def name_results(self, results: Sequence[V], call: OperationCall) -> list[V]:
        return [self.name_value(x, self.model.operands[i]) for x, i in zip(results, call.outputs, strict=False)]

    def result_types(self) -> list[OperandType]:
        return self.given_types(self.model.outputs)

    def require_all(self) -> Self:
        """Return this lowering of a nested model; raise Unsupported with the operations that are refused."""
        refused = self.describe_refused()
        require(not refused, shorten(f"{self.model.name}: {refused}"))
        return self

    def lower_file(self, suffix: str) -> Self:
        """Lower the whole file; raise BadDataError with all refused operations."""
        refused = self.run().describe_refused()
        need(not refused, f"{self.model.name} cannot be written as {suffix}: {refused}", BadDataError)
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

    def given_types(self, given: Sequence[int]) -> list[OperandType]:
        types = [self.types[index] for index in given]
        return [type for type in types if type is not None]


def need_few_copies(model: Model, suffix: str) -> None:
    """Raise BadDataError if a file with a copy of each nested model for each reference to it would be too large."""
    counts: dict[Model, int] = {}
    most = MOST_COPIES + sum(len(each.operations) for each in list_nested(model))
    for each in list_nested(model):
        references = [inner for call in each.operations for inner in _list_copies(each, call)]
        counts[each] = min(len(each.operations) + sum(counts[inner] for inner in references), most + 1)
    said = f"with a copy of a nested model for each reference to it, it has more than {most} operations"
    need(counts[model] <= most, f"{model.name} cannot be written as {suffix}: {said}", BadDataError)


def _list_copies(model: Model, call: OperationCall) -> list[Model]:
    """Return the models of a call; the condition of a WHILE twice, as ONNX evaluates it before and in the loop."""
    models: list[Model] = list_call_references(model, call)
    return models + models[:1] if call.code == OperationCode.WHILE else models


def _format_numbers(numbers: Sequence[int]) -> str:
    runs = [[*run] for _, run in groupby(enumerate(sorted(numbers)), lambda each: each[1] - each[0])]
    return ", ".join(f"#{run[0][1]}" if len(run) == 1 else f"#{run[0][1]}–#{run[-1][1]}" for run in runs)


def need_alike(name: str, first: Sequence[OperandType], second: Sequence[OperandType]) -> None:
    """Raise Unsupported if dimensions depend on which branch runs."""
    for a, b in zip(first, second, strict=False):
        require(a.dimensions == b.dimensions, f"{name} differ in their dimensions: {a} and {b}")
