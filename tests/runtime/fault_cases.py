"""Every way to execute, and what each fault of a device must come to."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi import Compilation, Device, Event, Execution
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.errors import DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError
from nnapi.model.operand import Array
from tests.runtime.device_cases import GIVEN, REFERENCE, chain, limited

MODEL = chain()


def bound(compilation: Compilation) -> tuple[Execution, Array]:
    execution, result = Execution(compilation), np.zeros_like(GIVEN)
    execution.set_input(0, GIVEN)
    execution.set_output(0, result)
    return execution, result


def compute(compilation: Compilation) -> Array:
    execution, result = bound(compilation)
    execution.compute()
    return result


def start_compute(compilation: Compilation) -> Array:
    execution, result = bound(compilation)
    execution.start_compute().wait()
    return result


def burst_compute(compilation: Compilation) -> Array:
    execution, result = bound(compilation)
    with compilation.burst() as burst:
        execution.burst_compute(burst)
    return result


def fenced(compilation: Compilation) -> Array:
    execution, result = bound(compilation)
    with Event(lambda: None, fenced=True) as signal:
        execution.start_compute_with_dependencies([signal]).wait()
    return result


def burst_run(compilation: Compilation) -> Array:
    with compilation.burst() as burst:
        return burst.run(GIVEN)[0]


def run(compilation: Compilation) -> Array:
    return compilation.run(GIVEN)[0]


def start(compilation: Compilation) -> Array:
    return compilation.start(GIVEN).result()[0]


WAYS: list[Callable[[Compilation], Array]] = [compute, start_compute, burst_compute, fenced, burst_run, run, start]
IN_BACKGROUND = (start_compute, fenced, start)
"""Ways whose result comes through an event, with the fewer codes that events know."""

ERRORS: dict[Fault, type[NnapiError]] = {
    Fault.REFUSES: UnavailableDeviceError,
    Fault.FAILS: OpFailedError,
    Fault.LIES: OpFailedError,
    Fault.DIES: DeadObjectError,
    Fault.RAISES: OpFailedError,
}
"""The error that the caller gets for a fault without fallback; other faults give an answer, late or wrong."""


def faulty(fault: Fault, phase: Phase, seconds: float = 0.004) -> Device:
    return Device(Faulty(limited().driver, fault, phase, seconds=seconds))


def candidates(fault: Fault, phase: Phase) -> list[Device]:
    return [faulty(fault, phase), REFERENCE]


def without_deadlock(work: Callable[[], Any], seconds: float = 120.0) -> Any:
    """The result of the work, on a thread of its own; AssertionError when it does not end."""
    outcome: list[tuple[bool, Any]] = []

    def ask() -> None:
        try:
            outcome.append((True, work()))
        except Exception as error:
            outcome.append((False, error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"no end after {seconds} s"
    succeeded, value = outcome[0]
    if not succeeded:
        raise value
    return value
