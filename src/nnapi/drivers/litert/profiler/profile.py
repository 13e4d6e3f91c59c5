"""The section of the engine's call, which is divided among a graph's operators when a recording is read."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.litert.profiler import Engine
from nnapi.drivers.profiling import profile_engine
from nnapi.model.model import Model
from nnapi.trace.profile import Costs, Profile


def profile(model: Model, origins: Sequence[int | None]) -> Profile[Engine]:
    """Return the trace profile of the engine's calls; ``origins`` are the calls of the model behind the graph's
    operators."""

    def measure(engine: Engine) -> Costs:
        from nnapi.drivers.litert.profiler.measure import (
            measure_operators,  # LiteRT's C API, only for traces
        )

        return measure_operators(model, origins, engine)

    return profile_engine(model, "LiteRT", measure)
