"""Lower IF and WHILE to operators that refer to subgraphs, for files and for engines."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property, partial
from typing import Any, Generic, Self, TypeVar

from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import Verdict
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.garbage_collection import pause_collecting
from nnapi.lowering.nested import NestedLowering, Side, has_loop, need_alike
from nnapi.lowering.tflite.context import TfliteContext, tensor_of
from nnapi.lowering.tflite.control_flow_counts import Counted, find_counted
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import Array, OperandType, Shape

C = TypeVar("C", bound=TfliteContext)


class Role(Enum):
    BRANCH = "branch"
    CONDITION = "condition"
    BODY = "body"


Use = tuple[Model, tuple[Shape, ...], Role, bool, tuple[tuple[int, int], ...], Any]
"""A nested model, the shapes of its inputs, its role, whether it is in a loop, the positions and identities of its
constant inputs, and the owner of a copy."""


class Pending(Exception):
    """The lowering of a model needs that of a nested one first."""

    def __init__(self, lowering: "SubgraphLowering[Any]") -> None:
        self.lowering = lowering


class SubgraphLowering(NestedLowering[Tensor, C], Generic[C]):
    """A lowering of one model to ``operators``; the first nested graph in ``subgraphs`` has index 1. A nested model is
    one subgraph for all operations that use it in the same way, unless it ``copies``."""

    operators: list[Operator]

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        super().__init__(model, shapes)
        self.subgraphs: list[Graph] = []
        """The nested graphs of the whole file."""
        self.copies = False
        self._role = Role.BRANCH
        self._verdicts: list[Verdict] | None = None
        """Those of the operations that are lowered so far; None before the inputs are added."""
        self._nested: dict[Use, Self] = {}
        self._numbers: dict[Side | Counted, int] = {}
        """The index of a finished nested model among the file's subgraphs, by the turns that it passes on."""

    @abstractmethod
    def finish(self) -> Graph:
        """Return the graph, without its subgraphs."""

    @abstractmethod
    def name_value(self, value: Tensor, operand: Operand) -> Tensor:
        """Give the tensor of an operand its name; return the tensor."""

    @pause_collecting()
    def run(self) -> Self:
        """Lower the model, and each nested one before the operation that needs it. A list replaces recursion, because
        models may be nested deeper than Python's stack permits."""
        work: list[SubgraphLowering[C]] = [self]
        while work:
            try:
                work[-1]._continue()
                work.pop()
            except Pending as pending:
                work.append(pending.lowering)
        return self

    def _continue(self) -> None:
        """Lower the operations that are not lowered yet; raise Pending at one that needs another lowering first."""
        if self._verdicts is None:
            self._verdicts = []
            for index in self.model.inputs:
                if index not in self.constants:
                    self.add_input(self.model.operands[index])
        for call in self.model.operations[len(self._verdicts) :]:
            self._verdicts.append(self._judge(call))
        self.verdicts = tuple(self._verdicts)

    # Operations

    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        types, embedded = self.given_types(given), self.find_embedded(given[1:])
        then, otherwise = (self._lower_use(call, position, models, types[1:], embedded) for position in range(2))
        need_alike("the results of its models", then.result_types(), otherwise.result_types())
        turns, sides = self.pass_turns_to_branches(then, otherwise)
        numbers = [branch.add_subgraph(side) for branch, side in zip((then, otherwise), sides, strict=True)]
        options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
        inputs = [given[0], *(index for position, index in enumerate(given[1:]) if position not in embedded)]
        _, left = self._refer("IF", call, map(self.as_given, inputs), then.result_types(), options, turns)
        self.accept_turns(left)
        return then.result_types()

    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a WHILE; its body also returns the states that NNAPI's body does not, unchanged."""
        types, embedded = self.given_types(given), self.find_embedded(given, len(models[1].outputs))
        condition, body = (self._lower_use(call, position, models, types, embedded) for position in range(2))
        need_alike("the state before and after a pass", types, body.result_types())
        counted = self._find_counted(condition, body)
        side = (0, 0) if self.counts_turns else None
        numbers = [
            each.add_subgraph(side) if counted is None else each.add_counted(counted) for each in (condition, body)
        ]
        options = dict(zip(("cond_subgraph_index", "body_subgraph_index"), numbers, strict=True))
        kept = [position for position in range(len(given)) if position not in embedded]
        inputs, state = [given[position] for position in kept], [types[position] for position in kept]
        turns = self.pass_turns_to_loop(condition.model, body.model)
        if counted is None:
            _, left = self._refer("WHILE", call, map(self.as_given, inputs), state, options, turns)
        else:
            limit = counted.limit if isinstance(counted.limit, Tensor) else self.value(inputs[counted.limit])
            emit, start = partial(self._emit, call), self.value(inputs[counted.position])
            cap = counted.find_cap(emit, start, limit, *turns)
            results, _ = self._refer("WHILE", call, map(self.as_given, inputs), state, options, [cap])
            left = [counted.find_left(emit, (start, results[counted.position]), cap, limit, *turns)]
        self.accept_turns(left)
        return types[: len(call.outputs)]

    def _find_counted(self, condition: Self, body: Self) -> Counted | None:
        """Return how a loop counts, if that limits its turns: not in a loop, which shares its turns with inner ones."""
        if not self.counts_turns or self.in_loop or has_loop(body.model):
            return None
        return find_counted(condition.finished, body.finished)

    def _emit(self, call: OperationCall, kind: str, inputs: Sequence[Tensor], type: str, **options: Any) -> Tensor:
        output = Tensor(type, (1,), origin=call.number)
        self.operators.append(Operator(kind, [*inputs], [output], options))
        return output

    def _lower_use(
        self,
        call: OperationCall,
        position: int,
        models: Sequence[Model],
        types: Sequence[OperandType],
        embedded: Mapping[int, Array],
    ) -> Self:
        """Return the lowering of the model at a position of a call's models; raise Pending if there is none yet."""
        model, shapes = models[position], tuple([each.dimensions for each in types])
        owner = (self, call.number, position) if self.copies else None
        is_loop = call.code == OperationCode.WHILE
        role = Role.BODY if is_loop and position else Role.CONDITION if is_loop and self.counts_turns else Role.BRANCH
        identities = tuple([(position, id(value)) for position, value in embedded.items()])
        in_loop = self.counts_turns and (self.in_loop or is_loop)
        use = model, shapes, role, in_loop, identities, owner
        inner = self._nested.get(use)
        if inner is None:
            inner = self._nested[use] = type(self)(model, shapes)
            inner._share_file(self)
            inner._role = role
            self.enter(inner, embedded, in_loop=is_loop)
            if not self.depth:
                raise Pending(inner)
            inner.run()  # a repeated decomposition would have other models
        return inner.require_all()

    def make_part(self, model: Model, origins: Mapping[int, int]) -> Self:
        part = super().make_part(model, origins)
        part._share_file(self)
        return part

    def _share_file(self, other: Self) -> None:
        """Add nested graphs to the file of another lowering."""
        self.subgraphs, self._nested, self.copies = other.subgraphs, other._nested, other.copies

    def _refer(
        self,
        kind: str,
        call: OperationCall,
        given: Iterable[Tensor],
        types: Sequence[OperandType],
        options: dict[str, Any],
        turns: Sequence[Tensor],
    ) -> tuple[Sequence[Tensor], list[Tensor]]:
        """Append an operator that refers to subgraphs; return its results, and what is left of ``turns``. Convert
        float16 results."""
        inputs = list(given)
        results = [self.tensor_of(type) for type in types]
        outer = [
            result.like(type="f16") if type.code == OperandCode.TENSOR_FLOAT16 else result
            for result, type in zip(results, types, strict=True)
        ]
        left = [self.make_turns() for _ in turns]
        operators = [Operator(kind, [*inputs, *turns], [*outer, *left], options)]
        operators += [make_cast(*pair) for pair in zip(outer, results, strict=True) if pair[0] is not pair[1]]
        for operator in operators:
            for tensor in operator.outputs:
                tensor.origin = call.number
        self.operators.extend(operators)
        for index, result in zip(call.outputs, results, strict=False):
            self.values[index] = self.name_value(result, self.model.operands[index])
        return results, left

    def tensor_of(self, type: OperandType) -> Tensor:
        return tensor_of(type, "")

    def as_given(self, index: int) -> Tensor:
        """Return the tensor of an operand in its own type: float16 if the graph computes it in float32."""
        inner = self.value(index)
        if self.model.operands[index].type.code != OperandCode.TENSOR_FLOAT16:
            return inner
        outer = inner.like(type="f16")
        outer.signature = inner.signature
        self.operators.append(make_cast(inner, outer))
        return outer

    # Subgraphs

    def add_subgraph(self, side: Side) -> int:
        """Add a finished nested model to the file, once; return its index."""
        if side not in self._numbers:
            graph = self._copy()
            if side is not None:
                self._add_turns(graph, *side)
            self._numbers[side] = self._append(graph)
        return self._numbers[side]

    def add_counted(self, counted: Counted) -> int:
        """Add the condition or the body of a loop that gets its limit as one more state; return its index."""
        if counted not in self._numbers:
            graph, cap = self._copy(), self.make_turns()
            graph.inputs.append(cap)
            if self._role is Role.BODY:
                graph.outputs.append(cap)
            else:
                graph.operators = counted.lower_limit(graph, cap)
            self._numbers[counted] = self._append(graph)
        return self._numbers[counted]

    @cached_property
    def finished(self) -> Graph:
        return self.finish()

    def _copy(self) -> Graph:
        """Return a copy of the graph, in which a body also returns the rest of its state."""
        whole = self.finished
        graph = Graph([*whole.operators], [*whole.inputs], [*whole.outputs], name=whole.name)
        if self._role is Role.BODY:
            graph.outputs += graph.inputs[len(graph.outputs) :]
        return graph

    def _append(self, graph: Graph) -> int:
        _separate_outputs(graph, passes_through=self.counts_turns and self._role is Role.BODY)
        self.subgraphs.append(graph)
        return len(self.subgraphs)

    def _add_turns(self, graph: Graph, before: int, after: int) -> None:
        first, last = ([self.make_turns() for _ in range(count)] for count in (before, after))
        left = self.turns_left
        graph.inputs += [*first, *self.turns, *last]
        if self._role is Role.CONDITION:
            (turns,), (condition,) = self.turns, graph.outputs
            has_more, both = (Tensor("bool", (1,)) for _ in range(2))
            graph.operators.append(Operator("GREATER", [turns, constant([0])], [has_more]))
            graph.operators.append(Operator("LOGICAL_AND", [condition, has_more], [both]))
            graph.outputs = [both]
            return
        if self._role is Role.BODY:
            (turns,), left = left, [self.make_turns()]
            graph.operators.append(Operator("SUB", [turns, constant([1])], left, {"activation": 0}))
        graph.outputs += [*first, *left, *last]

    def make_turns(self) -> Tensor:
        return Tensor("i32", (1,))


def make_cast(source: Tensor, target: Tensor) -> Operator:
    return Operator("CAST", [source], [target], {"source": ELEMENTS[source.type], "target": ELEMENTS[target.type]})


def _separate_outputs(graph: Graph, *, passes_through: bool) -> None:
    """Make each output of a graph a tensor of its own, which is neither an input nor a constant. If it
    ``passes_through``, an input may also be the output at the same position."""
    taken = set(graph.inputs)
    for position, tensor in enumerate(graph.outputs):
        is_same = passes_through and tensor is graph.inputs[position]
        if tensor.is_constant or (tensor in taken and not is_same):
            copy = graph.outputs[position] = tensor.like()
            graph.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
        taken.add(graph.outputs[position])
