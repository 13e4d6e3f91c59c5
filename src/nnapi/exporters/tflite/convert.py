"""Lower a model to a TFLite graph: convert each operation by its rule, or refuse it with the reason."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode
from nnapi.exporters.nested import FileLowering, need_alike
from nnapi.exporters.tflite.context import RULES, Context
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant, remove_dead_operators
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.lowering.lower import Unsupported, name_of
from nnapi.lowering.passes.fuse_lstm import fuse_lstm_steps
from nnapi.lowering.passes.state_variables import make_state_variables
from nnapi.lowering.tflite.context import tensor_of
from nnapi.lowering.tflite.indexing import cancel_reversals
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape


class Conversion(FileLowering[Tensor, Context]):
    """One exported model; its first nested graph in ``subgraphs`` has index 1."""

    rules = RULES
    as_types = ("filter", "weights", "bias")
    no_rule = "the TFLite exporter has no rule for it"
    casts_round = False

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, shapes)
        self._given: dict[int, Tensor] = {}

    # Methods of Lowering

    def context(self, call: Call) -> Context:
        return Context(call, self.find_constant, self.value)

    def round_half(self, context: Context, value: Tensor) -> Tensor:
        return context.round_half(value)

    def add_input(self, operand: Operand) -> None:
        """Convert a float16 input to float32 once. An omitted input is refused by the operation that reads it."""
        type = self.types.get(operand.index, operand.type)
        if type is not None and type.code == OperandCode.TENSOR_FLOAT16:
            inner = self.value(operand.index)
            outer = self._given[operand.index] = inner.like(type="f16")
            outer.signature = inner.signature
            self.operators.append(_cast(outer, inner))

    def make_value(self, operand: Operand) -> Tensor:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        value = self.constants.get(operand.index)
        if value is not None and type.code == OperandCode.TENSOR_FLOAT16:
            kept = Tensor("f16", type.dimensions, data=value, name=operand.name)
            real = self.name_value(tensor_of(type, name_of(operand)), operand)
            self.operators.append(Operator("DEQUANTIZE", [kept], [real]))
            return real
        return self.name_value(tensor_of(type, name_of(operand), value), operand)

    def name_value(self, tensor: Tensor, operand: Operand) -> Tensor:
        """Set a tensor's name and dynamic dimensions, which are 1 in the file."""
        tensor.name = operand.name
        declared = operand.type.dimensions
        if 0 in declared and len(declared) == len(tensor.shape):
            tensor.signature = tuple(size or -1 for size in declared)
        return tensor

    # Nested models

    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        types = self.given_types(given)
        then, otherwise = (self.lower_nested(model, types[1:]) for model in models)
        need_alike("the results of its models", then.result_types(), otherwise.result_types())
        numbers = [self._add(each.finish()) for each in (then, otherwise)]
        options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
        self._refer("IF", call, given, then.result_types(), options)
        return then.result_types()

    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a WHILE; its body also returns the states that NNAPI's body does not, unchanged."""
        types = self.given_types(given)
        condition, body = (self.lower_nested(model, types) for model in models)
        need_alike("the state before and after a pass", types, body.result_types())
        graph = body.finish()
        for tensor in graph.inputs[len(graph.outputs) :]:
            copy = tensor.like()
            graph.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
            graph.outputs.append(copy)
        numbers = [self._add(condition.finish()), self._add(graph)]
        options = dict(zip(("cond_subgraph_index", "body_subgraph_index"), numbers, strict=True))
        self._refer("WHILE", call, given, types, options)
        return types[: len(call.outputs)]

    def finish(self) -> Graph:
        inputs = [self._given.get(index) or self.value(index) for index in self.model.inputs]
        outputs: list[Tensor] = []
        for index in self.model.outputs:
            tensor = self._as_given(index)
            if tensor in outputs:  # the output of a recurrent cell is also its state
                copy = self.name_value(tensor.like(), self.model.operands[index])
                self.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
                tensor = copy
            outputs.append(tensor)
        graph = cancel_reversals(Graph(self.operators, inputs, outputs, name=self.model.name))
        graph = fuse_lstm_steps(graph)
        return make_state_variables(use_quantized_weights(graph) if self.model.dynamic_range else graph)

    def _as_given(self, index: int) -> Tensor:
        inner = self.value(index)
        if self.model.operands[index].type.code != OperandCode.TENSOR_FLOAT16:
            return inner
        outer = inner.like(type="f16")
        outer.signature = inner.signature
        self.operators.append(_cast(inner, outer))
        return outer

    def _add(self, graph: Graph) -> int:
        self.subgraphs.append(graph)
        return len(self.subgraphs)

    def _refer(
        self,
        kind: str,
        call: OperationCall,
        given: Sequence[int],
        types: Sequence[OperandType],
        options: dict[str, int],
    ) -> None:
        """Append an operator that refers to subgraphs; float16 inputs and results are converted."""
        inputs = [self._as_given(index) for index in given]
        results = [tensor_of(type, "") for type in types]
        outer = [
            result.like(type="f16") if type.code == OperandCode.TENSOR_FLOAT16 else result
            for result, type in zip(results, types, strict=True)
        ]
        self.operators.append(Operator(kind, list(inputs), outer, options))
        self.operators += [_cast(*pair) for pair in zip(outer, results, strict=True) if pair[0] is not pair[1]]
        for index, result in zip(call.outputs, results, strict=False):
            self.values[index] = self.name_value(result, self.model.operands[index])


def _cast(source: Tensor, target: Tensor) -> Operator:
    return Operator("CAST", [source], [target], {"source": ELEMENTS[source.type], "target": ELEMENTS[target.type]})


# Products of floats and constants that stay quantized (TFLite's dynamic-range operators)


def use_quantized_weights(graph: Graph) -> Graph:
    """Return the graph with quantized instead of dequantized weights where operators accept both."""
    made = [operator for operator in graph.operators if operator.kind == "DEQUANTIZE"]
    found = {each.output: each.input(0) for each in made if _is_quantized_weights(each.input(0))}
    kept = {real: _repeat_scale(quantized) for real, quantized in found.items()}
    return remove_dead_operators(graph.with_operators([_replace(operator, kept) for operator in graph.operators]))


def _is_quantized_weights(tensor: Tensor) -> bool:
    is_signed = tensor.type == "i8" and tensor.is_constant and not tensor.zero_point
    return is_signed and (isinstance(tensor.scale, float) or tensor.axis == 0)


def _repeat_scale(tensor: Tensor) -> Tensor:
    """Repeat a tensor's single scale for each unit, because XNNPACK claims only such weights beside floats."""
    if not isinstance(tensor.scale, float):
        return tensor
    return tensor.like(scale=np.full(tensor.shape[0], tensor.scale, np.float32), axis=0, data=tensor.value)


def _replace(operator: Operator, kept: dict[Tensor, Tensor]) -> Operator:
    row = row_of(operator.kind)
    positions = row.weights if row.sums else ()
    return operator.like([kept.get(x, x) if i in positions and x else x for i, x in enumerate(operator.inputs)])
