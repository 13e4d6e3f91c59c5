"""IF and WHILE. A computation is a generator that yields nested models and gets their results."""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nnapi.drivers.base import DEFAULT_LOOP_TIMEOUT, LoopTimeoutError
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array


@dataclass(frozen=True)
class Limits:
    deadline: int | None = None
    loop_timeout: int = DEFAULT_LOOP_TIMEOUT


class Computable(Protocol):
    def compute(self, inputs: Sequence[Array | None], limits: Limits) -> "Computation": ...


Wanted: TypeAlias = tuple[Computable, Sequence[Array | None]]
"""A model to run, and its inputs."""
Computation: TypeAlias = Generator[Wanted, Any, list[Array]]


def run(computation: Computation, limits: Limits) -> list[Array]:
    """Run a computation and its nested ones; return its result."""
    waiting = [computation]  # models may be nested deeper than Python's calls
    results: list[Array] | None = None
    error: BaseException | None = None
    while True:
        try:
            wanted = waiting[-1].send(results) if error is None else waiting[-1].throw(error)
        except StopIteration as end:
            waiting.pop()
            results, error = end.value, None
            if not waiting:
                finished: list[Array] = end.value
                return finished
        except BaseException as raised:
            waiting.pop()
            if not waiting:
                error = None  # an earlier one, which knows this frame
                raise
            error = raised
        else:
            model, inputs = wanted
            waiting.append(model.compute(inputs, limits))
            results = error = None


def run_if(models: Sequence[Computable], arrays: Sequence[Array | None], outputs: int, limits: Limits) -> Computation:
    """Run the first branch if the condition's byte is not zero, else the second."""
    then, otherwise = models
    results: list[Array] = yield (then if _truth(arrays[0]) else otherwise), arrays[1:]
    return results


def run_while(
    models: Sequence[Computable], arrays: Sequence[Array | None], outputs: int, limits: Limits
) -> Computation:
    """Run the body while the condition holds; return the first ``outputs`` of the state.

    Raises LoopTimeoutError if the loop would continue beyond its time limit (rule 56). Loops in the runtime differ on
    purpose: as in the rule, they read the clock after each condition, whatever its result.
    """
    condition, body = models
    end = time.monotonic_ns() + limits.loop_timeout
    state = list(arrays)
    while _truth((yield condition, state)[0]):
        if time.monotonic_ns() > end:
            raise LoopTimeoutError(f"the loop ran longer than {limits.loop_timeout} ns, its limit by set_loop_timeout")
        results = yield body, state
        state[: len(results)] = results
    need(all(array is not None for array in state[:outputs]), "an input that becomes an output is omitted")
    return [array for array in state[:outputs] if array is not None]


def _truth(condition: Array | None) -> bool:
    if condition is None:
        raise OpFailedError("the condition is omitted")
    return bool(condition.reshape(-1)[0])
