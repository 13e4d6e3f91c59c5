"""Wrappers around prepared models: the queue of a device, and fallback to the CPU."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from nnapi.codes import PriorityCode
from nnapi.contract.driver import (
    DriverDiedError,
    Handle,
    Inference,
    LoopTimeoutError,
    OpenOptions,
    Outcome,
    Prepared,
    Request,
)
from nnapi.contract.handles import SHARED, Openable, open_handle
from nnapi.errors import DeadObjectError, NnapiError, OutputInsufficientSizeError, wrap_error
from nnapi.locks import make_lock
from nnapi.model.operand import Array
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import run_in_time
from nnapi.runtime.executors.output_check import OutputCheck
from nnapi.trace import spans
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionBuilder")

NoteDeath = Callable[[DriverDiedError], bool]


Execute = Callable[[Request], Outcome]
Open = Callable[[OpenOptions], Handle]


class Fallback:
    """A prepared model whose failed runs are repeated, without a deadline, by a second one that is made at first use.
    Buffers that are too small and loops that run too long stay errors."""

    def __init__(self, what: str, first: Openable, make_second: Callable[[], Prepared | None]) -> None:
        self._what, self._first, self._make_second = what, first, make_second
        self._second: Execute | None = None
        self._lock = make_lock()

    def open_handle(self, options: OpenOptions) -> Handle:
        return self._open(partial(open_handle, self._first), options)

    def _open(self, open: Open, options: OpenOptions) -> Handle:
        execute, reopen, call, inputs, close = open(options)
        return Handle(partial(self._execute, execute), partial(self._open, reopen), call, inputs, close)

    def _execute(self, execute: Execute, request: Request) -> Outcome:
        try:
            return execute(request)
        except (OutputInsufficientSizeError, LoopTimeoutError):
            raise
        except Exception as error:
            second = self._find_second()
            if second is None:
                raise
            log.warning("%s failed, falling back to the CPU: %s", self._what, error)
            return second(Request(request.inputs, None, request.loop_timeout))

    def _find_second(self) -> Execute | None:
        with self._lock:
            if self._second is None:
                second = self._make_second()
                self._second = None if second is None else open_handle(second).execute
            return self._second


class OnDevice:
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
    ) -> None:
        """``check`` checks the outputs, ``section`` traces each run. ``note_death`` is called when a run ends the
        driver's process. If it returns true, later runs fail at once."""
        self._device, self._prepared, self._check = device, prepared, check
        self._priority, self._section = priority, section
        self._queue = device.queue
        self._note_death = note_death
        self._deaths: list[str] = []
        """Why later runs fail."""

    def open_handle(self, options: OpenOptions) -> Handle:
        return self._open(partial(open_handle, self._prepared), options)

    def _open(self, open: Open, options: OpenOptions) -> Handle:
        execute, reopen, call, inputs, close = open(SHARED if self._deaths else options)
        if options.measure and not self._device.is_remote:  # a remote driver's durations exclude the transfer
            execute = partial(_measure_driver, execute)
        queued = call and self._queue.in_turn(call, self._priority, self._check)
        if queued and self._device.is_remote and inputs is None:  # else it cannot run in another process
            queued = partial(self._call_if_alive, queued)
        return Handle(self._queue_execute(execute), partial(self._open, reopen), queued, inputs, close)

    def _queue_execute(self, execute: Execute) -> Execute:
        deaths, enter, leave, priority = self._deaths, self._queue.enter, self._queue.leave, self._priority
        check = self._check

        def execute_in_turn(request: Request) -> Outcome:
            if deaths:
                raise DeadObjectError(deaths[0])
            deadline = request.deadline
            enter(priority, deadline)
            try:
                if deadline is None and not spans.active:
                    outcome = execute(request)
                else:
                    outcome = run_in_time(lambda: self._execute_traced(execute, request), deadline, self._device.name)
                check(outcome.outputs)
                return outcome
            except DriverDiedError as error:
                if self._note_death is not None and self._note_death(error):
                    deaths.append(f"{error}, and it is not tried again")
                raise
            except NnapiError:
                raise
            except Exception as error:
                raise wrap_error(error, self._device.name) from error
            finally:
                leave()

        return execute_in_turn

    def _execute_traced(self, execute: Execute, request: Request) -> Outcome:
        with self._section:
            return execute(request)

    def _call_if_alive(self, call: Inference, inputs: Sequence[Array]) -> list[Array]:
        if self._deaths:
            raise DeadObjectError(self._deaths[0])
        return call(inputs)


def _measure_driver(execute: Execute, request: Request) -> Outcome:
    """Run; add the duration in the driver if the driver has not measured it."""
    begin = time.perf_counter_ns()
    outcome = execute(request)
    spent = time.perf_counter_ns() - begin
    return outcome if outcome.driver_ns is not None else outcome._replace(driver_ns=spent)


def execute(handle: Handle, request: Request) -> Outcome:
    """Run; convert other exceptions to OpFailedError, or OutOfMemoryError if memory is exhausted."""
    try:
        return handle.execute(request)
    except NnapiError:
        raise
    except Exception as error:
        raise wrap_error(error, "the plan") from error
