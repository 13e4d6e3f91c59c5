"""A challenger: a plan that a trial compares with the active plan."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from nnapi.contract.driver import Request
from nnapi.contract.wrapping import find_direct
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.evidence import Evidence, Standing
from nnapi.runtime.choice.record import Comparison
from nnapi.runtime.executors.prepared_partitions import ClaimedError, ReadyPlan
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.runtime.planning.plan import Plan
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

REPEATS = ((1.25e-3, 8), (6e-3, 6))
"""Pairs: an upper limit of a run in seconds, and the number of runs below it. The shortest run counts, as about four
find cold caches. For longer runs, more pairs of single runs tell more in the same time."""
CLEARLY_FASTER, CLEARLY_SLOWER = 1.1, 1.4
"""Ratios to the active plan's time that end the runs: clearly faster after any run, clearly slower after two. Cold
caches slow the first runs, the third by less than a tenth."""
DOUBT, FIRST = 0.3, 0.25
"""Likely error of a pair's log ratio if the machine's speed changes; the pairs that a preparation counts as."""
MARGIN, DOUBTFUL_MARGIN = 1.02, 1.03
"""Factors by which a challenger must be faster: by default; with several devices or an engine that starts slowly."""

Inputs = Sequence[Array | None]
Given = TypeVar("Given", Array, Array | None)
Infer = Callable[[Inputs], Sequence[Array]]


def open_inference(ready: ReadyPlan, inputs: Inputs) -> Infer:
    """Return the fastest function that runs a plan on inputs with the shapes of ``inputs``."""
    shapes = [array.shape for array in inputs if array is not None]
    direct = find_direct(ready.prepared, shapes, False) if all(shapes) and len(shapes) == len(inputs) else None
    return direct or (lambda given: ready.prepared.execute(Request(given)).outputs)  # type: ignore[return-value]


def copy_arrays(arrays: Sequence[Given]) -> list[Given]:
    return [array if array is None else np.array(array) for array in arrays]


def count_runs(seconds: float) -> int:
    return next((count for limit, count in REPEATS if seconds < limit), 1)


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
    """Run once, so that the engine allocates memory, then run as :func:`time_runs`."""
    with mute():
        infer(inputs)
    return time_runs(watch, infer, inputs)


class Challenger:
    """A plan that is prepared and compared with the active plan."""

    def __init__(self, plan: Plan, *, is_doubtful: bool, logs: Sequence[float] = ()) -> None:
        self.plan, self.name = plan, plan.identity
        self.ready: ReadyPlan | None = None
        self.evidence = Evidence(logs)
        self.standing = Standing.ON_TRIAL
        self.reason = ""
        """Why the plan is excluded; empty if it is not."""
        self.seconds = 0.0
        """Seconds of a run in the last measurement."""
        self.cost = 0.0
        """Seconds that the last pair took; 0 before the first pair."""
        self.first_gain = 0.0
        """Log of active seconds / own seconds, measured when the plan was prepared."""
        self._margin = DOUBTFUL_MARGIN if is_doubtful else MARGIN
        self._infer: Infer | None = None

    @property
    def is_on_trial(self) -> bool:
        return self.standing is Standing.ON_TRIAL and self.ready is not None and not self.reason

    @property
    def is_faster(self) -> bool:
        return self.standing is Standing.FASTER and not self.reason

    @property
    def log_gain(self) -> float:
        """Median of the log ratios of the preparation and all pairs; a median, because one may have been disturbed."""
        return float(np.median([self.first_gain, *self.evidence.logs]))

    @property
    def promise(self) -> float:
        """An optimistic log ratio: the median plus a margin for doubt, which shrinks with the number of pairs."""
        return self.log_gain + DOUBT / math.sqrt(len(self.evidence.logs) or FIRST)

    @property
    def price(self) -> float:
        """Expected seconds of this plan's part of the next pair."""
        return min(self.cost or math.inf, count_runs(self.seconds) * self.seconds)

    def prepare(self, make: Callable[[], ReadyPlan], inputs: Inputs) -> Sequence[Array] | None:
        """Prepare the plan, warm it up and time it. Return the outputs; None, and exclude the plan, if that fails."""
        try:
            self.ready = make()
            self._infer = open_inference(self.ready, inputs)
            self.seconds, outputs = time_warm(self._make_watch(), self._infer, inputs)
            return outputs
        except (NnapiError, ClaimedError, MemoryError) as error:
            self.exclude(f"fails: {error}", is_lasting=not isinstance(error, MemoryError))
            return None

    def time_again(self, inputs: Inputs) -> bool:
        """Time it again, as some engines get faster after some runs; return whether it is clearly faster."""
        before = self.seconds
        if self._infer is not None:
            self.seconds = min(before, time_runs(self._make_watch(), self._infer, inputs)[0])
        return self.seconds * CLEARLY_FASTER < before

    def measure_beside(self, active: float | None, inputs: Inputs) -> Sequence[Array] | None:
        """Run the plan for a pair. ``active`` is the active plan's seconds, None if :meth:`add_pair` follows. Return
        the outputs; None, and exclude the plan, if it fails."""
        assert self._infer is not None
        try:
            self.seconds, outputs = time_runs(self._make_watch(), self._infer, inputs, active)
        except Exception as error:
            self.exclude(f"fails: {error}", is_lasting=isinstance(error, NnapiError))
            return None
        if active is not None:
            self.add_pair(active)
        return outputs

    def add_pair(self, active: float) -> None:
        """Add the pair of ``active``, the active plan's seconds, and this plan's last measurement."""
        self.evidence.add(active, self.seconds)
        self.standing = self.evidence.judge(self._margin)

    def _make_watch(self) -> Stopwatch:
        return Stopwatch(self.seconds, self.plan.threads)

    def decide(self) -> None:
        """End the trial of this plan for lack of time: it counts as faster if that is likely."""
        if self.is_on_trial and self.evidence.is_likely_faster(self._margin):
            self.standing = Standing.FASTER

    def judge(self, model: Model, inputs: Inputs, expected: Sequence[Array], found: Sequence[Array]) -> None:
        """Exclude the plan if ``found`` differs from ``expected`` by more than rounding explains."""
        from nnapi.runtime.choice.third_opinion import find_fault  # on demand: known models declare no operations

        if fault := find_fault(model, inputs, expected, found):
            log.warning("%s of %s is excluded: %s", self.name, model.name, fault)
            self.exclude(fault)

    def exclude(self, reason: str, *, is_lasting: bool = True) -> None:
        """End this plan's trial; if ``is_lasting``, later processes exclude it too."""
        self.reason = reason if is_lasting else ""
        self.standing = Standing.SLOWER
        log.info("no more trials of %s: %s", self.name, reason)
        self.close()

    def drop(self) -> None:
        self.standing = Standing.SLOWER
        self.close()

    def close(self) -> None:
        self.ready = self._infer = None

    def describe(self) -> Comparison:
        return Comparison(self.name, self.plan.predicted, self.evidence.logs, self.standing, self.reason)


def compare_with(best: Challenger, before: str, challengers: Sequence[Challenger]) -> list[Comparison]:
    """Return the winner's comparisons: measured with the plan before, derived from that with the others."""
    found = [Comparison(before, 0.0, [-log for log in best.evidence.logs], Standing.SLOWER)]
    for each in challengers:
        if each is not best:
            logs = [log - best.evidence.log_gain for log in each.evidence.logs]
            found.append(Comparison(each.name, each.plan.predicted, logs, Standing.SLOWER, each.reason))
    return found
