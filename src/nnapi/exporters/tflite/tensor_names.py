"""Names of a file's tensors. LiteRT needs none, but other readers, such as OpenVINO's, find tensors by name."""

from collections.abc import Iterable, Sequence

from nnapi.exporters.unique_names import UniqueNames
from nnapi.formats.tflite.graph import Graph, Tensor


def name_tensors(graphs: Sequence[Graph], operands: Iterable[Tensor]) -> None:
    """Give each tensor of a file a name that no other one has. Inputs, outputs and ``operands`` keep theirs first."""
    names, named = UniqueNames(), set[Tensor]()

    def name(tensor: Tensor | None, otherwise: str) -> None:
        if tensor is not None and tensor not in named:
            named.add(tensor)
            tensor.name = names.take(tensor.name or otherwise)

    for graph in graphs:
        for side, tensors in (("input", graph.inputs), ("output", graph.outputs)):
            for position, tensor in enumerate(tensors):
                name(tensor, f"{side}_{position}")
    for operand in operands:
        if operand.name:
            name(operand, operand.name)
    for operator in (operator for graph in graphs for operator in graph.operators):
        for read in operator.inputs:
            name(read, "constant" if read is not None and read.is_constant else "state")
        for tensor in operator.outputs:
            name(tensor, operator.kind.lower())
        for tensor in operator.intermediates:
            name(tensor, "scale")
