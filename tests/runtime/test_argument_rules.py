"""Rules 96 to 112 of validation.md: arguments of executions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi import Execution, Memory, OperandType, tensor
from nnapi.errors import BadDataError, BadStateError, UnexpectedNullError
from tests.runtime.execution_cases import ONES, SUM, blank, completed, prepared, slicing

NONE: Any = None


def test_rule_096_the_states_of_an_execution() -> None:
    execution = prepared()
    assert repr(execution) == "<nnapi.Execution of 'sum', preparation>"
    execution.set_output(0, blank())
    execution.compute()
    assert repr(execution) == "<nnapi.Execution of 'sum', completed>"


SETTERS: dict[str, Callable[[Execution], object]] = {
    "set_input": lambda execution: execution.set_input(9, ONES),
    "set_input_from_memory": lambda execution: execution.set_input_from_memory(9, Memory.from_array(ONES), 0, 1),
    "set_output": lambda execution: execution.set_output(9, blank()),
    "set_output_from_memory": lambda execution: execution.set_output_from_memory(9, Memory.from_array(ONES), 0, 1),
    "omit": lambda execution: execution.set_output(9, None),
    "set_loop_timeout": lambda execution: execution.set_loop_timeout(-1),
}


@pytest.mark.parametrize("setter", SETTERS.values(), ids=SETTERS)
def test_rule_097_nothing_is_set_after_the_start(setter: Callable[[Execution], object]) -> None:
    with pytest.raises(BadStateError, match="the execution is in completed"):
        setter(completed())


def test_truths_are_no_numbers_of_another_size() -> None:
    with pytest.raises(BadDataError, match="stores float32, got an array of bool"):
        prepared().set_input(0, np.ones(ONES.size, np.bool_))


def test_rule_098_null_before_state() -> None:
    execution = completed()
    with pytest.raises(UnexpectedNullError, match="no buffer, but a length of 4, for input 9"):
        execution.set_input(9, None, length=4)
    with pytest.raises(UnexpectedNullError, match="memory for output 9 is None"):
        execution.set_output_from_memory(9, NONE, 0, 4)


def test_rule_098_index_then_type_then_memory_then_already_set_then_length() -> None:
    execution = prepared()
    wrong, memory = tensor("float32", (3, 3)), Memory.from_array(np.zeros(16, np.uint8))
    for index, type, offset, length, error, message in (
        (2, wrong, 0, 99, BadDataError, "input 2 does not exist, the model has 2"),
        (-1, wrong, 0, 99, BadDataError, "input -1 does not exist"),
        (1, wrong, 0, 99, BadDataError, r"cannot be given dimensions \[3, 3\]"),
        (1, None, 0, 99, BadDataError, "region of 99 bytes at offset 0 is not inside"),
        (1, None, 0, 0, BadDataError, "offset and length are both 0"),
        (1, None, 0, 12, BadStateError, "input 1 has been set already"),
    ):
        with pytest.raises(error, match=message):
            execution.set_input_from_memory(index, memory, offset, length, type)
    for index, type, length, error, message in (
        (2, wrong, 1 << 32, BadDataError, "input 2 does not exist"),
        (1, wrong, 1 << 32, BadDataError, r"cannot be given dimensions \[3, 3\]"),
        (1, None, 1 << 32, BadDataError, "length 4294967296 for input 1 is above 4294967295"),
        (1, None, 12, BadStateError, "input 1 has been set already"),
        (1, None, 0, BadStateError, "input 1 has been set already"),
    ):
        with pytest.raises(error, match=message):
            execution.set_input(index, ONES, type, length)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        (OperandType(16, (2, 2)), "operand type 16 is not one of NeuralNetworks.h"),
        (tensor("uint8", (2, 2)), "TENSOR_QUANT8_ASYMM needs a scale above 0"),
        (tensor("float32", (4,)), r"cannot be given dimensions \[4\]"),
        (tensor("float32"), r"cannot be given dimensions \[\]"),
        (tensor("float32", (2, 3)), r"cannot be given dimensions \[2, 3\]"),
        (tensor("float32", (0, 2)), r"cannot be given dimensions \[0, 2\]"),
    ],
)
def test_rule_099_a_type_replaces_only_what_is_not_known(type: OperandType, message: str) -> None:
    for setter, buffer in ((Execution.set_input, ONES), (Execution.set_output, blank()), (Execution.set_input, None)):
        with pytest.raises(BadDataError, match=message):
            setter(Execution(SUM), 0, buffer, type)


def test_rule_099_only_the_dimensions_of_a_type_are_used() -> None:
    execution = prepared()
    result = blank()
    execution.set_output(0, result, tensor("uint8", (2, 2), 0.5, 3))
    execution.compute()
    assert np.array_equal(result, 2 * ONES)


def test_rule_100_without_a_type_the_model_s_shape_is_used() -> None:
    execution = Execution(SUM)
    execution.set_input(0, ONES.tobytes())
    with pytest.raises(BadDataError, match="takes 16 bytes, got 12"):
        execution.set_input(1, ONES.tobytes()[:12])


def test_rule_101_the_shape_of_an_input_is_known() -> None:
    execution = slicing()
    with pytest.raises(BadDataError, match=r"dimensions must be known, got \[0, 2\]"):
        execution.set_input(0, ONES.tobytes())
    with pytest.raises(BadDataError, match=r"dimensions must be known, got \[0, 2\]"):
        execution.set_input_from_memory(0, Memory.from_array(ONES), 0, 16)
    with pytest.raises(BadDataError, match=r"dimensions must be known, got \[0, 2\]"):
        execution.set_input(0, ONES, tensor("float32", (0, 2)))
    execution.set_input(0, None, tensor("float32", (0, 2)))  # an omitted one needs no shape
    slicing().set_input(0, ONES.tobytes(), tensor("float32", (2, 2)))
    slicing().set_input(0, ONES)  # an array brings its shape along
    slicing().set_output(0, bytearray(8))  # outputs may stay open


def test_rule_102_zero_dimensions_count_as_unknown() -> None:
    execution = slicing()
    for given in (np.ones((0, 2), np.float32), np.ones((0, 2), np.float32).tobytes()):
        with pytest.raises(BadDataError, match=r"dimensions must be known, got \[0, 2\]"):
            execution.set_input(0, given)


def test_rule_103_omitted_null_with_length_empty() -> None:
    for setter in (Execution.set_input, Execution.set_output):
        with pytest.raises(UnexpectedNullError, match="no buffer, but a length of 16"):
            setter(Execution(SUM), 0, None, length=16)
        with pytest.raises(BadDataError, match="an empty buffer"):
            setter(Execution(SUM), 0, bytearray(16), length=0)
        setter(Execution(SUM), 0, None)
        setter(Execution(SUM), 0, None, length=0)


def test_rule_104_a_buffer_has_the_size_of_its_type() -> None:
    for setter in (Execution.set_input, Execution.set_output):
        for size in (12, 20):
            with pytest.raises(BadDataError, match=f"takes 16 bytes, got {size}"):
                setter(Execution(SUM), 0, bytearray(size))
        with pytest.raises(BadDataError, match="length 16 of a buffer of 12 bytes"):
            setter(Execution(SUM), 0, bytearray(12), length=16)
        setter(Execution(SUM), 0, bytearray(20), length=16)
    for size in (1, 7, 1000):
        slicing().set_output(0, bytearray(size))


def test_rule_106_lengths_are_below_4_gib() -> None:
    for setter in (Execution.set_input, Execution.set_output):
        with pytest.raises(BadDataError, match="is above 4294967295"):
            setter(Execution(SUM), 0, bytearray(16), length=1 << 32)


def test_rule_107_an_argument_is_set_once() -> None:
    memory = Memory.from_array(np.zeros(4, np.float32))
    execution = prepared()
    with pytest.raises(BadStateError, match="input 0 has been set already"):
        execution.set_input_from_memory(0, memory, 0, 16)
    with pytest.raises(BadStateError, match="input 0 has been set already"):
        execution.set_input(0, None)
    with pytest.raises(BadDataError):
        execution.set_output(0, bytearray(3))
    execution.set_output_from_memory(0, memory, 0, 16)  # the call before has failed
    with pytest.raises(BadStateError, match="output 0 has been set already"):
        execution.set_output(0, blank())


def test_rule_109_a_region_lies_in_its_memory() -> None:
    memory = Memory.from_array(np.zeros(8, np.float32))
    for setter in (Execution.set_input_from_memory, Execution.set_output_from_memory):
        for offset, length, message in (
            (0, 0, "offset and length are both 0"),
            (17, 16, "region of 16 bytes at offset 17 is not inside the memory of 32 bytes"),
            ((1 << 32) - 8, 16, "is not inside the memory"),
            (-4, 16, "is not inside the memory"),
            (0, 12, "takes 16 bytes, got 12"),
        ):
            with pytest.raises(BadDataError, match=message):
                setter(Execution(SUM), 0, memory, offset, length)
        setter(Execution(SUM), 0, memory, 16, 16)


def test_rule_111_inputs_may_overlap() -> None:
    bytes_ = np.arange(5, dtype=np.float32)
    execution, result = Execution(SUM), blank()
    execution.set_input_from_memory(0, Memory.from_array(bytes_), 0, 16)
    execution.set_input_from_memory(1, Memory.from_array(bytes_), 4, 16)
    execution.set_output(0, result)
    execution.compute()
    assert result.reshape(-1).tolist() == [1, 3, 5, 7]
