"""What each operator of a graph takes, as LiteRT's own profiler tells it.

The interpreter has no profiler that Python could reach. LiteRT's C API has one, for a model compiled once more by its
own library; every event of it that is no operator reads a file of the kernel's, a tenth of a millisecond per run, so it
is not for runs that are to be traced: a few runs with it give the operators' shares of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nnapi.drivers.base import operation_section
from nnapi.drivers.xnnpack.graph import Graph, Tensor
from nnapi.drivers.xnnpack.profiling.align import Node, owners
from nnapi.drivers.xnnpack.profiling.litert import Event, Profiled
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.profile import Costs, Profile, typical

LACKING, LEAST = 0.5e-6, 0.1e-6
"""Seconds that XNNPACK's times lack on average, being whole microseconds, what is over dropped; and those of operators
without a whole one, most of which are far below."""


@dataclass(frozen=True)
class Engine:
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
    """The operators that the engine made of the graph's, in the order in which it runs them."""
    events, seconds = _measured(engine)
    operators = owners(_nodes(engine.native, len(origins)), events)
    return [
        (_section(model, origins[operator], event.name), cost)
        for event, operator, cost in zip(events, operators, seconds, strict=True)
    ]


def _measured(engine: Engine) -> tuple[list[Event], list[float]]:
    """The events of a run, and the seconds of each."""
    with Profiled(bytes(engine.content), engine.inputs, engine.outputs, engine.threads) as profiled:
        events = profiled.run()  # allocates, so its times are not for use
        return events, typical(lambda: [_seconds(event) for event in profiled.run()])


def _seconds(event: Event) -> float:
    return event.seconds + LACKING if event.seconds else LEAST


def _nodes(native: Any, count: int) -> list[Node]:
    """The graph's operators, which the interpreter keeps, in their order, in front of what stands for them."""
    return [
        Node(native.NodeName(at), tuple(map(int, native.NodeInputs(at))), tuple(map(int, native.NodeOutputs(at))))
        for at in range(count)
    ]


def _section(model: Model, origin: int | None, engine: str) -> Section:
    """What a trace says of one operator: the call of the model that it computes, or a part of it."""
    if origin is None:
        return Section(Layer.DRIVER, Phase.COMPUTATION, engine, model=model.name)
    return operation_section(model, origin, engine)
