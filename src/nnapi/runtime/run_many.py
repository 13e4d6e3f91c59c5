"""Many runs of one compilation: concurrent on all cores, with results in the order of the inputs.

The caller's thread queues inputs in lots for other threads, each with its own burst, and computes instead of waiting.
"""

from __future__ import annotations

import copy
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from nnapi.closeable import Closeable
from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import BadStateError, NnapiError, OpFailedError
from nnapi.exits import resting
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.burst import Burst, Runnable
from nnapi.runtime.device import Device
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.prepared_partitions import ClaimedError, ReadyPlan, prepare_plan
from nnapi.runtime.executors.workers import run_in_background
from nnapi.runtime.thread_counts import read_count
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionBuilder")

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called after each result with the number of results, and the number of inputs or None."""
Given: TypeAlias = Sequence[Any]
"""The inputs of one run."""
RunOne: TypeAlias = Callable[..., list[Array]]
Opener: TypeAlias = Callable[[], tuple[Burst, RunOne]]

WORTH_QUEUING = 1.5e-5
"""Seconds of a run below which several threads are slower than one, because they wait for Python's GIL."""
LOT = 1e-3
"""Seconds that the runs of a lot should take, and that gathering its inputs may take. Runs are timed for as long before
any lot is queued."""
MOST = 64
"""Maximum number of inputs in a lot."""
HEEDLESS = DeviceTypeCode.DEVICE_CPU, DeviceTypeCode.DEVICE_GPU
"""Types of devices that ignore the number of threads."""
LOTS_AHEAD = 2
"""Lots begun per concurrent run: one runs, one waits."""


@dataclass
class Single:
    """A compilation's plan, prepared again with one thread per run."""

    active: ActivePlan
    model: Model
    options: PrepareOptions

    def need_active(self) -> ActivePlan:
        return self.active

    def change(self, ready: ReadyPlan, devices: Sequence[Device]) -> None:
        """Prepare a new plan in the same way; bursts switch to it."""
        again = prepare_single(ready, devices, self.options)
        self.active = again.active if again else ActivePlan(self.model, ready)


def count_requests(threads: int | None, wanted: int | None) -> int:
    """Return the number of concurrent runs: ``wanted``, else enough for all cores."""
    if wanted is None:
        return max(1, len(os.sched_getaffinity(0)) // (threads or 1))
    return read_count(wanted, "requests")


def prepare_single(ready: ReadyPlan, devices: Sequence[Device], options: PrepareOptions) -> Single | None:
    """Prepare a plan again with ``options``, which ask for one thread. Return None if it already uses one thread, if
    its devices ignore the number, or if that fails."""
    plan = ready.plan
    used = [device for device in devices if device.name in plan.devices]
    if plan.threads == 1 or all(device.type in HEEDLESS for device in used):
        return None
    try:
        plan.model.need_mapped()
        again = prepare_plan(plan, devices, options, None)
    except (ClaimedError, NnapiError) as error:
        log.warning("runs in flight together have several threads each: %s", error)
        return None
    return Single(ActivePlan(plan.model, again), plan.model, options)


class RunMany(Closeable, Iterator[Any]):
    """An iterator over the results of :meth:`Compilation.run_many`, in the order of the inputs.

    A failed input raises an error with its number; iteration may continue.
    """

    def __init__(
        self, results: Generator[Any, None, None], total: int | None = None, progress: Progress | None = None
    ) -> None:
        """``results`` yields each input's outputs or exception. ``total`` and ``progress`` are for :data:`Progress`."""
        self._results, self._total, self._progress = results, total, progress
        self._done = 0

    def __next__(self) -> Any:
        result = next(self._results)
        number = self._done
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
        if isinstance(result, Exception):
            raise _name_input(result, number)
        return result

    def close(self) -> None:
        """Begin no more runs; do not wait for running ones."""
        self._results.close()


def start(
    inputs: Iterable[Any], runnable: Runnable, repeat: RunOne | None, requests: int, progress: Progress | None
) -> RunMany:
    """Run on each input, ``requests`` at a time. ``repeat``, if given, runs an input again if ``runnable`` fails."""
    results = _run_all(inputs, partial(_open, runnable, repeat), requests)
    return RunMany(results, count_inputs(inputs), progress)


def count_inputs(inputs: Iterable[Any]) -> int | None:
    """Return the number of inputs; None if the iterable does not know it."""
    count = length_hint(inputs, -1)
    return None if count < 0 else count


def _open(runnable: Runnable, repeat: RunOne | None) -> tuple[Burst, RunOne]:
    burst = Burst(runnable)
    if repeat is None:
        return burst, burst.run

    def run(*given: Any) -> list[Array]:
        try:
            return burst.run(*given)
        except NnapiError:
            return repeat(*given)

    return burst, run


class _Lot:
    """Inputs that one thread runs in sequence, and their results."""

    def __init__(self, inputs: Sequence[Given]) -> None:
        self.inputs = inputs
        self.results: list[list[Array] | Exception] = []
        self.pace = 0.0
        """Mean seconds per run, once all have run."""
        self._running = make_lock()
        self._running.acquire()

    def run(self, run: RunOne) -> None:
        results, start = self.results, time.perf_counter()
        try:
            for given in self.inputs:
                try:
                    results.append(run(*given))
                except Exception as error:
                    results.append(error)
        finally:
            self.pace = (time.perf_counter() - start) / len(self.inputs)
            self.inputs = ()
            self._running.release()

    @property
    def is_done(self) -> bool:
        return not self._running.locked()

    def wait(self) -> None:
        self._running.acquire()
        self._running.release()


class _Source:
    """The inputs in lots. An error of the iterable is raised after the inputs before it have run."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        self._inputs = iter(inputs)
        self.has_more = True
        self.failure: Exception | None = None

    def take(self, most: int) -> _Lot | None:
        """Return a lot of up to ``most`` inputs, fewer if they arrive slowly; None at the end."""
        found: list[Given] = []
        begun = time.perf_counter()
        try:
            while len(found) < most and (not found or time.perf_counter() - begun < LOT):
                given = next(self._inputs)
                found.append(given if isinstance(given, tuple | list) else (given,))
        except StopIteration:
            self.has_more = False
        except Exception as error:
            self.has_more, self.failure = False, error
        return _Lot(found) if found else None


def _run_all(inputs: Iterable[Any], open_one: Opener, requests: int) -> Generator[list[Array] | Exception, None, None]:
    """Yield each input's result or exception. The first ones run in this thread, to be timed."""
    process = os.getpid()
    source, queue, begun = _Source(inputs), SimpleQueue[_Lot | None](), deque[_Lot]()
    helpers, pace, watched = 0, 0.0, 0.0
    burst, run = open_one()
    try:
        while True:
            if os.getpid() != process:
                raise BadStateError("the runs were begun in another process, of which this one is a fork")
            while begun and begun[0].is_done:
                lot = begun.popleft()
                pace = lot.pace
                yield from lot.results
            if source.has_more and len(begun) < LOTS_AHEAD * requests:
                taken = source.take(max(1, min(MOST, int(LOT / pace))) if pace else 1)
                if taken is None:
                    continue
                begun.append(taken)
                if requests == 1 or watched < LOT or (len(begun) == 1 and pace < WORTH_QUEUING):
                    taken.run(run)
                    watched += taken.pace * len(taken.results)
                else:
                    queue.put(taken)
                    if helpers < min(len(begun), requests - 1) and _start_helper(queue, open_one):
                        helpers += 1
            elif begun:
                _help(queue, begun[0], run)
            elif source.failure is not None:
                raise source.failure
            else:
                return
    finally:
        _end_helpers(queue, helpers)
        burst.close()


def _help(queue: SimpleQueue[_Lot | None], first: _Lot, run: RunOne) -> None:
    """Run a lot that is still queued; if there is none, wait for ``first``."""
    try:
        lot = queue.get_nowait()
    except Empty:
        first.wait()
    else:
        assert lot is not None  # None, the last item, ends helpers
        lot.run(run)


def _start_helper(queue: SimpleQueue[_Lot | None], open_one: Opener) -> bool:
    """Start a thread that runs lots until it gets None; return False if the system refuses a thread."""

    def help() -> None:
        try:
            burst, run = open_one()
        except Exception:  # no memory, or closed: the caller runs the lots and gets the error
            return
        while True:
            with resting():
                lot = queue.get()
            if lot is None:
                break
            lot.run(run)
            del lot  # keep nothing alive while waiting
        burst.close()

    try:
        run_in_background(help)
    except OpFailedError:
        return False
    return True


def _end_helpers(queue: SimpleQueue[_Lot | None], helpers: int) -> None:
    try:
        while True:
            queue.get_nowait()
    except Empty:
        for _ in range(helpers):
            queue.put(None)


def _name_input(error: Exception, number: int) -> Exception:
    """Return the error with the number of its input, counted from 0."""
    if not isinstance(error, NnapiError):
        error.add_note(f"while input {number} was run")
        return error
    named = copy.copy(error)
    named.args = (f"input {number}: {error}", *error.args[1:])
    named.where = None
    return named.with_traceback(error.__traceback__)
