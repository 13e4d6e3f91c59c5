"""From a model to the graph of a file: each operation by its rule, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from nnapi.exporters.nested import NestingLowering, need_alike
from nnapi.exporters.onnx import rules
from nnapi.exporters.onnx.context import RULES, Context
from nnapi.exporters.onnx.graph import Graph, Node, Value, constant, value_of
from nnapi.lowering.lower import Unsupported, assume_shapes, name_of
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape
from nnapi.ops.quantization import same_quantization

assert rules  # imported for their registration


class Conversion(NestingLowering[Value, Context]):
    """One model on its way into a file."""

    rules = RULES
    no_rule = "ONNX has no operator with this meaning, and the exporter no composition"

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, assume_shapes(model) if shapes is None else shapes)
        self.nodes: list[Node] = []
        self._turned: dict[tuple[Value, tuple[int, ...]], Value] = {}

    # Methods of Lowering

    def context(self, call: Call) -> Context:
        return Context(call, self._turned)

    def make_value(self, operand: Operand) -> Value:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        return _set_names(value_of(type, name_of(operand), self.constants.get(operand.index)), operand)

    def transpose(self, context: Context, value: Value, order: tuple[int, ...]) -> Value:
        return context.transpose(value, order)

    def keep(self, call: OperationCall, context: Context, results: list[Value]) -> list[Value]:
        made, kept = context.call.stored_results(), context.call.kept_results()
        results = [
            value if same_quantization(*pair) else context.quantize(context.real(value), pair[1])
            for value, pair in zip(results, zip(made, kept, strict=True), strict=False)
        ]
        own = {value for node in context.nodes for value in node.outputs}
        for position, value in enumerate(results):
            if value not in own or value in results[:position]:
                results[position] = context.emit("Identity", [value], value.like())
        self.nodes += context.nodes
        for index, value in zip(call.outputs, results, strict=True):
            _set_names(value, self.model.operands[index])
        return results

    # Models within

    def choose(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        values = [self.value(index) for index in given]
        types = self.given_types(given)
        then, otherwise = (self.within(model, values[1:], types[1:]) for model in models)
        need_alike("the results of its models", then.result_types(), otherwise.result_types())
        results = [
            _set_names(x.like(), self.model.operands[i]) for x, i in zip(then.results(), call.outputs, strict=True)
        ]
        self._append(
            call, Node("If", [values[0]], results, {"then_branch": then.graph([]), "else_branch": otherwise.graph([])})
        )
        return then.result_types()

    def repeat(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a Loop. ONNX evaluates the condition at the end of a pass; the condition of the first pass is a
        separate input."""
        condition, body = models
        values, types = [self.value(index) for index in given], self.given_types(given)
        before = self.within(condition, values, types)
        state = [value.like() for value in values]
        inner = self.within(body, state, types)
        need_alike("the state before and after a pass", types, inner.result_types())
        after = [*inner.results(), *state[len(inner.results()) :]]
        again = inner.within(condition, after, types)
        (first,), (last,) = before.results(), again.results()
        self.nodes += before.nodes
        inner.nodes += again.nodes
        number, told = constant(0).like(), Value(np.dtype(np.bool_), ())
        outputs = [inner.once(value) for value in after]
        graph = Graph(inner.nodes, [number, told, *state], [inner.scalar(last), *outputs])
        results = [value.like() for value in values]
        for value, index in zip(results, call.outputs, strict=False):
            _set_names(value, self.model.operands[index])
        self._append(call, Node("Loop", [None, self.scalar(first), *values], results, {"body": graph}))
        return types[: len(call.outputs)]

    def within(self, model: Model, values: Sequence[Value], types: Sequence[OperandType]) -> Self:
        """A nested model, lowered on values from outside."""
        inner = type(self)(model, [each.dimensions for each in types])
        inner.values.update(zip(model.inputs, values, strict=True))
        inner.run()
        if refused := inner.say_refused():
            raise Unsupported(f"{model.name}: {refused}")
        return inner

    def results(self) -> list[Value]:
        return [self.value(index) for index in self.model.outputs]

    def result_types(self) -> list[OperandType]:
        return self.given_types(self.model.outputs)

    def graph(self, inputs: list[Value]) -> Graph:
        """The graph, once everything is supported. Within it outputs have names of their own."""
        return Graph(self.nodes, inputs, [self.once(value) for value in self.results()], self.model.name)

    def once(self, value: Value) -> Value:
        """A value that a node of this graph gives, as outputs must be."""
        copy = value.like()
        self.nodes.append(Node("Identity", [value], [copy]))
        return copy

    def scalar(self, value: Value) -> Value:
        """A condition without dimensions."""
        none = value.like(())
        self.nodes.append(Node("Reshape", [value, constant([], np.int64)], [none]))
        return none

    def finish(self) -> Graph:
        inputs, outputs = ([self.value(index) for index in side] for side in (self.model.inputs, self.model.outputs))
        return Graph(self.nodes, inputs, outputs, self.model.name)

    def _append(self, call: OperationCall, node: Node) -> None:
        self.nodes.append(node)
        self.values.update(zip(call.outputs, node.outputs, strict=False))


def _set_names(value: Value, operand: Operand) -> Value:
    """A value with its operand's name, and names for what is open of its dimensions, which are 1 here."""
    value.name = operand.name
    declared = operand.type.dimensions
    if len(declared) == len(value.shape):
        value.open = {
            axis: f"{operand.name or operand.index}_{axis}" for axis, size in enumerate(declared) if size == 0
        }
    return value
