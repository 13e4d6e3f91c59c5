"""Compare a recurrent model whose state stays in device memory with one whose state passes through buffers.

The state is large and the work small (state + input), so the cost of passing the state dominates. With a device memory,
the next run gets the same array that a run made. With buffers of the caller, the runtime copies the state at every run.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi import (
    Compilation,
    Device,
    DeviceMemory,
    Execution,
    Memory,
    MemoryDesc,
    Model,
    OperandCode,
    OperandType,
    OperationCode,
)
from nnapi.contract.driver import Outcome, Prepared, PrepareOptions, Request


def accumulator(elements: int) -> Model:
    """Return a model that adds its input, a single value, to each element of the state."""
    model = Model("accumulator")
    type = nnapi.tensor("float32", (1, elements))
    state, x, following = (
        model.add_operand(type),
        model.add_operand(nnapi.tensor("float32", (1, 1))),
        model.add_operand(type),
    )
    none = model.add_operand(OperandType(OperandCode.INT32))
    model.set_operand_value(none, 0)
    model.add_operation(OperationCode.ADD, [state, x, none], [following])
    model.identify_inputs_and_outputs([state, x], [following])
    model.finish()
    return model


def state_memory(compilation: Compilation) -> DeviceMemory:
    desc = MemoryDesc()
    desc.add_input_role(compilation, 0, 1.0)
    desc.add_output_role(compilation, 0, 1.0)
    desc.finish()
    return desc.create_memory()


class Observer:
    """Wraps a driver, and keeps the arrays of the state that the last run got and returned."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.info, self.capabilities, self.verdicts = driver.info, driver.capabilities, driver.verdicts
        self.allocate = driver.allocate
        self.given: Any = None
        self.made: Any = None

    def prepare(self, model: Model, options: PrepareOptions) -> ObservedModel:
        return ObservedModel(self, self.driver.prepare(model, options))


class ObservedModel:
    """Wraps a prepared model for an :class:`Observer`."""

    def __init__(self, observer: Observer, inner: Prepared) -> None:
        self.observer, self.inner, self.close = observer, inner, inner.close

    def execute(self, request: Request) -> Outcome:
        outcome = self.inner.execute(request)
        self.observer.given, self.observer.made = request.inputs[0], outcome.outputs[0]
        return outcome


ONE = np.ones((1, 1), np.float32)


def in_device_memory(compilation: Compilation, elements: int, driver: Observer) -> Iterator[tuple[float, bool]]:
    """Yield the seconds of each step, and whether its state was the same array that the step before made."""
    memories = [state_memory(compilation) for _ in range(2)]
    nnapi.copy_memory(Memory.from_array(np.zeros(elements, np.float32)), memories[0])
    executions = [Execution(compilation) for _ in range(2)]
    for number, execution in enumerate(executions):
        execution.set_reusable(True)
        execution.set_input_from_memory(0, memories[number])
        execution.set_input(1, ONE)
        execution.set_output_from_memory(0, memories[1 - number])
    step, made = 0, memories[0].load()
    while True:
        start = time.perf_counter()
        executions[step % 2].compute()
        seconds = time.perf_counter() - start
        is_same, made = driver.given is made, driver.made
        assert made[0, 0] == step + 1
        yield seconds, is_same
        step += 1


def in_buffers(compilation: Compilation, elements: int, driver: Observer) -> Iterator[tuple[float, bool]]:
    """Yield the same for two buffers of the caller, which alternate as input and output."""
    buffers = [np.zeros((1, elements), np.float32) for _ in range(2)]
    executions = [Execution(compilation) for _ in range(2)]
    for number, execution in enumerate(executions):
        execution.set_reusable(True)
        execution.set_input(0, buffers[number])
        execution.set_input(1, ONE)
        execution.set_output(0, buffers[1 - number])
    step = 0
    while True:
        start = time.perf_counter()
        executions[step % 2].compute()
        seconds = time.perf_counter() - start
        assert buffers[1 - step % 2][0, 0] == step + 1
        yield seconds, False
        step += 1


def measure(elements: int, steps: int, device: str) -> dict[str, float | int | bool]:
    driver = Observer(nnapi.device(device).driver)
    compilation = nnapi.compile(accumulator(elements), Device(driver))
    running = [way(compilation, elements, driver) for way in (in_device_memory, in_buffers)]
    times: list[list[float]] = [[], []]
    is_passed = True
    for step in range(steps + 5):
        for number, way in enumerate(running):  # in turns, so that other load affects both
            seconds, same = next(way)
            is_passed &= same or number == 1
            if step >= 5:
                times[number].append(seconds)
    opaque, buffers = (statistics.median(each) for each in times)
    return {"bytes": 4 * elements, "steps": steps, "opaque": opaque, "buffers": buffers, "is_passed": is_passed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="nnapi-reference")
    parser.add_argument("--elements", type=int, nargs="*", default=[1 << 8, 1 << 14, 1 << 18, 1 << 22])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [measure(elements, options.steps, options.device) for elements in options.elements]
    if options.json:
        print(json.dumps(found))
    else:
        rows = Table("state", "in device memory", "in buffers", "ratio", "passed without a copy")
        for row in found:
            rows.add_row(
                f"{row['bytes'] / 1024:.0f} KiB",
                f"{1e6 * row['opaque']:.1f} µs",
                f"{1e6 * row['buffers']:.1f} µs",
                f"{row['buffers'] / row['opaque']:.2f}×",
                "yes" if row["is_passed"] else "NO",
            )
        Console().print(rows)
    return 0 if all(row["is_passed"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
