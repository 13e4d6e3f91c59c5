"""Rewrite a lowered graph for XNNPACK. Restoring from the cache does not import this module."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from nnapi.drivers.litert.unsigned_values import make_unsigned
from nnapi.drivers.xnnpack.passes.cost_model import KernelTimings, use_timings
from nnapi.drivers.xnnpack.passes.float_weights import use_faster_weights, use_float_weights
from nnapi.drivers.xnnpack.passes.signed_weights.in_float import compute_in_float
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from nnapi.drivers.xnnpack.passes.signed_weights.width_to_depth import move_width_to_depth
from nnapi.drivers.xnnpack.passes.transposed import use_phases
from nnapi.drivers.xnnpack.passes.unroll_lstm import unroll_lstm
from nnapi.drivers.xnnpack.passes.unsigned_io import keep_unsigned_io
from nnapi.formats.tflite.graph import Graph, remove_dead_operators
from nnapi.lowering.passes.keep_shared_memory import keep_shared_memory
from nnapi.lowering.passes.state_variables import make_state_variables
from nnapi.model.model import Model
from nnapi.pauses import pause

Pass = Callable[[Graph], Graph]
PASSES: tuple[Pass, ...] = (
    unroll_lstm,
    remove_dead_operators,
    make_state_variables,
    use_faster_weights,
    use_phases,
    sign_weights,
    compute_in_float,
    move_width_to_depth,
    keep_unsigned_io,
    keep_shared_memory,
)
"""The default passes between lowering and writing, in order."""
FLOAT_PASSES: tuple[Pass, ...] = (use_float_weights, *PASSES)
UNSIGNED_PASSES: tuple[Pass, ...] = (remove_dead_operators, make_unsigned, keep_shared_memory)


def rewrite(model: Model, graph: Graph, passes: Sequence[Pass], timings: KernelTimings) -> Graph:
    """Return the graph after the passes, which rewrite each of its subgraphs too."""
    with use_timings(timings):
        rewritten, *subgraphs = [_apply(model, each, passes) for each in (graph, *graph.subgraphs)]
    return replace(rewritten, subgraphs=subgraphs, turns=graph.turns) if subgraphs else rewritten


def _apply(model: Model, graph: Graph, passes: Sequence[Pass]) -> Graph:
    for each in passes:
        pause()
        graph = unroll_lstm(graph, rounds_states=model.rounded_states) if each is unroll_lstm else each(graph)
    return graph
