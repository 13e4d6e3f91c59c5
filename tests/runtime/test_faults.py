"""Every fault of a device, in every phase, in every way to execute: the documented code, or a right answer."""

import gc
import logging
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nnapi import Compilation, Device, DeviceTypeCode, OperationCode, compile
from nnapi.codes import ResultCode
from nnapi.contract.driver import Request
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.errors import MissedDeadlineError, MissedDeadlineTransientError, NnapiError, OpFailedError, error_for
from nnapi.model.operand import Array
from nnapi.runtime.event import COLLAPSED
from nnapi.runtime.executors.wrappers import execute
from tests.runtime.device_cases import GIVEN, REFERENCE, chained, limited
from tests.runtime.fault_cases import (
    ERRORS,
    IN_BACKGROUND,
    MODEL,
    WAYS,
    bound,
    candidates,
    compute,
    faulty,
    fenced,
    run,
    start_compute,
    without_deadlock,
)
from tests.waiting import comes_true, count_descriptors

Way = Callable[[Compilation], Array]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No lines about fallbacks: a test would keep them all."""
    log = logging.getLogger("nnapi.ExecutionBuilder")
    log.disabled = True
    yield
    log.disabled = False


def through_event(error: type[NnapiError]) -> type[NnapiError]:
    return COLLAPSED.get(error.code, error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("fault", Fault)
def test_a_chosen_device_fails_with_the_documented_code(fault: Fault, phase: Phase, way: Way) -> None:
    chosen = faulty(fault, phase)
    error = ERRORS.get(fault)
    if error and phase is Phase.PREPARE:
        with pytest.raises(error) as caught:
            without_deadlock(lambda: compile(MODEL, chosen))
        assert type(caught.value) is error
        return
    compilation = without_deadlock(lambda: compile(MODEL, chosen))
    if error:
        with pytest.raises(NnapiError) as caught:
            without_deadlock(lambda: way(compilation))
        assert type(caught.value) is (through_event(error) if way in IN_BACKGROUND else error)
        return
    result = without_deadlock(lambda: way(compilation))
    spoilt = fault is Fault.WRONG and phase is Phase.EXECUTE  # nobody can tell
    assert np.array_equal(result, chained()) is not spoilt


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.WRONG])
def test_automatic_choice_of_devices_gives_the_right_answer(
    fault: Fault, phase: Phase, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = candidates(fault, phase)
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: found)
    compilation = without_deadlock(lambda: compile(MODEL))
    assert np.array_equal(without_deadlock(lambda: way(compilation)), chained())
    assert found[0].driver.struck  # type: ignore[attr-defined]


def test_another_cpu_does_not_help_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of other libraries may say that they are one: the reference is who does."""
    other = limited("other-cpu", type=DeviceTypeCode.DEVICE_CPU)
    failing = Device(Faulty(other.driver, Fault.FAILS))
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [failing, REFERENCE])
    compilation = compile(MODEL)
    assert compilation.devices == [failing]
    assert np.array_equal(run(compilation), chained())


def test_every_code_that_an_event_can_bring_is_documented() -> None:
    kept = {"OUTPUT_INSUFFICIENT_SIZE", "UNAVAILABLE_DEVICE", "BAD_DATA", "OP_FAILED"}
    for code in ResultCode:
        if code.name != "NO_ERROR":
            arrives = through_event(error_for(code)).code.name
            assert arrives in kept or arrives.startswith(("MISSED_DEADLINE", "RESOURCE_EXHAUSTED"))


# Devices that do not answer


def limited_in_time(compilation: Compilation, nanoseconds: int) -> Any:
    execution, result = bound(compilation)
    execution.set_timeout(nanoseconds)
    return execution, result


@pytest.mark.parametrize("way", ["compute", "start_compute", "burst_compute", "fenced", "fenced duration"])
def test_a_device_that_hangs_misses_the_deadline(way: str) -> None:
    hanging = faulty(Fault.HANGS, Phase.EXECUTE, seconds=600)
    compilation = compile(MODEL, hanging)
    execution, _ = bound(compilation) if way == "fenced duration" else limited_in_time(compilation, 2_000_000)
    ways: dict[str, Callable[[], Any]] = {
        "compute": execution.compute,
        "start_compute": lambda: execution.start_compute().wait(),
        "burst_compute": lambda: execution.burst_compute(compilation.burst()),
        "fenced": lambda: execution.start_compute_with_dependencies([]).wait(),
        "fenced duration": lambda: execution.start_compute_with_dependencies([], 2_000_000).wait(),
    }
    with pytest.raises(MissedDeadlineTransientError, match="quick did not answer within the time limit"):
        without_deadlock(ways[way])
    hanging.driver.released.set()  # type: ignore[attr-defined]
    assert np.array_equal(run(compilation), chained())


def test_a_device_that_hangs_without_a_deadline_is_waited_for() -> None:
    hanging = faulty(Fault.HANGS, Phase.EXECUTE, seconds=600)
    event = compile(MODEL, hanging).start(GIVEN)
    time.sleep(0.02)
    assert not event.is_done
    hanging.driver.released.set()  # type: ignore[attr-defined]
    assert np.array_equal(without_deadlock(event.result)[0], chained())


def test_a_slow_device_misses_the_deadline_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.executors.deadline.PATIENCE", 60.0)
    slow = faulty(Fault.SLOW, Phase.EXECUTE, seconds=0.02)
    execution, _ = limited_in_time(compile(MODEL, slow), 5_000_000)
    with pytest.raises(MissedDeadlineError, match="time limit passed"):
        execution.compute()


def test_others_go_on_while_a_device_hangs() -> None:
    hanging = faulty(Fault.HANGS, Phase.EXECUTE, seconds=600)
    event = compile(MODEL, hanging).start(GIVEN)
    assert np.array_equal(run(compile(MODEL, REFERENCE)), chained())
    hanging.driver.released.set()  # type: ignore[attr-defined]
    event.wait()


# Faults that strike sometimes


def test_a_fault_at_one_operation_only_moves_that(monkeypatch: pytest.MonkeyPatch) -> None:
    liar = Device(Faulty(limited().driver, Fault.LIES, Phase.PREPARE, operation=OperationCode.NEG))
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [liar, REFERENCE])
    compilation = compile(MODEL)
    chosen = [decision.chosen for decision in compilation.plan.decisions]
    assert chosen == ["quick", "nnapi-reference", "quick"]
    assert compilation.plan.notes == (
        "quick claimed operation #1, but failed to prepare: quick reports a general failure",
    )
    assert np.array_equal(run(compilation), chained())


def test_a_device_that_fails_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    moody = Device(Faulty(limited().driver, Fault.FAILS, Phase.EXECUTE, rate=0.3))
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [moody, REFERENCE])
    compilation = compile(MODEL)
    for _ in range(50):
        assert np.array_equal(run(compilation), chained())
    assert 5 < moody.driver.struck < 30  # type: ignore[attr-defined]


# Nothing leaks (benchmarks/leaks.py measures more)


@pytest.mark.slow
@pytest.mark.parametrize("way", [compute, start_compute, fenced, run])
@pytest.mark.parametrize("fault", [None, Fault.FAILS, Fault.RAISES])
def test_nothing_leaks(fault: Fault | None, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [limited() if fault is None else faulty(fault, Phase.EXECUTE), REFERENCE]
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: found)
    compilation = compile(MODEL)
    for _ in range(30):
        way(compilation)
    descriptors, threads = resources()
    tracemalloc.start()
    try:
        marks = []
        for _ in range(4):
            for _ in range(100):
                way(compilation)
            assert comes_true(lambda: resources()[0] <= descriptors)  # the last fences may still be closing
            marks.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # 40 bytes an execution would show in every hundred; a table of the interpreter that grows shows in one of them.
    assert min(later - earlier for earlier, later in pairwise(marks)) < 4000
    assert resources()[1] <= threads + 3  # those that wait for work are kept


def resources() -> tuple[int, int]:
    gc.collect()
    return count_descriptors(), threading.active_count()


def test_what_escapes_from_a_plan_is_op_failed() -> None:
    class Broken:
        def execute(self, request: object) -> Any:
            raise ZeroDivisionError("by nothing")

    broken: Any = Broken()
    with pytest.raises(OpFailedError, match="ZeroDivisionError: by nothing"):
        execute(broken, Request(()))
