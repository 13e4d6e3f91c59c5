"""Handles that report the seconds of runs to a trial."""

import time
from collections.abc import Sequence
from typing import Protocol

from nnapi.contract.driver import Handle, Inference, OpenOptions, Outcome, Request
from nnapi.model.operand import Array
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.trace import spans


class Observer(Protocol):
    """An object to which runs are reported, such as a trial."""

    @property
    def threads(self) -> int | None:
        """The plan's threads, as in :attr:`Plan.threads`."""
        ...

    def observe(
        self, inputs: Sequence[Array | None], outputs: Sequence[Array], begin: float, seconds: float, skips: int
    ) -> float:
        """Note a run. ``begin`` is a ``time.perf_counter``, ``skips`` the number of runs since the last report. Return
        the time before which runs need no report. Must not raise, keep the arrays or write to them."""
        ...


class _Pace:
    """The time of the next report, and the number of runs since the last one."""

    __slots__ = ("due", "skipped")

    def __init__(self) -> None:
        self.due, self.skipped = 0.0, 0


def observe_handle(handle: Handle, observer: Observer | None) -> Handle:
    """Return a handle that reports the runs that its observer wants, except runs with a deadline or while a trace is
    recorded. Without an observer it is the handle itself."""
    return handle if observer is None else _report_runs(handle, observer, Stopwatch(threads=observer.threads), _Pace())


def _report_runs(handle: Handle, observer: Observer, watch: Stopwatch, pace: _Pace) -> Handle:
    observe, read_clock = observer.observe, time.perf_counter

    def execute(request: Request) -> Outcome:
        if request.deadline is not None or spans.active:
            return handle.execute(request)
        if read_clock() < pace.due:
            pace.skipped += 1
            return handle.execute(request)
        outcome, begin, seconds = watch.time(handle.execute, request)
        skipped, pace.skipped = pace.skipped, 0
        pace.due = observe(request.inputs, outcome.outputs, begin, seconds, skipped)
        return outcome

    def reopen(options: OpenOptions) -> Handle:
        return _report_runs(handle.reopen(options), observer, watch, pace)

    call = handle.call and _report_calls(handle.call, observer, watch, pace)
    return Handle(execute, reopen, call, handle.inputs, handle.close)


def _report_calls(call: Inference, observer: Observer, watch: Stopwatch, pace: _Pace) -> Inference:
    observe, measure, read_clock = observer.observe, watch.time, time.perf_counter

    def call_and_report(inputs: Sequence[Array]) -> list[Array]:
        if read_clock() < pace.due:
            pace.skipped += 1
            return call(inputs)
        outputs, begin, seconds = measure(call, inputs)
        skipped, pace.skipped = pace.skipped, 0
        pace.due = observe(inputs, outputs, begin, seconds, skipped)
        return outputs

    return call_and_report
