"""Files for the compilers of NPUs, in which the names of tensors tell the operations."""

from collections.abc import Collection

from nnapi.exporters.tflite.convert import Conversion
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.names import write_named_tensors
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Model, OperationCall

PREFIX = "op"
"""The beginning of the name of each result; the number of its operation follows."""


class NumberedConversion(Conversion):
    """A conversion that knows the operation of each operator. Dynamic dimensions are 1."""

    def __init__(self, model: Model, shapes: object = None) -> None:
        super().__init__(model)
        self.origins: dict[Operator, int] = {}

    def _lower(self, call: OperationCall) -> None:
        before = len(self.operators)
        super()._lower(call)
        self.origins.update(dict.fromkeys(self.operators[before:], call.number))

    def write(self, numbers: Collection[int]) -> bytes:
        """Return a file of some operations. What others write or read becomes its inputs and outputs."""
        operators = [each for each in self.operators if self.origins.get(each) in numbers]
        made = dict.fromkeys(tensor for operator in operators for tensor in operator.outputs)
        read = dict.fromkeys(tensor for operator in operators for tensor in operator.inputs if tensor is not None)
        inputs = [tensor for tensor in read if tensor not in made and not (tensor.is_constant or tensor.is_variable)]
        outputs = [tensor for tensor in made if tensor not in read or tensor in self._list_results()]
        for operator in operators:
            for tensor in operator.outputs:
                tensor.name = f"{PREFIX}{self.origins[operator]}"
        graph = Graph(operators, inputs, outputs, name=self.model.name)
        graph.subgraphs = self.subgraphs
        for tensor in graph.tensors():
            tensor.signature = None
        return serialize(graph, write_named_tensors)

    def _list_results(self) -> list[Tensor]:
        return [self.values[index] for index in self.model.outputs if index in self.values]
