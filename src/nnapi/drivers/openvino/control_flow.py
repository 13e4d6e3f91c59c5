"""Lower IF and WHILE to the engine's If and Loop. Values pass into and out of their graphs as NNAPI stores them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from nnapi.codes import CONTROL_FLOW, OperandCode
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.context import OpenvinoContext
from nnapi.drivers.openvino.data_sizes import DataSizes, as_unknown
from nnapi.drivers.openvino.value import ELEMENTS, Node, Value, node_of, round_half
from nnapi.lowering.lower import name_of
from nnapi.lowering.nested import DEEPEST_NEST, NestedLowering, Side, count_with_copies, need_alike
from nnapi.lowering.refusal import require
from nnapi.model.call import UNKNOWN
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import Array, OperandType

MOST_OPERATIONS = 10_000
"""Maximum operations of a model with control flow, with a copy of each nested model for each reference to it."""


class GraphLowering(NestedLowering[Value, OpenvinoContext]):
    """A lowering that also lowers nested models, to graphs of their own."""

    counts_turns = True
    embeds_constants = True
    deepest_nest = DEEPEST_NEST
    sizes: DataSizes
    """The sizes that depend on data."""

    @abstractmethod
    def list_parameters(self) -> list[Any]:
        """Return the parameters of the model's inputs, without constants and turns."""

    @abstractmethod
    def make_result(self, node: Node) -> Any:
        """Return a result of the graph."""

    def _lower(self, call: OperationCall) -> None:
        if call.code in CONTROL_FLOW and not self.is_nested:
            is_small = count_with_copies(self.model, MOST_OPERATIONS) <= MOST_OPERATIONS
            require(
                is_small, f"with a copy of its models for each reference, there are over {MOST_OPERATIONS} operations"
            )
        super()._lower(call)

    def make_turns(self) -> Any:
        return op.parameter([1], ov.Type.i32)

    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        types, embedded = self.given_types(given), self.find_embedded(given[1:])
        then, otherwise = (self._lower_nested(model, types[1:], embedded, in_loop=False) for model in models)
        merged = [*map(_merge, then.result_types(), otherwise.result_types())]
        turns, sides = self.pass_turns_to_branches(then, otherwise)
        branches = [branch._make_branch(side) for branch, side in zip((then, otherwise), sides, strict=True)]
        node = op.if_op(_output(self.value(given[0]).real()))  # given a node, it would get no condition
        node.set_then_body(branches[0])
        node.set_else_body(branches[1])
        inputs = [index for position, index in enumerate(given[1:]) if position not in embedded]
        outer = [*map(self._pass, inputs), *map(_output, turns)]
        for value, *parameters in zip(outer, *(branch.get_parameters() for branch in branches), strict=True):
            node.set_input(value, *parameters)
        results = [node.set_output(*pair) for pair in zip(*(b.get_results() for b in branches), strict=True)]
        self._accept(call, results[: len(call.outputs)], merged)
        self.accept_turns(results[len(call.outputs) :])
        return [self.values[index].type for index in call.outputs]

    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a Loop; its body ends by evaluating the condition."""
        types, changed = self.given_types(given), len(models[1].outputs)
        embedded = self.find_embedded(given, changed)
        kept = [position for position in range(len(given)) if position not in embedded]
        outer = {position: self._pass(given[position]) for position in kept}
        body = self._lower_nested(models[1], types, embedded, in_loop=True)
        need_alike("the state before and after a pass", types, body.result_types())
        turns = self.pass_turns_to_loop(models[0], models[1])
        parameters = dict(zip(kept, body.list_parameters(), strict=True))
        before = self._evaluate(models[0], types, embedded, outer)
        results = [body.make_result(body._pass(index)) for index in body.model.outputs]
        after = parameters | {position: result.input_value(0) for position, result in enumerate(results)}
        (left,) = [op.subtract(each, _number(1)) for each in body.turns_left]
        again = _and_turns(self._evaluate(models[0], types, embedded, after), left)
        (entering,) = turns
        node = op.loop(_number(-1, ()), _and_turns(before, entering))
        graph = ov.Model(
            [op.result(again), *results, op.result(left)], [*parameters.values(), *body.turns], body.model.name
        )
        node.set_function(graph)
        node.set_special_body_ports([-1, 0])
        _, *ends = graph.get_results()
        for position, parameter in parameters.items():
            if position < changed:
                node.set_merged_input(parameter, outer[position], _output(ends[position]))
            else:
                node.set_invariant_input(parameter, outer[position])
        node.set_merged_input(body.turns[0], _output(entering), _output(ends[-1]))
        starts = [*(outer[position] for position in range(changed)), entering]
        is_entered = _and_turns(before, entering)  # without a turn, the engine's results have no value
        values = [
            op.select(is_entered, node.get_iter_value(_output(end), -1), start).output(0)
            for end, start in zip(ends, starts, strict=True)
        ]
        self._accept(call, values[: len(call.outputs)], types)
        self.accept_turns([values[-1]])
        return types[: len(call.outputs)]

    def _lower_nested(
        self,
        model: Model,
        types: Sequence[OperandType],
        embedded: Mapping[int, Array],
        *,
        in_loop: bool,
        values: Mapping[int, Node] | None = None,
    ) -> Self:
        """Return the lowering of a nested model for inputs of these types; ``values`` are nodes for its inputs, by
        position, in place of parameters."""
        sizes = DataSizes()
        inner = type(self)(model, [sizes.copy(each.dimensions) for each in types])
        inner.sizes = sizes
        self.enter(inner, embedded, in_loop=in_loop)
        for position, index in enumerate(model.inputs):
            if values is not None and position in values:
                name = name_of(model.operands[index])
                inner.values[index] = Value.of(values[position], types[position], "stored", name=name)
            if inner.halves and types[position].code == OperandCode.TENSOR_FLOAT16:
                inner.halves.finer[index] = False  # the engine removes conversions to float16 and back
        return inner.run().require_all()

    def _evaluate(
        self, condition: Model, types: Sequence[OperandType], embedded: Mapping[int, Array], values: Mapping[int, Node]
    ) -> Node:
        """Return a condition's result for these values, in the graph of the values."""
        inner = self._lower_nested(condition, types, embedded, in_loop=True, values=values)
        return inner.value(condition.outputs[0]).real()

    def _make_branch(self, side: Side) -> ov.Model:
        results = [self.make_result(self._pass(index)) for index in self.model.outputs]
        parameters = self.list_parameters()
        if side is not None:
            first, last = ([self.make_turns() for _ in range(count)] for count in side)
            parameters += [*first, *self.turns, *last]
            results += map(self.make_result, [*first, *self.turns_left, *last])
        return ov.Model(results, parameters, self.model.name)

    def _pass(self, index: int) -> Node:
        """Return the output with an operand as NNAPI stores it. Round floats that have more bits than float16."""
        value = self.value(index)
        is_finer = self.halves is not None and index in self.halves.finer
        if is_finer and value.type.code == OperandCode.TENSOR_FLOAT32:
            return _output(round_half(value.real()))
        return _output(value.node("stored"))

    def _accept(self, call: OperationCall, nodes: Sequence[Node], types: Sequence[OperandType]) -> None:
        for index, node, type in zip(call.outputs, nodes, types, strict=False):
            require(type.code in ELEMENTS, f"{name_of(self.model.operands[index])} is {type.name}")
            value = self.values[index] = Value.of(node, type, "stored", name=name_of(self.model.operands[index]))
            self.sizes.declare(value)
            if self.halves and type.code == OperandCode.TENSOR_FLOAT16:
                self.halves.finer[index] = False


def _merge(then: OperandType, otherwise: OperandType) -> OperandType:
    """Return the type of a result of two branches; dimensions in which they differ, or that depend on data, are
    unknown."""
    require(then.rank == otherwise.rank, f"the results of its models differ in their ranks: {then} and {otherwise}")
    pairs = zip(as_unknown(then.dimensions), as_unknown(otherwise.dimensions), strict=True)
    return then.with_dimensions([a if a == b else UNKNOWN for a, b in pairs])


def _output(node: Node) -> Any:
    return node if isinstance(node, ov.Output) else node_of(node).output(0)


def _number(value: int, shape: tuple[int, ...] = (1,)) -> Node:
    return op.constant(np.full(shape, value, np.int32))


def _and_turns(condition: Node, turns: Node) -> Node:
    return op.logical_and(condition, op.greater(turns, _number(0)))
