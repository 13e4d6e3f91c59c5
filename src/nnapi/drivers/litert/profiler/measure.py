"""Measure the time of each operator of a graph with LiteRT's own profiler.

Python cannot reach the interpreter's profiler; the C API has one, for a model compiled by its own library. Its other
events read a file, 0.1 ms per run: so a few separate runs measure the operators' shares.
"""

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
    """Return the profile of the engine's calls; ``origins`` are the operations of the graph's operators."""
    return profile_engine(model, "LiteRT", partial(measure_operators, model, origins))


def measure_operators(model: Model, origins: Sequence[int | None], engine: Engine) -> Costs:
    """Return section and cost of each operator, in the order of a run."""
    events, seconds = _measure(engine)
    operators = find_owners(_nodes(engine.native, len(origins)), events)
    return [
        (_section(model, origins[operator], event.name), cost)
        for event, operator, cost in zip(events, operators, seconds, strict=True)
    ]


def _measure(engine: Engine) -> tuple[list[Event], list[float]]:
    with Profiled(bytes(engine.content), engine.inputs, engine.outputs, engine.threads) as profiled:
        events = profiled.run()  # allocates, so its times are not for use
        return events, typical(lambda: [correct_seconds(event.seconds) for event in profiled.run()])


def _nodes(native: Any, count: int) -> list[Node]:
    """Return the graph's operators, which the interpreter lists before the delegate's nodes."""
    return [
        Node(native.NodeName(at), tuple(map(int, native.NodeInputs(at))), tuple(map(int, native.NodeOutputs(at))))
        for at in range(count)
    ]


def _section(model: Model, origin: int | None, engine: str) -> Section:
    """Return the trace section of an operator, by its operation if it has one."""
    if origin is None:
        return Section(Layer.DRIVER, Phase.COMPUTATION, engine, model=model.name)
    return operation_section(model, origin, engine)
