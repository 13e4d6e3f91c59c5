"""Wrappers around prepared models: the queue of a device, and fallback to the CPU."""

from collections.abc import Callable, Sequence

from nnapi.codes import PriorityCode
from nnapi.contract.driver import Bound, DriverDiedError, Inference, LoopTimeoutError, Outcome, Prepared, Request
from nnapi.contract.wrapping import Borrowed, Wrapping, find_bound, find_direct
from nnapi.errors import (
    DeadObjectError,
    NnapiError,
    OutputInsufficientSizeError,
    wrap_error,
)
from nnapi.locks import make_lock
from nnapi.model.operand import Array, Shape
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import run_in_time
from nnapi.runtime.executors.output_check import OutputCheck
from nnapi.trace import spans
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionBuilder")

NoteDeath = Callable[[DriverDiedError], bool]


class Fallback(Wrapping):
    """A prepared model whose failed runs are repeated, without a deadline, by a second one that is made at first use.
    Buffers that are too small and loops that run too long stay errors."""

    def __init__(self, what: str, first: Prepared, make_second: Callable[[], Prepared | None]) -> None:
        super().__init__(first)
        self._what, self._make_second = what, make_second
        self._second: Prepared | None = None
        self._lock = make_lock()

    def execute(self, request: Request) -> Outcome:
        try:
            return self.inner.execute(request)
        except (OutputInsufficientSizeError, LoopTimeoutError):
            raise
        except Exception as error:
            with self._lock:
                if self._second is None:
                    self._second = self._make_second()
            if self._second is None:
                raise
            log.warning("%s failed, falling back to the CPU: %s", self._what, error)
            return self._second.execute(Request(request.inputs, None, request.loop_timeout))

    def wrap(self, session: Prepared) -> Prepared:
        return Fallback(self._what, session, self._make_second)

    def close(self) -> None:
        super().close()
        if self._second is not None:
            self._second.close()


class OnDevice(Wrapping):
    """A prepared model in the queue of its device. Raises only NnapiErrors. A driver that misses the deadline is
    abandoned, with its thread."""

    def __init__(
        self,
        device: Device,
        prepared: Prepared,
        check: OutputCheck,
        priority: PriorityCode,
        section: spans.Section = spans.NOTHING,
        note_death: NoteDeath | None = None,
        deaths: list[str] | None = None,
    ) -> None:
        """``check`` checks the outputs, ``section`` traces each run. ``note_death`` is called when a run ends the
        driver's process. If it returns true, the reason is added to ``deaths``, and later runs fail at once."""
        super().__init__(prepared)
        self._device, self._check, self._priority, self._section = device, check, priority, section
        self._queue = device.queue
        self._note_death = note_death
        self._deaths: list[str] = [] if deaths is None else deaths

    def execute(self, request: Request) -> Outcome:
        if self._deaths:
            raise DeadObjectError(self._deaths[0])
        self._queue.enter(self._priority, request.deadline)
        try:
            if request.deadline is None:
                outcome = self._execute_traced(request) if spans.active else self.inner.execute(request)
            else:
                outcome = run_in_time(lambda: self._execute_traced(request), request.deadline, self._device.name)
            self._check(outcome.outputs)
            return outcome
        except DriverDiedError as error:
            if self._note_death is not None and self._note_death(error):
                self._deaths.append(f"{error}, and it is not tried again")
            raise
        except NnapiError:
            raise
        except Exception as error:
            raise wrap_error(error, self._device.name) from error
        finally:
            self._queue.leave()

    def _execute_traced(self, request: Request) -> Outcome:
        with self._section:
            return self.inner.execute(request)

    def wrap(self, session: Prepared) -> Prepared:
        more = self._section, self._note_death, self._deaths
        return OnDevice(self._device, session, self._check, self._priority, *more)

    def session(self) -> Prepared:
        return self.wrap(Borrowed(self.inner)) if self._deaths else super().session()

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return the driver's fast path, wrapped in the device's queue."""
        inner = None if self._deaths else find_direct(self.inner, shapes, borrow)
        if inner is None:
            return None
        enter, leave, priority, deaths = self._queue.enter, self._queue.leave, self._priority, self._deaths
        check = self._check

        def run_checked(inputs: Sequence[Array]) -> list[Array]:
            nonlocal compute
            outputs = inner(inputs)
            if check(outputs):
                compute = inner
            return outputs

        compute = run_checked

        def run(inputs: Sequence[Array]) -> list[Array]:
            if deaths:
                raise DeadObjectError(deaths[0])
            enter(priority)
            try:
                return compute(inputs)
            finally:
                leave()

        return run

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        """Return the driver's bound run, wrapped in the device's queue."""
        bound = None if self._deaths else find_bound(self.inner, shapes)
        return bound and Bound(bound.inputs, self._queue.in_turn(bound.run, self._priority, self._check))


def execute(prepared: Prepared, request: Request) -> Outcome:
    """Run; convert other exceptions to OpFailedError, or OutOfMemoryError if memory is exhausted."""
    try:
        return prepared.execute(request)
    except NnapiError:
        raise
    except Exception as error:
        raise wrap_error(error, "the plan") from error
