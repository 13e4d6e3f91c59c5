"""Rules 113 to 145 of validation.md, as far as they concern runs and results of executions."""

import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nnapi import Execution, Memory, Model, OperationCode, tensor
from nnapi.errors import (
    BadDataError,
    BadStateError,
    OpFailedError,
    OutputInsufficientSizeError,
    UnmappableError,
)
from nnapi.model.builder import Builder
from nnapi.trace import recording
from tests.graphs import FLOATS, on_reference, open_sum
from tests.runtime.execution_cases import ONES, SUM, blank, completed, prepared, sliced


def test_rule_113_a_computation_runs_once() -> None:
    execution = completed()
    for run in (execution.compute, execution.start_compute):
        with pytest.raises(BadStateError, match="cannot compute: the execution is in completed"):
            run()
    assert execution.output_operand_rank(0) == 2  # the state is what it was


@pytest.mark.parametrize("run", [Execution.compute, Execution.start_compute])
def test_rule_114_an_argument_not_set_completes_the_execution(run: Callable[[Execution], object]) -> None:
    execution = prepared()
    with pytest.raises(BadDataError, match=r"output 0 \(z \(2\).*\) has not been set"):
        run(execution)
    with pytest.raises(BadStateError, match="the execution is in completed"):
        execution.set_output(0, blank())
    with pytest.raises(BadStateError, match="the execution is in completed"):
        run(execution)
    with pytest.raises(BadStateError, match="the execution failed: output 0"):
        execution.output_operand_rank(0)


def test_rule_125_what_goes_wrong_later_comes_with_the_event() -> None:
    execution = Execution(SUM)
    execution.set_input(0, None)
    execution.set_input(1, ONES)
    execution.set_output(0, blank())
    event = execution.start_compute()
    with pytest.raises(OpFailedError, match=r"ADD \(#0\): lhs is omitted"):
        event.wait()


def test_rule_125_giving_an_event_back_waits() -> None:
    execution, result = prepared(), np.zeros((2, 2), np.float32)
    execution.set_output(0, result)
    with execution.start_compute() as event:
        pass
    assert event.is_done
    assert np.array_equal(result, 2 * ONES)


def test_rule_126_an_execution_given_up_still_completes() -> None:
    execution, result = prepared(), np.zeros((2, 2), np.float32)
    execution.set_output(0, result)
    event = execution.start_compute()
    del execution
    event.wait()
    assert np.array_equal(result, 2 * ONES)


@pytest.mark.parametrize("run", [Execution.compute, lambda execution: execution.start_compute().wait()])
def test_rule_127_an_output_that_is_too_small(run: Callable[[Execution], object]) -> None:
    execution = sliced(3, np.empty((2, 2), np.float32))
    with pytest.raises(OutputInsufficientSizeError, match=r"came out as \[3, 2\], more than its buffer") as caught:
        run(execution)
    assert caught.value.dimensions == (3, 2)


def test_rule_128_the_quantization_of_a_model_output() -> None:
    for scale, zero_point in ((1 / 128, 0), (1 / 256, 1)):
        model = Model()
        x, y = (
            model.add_operand(tensor("uint8", (2,), 1.0)),
            model.add_operand(tensor("uint8", (2,), scale, zero_point)),
        )
        model.add_operation(OperationCode.LOGISTIC, [x], [y])
        model.identify_inputs_and_outputs([x], [y])
        model.finish()
        with pytest.raises(
            OpFailedError, match=r"LOGISTIC \(#0\): gives scale 0.00390625 and zero point 0, but the model"
        ):
            on_reference(model).run(np.zeros(2, np.uint8))


def test_rule_128_between_operations_what_is_produced_replaces_what_is_declared() -> None:
    model = Model()
    x, y, z = (model.add_operand(type) for type in (tensor("uint8", (2,), 1.0), tensor("uint8", (2,), 99.0), FLOATS))
    z = model.add_operand(tensor("float32", (2,)))
    model.add_operation(OperationCode.LOGISTIC, [x], [y])
    model.add_operation(OperationCode.DEQUANTIZE, [y], [z])
    model.set_operand_value(2, ONES)
    model.identify_inputs_and_outputs([x], [z])
    model.finish()
    assert on_reference(model).run(np.zeros(2, np.uint8))[0].tolist() == [0.5, 0.5]


def test_rule_129_dimensions_that_contradict_the_declared_ones() -> None:
    with pytest.raises(
        OpFailedError, match=r"SLICE \(#0\): gives TENSOR_FLOAT32\[3, 2\], but the model declares .*\[4, 2\]"
    ):
        sliced(3, np.empty((4, 2), np.float32), out=(4, 2)).compute()
    with pytest.raises(OpFailedError, match=r"came out as \[3, 2\], set as \[4, 2\]"):
        sliced(3, np.empty((4, 2), np.float32), tensor("float32", (4, 2))).compute()


def test_rule_129_results_are_below_4_gib() -> None:
    model, x, y, z = open_sum(tensor("float32"))
    model.identify_inputs_and_outputs([x, y], [z])
    model.finish()
    tall, wide = np.zeros((1 << 15, 1), np.float32), np.zeros((1, 1 << 15), np.float32)
    with pytest.raises(
        OpFailedError, match=r"ADD \(#0\): gives .*, which takes 4294967296 bytes, more than 4294967295"
    ):
        on_reference(model).run(tall, wide)


def test_rule_132_memory_that_cannot_be_mapped(tmp_path: Path) -> None:
    file = tmp_path / "short"
    file.write_bytes(bytes(8))
    with file.open("rb") as short:
        memory = Memory.from_fd(16, mmap.PROT_READ, short.fileno())
    for run, error in (
        (Execution.compute, UnmappableError),
        (lambda execution: execution.start_compute().wait(), OpFailedError),
    ):
        execution = Execution(SUM)
        execution.set_input_from_memory(0, memory, 0, 16)
        execution.set_input(1, ONES)
        execution.set_output(0, blank())
        with pytest.raises(error, match="memory of 16 bytes at file offset 0 cannot be mapped: the file is too short"):
            run(execution)


# J. Results


def test_rule_134_results_are_asked_for_after_success() -> None:
    for ask in (Execution.output_operand_rank, Execution.output_operand_dimensions):
        with pytest.raises(BadStateError, match="the execution is in preparation, not completed"):
            ask(prepared(), 9)
        failed = Execution(SUM)
        with pytest.raises(BadDataError):
            failed.compute()
        with pytest.raises(BadStateError, match="the execution failed: input 0"):
            ask(failed, 9)
        with pytest.raises(BadDataError, match="output 9 does not exist, the model has 1"):
            ask(completed(), 9)


def test_rule_135_a_scalar_has_rank_0_and_no_dimensions() -> None:
    b = Builder()
    b.output(b.rank(b.input(FLOATS)))
    execution, result = Execution(on_reference(b.finish())), np.zeros((), np.int32)
    execution.set_input(0, ONES)
    execution.set_output(0, result)
    execution.compute()
    assert (int(result), execution.output_operand_rank(0)) == (2, 0)
    with pytest.raises(BadDataError, match="output 0 has no dimensions"):
        execution.output_operand_dimensions(0)


def test_rule_136_what_is_known_of_outputs_when_one_was_too_small() -> None:
    b = Builder()
    x, size = b.input(tensor("float32", (0, 2))), b.input(tensor("int32", (2,)))
    b.output(b.slice(x, [0, 0], size), b.relu(x))
    execution = Execution(on_reference(b.finish()))
    execution.set_input(0, np.ones((9, 2), np.float32))
    execution.set_input(1, np.array([3, 2], np.int32))
    execution.set_output(0, bytearray(8))
    execution.set_output(1, bytearray(100))
    with pytest.raises(OutputInsufficientSizeError):
        execution.compute()
    for ask in (execution.output_operand_rank, execution.output_operand_dimensions):
        with pytest.raises(OutputInsufficientSizeError, match=r"output 0 came out as \[3, 2\]") as caught:
            ask(0)
        assert caught.value.dimensions == (3, 2)
    assert (execution.output_operand_rank(1), execution.output_operand_dimensions(1)) == (2, (9, 2))


def test_rule_142_a_result_fills_the_beginning_of_its_buffer() -> None:
    buffer = np.full(10, 7, np.float32)
    execution = sliced(3, buffer.view(np.uint8))
    execution.compute()
    assert execution.output_operand_dimensions(0) == (3, 2)
    assert buffer.tolist() == [1] * 6 + [7] * 4
    larger = np.full((5, 2), 7, np.float32)
    sliced(3, larger).compute()
    assert larger.reshape(-1).tolist() == [1] * 6 + [7] * 4


def test_rule_145_a_memory_for_outputs_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "result"
    file.write_bytes(bytes(16))
    execution = prepared()
    execution.set_output_from_memory(0, Memory.from_file(file), 0, 16)
    with pytest.raises(UnmappableError, match="the memory is not writable"):
        execution.compute()
    with file.open("r+b") as opened:
        memory = Memory.from_fd(16, mmap.PROT_READ | mmap.PROT_WRITE, opened.fileno())
    execution = prepared()
    execution.set_output_from_memory(0, memory, 0, 16)
    execution.compute()
    assert file.read_bytes() == (2 * ONES).tobytes()


@pytest.mark.parametrize("name", ["compute", "burstCompute", "startCompute", "startComputeWithDependencies"])
def test_each_way_to_run_is_a_section_of_a_trace(name: str) -> None:
    runs: dict[str, Callable[[Execution], object]] = {
        "compute": Execution.compute,
        "burstCompute": lambda execution: execution.burst_compute(execution.compilation.burst()),
        "startCompute": lambda execution: execution.start_compute().wait(),
        "startComputeWithDependencies": lambda execution: execution.start_compute_with_dependencies([]).wait(),
    }
    with recording() as recorded:
        execution = prepared()
        execution.set_output(0, blank())
        runs[name](execution)
    found = [span.label.name.removeprefix("ANeuralNetworksExecution_") for span in recorded.spans()]
    assert [found.count(each) for each in ("create", "setInput", "setOutput", name)] == [1, 2, 1, 1]
    assert found.count("ANeuralNetworksEvent_wait") == (1 if name.startswith("start") else 0)
