"""Durations of a computation: on the hardware, inside the engine's call; in the driver, with conversions and copies."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Device, DurationCode, Execution, Model, compile, tensor
from nnapi.contract import prepared as prepared_module
from nnapi.contract.driver import OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import MEASURED, open_handle
from nnapi.contract.prepared import EngineTimer
from nnapi.drivers import faulty as faulty_module
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.drivers.isolated import Isolated
from nnapi.model.operand import Shape
from nnapi.runtime.event import Event
from nnapi.runtime.executors import wrappers
from nnapi.trace import recording
from tests.runtime.device_cases import GIVEN, REFERENCE, Scripted, as_it_is, chain

ALL = [*DurationCode]
WAYS: dict[str, Callable[[Execution], object]] = {
    "compute": lambda execution: execution.compute(),
    "start_compute": lambda execution: execution.start_compute().wait(),
    "burst_compute": lambda execution: execution.burst_compute(execution.compilation.burst()),
    "fenced": lambda execution: execution.start_compute_with_dependencies().wait(),
}


class Clock:
    """A clock that moves by 10 ns whenever it is read."""

    now = 0

    def perf_counter_ns(self) -> int:
        self.now += 10
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (prepared_module, wrappers):
        monkeypatch.setattr(module, "time", found)
    return found


def bound(model: Model, on: Device, *, measure: bool = True, given: Any = GIVEN) -> Execution:
    execution = Execution(compile(model, [on]))
    execution.set_measure_timing(measure)
    execution.set_input(0, given)
    execution.set_output(0, np.empty_like(given))
    return execution


def durations(execution: Execution) -> list[int | None]:
    return [execution.duration(code) for code in ALL]


@pytest.mark.parametrize("way", WAYS)
def test_the_engine_s_call_lies_within_the_driver_s_run(way: str, clock: Clock) -> None:
    """The clock is read at the begin and the end of both."""
    execution = bound(chain(), REFERENCE)
    WAYS[way](execution)
    assert durations(execution) == [10, 30, 10, 30]


def test_the_last_of_several_computations_counts(clock: Clock) -> None:
    execution = bound(chain(), REFERENCE)
    execution.set_reusable(True)
    for _ in range(2):
        execution.compute()
        assert durations(execution) == [10, 30, 10, 30]


def test_the_time_before_the_last_signal_does_not_count(clock: Clock) -> None:
    def wait() -> None:
        clock.now += 10**9

    fence = Event(wait, fenced=True)
    execution = bound(chain(), REFERENCE)
    execution.start_compute_with_dependencies([fence]).wait()
    assert durations(execution) == [10, 30, 10, 30]


def test_a_traced_computation_is_measured(clock: Clock) -> None:
    execution = bound(chain(), REFERENCE)
    with recording():
        execution.compute()
    assert durations(execution) == [10, 30, 10, 30]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_measured_unless_it_is_asked_for(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EngineTimer, "__init__", None)
    monkeypatch.setattr(wrappers, "_measure_driver", None)
    execution = bound(chain(), REFERENCE, measure=False)
    WAYS[way](execution)


def test_the_times_of_a_driver_are_kept(clock: Clock) -> None:
    execution = bound(chain(), Device(Scripted(lambda request, inner: inner.execute(request)._replace(driver_ns=9))))
    execution.compute()
    assert durations(execution) == [None, 9, None, 9]


def test_a_driver_that_measures_nothing_is_measured_as_a_whole(clock: Clock) -> None:
    execution = bound(chain(), Device(Scripted(as_it_is)))
    execution.compute()
    assert durations(execution) == [None, 10, None, 10]


def test_a_remote_driver_that_measures_nothing_is_not_measured_with_its_messages(clock: Clock) -> None:
    driver = Scripted(as_it_is)
    driver.is_remote = True  # type: ignore[attr-defined]
    execution = bound(chain(), Device(driver))
    execution.compute()
    assert durations(execution) == [None] * 4


@pytest.mark.engine
@pytest.mark.parametrize("shape", [(2, 2), (0, 2)])
@pytest.mark.parametrize(
    ("needed", "driver"), [("ai_edge_litert", "xnnpack.XnnpackDriver"), ("openvino", "openvino.OpenVinoDriver")]
)
def test_engines_are_measured_inside_their_call(needed: str, driver: str, shape: Shape, clock: Clock) -> None:
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    package, _, name = driver.partition(".")
    b = Builder("shaped")
    b.output(b.abs(b.input(tensor("float32", shape))))
    execution = bound(b.finish(), Device(getattr(import_module(f"nnapi.drivers.{package}"), name)()))
    execution.compute()
    assert durations(execution) == [10, 30, 10, 30]


@pytest.mark.parametrize("measure", [True, False])
def test_a_driver_in_another_process_measures_itself(measure: bool) -> None:
    with Device(Isolated("nnapi-reference")) as isolated:
        execution = bound(chain(), isolated, measure=measure)
        execution.compute()
        outcome = execution._outcome
        assert outcome is not None
        assert (outcome.hardware_ns is not None) is measure
        handle = open_handle(isolated.driver.prepare(chain(), PrepareOptions()), OpenOptions(exclusive=True))
        assert handle.execute(Request([GIVEN])).hardware_ns is None
        assert handle.reopen(MEASURED).execute(Request([GIVEN])).hardware_ns is not None
        handle.close()


def test_a_slow_device_is_measured_with_the_one_inside(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faulty_module, "time", SimpleNamespace(sleep=lambda seconds: None))
    execution = bound(chain(), Device(Faulty(REFERENCE.driver, Fault.SLOW)))
    execution.compute()
    assert durations(execution) == [10, 30, 10, 30]


def test_a_device_with_a_substitute_has_no_durations(clock: Clock) -> None:
    driver = Scripted(as_it_is)
    driver.substitute = "only pretended"  # type: ignore[attr-defined]
    execution = bound(chain(), Device(driver))
    execution.compute()
    assert durations(execution) == [None] * 4
