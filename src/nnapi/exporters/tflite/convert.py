"""From a model to the graph of a file: each operation by its rule, or refused with the reason."""

from __future__ import annotations

from nnapi.drivers.lowering import Lowering, Unsupported, assume_shapes, name_of
from nnapi.exporters.tflite import rules
from nnapi.exporters.tflite.context import RULES, Context, tensor_of
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.ops.quantization import same_quantization

assert rules  # imported for their registration


class Conversion(Lowering[Tensor, Context]):
    """One model on its way into a file. Its operators stand in the model's order, none rewritten."""

    rules = RULES
    no_rule = "TFLite has no operator with this meaning, or the exporter no way to say it"

    def __init__(self, model: Model) -> None:
        super().__init__(model, assume_shapes(model))
        self.operators: list[Operator] = []

    def context(self, call: Call) -> Context:
        return Context(call)

    def make_value(self, operand: Operand) -> Tensor:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        return self._name_tensor(tensor_of(type, name_of(operand), self.constants.get(operand.index)), operand)

    def transpose(self, context: Context, value: Tensor, order: tuple[int, ...]) -> Tensor:
        return context.transpose(value, order)

    def keep(self, call: OperationCall, context: Context, results: list[Tensor]) -> list[Tensor]:
        made, kept = context.call.stored_results(), context.call.kept_results()
        results = [
            tensor if same_quantization(*pair) else context.requantise(tensor, pair[1])
            for tensor, pair in zip(results, zip(made, kept, strict=True), strict=False)
        ]
        self.operators += context.operators
        for index, result in zip(call.outputs, results, strict=True):
            self._name_tensor(result, self.model.operands[index])
        return results

    def finish(self) -> Graph:
        """The graph, once everything is supported."""
        inputs, outputs = ([self.value(index) for index in side] for side in (self.model.inputs, self.model.outputs))
        return Graph(self.operators, inputs, outputs)

    def _name_tensor(self, tensor: Tensor, operand: Operand) -> Tensor:
        """A tensor with its operand's name, and what is open of its dimensions, which are 1 in the file."""
        tensor.name = operand.name
        open_ones = operand.type.dimensions
        if 0 in open_ones and len(open_ones) == len(tensor.shape):
            tensor.signature = tuple(size or -1 for size in open_ones)
        return tensor
