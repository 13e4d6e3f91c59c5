"""Tests that each driver must pass besides the examples: faults around it, threads, its process's end, and that
nothing leaks. A driver's tests inherit :class:`DriverSuite` and give it a device in a process of its own."""

import gc
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Execution, Model, compile, device, tensor
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.drivers.foreign.driver import ForeignDriver
from nnapi.drivers.isolated import Isolated
from nnapi.errors import DeadObjectError, NnapiError
from nnapi.model.operand import Array
from tests.drivers.isolated.isolated_cases import is_running, kill
from tests.runtime.device_cases import GIVEN
from tests.runtime.fault_cases import ERRORS, IN_BACKGROUND, WAYS, without_deadlock
from tests.waiting import comes_true, count_descriptors

ADDED = np.array([[1, 2], [3, 4]], np.float32)
EXPECTED = GIVEN + ADDED + ADDED


def add_twice() -> Model:
    b = Builder("sums")
    b.output(b.add(b.add(b.input(tensor("float32", GIVEN.shape)), ADDED), ADDED))
    return b.finish()


class DriverSuite:
    """``subject`` is a fixture that gives the device, which takes ADD of float32."""

    @pytest.fixture(autouse=True)
    def own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Deaths are remembered for one test only."""
        monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))

    @pytest.fixture
    def only(self, subject: Device, monkeypatch: pytest.MonkeyPatch) -> Callable[[Fault, Phase], Device]:
        """Makes automatic compilations choose between the device, with a fault, and the reference."""

        def choose(fault: Fault, phase: Phase) -> Device:
            found = Device(Faulty(subject.driver, fault, phase, seconds=0.004))
            present = [found, device("nnapi-reference")]
            monkeypatch.setattr("nnapi.runtime.device.devices", lambda: present)
            return found

        return choose

    @pytest.mark.parametrize("phase", Phase)
    @pytest.mark.parametrize("fault", Fault)
    def test_each_fault_comes_to_its_code(self, subject: Device, fault: Fault, phase: Phase) -> None:
        chosen, error = Device(Faulty(subject.driver, fault, phase, seconds=0.004)), ERRORS.get(fault)
        if error and phase is Phase.PREPARE:
            with pytest.raises(error):
                without_deadlock(lambda: compile(add_twice(), chosen))
            return
        compiled = without_deadlock(lambda: compile(add_twice(), chosen))
        for way in WAYS:
            if error and way not in IN_BACKGROUND:
                with pytest.raises(error):
                    without_deadlock(partial(way, compiled))
            elif error:
                with pytest.raises(NnapiError):
                    without_deadlock(partial(way, compiled))
            else:
                result = without_deadlock(partial(way, compiled))
                assert np.array_equal(result, EXPECTED) is (fault is not Fault.WRONG or phase is Phase.PREPARE)

    @pytest.mark.parametrize("phase", Phase)
    @pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.WRONG])
    def test_others_help_out(self, only: Callable[[Fault, Phase], Device], fault: Fault, phase: Phase) -> None:
        only(fault, phase)
        compiled = without_deadlock(lambda: compile(add_twice()))
        for way in WAYS:
            assert np.array_equal(without_deadlock(partial(way, compiled)), EXPECTED)

    def test_threads_share_a_compilation(self, subject: Device) -> None:
        """Each has its own numbers, by every way to run in turn."""
        with compile(add_twice(), subject) as compiled, ThreadPoolExecutor(4) as pool:
            found = [*pool.map(lambda k: run_shifted(compiled, k), range(40))]
        for k, result in enumerate(found):
            np.testing.assert_array_equal(result, EXPECTED + k)

    def test_threads_compile_and_close(self, subject: Device) -> None:
        def work(k: int) -> Array:
            with compile(add_twice(), subject) as compiled:
                return run_shifted(compiled, k)

        with ThreadPoolExecutor(4) as pool:
            for k, result in enumerate(pool.map(work, range(12))):
                np.testing.assert_array_equal(result, EXPECTED + k)

    def test_its_process_may_end_at_any_moment(self, subject: Device) -> None:
        """Each run is right or says so, and nobody waits for ever."""
        driver = process_of(subject)
        with compile(add_twice(), subject) as compiled:
            stop, wrong, right = threading.Event(), list[Any](), [0] * 3
            threads = [
                threading.Thread(target=run_until, args=(stop, compiled, k, wrong, right), daemon=True)
                for k in range(len(right))
            ]
            for thread in threads:
                thread.start()
            for _ in range(2):
                assert comes_true(partial(go_on, right, [*right], wrong))
                pid = driver.pid
                kill(pid)
                assert not pid or comes_true(partial(has_ended, pid))
            assert comes_true(partial(go_on, right, [*right], wrong))
            stop.set()
            for thread in threads:
                thread.join(120)
                assert not thread.is_alive()
            assert wrong == []

    def test_nothing_leaks(self, subject: Device) -> None:
        """Neither here nor in the device's process: descriptors, threads, nor memory by the same each time."""

        def work() -> None:
            with compile(add_twice(), subject) as compiled:
                for way in WAYS:
                    assert np.array_equal(way(compiled), EXPECTED)
            gc.collect()

        for _ in range(3):
            work()
        pid = process_of(subject).pid
        assert pid
        here, there, threads = count_descriptors(), count_open(pid), threading.active_count()
        sizes = []
        for _ in range(3):
            for _ in range(5):
                work()
            sizes.append(resident(pid))
        assert comes_true(lambda: count_descriptors() <= here)
        assert comes_true(lambda: count_open(pid) <= there)
        assert comes_true(lambda: threading.active_count() <= threads + 3)  # those that wait for work are kept
        assert process_of(subject).pid == pid
        assert min(later - earlier for earlier, later in pairwise(sizes)) < 500_000


def go_on(right: Sequence[int], before: Sequence[int], wrong: Sequence[Any]) -> bool:
    """Whether each thread has had another right run, or one a wrong one."""
    return bool(wrong) or all(now > then for now, then in zip(right, before, strict=True))


def has_ended(pid: int) -> bool:
    return not is_running(pid)


def run_shifted(compiled: Compilation, k: int) -> Array:
    if k % 3 == 0:
        return compiled.run(GIVEN + k)[0]
    if k % 3 == 1:
        with compiled.burst() as burst:
            return burst.run(GIVEN + k)[0]
    execution, result = Execution(compiled), np.zeros_like(GIVEN)
    execution.set_input(0, GIVEN + k)
    execution.set_output(0, result)
    execution.compute()
    return result


def run_until(stop: threading.Event, compiled: Compilation, k: int, wrong: list[Any], right: list[int]) -> None:
    while not stop.is_set():
        try:
            result = run_shifted(compiled, k)
        except DeadObjectError:
            continue
        except Exception as error:
            wrong.append(error)
            return
        if np.array_equal(result, EXPECTED + k):
            right[k] += 1
        else:
            wrong.append(result)


def process_of(subject: Device) -> Isolated | ForeignDriver:
    assert isinstance(subject.driver, Isolated | ForeignDriver)
    return subject.driver


def count_open(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
