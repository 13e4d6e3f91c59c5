"""A plan on trial beside the active one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from nnapi.drivers.base import Request
from nnapi.drivers.wrapping import find_direct
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.evidence import Evidence, Standing
from nnapi.runtime.choice.judge import find_difference
from nnapi.runtime.choice.record import Comparison
from nnapi.runtime.executors.parts import ClaimedError, ReadyPlan
from nnapi.runtime.planning.plan import Plan
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

REPEATS = ((1.25e-3, 5), (5e-3, 3), (50e-3, 2))
"""Runs in a turn whose runs take less than so many seconds; the shortest counts: the first finds cold caches, and other
processes may have the core in others."""
MARGIN, DOUBTFUL_MARGIN = 1.03, 1.05
"""A challenger must be faster by this factor; by the second one if it is divided or its engine starts slowly."""

Inputs = Sequence[Array | None]
Infer = Callable[[Inputs], Sequence[Array]]


def open_inference(ready: ReadyPlan, inputs: Inputs) -> Infer:
    """Return the fastest way to run a plan on inputs of these shapes."""
    shapes = [array.shape for array in inputs if array is not None]
    direct = find_direct(ready.prepared, shapes, False) if all(shapes) and len(shapes) == len(inputs) else None
    return direct or (lambda given: ready.prepared.execute(Request(given)).outputs)  # type: ignore[return-value]


def count_runs(seconds: float) -> int:
    """Return how many runs a turn has whose runs take so long."""
    return next((count for limit, count in REPEATS if seconds < limit), 1)


def time_turn(infer: Infer, inputs: Inputs, expected: float = 0.0) -> tuple[float, Sequence[Array]]:
    """Run for one turn. Returns the seconds of the shortest run, and the outputs. ``expected`` are the seconds of a run
    where they are known."""
    shortest, count = math.inf, 0
    with mute():
        while count < count_runs(min(shortest, expected or shortest)):
            start = time.perf_counter()
            outputs = infer(inputs)
            shortest, count = min(shortest, time.perf_counter() - start), count + 1
    return shortest, outputs


class Challenger:
    """A plan that is prepared and compared with the active one."""

    def __init__(self, plan: Plan, *, is_doubtful: bool, logs: Sequence[float] = ()) -> None:
        self.plan, self.name = plan, plan.identity
        self.ready: ReadyPlan | None = None
        self.evidence = Evidence(logs)
        self.standing = Standing.OPEN
        self.reason = ""
        """Why it is excluded; nothing while it is not."""
        self.seconds = 0.0
        """Of its last turn."""
        self._margin = DOUBTFUL_MARGIN if is_doubtful else MARGIN
        self._infer: Infer | None = None

    @property
    def is_open(self) -> bool:
        return self.standing is Standing.OPEN and self.ready is not None and not self.reason

    @property
    def is_faster(self) -> bool:
        return self.standing is Standing.FASTER and not self.reason

    def prepare(self, make: Callable[[], ReadyPlan], inputs: Inputs) -> Sequence[Array] | None:
        """Prepare it and run it once for warming up and once timed. Returns the outputs; None where it fails."""
        try:
            self.ready = make()
            self._infer = open_inference(self.ready, inputs)
            with mute():
                self._infer(inputs)
            self.seconds, outputs = time_turn(self._infer, inputs)
            return outputs
        except (NnapiError, ClaimedError, MemoryError) as error:
            self.exclude(f"fails: {error}", is_lasting=not isinstance(error, MemoryError))
            return None

    def time_again(self, inputs: Inputs) -> None:
        """Time another turn, of which the shorter counts."""
        if self._infer is not None:
            self.seconds = min(self.seconds, time_turn(self._infer, inputs)[0])

    def take_turn(self, active: float, inputs: Inputs) -> Sequence[Array] | None:
        """Run beside the active plan, which has just taken ``active`` seconds. Returns the outputs; None where it
        fails."""
        assert self._infer is not None
        try:
            self.seconds, outputs = time_turn(self._infer, inputs, self.seconds)
        except Exception as error:
            self.exclude(f"fails: {error}", is_lasting=isinstance(error, NnapiError))
            return None
        self.evidence.add(active, self.seconds)
        self.standing = self.evidence.judge(self._margin)
        return outputs

    def judge(self, model: Model, expected: Sequence[Array], found: Sequence[Array]) -> None:
        """Exclude it if its results differ from the active plan's by more than rounding explains."""
        if difference := find_difference(model, expected, found):
            log.warning("%s of %s is excluded: %s", self.name, model.name, difference)
            self.exclude(difference)

    def exclude(self, reason: str, *, is_lasting: bool = True) -> None:
        """Give it no more turns; later processes do not try it either if that is lasting."""
        self.reason = reason if is_lasting else ""
        self.standing = Standing.SLOWER
        log.info("%s is not tried any more: %s", self.name, reason)
        self.close()

    def drop(self) -> None:
        """Give it no more turns: another challenger is faster."""
        self.standing = Standing.SLOWER
        self.close()

    def close(self) -> None:
        """Give back what was prepared."""
        self.ready = self._infer = None

    def describe(self) -> Comparison:
        """Return what is recorded of it."""
        return Comparison(self.name, self.plan.predicted, self.evidence.logs, self.standing, self.reason)
