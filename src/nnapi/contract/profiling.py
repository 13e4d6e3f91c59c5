"""Trace sections for an engine's calls and for the operations inside a call."""

from collections.abc import Callable
from typing import TypeVar

from nnapi.model.model import Model
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.profile import Costs, Profile

T = TypeVar("T")
LACKING, LEAST = 0.5e-6, 0.1e-6
"""Seconds that truncation to microseconds loses on average; the assumed seconds of a truncated 0."""


def profile_engine(model: Model, engine: str, measure: Callable[[T], Costs]) -> Profile[T]:
    """Return the profile of an engine's calls. ``measure`` returns the shares of operations when the trace is read."""
    numbers, kinds = [call.number for call in model.operations], [call.name for call in model.operations]
    whole = Section(Layer.DRIVER, Phase.COMPUTATION, engine, model=model.name, holds=numbers, kinds=kinds)
    return Profile(whole, measure)


def correct_seconds(seconds: float) -> float:
    """Correct seconds that an engine has truncated to whole microseconds."""
    return seconds + LACKING if seconds else LEAST


def operation_section(model: Model, number: int, engine: str | None = None) -> Section:
    """Return the trace section of an operation, with the engine's name if an engine ran it."""
    call = next(each for each in model.operations if each.number == number)  # they are in run order
    return Section(
        Layer.CPU if engine is None else Layer.DRIVER,
        Phase.COMPUTATION,
        call.name,
        operation=call.number,
        model=model.name,
        **({} if engine is None else {"engine": engine}),
        inputs=[model.operands[index].name for index in call.inputs],
        outputs=[model.operands[index].name for index in call.outputs],
    )
