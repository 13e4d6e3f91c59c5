"""A challenger: a contender that is prepared and runs on the inputs of real runs."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from nnapi.contract.driver import OpenOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.contract.winograd import may_use_both
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.model.precision import Precision
from nnapi.runtime.choice.paired_times import Contender, count_runs
from nnapi.runtime.choice.record import Comparison
from nnapi.runtime.executors.prepared_partitions import ClaimedError, ReadyPlan
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.runtime.planning.plan import Plan
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

CLEARLY_FASTER, CLEARLY_SLOWER = 1.1, 1.4
"""Ratios to the active plan's time that end the runs: clearly faster after any run, clearly slower after two. Cold
caches slow the first runs, the third by less than a tenth."""

COLD = 1.0
"""Seconds of a run from which a warm-up changes little and costs much."""

Inputs = Sequence[Array | None]
Given = TypeVar("Given", Array, Array | None)
Infer = Callable[[Inputs], Sequence[Array]]


def open_inference(ready: ReadyPlan, inputs: Inputs) -> Infer:
    """Return the fastest function that runs a plan on inputs with the shapes of ``inputs``."""
    shapes = [array.shape for array in inputs if array is not None]
    is_simple = all(shapes) and len(shapes) == len(inputs)
    handle = open_handle(ready.prepared, OpenOptions(shapes if is_simple else None))
    return handle.call or (lambda given: handle.execute(Request(given)).outputs)  # type: ignore[return-value]


def copy_arrays(arrays: Sequence[Given]) -> list[Given]:
    return [array if array is None else np.array(array) for array in arrays]


def time_runs(
    watch: Stopwatch, infer: Infer, inputs: Inputs, active: float | None = None
) -> tuple[float, Sequence[Array]]:
    """Run a few times, fewer if clearly faster or slower than ``active``, the seconds of the active plan. Return the
    seconds of the shortest run, and the outputs of the last."""
    shortest, count, expected = math.inf, 0, watch.expected
    with mute():
        while count < count_runs(min(shortest, expected or shortest)):
            outputs, _, seconds = watch.time(lambda: infer(inputs))
            shortest, count = min(shortest, seconds), count + 1
            if active and (shortest * CLEARLY_FASTER < active or (count > 1 and shortest > active * CLEARLY_SLOWER)):
                break
    return shortest, outputs


def time_warm(watch: Stopwatch, infer: Infer, inputs: Inputs) -> tuple[float, Sequence[Array]]:
    """Run once, so that the engine allocates memory, then run as :func:`time_runs`, unless the first run was long."""
    with mute():
        outputs, _, seconds = watch.time(lambda: infer(inputs))
    return (seconds, outputs) if seconds >= COLD else time_runs(watch, infer, inputs)


class Challenger(Contender):
    def __init__(self, plan: Plan, *, is_doubtful: bool, logs: Sequence[float] = ()) -> None:
        super().__init__(plan.identity, is_doubtful=is_doubtful, logs=logs)
        self.plan = plan
        self.ready: ReadyPlan | None = None
        self._infer: Infer | None = None

    @property
    def is_on_trial(self) -> bool:
        return super().is_on_trial and self.ready is not None

    @property
    def is_faster(self) -> bool:
        return super().is_faster and self.ready is not None

    def prepare(self, make: Callable[[], ReadyPlan], inputs: Inputs) -> Sequence[Array] | None:
        """Prepare the plan, warm it up and time it. Return the outputs; None, and exclude the plan, if that fails."""
        try:
            self.ready = ready = make()
            self._infer = infer = open_inference(ready, inputs)
            self.seconds, outputs = time_warm(self._make_watch(), infer, inputs)
            return outputs
        except (NnapiError, ClaimedError, MemoryError) as error:
            self.exclude(f"fails: {error}", is_lasting=not isinstance(error, MemoryError))
            return None

    def time_again(self, inputs: Inputs) -> bool:
        """Time it again, as some engines get faster after some runs; return whether it is clearly faster."""
        before, infer = self.seconds, self._infer
        if infer is not None:
            self.seconds = min(before, time_runs(self._make_watch(), infer, inputs)[0])
        return self.seconds * CLEARLY_FASTER < before

    def measure(self, active: float | None, inputs: Inputs) -> Sequence[Array] | None:
        """Run the plan for a pair. ``active`` is the active plan's seconds, if they are known. Return the outputs; None
        if the plan was dropped, and if it fails, which excludes it."""
        infer = self._infer
        if infer is None:
            return None
        try:
            self.seconds, outputs = time_runs(self._make_watch(), infer, inputs, active)
        except Exception as error:
            self.exclude(f"fails: {error}", is_lasting=isinstance(error, NnapiError))
            return None
        return outputs

    def run(self, inputs: Inputs) -> Sequence[Array]:
        """Run the prepared plan once, without a measurement."""
        assert self._infer is not None
        with mute():
            return self._infer(inputs)

    def confirm(self, model: Model, sample: Inputs, run_active: Infer, active_variant: str) -> None:
        """Exclude a plan that needs close agreement with direct convolutions and lacks it."""
        from nnapi.runtime.choice.agreement import find_disagreement  # on demand: few plans need it

        if self.reason or not may_use_both(self.plan.variant) or model.precision is not Precision.FLOAT32:
            return
        try:
            fault = find_disagreement(model, sample, run_active, self.run, active_variant)
        except NnapiError as error:
            fault = f"fails: {error}"
        if fault:
            self.exclude(fault)

    def _make_watch(self) -> Stopwatch:
        return Stopwatch(self.seconds or math.inf, self.plan.threads)

    def judge(self, model: Model, inputs: Inputs, expected: Sequence[Array], found: Sequence[Array]) -> None:
        """Exclude the plan if ``found`` differs from ``expected`` by more than rounding explains."""
        from nnapi.runtime.choice.third_opinion import find_fault  # on demand: known models declare no operations

        if fault := find_fault(model, inputs, expected, found):
            log.warning("%s of %s is excluded: %s", self.name, model.name, fault)
            self.exclude(fault)

    def exclude(self, reason: str, *, is_lasting: bool = True) -> None:
        """End this plan's trial; if ``is_lasting``, later processes exclude it too."""
        self.reason = reason if is_lasting else ""
        log.info("no more trials of %s: %s", self.name, reason)
        self.drop()

    def drop(self) -> None:
        super().drop()
        self.close()

    def close(self) -> None:
        """Drop the prepared plan. A run in another thread ends with it."""
        self.ready = self._infer = None

    def describe(self) -> Comparison:
        return Comparison(self.name, self.plan.predicted, self.evidence.logs, self.standing, self.reason)
