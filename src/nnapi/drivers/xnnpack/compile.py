"""Compile a model to the engine's serialized graph. Restoring from the cache does not import this module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nnapi.drivers.litert.artifact import VERSION, Compiled, write_facts
from nnapi.drivers.xnnpack.lowering import is_static
from nnapi.drivers.xnnpack.passes.dead_code import remove_dead_operators
from nnapi.drivers.xnnpack.passes.dynamic_range import use_faster_weights, use_float_weights
from nnapi.drivers.xnnpack.passes.lstm_unroll import unroll_lstm
from nnapi.drivers.xnnpack.passes.normalization import divide_by_roots
from nnapi.drivers.xnnpack.passes.quantized_reductions import reduce_quantized
from nnapi.drivers.xnnpack.passes.recompose import recompose
from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import NOMINAL, KernelTimings, count_macs, use_timings
from nnapi.drivers.xnnpack.passes.signed_weights.in_float import compute_in_float
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from nnapi.drivers.xnnpack.passes.signed_weights.width_to_depth import move_width_to_depth
from nnapi.drivers.xnnpack.passes.unsigned_io import keep_unsigned_io
from nnapi.drivers.xnnpack.passes.unsigned_values import make_unsigned
from nnapi.formats.tflite.graph import Graph, Tensor
from nnapi.formats.tflite.lstm_fuse import fuse_lstm_steps
from nnapi.formats.tflite.state_variables import make_state_variables
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, Shape

LARGE = 1024
"""Bytes from which a constant is large."""

Pass = Callable[[Graph], Graph]
PASSES: tuple[Pass, ...] = (
    recompose,
    divide_by_roots,
    reduce_quantized,
    fuse_lstm_steps,
    unroll_lstm,
    remove_dead_operators,
    make_state_variables,
    use_faster_weights,
    sign_weights,
    compute_in_float,
    move_width_to_depth,
    keep_unsigned_io,
)
"""The passes between lowering and writing, in order."""
FLOAT_PASSES: tuple[Pass, ...] = (use_float_weights, *PASSES)
UNSIGNED_PASSES: tuple[Pass, ...] = (reduce_quantized, remove_dead_operators, make_unsigned)


def compile_graph(
    model: Model,
    graph: Graph,
    shapes: Sequence[Shape | None],
    assumed: Sequence[Shape | None],
    passes: Sequence[Pass] = PASSES,
    timings: KernelTimings = NOMINAL,
    *,
    in_float16: bool = False,
) -> Compiled:
    """Rewrite and serialize a graph for inputs of ``shapes`` (None if omitted); ``assumed`` are tried first."""
    with use_timings(timings):
        for rewrite in passes:
            if rewrite is unroll_lstm:
                graph = unroll_lstm(graph, rounds_states=model.rounded_states)
            else:
                graph = rewrite(graph)
    told = (
        graph.flipped,
        tuple(tensor.shape for tensor in graph.outputs),
        tuple(find_origins(graph)),
        count_macs(graph),
        None if is_static(model) else tuple(assumed),
        in_float16,
    )
    return Compiled(serialize(graph, tail=write_facts(VERSION, *told)), *told)


def find_origins(graph: Graph) -> list[int | None]:
    """Return the operation's number for each operator; a converted input belongs to the operation that reads it."""
    read: dict[Tensor, int | None] = {}
    found: list[int | None] = []
    for operator in reversed(graph.operators):
        output = operator.output
        origin = read.get(output) if output.origin is None else output.origin
        found.append(origin)
        read.update((tensor, origin) for tensor in operator.inputs if tensor is not None)
    return found[::-1]


def find_large_constants(model: Model) -> list[Array]:
    values = [operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    return [value for value in values if value.nbytes >= LARGE]
