"""Whose turn it is: priorities, room, deadlines, and threads that share a compilation."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from nnapi import Builder, Device, Event, Execution, PriorityCode, compile, tensor
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.errors import MissedDeadlinePersistentError
from nnapi.runtime.device_queue import DeviceQueue
from tests.runtime.device_cases import GIVEN, REFERENCE, Scripted, chain, chained

LOW, MEDIUM, HIGH = PriorityCode


class Gate:
    """A device on which the first execution waits to be let go; the order of all is noted."""

    def __init__(self, room: int = 1) -> None:
        self.opened, self.entered = threading.Event(), threading.Event()
        self.order: list[float] = []
        self.device = Device(Scripted(self._execute), DeviceQueue(room))

    def _execute(self, request: Request, inner: Prepared) -> Outcome:
        assert request.inputs[0] is not None
        self.order.append(float(request.inputs[0].flat[0]))
        self.entered.set()
        self.opened.wait()
        return inner.execute(request)

    def start(self, mark: float, priority: PriorityCode) -> Event:
        return compile(chain(1), self.device, priority=priority).start(np.full((2, 2), mark, np.float32))

    def waits(self, count: int) -> None:
        """Return when so many are queued."""
        eventually(lambda: len(self.device.queue._waiting) == count)


def accept(result: object) -> bool:
    return True


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_high_priority_overtakes_queued_low_ones() -> None:
    gate = Gate()
    events = [gate.start(0, LOW)]
    gate.entered.wait()
    for count, (mark, priority) in enumerate([(1, LOW), (2, LOW), (3, MEDIUM), (4, HIGH), (5, HIGH), (6, LOW)], 1):
        events.append(gate.start(mark, priority))
        gate.waits(count)
    gate.opened.set()
    for event in events:
        event.wait()
    assert gate.order == [0, 4, 5, 3, 1, 2, 6]


def test_a_function_that_waits_for_its_turn() -> None:
    queue, ran = DeviceQueue(1), []
    run = queue.in_turn(lambda _: ran.append(len(queue._free)), MEDIUM, accept)
    run(0)
    queue.enter(MEDIUM)
    waiting = [threading.Thread(target=run, args=(0,)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    eventually(lambda: len(queue._waiting) == 2)
    assert len(ran) == 1
    queue.leave()
    for thread in waiting:
        thread.join()
    assert ran == [0, 0, 0], "one at a time"

    with pytest.raises(ZeroDivisionError):
        queue.in_turn((1).__floordiv__, MEDIUM, accept)(0)
    run(0)
    assert len(ran) == 4, "the place was given back"


def test_as_many_at_once_as_there_is_room() -> None:
    gate = Gate(room=2)
    events = [gate.start(0, MEDIUM), gate.start(1, MEDIUM)]
    eventually(lambda: len(gate.order) == 2)
    events.append(gate.start(2, HIGH))
    gate.waits(1)
    assert len(gate.order) == 2
    gate.opened.set()
    for event in events:
        event.wait()
    assert len(gate.order) == 3


def test_devices_do_not_wait_for_one_another() -> None:
    gate, other = Gate(), Gate()
    event = gate.start(0, HIGH)
    gate.entered.wait()
    other.opened.set()
    other.start(1, LOW).wait()
    assert not event.is_done
    gate.opened.set()
    event.wait()


def test_a_deadline_passes_in_the_queue_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nnapi.runtime.executors.deadline.PATIENCE", 60.0
    )  # the queue says it, however late its thread wakes
    gate = Gate()
    first = gate.start(0, LOW)
    gate.entered.wait()
    execution = Execution(compile(chain(1), gate.device, priority=HIGH))
    execution.set_input(0, GIVEN)
    execution.set_output(0, np.empty_like(GIVEN))
    execution.set_timeout(5_000_000)
    with pytest.raises(MissedDeadlinePersistentError, match="while others were computing"):
        execution.compute()
    gate.waits(0)
    gate.opened.set()
    first.wait()
    gate.start(1, LOW).wait()
    assert gate.order == [0, 1]


def test_a_place_is_free_again_after_a_failure() -> None:
    def fails(request: Request, inner: Prepared) -> Outcome:
        raise RuntimeError("broken")

    broken = Device(Scripted(fails), DeviceQueue(1))
    compilation = compile(chain(1), broken)
    for _ in range(3):
        with pytest.raises(Exception, match="broken"):
            compilation.run(GIVEN)


def test_giving_up_in_the_last_moment_keeps_the_place() -> None:
    queue = DeviceQueue(1)
    queue.enter(MEDIUM)
    ticket = (0, 0, threading.Event())
    queue._waiting.append(ticket)
    queue.leave()  # calls the one that waits
    queue._give_up(ticket)  # no error: the place is ours
    with pytest.raises(MissedDeadlinePersistentError):
        queue.enter(HIGH, time.monotonic_ns())
    queue.leave()
    queue.enter(LOW)
    assert not queue._free
    queue.leave()
    assert len(queue._free) == 1


@pytest.mark.parametrize("way", ["run", "burst", "execution", "start"])
def test_many_threads_share_a_compilation(way: str) -> None:
    b = Builder()
    x = b.input(tensor("float32", (2,)))
    b.output(b.add(b.mul(x, 2.0), 1.0))
    compilation = compile(b.finish(), REFERENCE.name)
    wrong: list[object] = []

    def work(thread: int) -> None:
        burst = compilation.burst()
        result = np.empty(2, np.float32)
        for i in range(120):
            given = np.array([thread, i], np.float32)
            if way == "execution":
                execution = Execution(compilation)
                execution.set_input(0, given)
                execution.set_output(0, result)
                execution.compute()
            elif way == "start":
                result = compilation.start(given).result()[0]
            else:
                result = (burst.run(given) if way == "burst" else compilation.run(given))[0]
            if result.tolist() != [2 * thread + 1, 2 * i + 1]:
                wrong.append((thread, i, result))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_no_lock_is_held_while_a_driver_computes() -> None:
    """Two executions of one compilation are in the driver at the same time."""
    meeting = threading.Barrier(2, timeout=120)

    def meet(request: Request, inner: Prepared) -> Outcome:
        meeting.wait()
        return inner.execute(request)

    compilation = compile(chain(), Device(Scripted(meet), DeviceQueue(2)))
    events = [compilation.start(GIVEN) for _ in range(2)]
    for event in events:
        assert np.array_equal(event.result()[0], chained())


def test_models_are_compiled_by_many_threads_at_once() -> None:
    model = chain()
    results: list[object] = []

    def work() -> None:
        results.append(compile(model).run(GIVEN)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [chained().tolist()] * 8


FORK = """
import os, signal, sys, threading
import numpy as np
from nnapi import compile
from tests.runtime.device_cases import chain
from tests.runtime.test_device_queue import Gate, MEDIUM

gate, x = Gate(), np.ones((2, 2), np.float32)
shared = compile(chain(1), gate.device)
gate.start(1.0, MEDIUM)
gate.entered.wait()
threading.Thread(target=shared.run, args=(x,), daemon=True).start()
gate.waits(1)
gate.device.queue._lock.acquire()
child = os.fork()
if not child:
    signal.alarm(60)
    gate.opened.set()
    assert shared.run(x)[0].shape == compile(chain(1), gate.device).run(x)[0].shape
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
os._exit(0)
"""
"""One execution holds the only place, one waits for it, and somebody has the lock: none of them is in the child."""


@pytest.mark.slow
def test_a_forked_child_finds_every_place_free() -> None:
    words = [sys.executable, "-W", "ignore", "-c", "import tests.conftest\n" + FORK]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_results_are_checked_until_one_suffices() -> None:
    numbers, checked = iter(range(4)), list[int]()
    run = DeviceQueue(1).in_turn(lambda _: next(numbers), MEDIUM, lambda number: bool(checked.append(number) or number))
    assert [run(0) for _ in range(4)] == [0, 1, 2, 3]
    assert checked == [0, 1]


def test_a_run_takes_a_free_slot_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = DeviceQueue(1)
    monkeypatch.setattr(queue, "_wait", lambda *_: pytest.fail("it waits"))
    assert [queue.in_turn(str.upper, MEDIUM, accept)("done") for _ in range(2)] == ["DONE"] * 2
