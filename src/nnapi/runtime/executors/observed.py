"""A wrapper around a prepared model that reports the seconds of each run to a trial."""

from collections.abc import Callable, Sequence
from typing import Protocol

from nnapi.contract.driver import Bound, Inference, Outcome, Prepared, Request
from nnapi.contract.wrapping import Wrapping, find_bound, find_direct
from nnapi.model.operand import Array, Shape
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


def report_runs(
    run: Callable[[], list[Array]], inputs: Sequence[Array | None], observer: Observer
) -> Callable[[], list[Array]]:
    watch, observe = Stopwatch(threads=observer.threads), observer.observe

    def run_and_report() -> list[Array]:
        outputs, begin, seconds = watch.time(run)
        observe(inputs, outputs, begin, seconds)
        return outputs

    return run_and_report


def unwrap(prepared: Prepared) -> Prepared:
    return prepared.inner if isinstance(prepared, Observed) else prepared


class Observed(Wrapping):
    """A prepared model that reports its runs, except runs with a deadline or while a trace is recorded."""

    def __init__(self, inner: Prepared, observer: Observer) -> None:
        super().__init__(inner)
        self.observer, self._watch = observer, Stopwatch(threads=observer.threads)

    def execute(self, request: Request) -> Outcome:
        if request.deadline is not None or spans.active:
            return self.inner.execute(request)
        outcome, begin, seconds = self._watch.time(lambda: self.inner.execute(request))
        self.observer.observe(request.inputs, outcome.outputs, begin, seconds)
        return outcome

    def wrap(self, session: Prepared) -> Prepared:
        return Observed(session, self.observer)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        infer = find_direct(self.inner, shapes, borrow)
        if infer is None:
            return None
        observe, watch = self.observer.observe, self._watch

        def run(inputs: Sequence[Array]) -> list[Array]:
            outputs, begin, seconds = watch.time(lambda: infer(inputs))
            observe(inputs, outputs, begin, seconds)
            return outputs

        return run

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        bound = find_bound(self.inner, shapes)
        return bound and Bound(bound.inputs, report_runs(bound.run, bound.inputs, self.observer))
