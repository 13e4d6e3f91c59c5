"""IF and WHILE. A computation is a generator: it yields a nested model to run, and is sent the results."""

import time
from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias

from nnapi.contract.driver import LoopTimeoutError, Request
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array


class Computable(Protocol):
    def compute(self, request: Request) -> "Computation": ...


Wanted: TypeAlias = tuple[Computable, Sequence[Array | None]]
"""A model to run, and its inputs."""
Computation: TypeAlias = Generator[Wanted, Any, list[Array]]


def run(model: Computable, request: Request) -> list[Array]:
    """Run a model and those nested in it, within the request's limits; return the outputs."""
    waiting = [model.compute(request)]  # nesting may be deeper than Python's stack
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
                error = None  # an earlier exception refers to this frame
                raise
            error = raised
        else:
            nested, inputs = wanted
            waiting.append(nested.compute(request._replace(inputs=inputs)))
            results = error = None


def run_if(models: Sequence[Computable], arrays: Sequence[Array | None], outputs: int, request: Request) -> Computation:
    """Run the first branch if the condition's byte is not zero, else the second."""
    then, otherwise = models
    results: list[Array] = yield (then if _truth(arrays[0]) else otherwise), arrays[1:]
    return results


def run_while(
    models: Sequence[Computable], arrays: Sequence[Array | None], outputs: int, request: Request
) -> Computation:
    """Run the body while the condition is true; return the first ``outputs`` arrays of the state.

    Raise LoopTimeoutError if the loop would continue beyond its time limit (rule 56). Loops that the runtime runs
    differ on purpose: as in the rule, they read the clock after each condition, whatever its result.
    """
    condition, body = models
    end = time.monotonic_ns() + request.loop_timeout
    state = list(arrays)
    while _truth((yield condition, state)[0]):
        if time.monotonic_ns() > end:
            raise LoopTimeoutError(f"the loop ran longer than {request.loop_timeout} ns, its limit by set_loop_timeout")
        results = yield body, state
        state[: len(results)] = results
    need(all(array is not None for array in state[:outputs]), "an input that becomes an output is omitted")
    return [array for array in state[:outputs] if array is not None]


def _truth(condition: Array | None) -> bool:
    if condition is None:
        raise OpFailedError("the condition is omitted")
    return bool(condition.reshape(-1)[0])
