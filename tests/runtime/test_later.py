"""What a compilation does not wait for: predicted first, measured in the background, kept for the next one."""

import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import Device, Model, compile
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.model.borrowed import BorrowedMemory
from nnapi.runtime import background, later
from nnapi.runtime.autotune.measurements import PREDICTED, UNKNOWN, Measurements, make_key, recall_measurements
from nnapi.runtime.background import Background
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_first_plan
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record
from tests.runtime.cache_cases import Slow, doubled
from tests.runtime.device_cases import ABS, capabilities, chain, limited

X = np.array([1, 2], np.float32)
TOKEN = bytes(32)


class Watched(Slow):
    """What it prepares in the background may fail."""

    fails = False

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        if self.fails and threading.current_thread() is not threading.main_thread():
            raise RuntimeError("not today")
        return super().prepare(model, options)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Device]]:
    """Two devices that declare the same, in a process that is idle at once; nothing is too small to be measured."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("NNAPI_TUNING")
    monkeypatch.setattr(background, "LOOK", 1e-3)
    monkeypatch.setattr(background, "IDLE", 1e9)
    monkeypatch.setattr(later, "_begun", set())
    monkeypatch.setattr("nnapi.runtime.costs.thread_choice.is_tiny", lambda model: False)
    monkeypatch.setattr("nnapi.runtime.choice.is_tiny", lambda model: False)
    monkeypatch.setattr("nnapi.runtime.choice.is_worthwhile", lambda model, plans: len(plans) > 1)
    yield [Device(Watched("one")), Device(Watched("two"))]
    finish()


def finish() -> None:
    for each in list(background.running):
        assert each.wait(60)


def find_known(model: Model, devices: list[Device]) -> Measurements:
    return recall_measurements(make_key(model, devices, PrepareOptions()))


def test_a_model_that_nothing_is_known_of_goes_to_the_device_that_is_predicted_to_be_fastest(
    devices: list[Device],
) -> None:
    model = doubled()
    compilation = compile(model, devices)
    assert compilation.run(X)[0].tolist() == [2, 4]
    assert compilation.plan.measured is None
    assert PREDICTED in compilation.explain()
    finish()
    known = find_known(model, devices)
    assert len(known.times) == 2
    assert compilation.plan.devices == ("one",)  # it keeps what it has
    again = compile(model, devices)
    assert again.plan.measured is not None
    assert PREDICTED not in again.explain()


def test_a_prediction_is_kept_until_more_is_measured_of_the_devices(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "choose_later", lambda *task: None)
    model, count = doubled(), 0

    def count_plans(*args: Any, **options: Any) -> Plan | None:
        nonlocal count
        count += 1
        return make_first_plan(*args, **options)

    monkeypatch.setattr("nnapi.runtime.choice.make_first_plan", count_plans)
    first, again = compile(model, devices), compile(model, devices)
    assert count == 1
    assert again.explain().splitlines()[:-1] == first.explain().splitlines()[:-1]  # the last says how long it took
    keep_record(RecordKind.COSTS, "something", {})
    compile(model, devices)
    assert count == 2
    with nnapi.settings(tuning=True):
        assert compile(model, devices).plan.measured is not None


def test_what_the_fastest_refuses_goes_elsewhere_and_not_the_whole_model(devices: list[Device]) -> None:
    quick, slow = limited("quick", [ABS]), limited("slow", declared=capabilities(1.0))
    compilation = compile(chain(), [quick, slow])
    assert compilation.plan.devices == ("quick", "slow")
    assert PREDICTED in compilation.explain()


def test_where_it_is_asked_for_it_is_waited_for(devices: list[Device]) -> None:
    model = doubled()
    with nnapi.settings(tuning=True):
        compilation = compile(model, devices)
    assert compilation.plan.measured is not None
    assert len(find_known(model, devices).times) == 2
    assert not background.running


def test_what_was_measured_in_disturbance_is_used_and_measured_again(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = [True, False]
    monkeypatch.setattr("nnapi.runtime.autotune.cpu_load.Watch.is_disturbed", lambda self: disturbed.pop(0))
    model = doubled()
    with nnapi.settings(tuning=True):
        compile(model, devices)
    assert not find_known(model, devices).is_settled
    assert compile(model, devices).plan.measured is not None
    finish()
    assert find_known(model, devices).is_settled


def test_a_cache_keeps_what_was_prepared_but_no_plan_that_was_only_predicted(
    devices: list[Device], tmp_path: Path
) -> None:
    model = doubled()
    compile(model, devices, cache=(tmp_path, TOKEN))
    finish()
    compilation = compile(model, devices, cache=(tmp_path, TOKEN))
    assert compilation.plan.measured is not None


def test_what_fails_in_the_background_is_not_tried_again(devices: list[Device]) -> None:
    model = doubled()
    for device in devices:
        device.driver.fails = True  # type: ignore[attr-defined]
    compile(model, devices)
    finish()
    assert find_known(model, devices) is UNKNOWN
    assert PREDICTED in compile(model, devices).explain()
    assert not later._tasks


def test_a_model_that_is_gone_is_not_measured(devices: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.choice.choose_and_prepare", None)
    task = later._Task(lambda: None, devices, PrepareOptions(), "key")  # type: ignore
    later._choose(None, task)


def test_a_process_may_end_before() -> None:
    code = """
import numpy as np
from nnapi import Device, compile
from nnapi.runtime.costs import thread_choice
from tests.runtime.cache_cases import Slow, doubled
import os
del os.environ["NNAPI_TUNING"]
thread_choice.is_tiny = lambda model: False
print(compile(doubled(), [Device(Slow("one")), Device(Slow("two"))]).run(np.ones(2, np.float32))[0].tolist())
"""
    done = subprocess.run([sys.executable, "-c", "import tests.conftest\n" + code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0]\n"), done.stderr


def test_a_process_ends_though_the_background_has_much_to_do() -> None:
    """A driver whose preparation takes for ever there: the process ends at once, as if nothing had been going on."""
    code = """
import os, threading
import numpy as np
import nnapi
from nnapi import Device, compile
from nnapi.runtime import background
from nnapi.runtime.costs import thread_choice
from tests.runtime.cache_cases import Slow, doubled

class Endless(Slow):
    def prepare(self, model, options):
        while threading.current_thread() is not threading.main_thread():
            begun.set()
            try:
                sum(range(1000))
            except Exception:
                pass
        return super().prepare(model, options)

del os.environ["NNAPI_TUNING"]
background.LOOK, background.IDLE = 1e-3, 1e9
thread_choice.is_tiny = lambda model: False
begun = threading.Event()
print(compile(doubled(), [Device(Endless("one")), Device(Endless("two"))]).run(np.ones(2, np.float32))[0].tolist())
assert begun.wait(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", "import tests.conftest\n" + code], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2.0, 2.0]\n", "")


def test_constants_of_a_client_are_copied_before_the_thread_sees_them(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Model] = []
    monkeypatch.setattr("nnapi.runtime.choice.choose_and_prepare", lambda model, *rest, **names: seen.append(model))
    model = doubled()
    model.borrowed = BorrowedMemory()
    task = later._Task(weakref.ref(model), devices, PrepareOptions(), "key")
    with suppress(AttributeError):  # nothing was prepared
        later._choose(Background(lambda own: None, "idle"), task)
    assert len(seen) == 1
    assert seen[0] is not model
    model.borrowed.give_back()
    later._choose(Background(lambda own: None, "idle"), task)
    assert len(seen) == 1
