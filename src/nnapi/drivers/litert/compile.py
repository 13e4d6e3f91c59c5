"""Write a lowered graph as a .tflite file for LiteRT. Restoring from the cache does not import this module."""

from collections.abc import Callable, Sequence

from nnapi.drivers.litert.artifact import SerializedGraph, write_facts
from nnapi.drivers.litert.lowering import is_static
from nnapi.formats.tflite.graph import Graph, Tensor
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Model
from nnapi.model.operand import Shape


def compile_graph(
    model: Model,
    graph: Graph,
    assumed: Sequence[Shape | None],
    *,
    in_float16: bool = False,
    write: Callable[..., bytes] = serialize,
) -> SerializedGraph:
    """Write a graph and its facts. ``assumed`` are the input shapes (None: omitted) for which a dynamic model is
    prepared first."""
    told = (
        _find_flipped(graph),
        tuple(tensor.shape for tensor in graph.outputs[: len(graph.outputs) - len(graph.turns)]),
        tuple(find_origins(graph)),
        count_macs(graph),
        None if is_static(model) else tuple(assumed),
        in_float16,
        graph.turns,
    )
    return SerializedGraph(write(graph, tail=write_facts(*told)), *told)


def _find_flipped(graph: Graph) -> tuple[bool, ...]:
    """Return whether each input and output of the caller is flipped; the turns of loops, the last of each, are not."""
    at, count = len(graph.inputs), len(graph.turns)
    return graph.flipped[: at - count] + graph.flipped[at : len(graph.flipped) - count]


def find_origins(graph: Graph) -> list[int | None]:
    """Return each operator's operation, by number. A conversion of an input belongs to the operation that reads it."""
    read: dict[Tensor, int | None] = {}
    found: list[int | None] = []
    for operator in reversed(graph.operators):
        output = operator.output
        origin = read.get(output) if output.origin is None else output.origin
        found.append(origin)
        read.update((tensor, origin) for tensor in operator.inputs if tensor is not None)
    return found[::-1]


def count_macs(graph: Graph) -> int:
    """Return the number of multiply-accumulates in a graph with direct convolutions, with one turn of each loop."""
    graphs = [graph, *graph.subgraphs]
    sums = [(op.output, op.input(1)) for each in graphs for op in each.operators if row_of(op.kind).sums]
    return graph.spared + sum(out.size // out.shape[-1] * filter.size for out, filter in sums)
