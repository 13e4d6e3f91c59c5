"""Many runs of one compilation: several in flight on all cores, results in the order of the inputs.

The caller's thread queues inputs in lots for other threads, each with its own burst, and computes instead of waiting.
"""

from __future__ import annotations

import copy
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import length_hint
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias
from weakref import WeakSet

from nnapi.closeable import Closeable
from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.errors import BadDataError, BadStateError, NnapiError, OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.burst import Burst, Runnable
from nnapi.runtime.device import Device
from nnapi.runtime.executors.prepared_partitions import ClaimedError, ReadyPlan, prepare_plan
from nnapi.runtime.executors.workers import run_in_background
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionBuilder")

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called after each result with the number of results, and of inputs if known."""
Given: TypeAlias = Sequence[Any]
"""The inputs of a run."""
RunOne: TypeAlias = Callable[..., list[Array]]
Opener: TypeAlias = Callable[[], tuple[Burst, RunOne]]

WORTH_QUEUING = 1.5e-5
"""Seconds of a run below which several threads are slower than one: they wait for Python's lock."""
LOT = 1e-3
"""Seconds of the runs of a lot, and most seconds of gathering its inputs; also of timing runs before any is queued."""
MOST = 64
"""Inputs in a lot."""
HEEDLESS = DeviceTypeCode.DEVICE_CPU, DeviceTypeCode.DEVICE_GPU
"""Devices that ignore the number of threads."""
LOTS_AHEAD = 2
"""Lots for each run in flight: one runs, one waits."""


@dataclass
class Single:
    """The plan of a compilation, prepared so that each run has one thread."""

    prepared: Prepared
    model: Model
    options: PrepareOptions
    bursts: WeakSet[Burst] = field(default_factory=WeakSet)

    def change(self, ready: ReadyPlan, devices: Sequence[Device]) -> None:
        """Prepare another plan in the same way, for the bursts that are open and those of threads that start later."""
        again = prepare_single(ready, devices, self.options)
        self.prepared = again.prepared if again else ready.prepared
        for burst in list(self.bursts):
            burst.use(self.prepared, None)


def count_requests(threads: int | None, wanted: int | None) -> int:
    """Return the number of runs in flight: ``wanted``, else enough to use all cores."""
    if wanted is None:
        return max(1, len(os.sched_getaffinity(0)) // (threads or 1))
    need(wanted > 0, f"requests is {wanted}, must be above 0", BadDataError)
    return wanted


def prepare_single(ready: ReadyPlan, devices: Sequence[Device], options: PrepareOptions) -> Single | None:
    """Prepare a plan again with ``options``, which are for one thread. None where it runs on one thread already, its
    devices ignore the number, or it fails."""
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
    return Single(again.prepared, plan.model, options)


class RunMany(Closeable, Iterator[Any]):
    """The results of :meth:`Compilation.run_many`, in the order of the inputs.

    A failed input raises an error with its number; iteration may continue.
    """

    def __init__(
        self, results: Generator[Any, None, None], total: int | None = None, progress: Progress | None = None
    ) -> None:
        """``results`` yields the outputs of each input, or its exception."""
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
        """Begin no more runs, without waiting for those in flight."""
        self._results.close()


def start(
    inputs: Iterable[Any], runnable: Runnable, repeat: RunOne | None, requests: int, progress: Progress | None
) -> RunMany:
    """Run on each input, ``requests`` at once. ``repeat`` runs an input on which ``runnable`` fails."""
    results = _run_all(inputs, partial(_open, runnable, repeat), requests)
    return RunMany(results, count_inputs(inputs), progress)


def count_inputs(inputs: Iterable[Any]) -> int | None:
    """Return the number of inputs; None where their source does not know."""
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
    """Inputs that one thread runs one after the other, and the result of each."""

    def __init__(self, inputs: Sequence[Given]) -> None:
        self.inputs = inputs
        self.results: list[list[Array] | Exception] = []
        self.pace = 0.0
        """Mean seconds of a run, once all have run."""
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
    """The inputs in lots. An error of their source is raised after the runs of the inputs before it."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        self._inputs = iter(inputs)
        self.has_more = True
        self.failure: Exception | None = None

    def take(self, most: int) -> _Lot | None:
        """Return the next ``most`` inputs, fewer where they come slowly, None at the end."""
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
    """Yield the result of each input, or its exception. The first runs here, to be timed."""
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
    """Run a lot that is still queued, else wait for the first."""
    try:
        lot = queue.get_nowait()
    except Empty:
        first.wait()
    else:
        assert lot is not None  # None ends helpers and comes last
        lot.run(run)


def _start_helper(queue: SimpleQueue[_Lot | None], open_one: Opener) -> bool:
    """Start a thread that runs lots until it gets None; False where the system refuses a thread."""

    def help() -> None:
        try:
            burst, run = open_one()
        except Exception:  # no memory, or closed meanwhile: the caller runs the lots and gets the error
            return
        while (lot := queue.get()) is not None:
            lot.run(run)
            del lot  # nothing is kept alive while it waits
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
    """Return the error with the number of its input, from 0."""
    if not isinstance(error, NnapiError):
        error.add_note(f"while input {number} was run")
        return error
    named = copy.copy(error)
    named.args = (f"input {number}: {error}", *error.args[1:])
    named.where = None
    return named.with_traceback(error.__traceback__)
