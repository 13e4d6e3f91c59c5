"""Leave inputs and outputs unsigned if all their operators support that. Others are converted outside the engine."""

from collections import Counter
from collections.abc import Mapping

from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.lowering.tflite.context import flip_sign


def keep_unsigned_io(graph: Graph) -> Graph:
    """Return the graph with sign-flipped inputs and outputs unsigned again, if only conversions use them."""
    around: dict[Tensor, list[Operator]] = {
        end: [] for end, flipped in zip(graph.inputs_and_outputs, graph.flipped, strict=False) if flipped
    }
    if not around:
        return graph
    for operator in graph.operators:
        for tensor in operator.tensors:
            if tensor in around:
                around[tensor].append(operator)
    ends = Counter(graph.inputs_and_outputs)
    changed: dict[Tensor, Tensor] = {}
    for tensor, operators in around.items():
        is_alone = ends[tensor] == 1 and (tensor in graph.inputs or len(operators) == 1)
        if operators and is_alone and all(map(_takes_both, operators)):
            changed[tensor] = unsigned = flip_sign(tensor)
            others = [other for operator in operators for other in operator.tensors]
            changed.update(dict.fromkeys((other for other in others if other.same_quantization(unsigned)), unsigned))
    return _replace(graph, changed) if changed else graph


def _takes_both(operator: Operator) -> bool:
    """Return whether an operator converts between quantized and float, or between signed and unsigned values."""
    types = {tensor.type for tensor in operator.tensors}
    return operator.kind in ("DEQUANTIZE", "QUANTIZE") and bool(types & {"f32", "u8"})


def _replace(graph: Graph, changed: Mapping[Tensor, Tensor]) -> Graph:
    operators: list[Operator] = []
    for old in graph.operators:
        read = [tensor and changed.get(tensor, tensor) for tensor in old.inputs]
        new = old.like(read, [changed.get(tensor, tensor) for tensor in old.outputs])
        if new.inputs[:1] != new.outputs[:1]:
            operators.append(new)
    inputs, outputs = ([changed.get(tensor, tensor) for tensor in side] for side in (graph.inputs, graph.outputs))
    flipped = tuple(
        flip and end not in changed for end, flip in zip(graph.inputs_and_outputs, graph.flipped, strict=False)
    )
    return Graph(operators, inputs, outputs, flipped)
