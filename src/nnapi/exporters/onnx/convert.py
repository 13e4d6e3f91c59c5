"""Lower a model to an ONNX graph: convert each operation by its rule, or refuse it with the reason."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from nnapi.exporters.dynamic_dimensions import OTHER
from nnapi.exporters.nested import FileLowering
from nnapi.exporters.onnx.context import RULES, OnnxContext
from nnapi.exporters.onnx.graph import Graph, Node, Value, constant, value_of
from nnapi.lowering.lower import name_of
from nnapi.lowering.nested import need_alike
from nnapi.lowering.refusal import Unsupported
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape


class Conversion(FileLowering[Value, OnnxContext]):
    """One exported model, with those nested in it."""

    rules = RULES
    no_rule = "the ONNX exporter has no rule for it"

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, shapes)
        self._transposed: dict[tuple[Value, tuple[int, ...]], Value] = {}

    # Methods of Lowering

    def context(self, call: Call) -> OnnxContext:
        return OnnxContext(call, self._transposed, is_part=self.depth > 0)

    def make_value(self, operand: Operand) -> Value:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        data = self.constants.get(operand.index)
        return self.name_value(value_of(type, name_of(operand), data, is_static=data is not None), operand)

    def name_value(self, value: Value, operand: Operand) -> Value:
        value.name = operand.name
        declared = operand.type.dimensions
        if len(declared) == len(value.shape):
            stem = operand.name or operand.index
            value.dynamic = {axis: f"{stem}_{axis}" for axis, size in enumerate(declared) if size == 0}
        return value

    # Nested models

    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        values = [self.value(index) for index in given]
        types = self.given_types(given)
        then, otherwise = (self.lower_nested(model, types[1:], values[1:]) for model in models)
        need_alike("the results of its models", then.result_types(), otherwise.result_types())
        results = self.name_results([value.like() for value in then.results()], call)
        self._append(
            call, Node("If", [values[0]], results, {"then_branch": then.graph([]), "else_branch": otherwise.graph([])})
        )
        return then.result_types()

    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a Loop; its body ends by evaluating the condition."""
        condition, body = models
        values, types = [self.value(index) for index in given], self.given_types(given)
        before = self.lower_nested(condition, types, values)
        state = [value.like() for value in values]
        inner = self.lower_nested(body, types, state)
        need_alike("the state before and after a pass", types, inner.result_types())
        after = [*inner.results(), *state[len(inner.results()) :]]
        again = inner.lower_nested(condition, types, after)
        (first,), (last,) = before.results(), again.results()
        self.operators += before.operators
        inner.operators += again.operators
        number, condition_in = constant(0).like(), Value(np.dtype(np.bool_), ())
        outputs = [inner.once(value) for value in after]
        graph = Graph(inner.operators, [number, condition_in, *state], [inner.scalar(last), *outputs])
        results = [value.like() for value in values]
        self.name_results(results, call)
        self._append(call, Node("Loop", [None, self.scalar(first), *values], results, {"body": graph}))
        return types[: len(call.outputs)]

    def lower_nested(self, model: Model, types: Sequence[OperandType], values: Sequence[Value]) -> Self:
        """Return the lowering of a nested model for inputs of these types; ``values`` are its inputs' outer values."""
        inner = type(self)(model, [each.dimensions for each in types])
        inner.values.update(zip(model.inputs, values, strict=False))
        return inner.run().require_all()

    def results(self) -> list[Value]:
        return [self.value(index) for index in self.model.outputs]

    def graph(self, inputs: list[Value]) -> Graph:
        return Graph(self.operators, inputs, [self.once(value) for value in self.results()], self.model.name)

    def once(self, value: Value) -> Value:
        copy = value.like()
        self.operators.append(Node("Identity", [value], [copy]))
        return copy

    def scalar(self, value: Value) -> Value:
        none = value.like(())
        self.operators.append(Node("Reshape", [value, constant([], np.int64)], [none]))
        return none

    def finish(self) -> Graph:
        inputs, outputs = ([self.value(index) for index in side] for side in (self.model.inputs, self.model.outputs))
        return Graph(self.operators, inputs, outputs, self.model.name)

    def _append(self, call: OperationCall, node: Node) -> None:
        self.operators.append(node)
        self.values.update(zip(call.outputs, node.outputs, strict=False))


class OtherConversion(Conversion):
    """A conversion with other sizes of the dimensions that depend on the data."""

    unknown = OTHER
