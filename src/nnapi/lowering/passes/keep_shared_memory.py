"""Keep LiteRT from overwriting values that are still to be read.

LiteRT computes ADD, MUL and SUB of int32 in the memory of an operand, and a RESHAPE shares the memory of its input.
Before an operator overwrites memory, LiteRT counts the readers of the operand and of the tensor that was first in the
memory, but not those of tensors between the two. Where these are still read, another reader of the operand prevents it.
"""

from collections import Counter
from collections.abc import Iterator

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant

SHARING, OVERWRITING = "RESHAPE", ("ADD", "MUL", "SUB")
SCALAR = 4
"""Bytes of a tensor up to which LiteRT does not compute in its memory."""


def keep_shared_memory(graph: Graph) -> Graph:
    """Return the graph with a further reader of each operand in whose memory LiteRT would overwrite read values."""
    readers: Counter[Tensor | None] = Counter([*graph.inputs, *graph.outputs])
    readers.update(tensor for operator in graph.operators for tensor in operator.inputs)
    before: dict[Tensor, Tensor] = {}
    """The tensor whose memory a tensor shares."""
    ends = {*graph.inputs, *graph.outputs}
    operators: list[Operator] = []
    for operator in graph.operators:
        if operator.kind == SHARING and operator.input(0).data is None and operator.input(0) not in graph.inputs:
            if operator.output not in ends:
                before[operator.output] = operator.input(0)
        elif operator.kind in OVERWRITING and operator.output not in ends:
            for operand in _list_operands(operator, graph, readers):
                *between, first = _list_sharing(operand, before)
                if readers[first] > 1:
                    break
                if all(readers[tensor] == 1 for tensor in between):
                    before[operator.output] = operand
                    break
                operators.append(Operator(SHARING, [operand, constant(operand.shape)], [operand.like()]))
                readers[operand] += 1
        operators.append(operator)
    return graph.with_operators(operators)


def _list_operands(operator: Operator, graph: Graph, readers: Counter[Tensor | None]) -> Iterator[Tensor]:
    """Yield the operands in whose memory LiteRT may compute an operator, in the order in which it asks."""
    for tensor in operator.inputs[:2]:
        if tensor is None or tensor.type != "i32" or tensor.data is not None or tensor in graph.inputs:
            continue
        if readers[tensor] == 1 and tensor.shape == operator.output.shape and 4 * tensor.size > SCALAR:
            yield tensor


def _list_sharing(tensor: Tensor, before: dict[Tensor, Tensor]) -> Iterator[Tensor]:
    """Yield the tensors that share a tensor's memory, from the tensor to the first one."""
    while True:
        yield tensor
        if tensor not in before:
            return
        tensor = before[tensor]
