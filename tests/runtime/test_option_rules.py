"""Rules of validation.md about what executions can be asked for: padding, reuse, bursts, time, fences, attributes."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from nnapi import Burst, Compilation, DurationCode, Event, Execution, Memory, compile, device, devices
from nnapi.errors import (
    BadDataError,
    BadStateError,
    DeadObjectError,
    MissedDeadlinePersistentError,
    OpFailedError,
    UnexpectedNullError,
)
from tests.graphs import finished_sum
from tests.runtime.execution_cases import ONES, SUM, blank, prepared, slicing
from tests.waiting import comes_true

NONE: Any = None
AUTOMATIC = compile(finished_sum())


def ready(compilation: Compilation = SUM) -> Execution:
    execution = prepared(compilation)
    execution.set_output(0, blank())
    return execution


# Padding


def test_rule_104_with_padding_a_buffer_may_be_longer() -> None:
    execution, result = Execution(SUM), np.full(8, 7, np.float32)
    execution.enable_input_and_output_padding(True)
    with pytest.raises(BadDataError, match="takes at least 16 bytes, got 12"):
        execution.set_input(0, bytearray(12))
    execution.set_input(0, np.arange(6, dtype=np.float32).tobytes())
    execution.set_input_from_memory(1, Memory.from_array(np.arange(6, dtype=np.float32)), 4, 20)
    execution.set_output(0, result.view(np.uint8))
    execution.compute()
    assert result.tolist() == [1, 3, 5, 7, 7, 7, 7, 7]


TOUCHING: dict[str, Callable[[Execution], object]] = {
    "set": lambda execution: execution.set_input(0, ONES),
    "omitted": lambda execution: execution.set_output(0, None),
    "from memory": lambda execution: execution.set_input_from_memory(0, Memory.from_array(ONES), 0, 16),
    "too long": lambda execution: execution.set_input(0, bytearray(20)),
    "empty": lambda execution: execution.set_input(0, bytearray(16), length=0),
}
FAILING_EARLY: dict[str, Callable[[Execution], object]] = {
    "null": lambda execution: execution.set_input(0, None, length=3),
    "index": lambda execution: execution.set_input(9, ONES),
    "shape": lambda execution: execution.set_input(0, np.zeros((3, 3), np.float32)),
    "region": lambda execution: execution.set_input_from_memory(0, Memory.from_array(ONES), 0, 99),
}


@pytest.mark.parametrize("call", TOUCHING.values(), ids=TOUCHING)
def test_rule_108_padding_is_decided_before_the_first_argument(call: Callable[[Execution], object]) -> None:
    execution = Execution(SUM)
    with suppress(BadDataError):
        call(execution)
    with pytest.raises(BadStateError, match="cannot change padding: an (input|output) has been set"):
        execution.enable_input_and_output_padding(True)


@pytest.mark.parametrize("call", FAILING_EARLY.values(), ids=FAILING_EARLY)
def test_rule_108_a_call_that_failed_earlier_does_not_count(call: Callable[[Execution], object]) -> None:
    execution = Execution(SUM)
    with pytest.raises((BadDataError, UnexpectedNullError)):
        call(execution)
    execution.enable_input_and_output_padding(True)


OPTIONS: dict[str, Callable[[Execution], object]] = {
    "padding": lambda execution: execution.enable_input_and_output_padding(True),
    "reusable": lambda execution: execution.set_reusable(True),
    "timing": lambda execution: execution.set_measure_timing(False),
    "timeout": lambda execution: execution.set_timeout(0),
    "attribute": lambda execution: execution.add_extension_attribute("com.example.rules", 1, None),
}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_rule_097_no_option_changes_after_the_start(option: Callable[[Execution], object]) -> None:
    execution = ready()
    execution.set_reusable(True)
    execution.compute()
    with pytest.raises(BadStateError, match="the execution is in completed"):
        option(execution)


# Reuse


def test_rule_113_a_reusable_execution_computes_again_on_what_is_in_its_buffers() -> None:
    x, y, z = np.zeros((2, 2), np.float32), ONES.copy(), blank()
    execution = Execution(SUM)
    execution.set_reusable(True)
    execution.set_input(0, x)
    execution.set_input(1, y)
    execution.set_output(0, z)
    for value in range(3):
        x[:] = value
        execution.compute()
        assert np.array_equal(z, ONES + value)
        with pytest.raises(BadStateError, match="the execution is in completed"):
            execution.set_input(0, x)


def test_rule_114_a_reusable_execution_remembers_what_was_missing() -> None:
    execution = prepared()
    execution.set_reusable(True)
    for _ in range(2):
        with pytest.raises(BadDataError, match="output 0 .* has not been set"):
            execution.compute()


def test_rule_137_dimensions_are_forgotten_at_each_start() -> None:
    size = np.array([3, 2], np.int32)
    execution = slicing()
    execution.set_reusable(True)
    execution.set_input(0, np.ones((9, 2), np.float32))
    execution.set_input(1, size)
    execution.set_output(0, bytearray(100))
    execution.compute()
    assert execution.output_operand_dimensions(0) == (3, 2)
    size[0] = 4
    execution.compute()
    assert execution.output_operand_dimensions(0) == (4, 2)
    size[0] = 99
    with pytest.raises(OpFailedError):
        execution.compute()
    with pytest.raises(BadStateError, match="the execution failed"):
        execution.output_operand_dimensions(0)


# Bursts


def test_rule_116_a_burst_belongs_to_one_compilation() -> None:
    execution = ready()
    with pytest.raises(UnexpectedNullError, match="burst is None"):
        execution.burst_compute(NONE)
    with pytest.raises(BadDataError, match="the burst belongs to another compilation"):
        execution.burst_compute(AUTOMATIC.burst())
    execution.burst_compute(Burst(SUM))  # neither of the calls before has spent it


def test_rule_116_one_thread_at_a_time_uses_a_burst() -> None:
    burst, execution = Burst(SUM), ready()
    burst.take()
    with pytest.raises(BadStateError, match="the burst is in use by another thread"):
        execution.burst_compute(burst)
    with pytest.raises(BadStateError, match="the burst is in use by another thread"):
        burst.run(ONES, ONES)
    burst.release()
    execution.burst_compute(burst)
    with pytest.raises(BadStateError, match="the execution is in completed"):
        execution.burst_compute(burst)


# Time and attributes: of one explicitly chosen device only


def others() -> list[Compilation]:
    """Compilations that were not made for exactly one chosen device."""
    return [AUTOMATIC] + ([compile(finished_sum(), devices())] if len(devices()) > 1 else [])


@pytest.mark.parametrize(
    ("number", "call"),
    [(117, OPTIONS["timing"]), (118, OPTIONS["timeout"]), (119, OPTIONS["attribute"])],
    ids=["117", "118", "119"],
)
def test_rule_117_118_119_one_device_comes_before_the_state(number: int, call: Callable[[Execution], object]) -> None:
    for compilation in others():
        execution = ready(compilation)
        execution.compute()
        with pytest.raises(BadDataError, match="only for a compilation for exactly one chosen device"):
            call(execution)


def test_rule_117_timing_without_a_run() -> None:
    execution = ready()
    execution.set_measure_timing(True)
    with pytest.raises(BadStateError, match="the execution is in preparation, not completed"):
        execution.duration(DurationCode.DURATION_IN_DRIVER)


def test_rule_118_a_time_limit() -> None:
    execution = ready()
    execution.set_timeout(1)
    with pytest.raises(MissedDeadlinePersistentError, match="time limit passed before"):
        execution.compute()
    for unlimited in (0, 2**64 - 1, 10**15):
        execution = ready()
        execution.set_timeout(unlimited)
        execution.compute()


def test_rule_119_an_attribute_is_added_once() -> None:
    execution = Execution(SUM)
    with pytest.raises(UnexpectedNullError, match="name is None"):
        execution.add_extension_attribute(NONE, 1, b"")
    execution.add_extension_attribute("com.example.rules", 1, b"hint")
    execution.add_extension_attribute("com.example.rules", 2, None)
    with pytest.raises(BadDataError, match="com.example.rules 1 was added to sum's execution already"):
        execution.add_extension_attribute("com.example.rules", 1, b"hint")


def test_rule_138_durations() -> None:
    execution = ready()
    with pytest.raises(BadDataError, match=r"duration code is 4, must be 0\.\.3"):
        execution.duration(4)  # type: ignore[arg-type]
    execution.compute()
    with pytest.raises(BadStateError, match="timing was not asked for"):
        execution.duration(DurationCode.DURATION_ON_HARDWARE)
    measured = ready()
    measured.set_measure_timing(True)
    measured.compute()
    assert all(isinstance(measured.duration(code), int) for code in DurationCode)
    failed = Execution(SUM)
    failed.set_measure_timing(True)
    with pytest.raises(BadDataError):
        failed.compute()
    with pytest.raises(BadStateError, match="the execution failed: input 0"):
        failed.duration(DurationCode.DURATION_ON_HARDWARE)


# Fences


def test_rule_121_a_fenced_computation_knows_its_outputs_and_has_one_device_for_a_limit() -> None:
    execution = ready(AUTOMATIC)
    with pytest.raises(BadDataError, match="a duration is given only for a compilation for exactly one"):
        execution.start_compute_with_dependencies([], 10)
    with pytest.raises(BadStateError, match="the execution is in completed"):
        execution.start_compute_with_dependencies([])
    execution = slicing()
    execution.set_input(0, ONES)
    execution.set_input(1, np.array([1, 2], np.int32))
    execution.set_output(0, bytearray(100))
    with pytest.raises(BadDataError, match="has unknown dimensions, a fenced computation needs them"):
        execution.start_compute_with_dependencies([])
    with pytest.raises(BadStateError, match="the execution failed"):
        execution.output_operand_rank(0)
    ready().start_compute_with_dependencies([], 10**15).wait()


def test_rule_122_dependencies() -> None:
    for given in (NONE, [NONE]):
        execution = ready()
        with pytest.raises(UnexpectedNullError, match="None"):
            execution.start_compute_with_dependencies(given)
        execution.compute()  # nothing had run

    def fail() -> None:
        raise BadDataError("no matter")

    ready().start_compute_with_dependencies([Event(fail)]).wait()
    read, write = os.pipe()
    fence = Event.from_sync_fence_fd(read)
    event = ready().start_compute_with_dependencies([fence])
    assert not event.is_done
    os.write(write, b"!")
    event.wait()
    os.close(read)
    os.close(write)


def test_rule_122_a_fence_that_fails() -> None:
    read, write = os.pipe()
    fence = Event.from_sync_fence_fd(write)
    os.close(write)
    os.close(read)  # a pipe that nobody reads reports an error
    event = ready().start_compute_with_dependencies([fence])
    with pytest.raises(OpFailedError, match="a fence that the computation waited for failed"):
        event.wait()
    with pytest.raises(OpFailedError, match="the fence reports an error"):
        fence.wait()


def test_rule_123_the_execution_completes_when_somebody_looks() -> None:
    execution = ready()
    event = execution.start_compute_with_dependencies([])
    while not event.is_done:
        threading.Event().wait(0.001)
    with pytest.raises(BadStateError, match="the execution is in computation, not completed"):
        execution.output_operand_rank(0)
    event.close()
    assert execution.output_operand_rank(0) == 2


def test_rule_157_descriptors_that_are_no_fence() -> None:
    for fd in (0, -1, 1 << 20):
        with pytest.raises(BadDataError, match=f"file descriptor {fd} "):
            Event.from_sync_fence_fd(fd)
    read, write = os.pipe()
    event = Event.from_sync_fence_fd(read)
    os.close(read)  # it was duplicated
    os.write(write, b"!")
    event.wait()
    assert event.is_done
    os.close(write)


def test_rule_158_the_descriptor_of_an_event() -> None:
    with pytest.raises(BadDataError, match="the event has no fence"):
        ready().start_compute().sync_fence_fd()
    event = ready().start_compute_with_dependencies([])
    fd = event.sync_fence_fd()
    copy = Event.from_sync_fence_fd(fd)
    os.close(fd)
    copy.wait()
    assert comes_true(lambda: event.is_done)


# Devices


def test_rule_164_waiting_for_a_device() -> None:
    device("nnapi-reference").wait()

    class Gone:
        info = device("nnapi-reference").driver.info

        def wait(self) -> None:
            raise DeadObjectError("it is gone")

    with pytest.raises(DeadObjectError, match="it is gone"):
        type(device("nnapi-reference"))(Gone()).wait()  # type: ignore[arg-type]
