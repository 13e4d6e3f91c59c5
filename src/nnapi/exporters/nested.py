"""Lower a model for a file: IF and WHILE become nested graphs, operations without a rule are decomposed."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from nnapi.errors import BadDataError, need
from nnapi.lowering.lower import Context, assume_shapes
from nnapi.lowering.nested import NestedLowering, count_with_copies
from nnapi.model.call import UNKNOWN, Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.nesting import list_nested
from nnapi.model.operand import OperandType, Shape

MOST_COPIES = 100_000
"""Maximum operations that a file has because models that several operations refer to are written several times."""

V = TypeVar("V")
C = TypeVar("C", bound=Context)


class FileLowering(NestedLowering[V, C], Generic[V, C]):
    """A lowering to a file's ``operators``, in the order of the model.

    An operation that no rule accepts is decomposed. Models of IF and WHILE are lowered for the types of their inputs,
    without dynamic dimensions.
    """

    decomposes = True
    unknown: ClassVar[int] = 1
    """The size that dimensions have here which depend on the data."""

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, assume_shapes(model) if shapes is None else shapes)
        self.operators: list[Any] = []

    @abstractmethod
    def name_value(self, value: V, operand: Operand) -> V: ...

    def _normalize(self, call: OperationCall) -> Call:
        normal = super()._normalize(call)
        if not any(UNKNOWN in type.dimensions for type in normal.results):
            return normal
        sizes = ([self.unknown if size == UNKNOWN else size for size in type.dimensions] for type in normal.results)
        results = tuple(map(OperandType.with_dimensions, normal.results, map(tuple, sizes)))
        self.types.update(zip(normal.outputs, results, strict=True))
        return replace(normal, results=results)

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

    def list_supported(self) -> set[int]:
        """Return the numbers of the operations that are lowered."""
        pairs = zip(self.model.operations, self.verdicts, strict=True)
        return {call.number for call, verdict in pairs if verdict.supported}

    def lower_file(self, suffix: str) -> Self:
        """Lower the whole file; raise BadDataError with all refused operations."""
        refused = self.run().describe_refused()
        need(not refused, f"{self.model.name} cannot be written as {suffix}: {refused}", BadDataError)
        return self


def need_few_copies(model: Model, suffix: str) -> None:
    """Raise BadDataError if a file with a copy of each nested model for each reference to it would be too large."""
    most = MOST_COPIES + sum(len(each.operations) for each in list_nested(model))
    said = f"with a copy of a nested model for each reference to it, it has more than {most} operations"
    is_small = count_with_copies(model, most) <= most
    need(is_small, f"{model.name} cannot be written as {suffix}: {said}", BadDataError)
