"""IF and WHILE: running the models that a model refers to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi.drivers.base import LoopTimeoutError
from nnapi.errors import need
from nnapi.model.operand import Array

if TYPE_CHECKING:
    from nnapi.drivers.reference.program import Context, PreparedReference


def run_if(
    references: Sequence[PreparedReference], arrays: Sequence[Array | None], outputs: int, context: Context
) -> Sequence[Array]:
    """Exactly one branch: the first when the condition's byte is not zero."""
    then, otherwise = references
    return (then if _truth(arrays[0]) else otherwise).run(arrays[1:], context)


def run_while(
    references: Sequence[PreparedReference], arrays: Sequence[Array | None], outputs: int, context: Context
) -> Sequence[Array]:
    """The body for as long as the condition holds; the results are the first ``outputs`` of the state.

    Raises LoopTimeoutError when the loop is to go on beyond its time limit.
    """
    condition, body = references
    end = time.monotonic_ns() + context.loop_timeout
    state = list(arrays)
    while _truth(condition.run(state, context)[0]):
        if time.monotonic_ns() > end:
            raise LoopTimeoutError(f"the loop ran longer than {context.loop_timeout} ns")
        results = body.run(state, context)
        state[: len(results)] = results
    need(all(array is not None for array in state[:outputs]), "an input that becomes an output is omitted")
    return [array for array in state[:outputs] if array is not None]


def _truth(condition: Array | None) -> bool:
    need(condition is not None, "the condition is omitted")
    assert condition is not None
    return bool(condition.reshape(-1)[0])
