"""IF and WHILE: running the models that a model refers to.

A computation is a generator: it asks for the results of nested models and returns its own. Those that wait for others
are kept in a list, because models may be nested deeper than calls of Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from nnapi.drivers.base import LoopTimeoutError
from nnapi.errors import need
from nnapi.model.operand import Array

if TYPE_CHECKING:
    from nnapi.drivers.reference.program import Context, PreparedReference

    Wanted = tuple[PreparedReference, Sequence[Array | None]]
    """A model that is to be run, and on what."""
    Computation = Generator[Wanted, Any, list[Array]]


def results_of(computation: Computation, start: Callable[[Wanted], Computation]) -> list[Array]:
    """What a computation returns; ``start`` begins that of a model that it asks for."""
    waiting = [computation]
    results: list[Array] | None = None
    error: BaseException | None = None
    while waiting:
        try:
            wanted = waiting[-1].send(results) if error is None else waiting[-1].throw(error)
        except StopIteration as end:
            waiting.pop()
            results, error = end.value, None
        except BaseException as raised:
            waiting.pop()
            error = raised
        else:
            waiting.append(start(wanted))
            results = error = None
    try:
        if error is not None:
            raise error
    finally:
        del error  # it knows this frame
    assert results is not None
    return results


def run_if(
    references: Sequence[PreparedReference], arrays: Sequence[Array | None], outputs: int, context: Context
) -> Computation:
    """Exactly one branch: the first when the condition's byte is not zero."""
    then, otherwise = references
    results: list[Array] = yield (then if _truth(arrays[0]) else otherwise), arrays[1:]
    return results


def run_while(
    references: Sequence[PreparedReference], arrays: Sequence[Array | None], outputs: int, context: Context
) -> Computation:
    """The body for as long as the condition holds; the results are the first ``outputs`` of the state.

    Raises LoopTimeoutError when the loop is to go on beyond its time limit.
    """
    condition, body = references
    end = time.monotonic_ns() + context.loop_timeout
    state = list(arrays)
    while _truth((yield condition, state)[0]):
        if time.monotonic_ns() > end:
            raise LoopTimeoutError(f"the loop ran longer than {context.loop_timeout} ns")
        results = yield body, state
        state[: len(results)] = results
    need(all(array is not None for array in state[:outputs]), "an input that becomes an output is omitted")
    return [array for array in state[:outputs] if array is not None]


def _truth(condition: Array | None) -> bool:
    need(condition is not None, "the condition is omitted")
    assert condition is not None
    return bool(condition.reshape(-1)[0])
