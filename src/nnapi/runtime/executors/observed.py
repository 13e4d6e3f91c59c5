"""Handles that report the seconds of each run to a trial."""

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

    def observe(self, inputs: Sequence[Array | None], outputs: Sequence[Array], begin: float, seconds: float) -> None:
        """Note a run; ``begin`` is a ``time.perf_counter``. Must not raise, keep the arrays or write to them."""
        ...


def observe_handle(handle: Handle, observer: Observer | None) -> Handle:
    """Return a handle that reports its runs, except runs with a deadline or while a trace is recorded. Without an
    observer it is the handle itself."""
    return handle if observer is None else _report_runs(handle, observer, Stopwatch(threads=observer.threads))


def _report_runs(handle: Handle, observer: Observer, watch: Stopwatch) -> Handle:
    observe = observer.observe

    def execute(request: Request) -> Outcome:
        if request.deadline is not None or spans.active:
            return handle.execute(request)
        outcome, begin, seconds = watch.time(handle.execute, request)
        observe(request.inputs, outcome.outputs, begin, seconds)
        return outcome

    def reopen(options: OpenOptions) -> Handle:
        return _report_runs(handle.reopen(options), observer, watch)

    call = handle.call and _report_calls(handle.call, observer, watch)
    return Handle(execute, reopen, call, handle.inputs, handle.close)


def _report_calls(call: Inference, observer: Observer, watch: Stopwatch) -> Inference:
    observe, time = observer.observe, watch.time

    def call_and_report(inputs: Sequence[Array]) -> list[Array]:
        outputs, begin, seconds = time(call, inputs)
        observe(inputs, outputs, begin, seconds)
        return outputs

    return call_and_report
