"""Measure the time of each operator of a graph with LiteRT's own profiler.

Python cannot reach a profiler of the interpreter. LiteRT's C API has one, for a model that is compiled once more by its
own library. Every event of it that is not an operator reads a file of the kernel's, a tenth of a millisecond per run,
so it is not used in traced runs: a few separate runs measure the operators' shares of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nnapi.drivers.litert.profiler import Engine
from nnapi.drivers.litert.profiler.align import Node, find_owners
from nnapi.drivers.litert.profiler.litert import Event, Profiled
from nnapi.drivers.profiling import correct_seconds, operation_section, profile_engine
from nnapi.model.model import Model
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.profile import Costs, Profile, typical


def profile(model: Model, origins: Sequence[int | None]) -> Profile[Engine]:
    """Return the trace profile of the engine's calls, divided among the graph's operators when a recording is read;
    ``origins`` are the calls of the model behind those."""
    return profile_engine(model, "LiteRT", partial(measure_operators, model, origins))


def measure_operators(model: Model, origins: Sequence[int | None], engine: Engine) -> Costs:
    """The operators that the engine made of the graph's, in the order in which it runs them."""
    events, seconds = _measure(engine)
    operators = find_owners(_nodes(engine.native, len(origins)), events)
    return [
        (_section(model, origins[operator], event.name), cost)
        for event, operator, cost in zip(events, operators, seconds, strict=True)
    ]


def _measure(engine: Engine) -> tuple[list[Event], list[float]]:
    """The events of a run, and the seconds of each."""
    with Profiled(bytes(engine.content), engine.inputs, engine.outputs, engine.threads) as profiled:
        events = profiled.run()  # allocates, so its times are not for use
        return events, typical(lambda: [correct_seconds(event.seconds) for event in profiled.run()])


def _nodes(native: Any, count: int) -> list[Node]:
    """The graph's operators, which the interpreter keeps, in their order, in front of what stands for them."""
    return [
        Node(native.NodeName(at), tuple(map(int, native.NodeInputs(at))), tuple(map(int, native.NodeOutputs(at))))
        for at in range(count)
    ]


def _section(model: Model, origin: int | None, engine: str) -> Section:
    """Return the trace section of one operator: the call of the model that it computes, or a partition of it."""
    if origin is None:
        return Section(Layer.DRIVER, Phase.COMPUTATION, engine, model=model.name)
    return operation_section(model, origin, engine)
