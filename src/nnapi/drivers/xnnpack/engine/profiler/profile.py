"""The section of the engine's call, which is divided among a graph's operators when a recording is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

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


def _costs(model: Model, origins: Sequence[int | None], engine: Engine) -> Costs:
    from nnapi.drivers.xnnpack.engine.profiler.measure import costs  # with LiteRT's C API, for those who read a trace

    return costs(model, origins, engine)
