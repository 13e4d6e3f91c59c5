"""Lower IF and WHILE whole, with the models that they refer to.

A lowering that counts turns limits the loops of an engine, which cannot be interrupted. Each loop that is in no other
loop gets one more input, the number of turns that it may take, and one more output, the number of those that are left.
Inner loops take their turns from the same number. If it reaches 0, all of the loops end, and their results are useless.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from nnapi.codes import CONTROL_FLOW, OperationCode
from nnapi.lowering.lower import Context, Lowering
from nnapi.lowering.refusal import Unsupported, require
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import depths, list_call_references, list_nested
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.printable import shorten

DEEPEST_NEST = 16
"""Maximum depth of models in an operation for engines, which call themselves for each."""
Side: TypeAlias = tuple[int, int] | None
"""How many turns of other models a nested graph passes on, before and after its own; None for a graph without turns."""
V = TypeVar("V")
C = TypeVar("C", bound=Context)


class NestedLowering(Lowering[V, C], Generic[V, C]):
    """A lowering that also lowers the models of IF and WHILE, for the types of their inputs. If an operation in such a
    model is refused, its reason refuses the IF or WHILE."""

    takes_control_flow: ClassVar[bool] = True
    deepest_nest: ClassVar[int | None] = None
    """Maximum depth of the models in an operation; None for any depth."""
    counts_turns: ClassVar[bool] = False
    embeds_constants: ClassVar[bool] = False
    """Whether constants that a nested model gets in each turn become constants of its graph."""

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        super().__init__(model, shapes)
        self.is_nested = False
        self.in_loop = False
        """Whether turns are counted for a loop around the model."""
        self.turns: list[Any] = []
        """The engine's inputs with the turns that loops may take: one for all loops of a body; else one for each."""
        self.turns_left: list[Any] = []
        self.turn_models: list[tuple[Model, Model]] = []
        """The condition and the body of the loop behind each of ``turns``, outside of loops."""

    def make_turns(self) -> Any:
        """Return a new input for turns. A lowering that counts turns overrides this."""
        raise Unsupported("loops of the engine count no turns")

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
        if self.counts_turns and call.code == OperationCode.WHILE:
            require(not has_loop(models[0]), f"its condition {models[0].name} contains a loop")
        operands = self.model.operands
        given = [index for index in call.inputs if operands[index].lifetime is not Lifetime.SUBGRAPH]
        require(all(self.types[index] is not None for index in given), "an input of its models is omitted")
        append = self.add_if if call.code == OperationCode.IF else self.add_while
        for index, type in zip(call.outputs, append(call, models, given), strict=True):
            self.types[index] = type

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        part = super().make_part(model, origins)
        part.is_nested, part.in_loop = self.is_nested, self.in_loop
        if self.in_loop:
            part.turns, part.turns_left = self.turns, self.turns_left
        return part

    def adopt_part(self, call: OperationCall, part: Self) -> None:
        super().adopt_part(call, part)
        if self.in_loop:
            self.turns_left = part.turns_left
        else:
            self.turns += part.turns
            self.turns_left += part.turns_left
            self.turn_models += part.turn_models

    # Constants and turns of nested models

    def find_embedded(self, given: Sequence[int], first: int = 0) -> Mapping[int, Array]:
        """Return the constants that become constants of the nested graphs, by position, from ``first`` on."""
        if not self.embeds_constants:
            return {}
        values = {position: self.constants.get(index) for position, index in enumerate(given)}
        return {position: value for position, value in values.items() if value is not None and position >= first}

    def enter(self, inner: Self, embedded: Mapping[int, Array], *, in_loop: bool) -> None:
        """Give a nested lowering its constants and the turns of the loop around it."""
        inner.constants.update({inner.model.inputs[position]: value for position, value in embedded.items()})
        inner.is_nested = True
        inner.in_loop = self.counts_turns and (self.in_loop or in_loop)
        if inner.in_loop:
            inner.turns = inner.turns_left = [self.make_turns()]

    def pass_turns_to_branches(self, then: Self, otherwise: Self) -> tuple[list[Any], tuple[Side, Side]]:
        """Return the turns that an IF gets, and those that each branch passes on besides its own."""
        if not self.in_loop:
            counts = len(then.turns), len(otherwise.turns)
            passed = [self.make_turns() for _ in range(sum(counts))]
            self.turns += passed
            self.turn_models += then.turn_models + otherwise.turn_models
            return passed, ((0, counts[1]), (counts[0], 0))
        if all(branch.turns == branch.turns_left for branch in (then, otherwise)):
            return [], (None, None)
        return self.turns_left, ((0, 0), (0, 0))

    def pass_turns_to_loop(self, condition: Model, body: Model) -> list[Any]:
        """Return the turns that a WHILE gets."""
        if not self.counts_turns or self.in_loop:
            return self.turns_left
        passed = [self.make_turns()]
        self.turns += passed
        self.turn_models.append((condition, body))
        return passed

    def accept_turns(self, left: list[Any]) -> None:
        """Accept what an operation has left of its turns."""
        if not self.in_loop:
            self.turns_left += left
        elif left:
            self.turns_left = left

    # Verdicts

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


def has_loop(model: Model) -> bool:
    return any(call.code == OperationCode.WHILE for each in list_nested(model) for call in each.operations)


def count_with_copies(model: Model, most: int) -> int:
    """Count the operations of a model, with a copy of each nested model for each reference to it, up to ``most`` + 1.
    The condition of a WHILE counts twice, as it is evaluated before and in the loop."""
    counts: dict[Model, int] = {}
    for each in list_nested(model):
        copies = [inner for call in each.operations for inner in _list_copies(each, call)]
        counts[each] = min(len(each.operations) + sum(counts[inner] for inner in copies), most + 1)
    return counts[model]


def _list_copies(model: Model, call: OperationCall) -> list[Model]:
    models: list[Model] = list_call_references(model, call)
    return models + models[:1] if call.code == OperationCode.WHILE else models


def need_alike(name: str, first: Sequence[OperandType], second: Sequence[OperandType]) -> None:
    """Raise Unsupported if dimensions depend on which branch runs."""
    for a, b in zip(first, second, strict=False):
        require(a.dimensions == b.dimensions, f"{name} differ in their dimensions: {a} and {b}")


def _format_numbers(numbers: Sequence[int]) -> str:
    runs = [[*run] for _, run in groupby(enumerate(sorted(numbers)), lambda each: each[1] - each[0])]
    return ", ".join(f"#{run[0][1]}" if len(run) == 1 else f"#{run[0][1]}–#{run[-1][1]}" for run in runs)
