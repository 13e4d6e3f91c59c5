"""Rules 110, 115 and 133 of validation.md: memories made from a descriptor, as arguments of executions."""

from typing import Any

import numpy as np
import pytest

from nnapi import (
    Compilation,
    Device,
    DeviceMemory,
    Execution,
    Memory,
    MemoryDesc,
    OperandType,
    compile,
    copy_memory,
    device,
    tensor,
)
from nnapi.contract.host_memory import HostBuffer
from nnapi.errors import BadDataError, OpFailedError
from tests.graphs import finished_sum
from tests.runtime.device_cases import GIVEN, chain
from tests.runtime.execution_cases import ONES, SUM, blank, prepared, slicing
from tests.runtime.memory_cases import Allocating


def opaque(*roles: tuple[Compilation, str, int], dimensions: tuple[int, ...] = ()) -> DeviceMemory:
    desc = MemoryDesc()
    for compilation, role, index in roles:
        getattr(desc, f"add_{role}_role")(compilation, index, 1.0)
    if dimensions:
        desc.set_dimensions(dimensions)
    desc.finish()
    return desc.create_memory()


def filled(memory: DeviceMemory) -> DeviceMemory:
    copy_memory(Memory.from_array(ONES), memory)
    return memory


def test_rule_110_an_opaque_memory_is_used_as_a_whole_in_its_roles() -> None:
    memory = opaque((SUM, "input", 0))
    for offset, length in ((0, 16), (4, 0), (4, 12)):
        with pytest.raises(BadDataError, match="offset and length must be 0"):
            Execution(SUM).set_input_from_memory(0, memory, offset, length)
    for setter, index in ((Execution.set_input_from_memory, 1), (Execution.set_output_from_memory, 0)):
        with pytest.raises(BadDataError, match="the memory was not made to be"):
            setter(Execution(SUM), index, memory)
    with pytest.raises(BadDataError, match="the memory was not made to be input 0 of this compilation"):
        Execution(compile(finished_sum())).set_input_from_memory(0, memory)
    Execution(SUM).set_input_from_memory(0, memory)


def test_rule_110_dimensions_of_an_opaque_memory_are_compatible() -> None:
    compilation = slicing().compilation
    memory = opaque((compilation, "input", 0), dimensions=(3, 2))
    with pytest.raises(BadDataError, match=r"with dimensions \[4, 2\] cannot live in"):
        Execution(compilation).set_input_from_memory(0, memory, type=tensor("float32", (4, 2)))
    Execution(compilation).set_input_from_memory(0, memory, type=tensor("float32", (3, 2)))


def test_results_stay_in_an_opaque_memory_for_the_next_run() -> None:
    memory = opaque((SUM, "output", 0), (SUM, "input", 0))
    first = prepared()
    first.set_output_from_memory(0, memory)
    first.compute()
    second, result = Execution(SUM), blank()
    second.set_input_from_memory(0, memory)
    second.set_input(1, ONES)
    second.set_output(0, result)
    second.compute()
    assert np.array_equal(result, 3 * ONES)


@pytest.mark.parametrize("run", [Execution.compute, Execution.start_compute, lambda e: e.burst_compute(SUM.burst())])
def test_rule_115_an_input_without_data_is_refused_at_once(run: Any) -> None:
    execution = Execution(SUM)
    execution.set_input_from_memory(0, opaque((SUM, "input", 0)))
    execution.set_input(1, ONES)
    execution.set_output(0, blank())
    with pytest.raises(OpFailedError, match="the memory holds no data"):
        run(execution)
    assert "completed" in repr(execution)


class Roomy(type(device("nnapi-reference").driver)):  # type: ignore[misc]
    """The reference, allocating memory of unknown dimensions as well."""

    def allocate(self, type: OperandType) -> HostBuffer:
        return HostBuffer()


@pytest.mark.parametrize("rows", [3, 4])
def test_rule_115_an_input_of_other_dimensions_than_were_bound(rows: int) -> None:
    open_ = tensor("float32", (0, 2))
    compilation = compile(finished_sum(open_), [Device(Roomy())])
    memory = opaque((compilation, "output", 0), (compilation, "input", 0))
    first, second = Execution(compilation), Execution(compilation)
    for index in (0, 1):
        first.set_input(index, np.ones((3, 2), np.float32))
    first.set_output_from_memory(0, memory)
    first.compute()
    second.set_input_from_memory(0, memory, type=tensor("float32", (rows, 2)))
    second.set_input(1, np.ones((rows, 2), np.float32))
    second.set_output(0, np.empty((rows, 2), np.float32))
    if rows == 3:
        second.compute()
        return
    with pytest.raises(OpFailedError, match=r"the memory holds \[3, 2\], bound are \[4, 2\]"):
        second.start_compute()


def test_an_input_needs_known_dimensions_even_where_the_memory_holds_data() -> None:
    compilation = compile(finished_sum(tensor("float32", (0, 2))), [Device(Roomy())])
    memory = opaque((compilation, "output", 0), (compilation, "input", 0))
    first = Execution(compilation)
    for index in (0, 1):
        first.set_input(index, np.ones((3, 2), np.float32))
    first.set_output_from_memory(0, memory)
    first.compute()
    with pytest.raises(BadDataError, match=r"dimensions must be known, got \[0, 2\]"):
        Execution(compilation).set_input_from_memory(0, memory)


def test_the_cpu_allocates_no_memory_of_unknown_dimensions() -> None:
    compilation = compile(finished_sum(tensor("float32", (0, 2))), "nnapi-reference")
    with pytest.raises(OpFailedError, match="unknown dimensions"):
        opaque((compilation, "input", 0))


@pytest.mark.parametrize("missing", [True, False])
def test_rule_133_a_failed_computation_leaves_its_outputs_without_data(missing: bool) -> None:
    memory = filled(opaque((SUM, "output", 0)))
    assert memory.has_data
    execution = Execution(SUM)
    if not missing:
        execution.set_input(0, None)
        execution.set_input(1, ONES)
    execution.set_output_from_memory(0, memory)
    with pytest.raises((BadDataError, OpFailedError)):
        execution.compute()
    assert not memory.has_data


def test_rule_133_a_computation_that_succeeds_leaves_them_with_data() -> None:
    memory = opaque((SUM, "output", 0))
    assert not memory.has_data
    execution = prepared()
    execution.set_output_from_memory(0, memory)
    execution.start_compute().wait()
    assert memory.has_data
    assert memory.dimensions == (2, 2)


@pytest.mark.parametrize("contents", [GIVEN[0], GIVEN.astype(np.float64), None])
def test_a_device_whose_memory_returns_other_data(contents: Any) -> None:
    driver = Allocating()
    compilation = compile(chain(), Device(driver))
    memory = opaque((compilation, "input", 0))
    driver.buffers[0].store(GIVEN)
    driver.buffers[0].load = lambda: contents  # type: ignore[method-assign]
    execution = Execution(compilation)
    execution.set_input_from_memory(0, memory)
    execution.set_output(0, np.zeros_like(GIVEN))
    with pytest.raises(OpFailedError, match="the device returned .* for its memory of"):
        execution.compute()
