"""Events: awaiting them, fences from and to descriptors, and threads behind them."""

import asyncio
import contextlib
import itertools
import os
import resource
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from nnapi import Device, Event, Execution, compile
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.errors import BadDataError, DeadObjectError, NnapiError, OpFailedError, OutOfMemoryError
from nnapi.runtime.event import FenceEvent
from nnapi.runtime.executors import workers
from nnapi.runtime.executors.workers import MOST_IDLE, run_in_background
from tests.runtime.device_cases import GIVEN, REFERENCE, Scripted, chain, chained
from tests.runtime.execution_cases import ONES, blank, prepared
from tests.waiting import comes_true, count_descriptors


def readable(fd: int, seconds: float = 0.0) -> bool:
    return bool(select.select([fd], [], [], seconds)[0])


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for fd in (reader, writer):
        with contextlib.suppress(OSError):  # the test may have closed it
            os.close(fd)


def test_an_event_can_be_awaited() -> None:
    async def several() -> list[object]:
        compilation = compile(chain(), "nnapi-reference")
        events = [compilation.start(GIVEN) for _ in range(3)]
        for event in events:
            await event
        return [event.result()[0].tolist() for event in events]

    assert asyncio.run(several()) == [chained().tolist()] * 3


def test_awaiting_a_run_gives_its_outputs() -> None:
    async def run() -> list[np.ndarray]:
        return await compile(chain(), "nnapi-reference").start(GIVEN)

    np.testing.assert_array_equal(asyncio.run(run())[0], compile(chain(), "nnapi-reference").run(GIVEN)[0])


def test_others_run_while_an_event_is_awaited() -> None:
    gate = threading.Event()

    async def both() -> list[str]:
        order = []

        async def wait() -> None:
            await Event(lambda: gate.wait() and None)  # type: ignore[arg-type]
            order.append("event")

        async def other() -> None:
            order.append("other")
            gate.set()

        await asyncio.gather(wait(), other())
        return order

    assert asyncio.run(both()) == ["other", "event"]


def test_the_error_comes_with_await() -> None:
    def fails() -> None:
        raise OpFailedError("no")

    async def ask() -> None:
        await Event(fails)

    with pytest.raises(OpFailedError, match="no"):
        asyncio.run(ask())


def test_codes_that_events_do_not_know() -> None:
    def dies() -> None:
        raise DeadObjectError("gone")

    event = Event(dies)
    for _ in range(2):
        with pytest.raises(OpFailedError, match="gone"):
            event.wait()


# Fences


def test_a_pipe_is_a_fence(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    fence = Event.from_sync_fence_fd(reader)
    execution = prepared()
    result = blank()
    execution.set_output(0, result)
    event = execution.start_compute_with_dependencies([fence])
    time.sleep(0.01)
    assert not event.is_done
    assert not fence.is_done
    assert repr(fence) == "<nnapi.FenceEvent, running>"
    os.write(writer, b"1")
    event.wait()
    assert fence.is_done
    assert repr(fence) == "<nnapi.FenceEvent, done>"
    assert np.array_equal(result, 2 * ONES)


def test_the_descriptor_of_the_caller_may_be_closed(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    fence = Event.from_sync_fence_fd(reader)
    os.close(reader)
    os.write(writer, b"1")
    fence.wait()


def test_a_pipe_that_nobody_can_write_to_any_more_counts_as_signalled(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    fence = Event.from_sync_fence_fd(reader)
    os.close(writer)
    fence.wait()


def test_rule_159_a_fence_that_reports_an_error(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    fence = Event.from_sync_fence_fd(writer)
    os.close(reader)
    with pytest.raises(OpFailedError, match="the fence reports an error"):
        fence.wait()


def test_an_exported_descriptor_becomes_readable_at_the_end() -> None:
    gate = threading.Event()

    def waits(request: Request, inner: Prepared) -> Outcome:
        gate.wait()
        return inner.execute(request)

    execution, result = Execution(compile(chain(), Device(Scripted(waits)))), np.empty_like(GIVEN)
    execution.set_input(0, GIVEN)
    execution.set_output(0, result)
    event = execution.start_compute_with_dependencies([])
    fd = event.sync_fence_fd()
    try:
        assert not readable(fd, 0.01)
        gate.set()
        assert readable(fd, 10)
        assert np.array_equal(result, chained())
        event.close()
        assert readable(fd)
    finally:
        os.close(fd)


def test_an_exported_descriptor_signals_failure_as_an_end() -> None:
    def fails(request: Request, inner: Prepared) -> Outcome:
        raise OpFailedError("no")

    execution = Execution(compile(chain(), Device(Scripted(fails))))
    execution.set_input(0, GIVEN)
    execution.set_output(0, np.empty_like(GIVEN))
    event = execution.start_compute_with_dependencies([])
    fd = event.sync_fence_fd()
    assert readable(fd, 10)
    os.close(fd)
    with pytest.raises(OpFailedError, match="no"):
        event.wait()


def test_computations_are_chained_by_fences() -> None:
    compilation = compile(chain(1), REFERENCE.name)
    arrays = [GIVEN] + [np.empty_like(GIVEN) for _ in range(5)]
    events: list[Event] = []
    for given, result in itertools.pairwise(arrays):
        execution = Execution(compilation)
        execution.set_input(0, given)
        execution.set_output(0, result)
        events.append(execution.start_compute_with_dependencies(events))
    events[-1].wait()
    assert np.array_equal(arrays[-1], np.abs(GIVEN))


def test_fences_travel_through_descriptors() -> None:
    with Event(lambda: time.sleep(0.01), fenced=True) as first:
        fd = first.sync_fence_fd()
        second = Event.from_sync_fence_fd(fd)
        os.close(fd)
        again = second.sync_fence_fd()
        second.wait()
        assert readable(again)
        os.close(again)
        first.wait()  # whose thread may have got no further than the fence
        assert first.is_done


def test_an_event_without_a_fence_has_no_descriptor() -> None:
    event = Event(lambda: None)
    assert not event.has_fence
    with pytest.raises(BadDataError, match="has no fence"):
        event.sync_fence_fd()


def test_no_descriptor_is_left_open() -> None:
    before = count_descriptors()
    for _ in range(20):
        with Event(lambda: None, fenced=True) as event:
            os.close(event.sync_fence_fd())
        del event
    assert comes_true(lambda: count_descriptors() <= before)


# Threads behind events


def test_work_never_waits_for_a_thread_that_is_busy() -> None:
    """Each piece of work waits for the one started after it."""
    signals = [threading.Event() for _ in range(40)]
    for mine, following in itertools.pairwise(signals):
        run_in_background(lambda mine=mine, following=following: (following.wait(), mine.set()))  # type: ignore[arg-type, misc]
    run_in_background(signals[-1].set)
    assert signals[0].wait(120)


def test_threads_are_used_again() -> None:
    for _ in range(50):
        Event(lambda: None).wait()
    count = threading.active_count()
    for _ in range(50):
        Event(lambda: None).wait()
    assert threading.active_count() <= count + 2


def test_after_a_rush_few_threads_stay() -> None:
    before, gate = threading.active_count(), threading.Event()
    events = [Event(lambda: gate.wait(120) and None) for _ in range(100)]  # type: ignore[arg-type]
    assert threading.active_count() >= 100
    gate.set()
    for event in events:
        event.wait()
    for _ in range(12000):
        if threading.active_count() <= before + MOST_IDLE:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before + MOST_IDLE
    Event(lambda: None).wait()


NO_THREAD = [
    (RuntimeError("can't start new thread"), OpFailedError, "can't start new thread"),
    (MemoryError(), OutOfMemoryError, "no memory left"),
]


@pytest.mark.parametrize(("raised", "wanted", "message"), NO_THREAD)
def test_no_thread_is_an_error_with_a_message(
    raised: Exception, wanted: type[NnapiError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise raised

    compilation = compile(chain(), "nnapi-reference")
    monkeypatch.setattr(workers, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(wanted, match=f"no thread for work in the background: {message}"):
        compilation.start(GIVEN)


def test_no_descriptor_is_an_error_with_a_message() -> None:
    with Event(lambda: None, fenced=True) as event:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(OpFailedError, match="cannot be duplicated: OSError"):
                event.sync_fence_fd()
            with pytest.raises(OpFailedError, match="no descriptor for the fence: OSError: .*Too many open files"):
                Event(lambda: None, fenced=True)
            with pytest.raises(OpFailedError, match="file descriptor 0 cannot be duplicated: OSError"):
                FenceEvent(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_fence_can_be_signalled_while_the_process_ends() -> None:
    program = """
import atexit, threading
gate, events = threading.Event(), []
@atexit.register
def signal_last(): gate.set(); events[0].wait()
import nnapi
events.append(nnapi.Event(gate.wait, fenced=True))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_go_on_only_once_the_end_was_observed() -> None:
    order: list[str] = []
    begun, going = threading.Event(), threading.Event()

    def observe() -> None:
        begun.set()
        going.wait()
        order.append("observed")

    event = Event(lambda: None, observed=observe)

    def wait() -> None:
        event.wait()
        order.append("went on")

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait()
    comes_true(lambda: order, 0.2)  # the second thread has time to go on too early
    going.set()
    for thread in threads:
        thread.join()
    assert order == ["observed", "went on", "went on"]
