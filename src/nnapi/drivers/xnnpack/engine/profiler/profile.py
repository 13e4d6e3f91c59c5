"""The section of the engine's call, which is divided among a graph's operators when a recording is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from nnapi.formats.tflite.graph import Graph, Tensor
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.profile import Costs, Profile


class Engine(NamedTuple):
    """An interpreter and what it runs: the graph's content, views of its inputs and outputs, its threads."""

    content: bytes | memoryview
    native: Any
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    threads: int


def profile(model: Model, origins: Sequence[int | None]) -> Profile[Engine]:
    """What a trace says of the engine's calls; ``origins`` are the calls of the model behind the graph's operators."""
    numbers, kinds = [call.number for call in model.operations], [call.name for call in model.operations]
    whole = Section(Layer.DRIVER, Phase.COMPUTATION, "LiteRT", model=model.name, holds=numbers, kinds=kinds)
    return Profile(whole, partial(_costs, model, origins))


def origins(graph: Graph) -> list[int | None]:
    """The number of the operation behind each operator: whose result it gives, in whatever form.

    What only converts an input of the model belongs to its reader.
    """
    read: dict[Tensor, int | None] = {}
    found: list[int | None] = []
    for operator in reversed(graph.operators):
        output = operator.outputs[0]
        origin = read.get(output) if output.origin is None else output.origin
        found.append(origin)
        for tensor in operator.inputs:
            if tensor is not None:
                read[tensor] = origin
    return found[::-1]


def _costs(model: Model, origins: Sequence[int | None], engine: Engine) -> Costs:
    from nnapi.drivers.xnnpack.engine.profiler.measure import costs  # with LiteRT's C API, for those who read a trace

    return costs(model, origins, engine)
