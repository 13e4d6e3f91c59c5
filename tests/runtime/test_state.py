"""The state of a recurrent model stays on its device between runs, without a copy."""

from typing import Any

import numpy as np
import pytest

from nnapi import (
    Device,
    DeviceMemory,
    Execution,
    Memory,
    Model,
    OperandCode,
    OperandType,
    OperationCode,
    compile,
    copy_memory,
)
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.contract.host_memory import HostBuffer
from tests.graphs import FLOATS, finished
from tests.runtime.device_cases import GIVEN, REFERENCE, chained, limited
from tests.runtime.execution_cases import ONES, blank
from tests.runtime.memory_cases import Allocating, described, opaque


def accumulator() -> Model:
    """The state and the input give the next state, their sum, and its negative, the output."""
    model = Model("accumulator")
    state, x, following, y = (model.add_operand(FLOATS, name) for name in ("state", "x", "next", "y"))
    none = model.add_operand(OperandType(OperandCode.INT32))
    model.set_operand_value(none, 0)
    model.add_operation(OperationCode.ADD, [state, x, none], [following])
    model.add_operation(OperationCode.NEG, [following], [y])
    return finished(model, [state, x], [following, y])


@pytest.mark.parametrize("way", ["compute", "start_compute", "burst"])
def test_the_state_of_a_recurrent_model_is_handed_over_and_not_copied(way: str) -> None:
    produced: list[Any] = []
    taken: list[Any] = []

    def watched(request: Request, inner: Prepared) -> Outcome:
        taken.append(request.inputs[0])
        outcome = inner.execute(request)
        produced.append(outcome.outputs[0])
        return outcome

    driver = Allocating()
    driver._execute = watched
    compilation = compile(accumulator(), Device(driver))
    memories = [opaque((compilation, "input", 0), (compilation, "output", 0)) for _ in range(2)]
    copy_memory(Memory.from_array(np.zeros((2, 2), np.float32)), memories[0])
    burst = compilation.burst()
    result = blank()
    for step in range(4):
        execution = Execution(compilation)
        execution.set_input_from_memory(0, memories[step % 2])
        execution.set_input(1, ONES)
        execution.set_output_from_memory(0, memories[1 - step % 2])
        execution.set_output(1, result)
        if way == "burst":
            execution.burst_compute(burst)
        else:
            event = getattr(execution, way)()
            if event:
                event.wait()
        assert memories[1 - step % 2].load() is produced[-1]
        assert step == 0 or taken[-1] is produced[-2]
        assert np.array_equal(result, -(step + 1) * ONES)


def test_the_reference_keeps_state_as_well() -> None:
    compilation = compile(accumulator(), "nnapi-reference")
    memories = [opaque((compilation, "input", 0), (compilation, "output", 0)) for _ in range(2)]
    copy_memory(Memory.from_array(np.zeros((2, 2), np.float32)), memories[0])
    for step in range(3):
        execution = Execution(compilation)
        execution.set_input_from_memory(0, memories[step % 2])
        execution.set_input(1, ONES)
        execution.set_output_from_memory(0, memories[1 - step % 2])
        execution.set_output(1, None)
        execution.compute()
    assert np.array_equal(memories[1].load(), 3 * ONES)


def test_state_goes_through_a_plan_of_several_devices() -> None:
    chosen = [limited("adder", [OperationCode.ADD]), REFERENCE]
    compilation = compile(accumulator(), chosen)
    assert len(compilation.plan.devices) == 2
    memory = DeviceMemory(described((compilation, "output", 0)), FLOATS, HostBuffer())
    execution = Execution(compilation)
    execution.set_input(0, ONES)
    execution.set_input(1, ONES)
    execution.set_output_from_memory(0, memory)
    execution.set_output(1, blank())
    execution.compute()
    assert np.array_equal(memory.load(), 2 * ONES)
    assert np.array_equal(chained(), np.abs(GIVEN))
