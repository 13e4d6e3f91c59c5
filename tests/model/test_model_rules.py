"""Rules 17 to 35 of validation.md: values and operations of a model being built."""

import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nnapi import Memory, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.codes import OEM_OPERATION, OEM_SCALAR, TENSOR_OEM_BYTE
from nnapi.errors import BadDataError, BadStateError, OpFailedError, UnexpectedNullError, UnmappableError
from tests.graphs import FLOATS, add, finished, finished_sum, number, on_reference, open_sum, sum_with

PER_CHANNEL = tensor("quant8_symm_per_channel", (2, 1, 1, 1))
ZEROS = np.zeros((2, 2), np.float32)


def memory(size: int = 64) -> Memory:
    return Memory.from_array(np.zeros(size, np.uint8))


MODIFY: dict[str, Callable[[Model], object]] = {
    "add_operand": lambda model: model.add_operand(FLOATS),
    "set_operand_value": lambda model: model.set_operand_value(1, ZEROS),
    "omit": lambda model: model.set_operand_value(1, None),
    "from_memory": lambda model: model.set_operand_value_from_memory(1, memory(), 0, 16),
    "from_model": lambda model: model.set_operand_value_from_model(1, finished_sum()),
    "scales": lambda model: model.set_operand_symm_per_channel_quant_params(1, 0, [1.0]),
    "add_operation": lambda model: model.add_operation(OperationCode.ADD, [0, 1, 3], [2]),
    "identify": lambda model: model.identify_inputs_and_outputs([0], [2]),
    "relax": lambda model: model.relax_computation_float32_to_float16(True),
    "permit": lambda model: model.permit_dynamic_range(True),
    "permit_rounded_states": lambda model: model.permit_rounded_states(True),
    "permit_high_ranks": lambda model: model.permit_high_ranks(True),
    "finish": lambda model: model.finish(),
}


@pytest.mark.parametrize("call", MODIFY.values(), ids=MODIFY)
def test_rule_017_nothing_changes_after_finish(call: Callable[[Model], object]) -> None:
    model = finished_sum()
    with pytest.raises(BadStateError, match="the model is finished"):
        call(model)
    broken, x, y, z = open_sum()
    broken.identify_inputs_and_outputs([x], [z])
    with pytest.raises(BadDataError, match=rf"y \({y}\)"):
        broken.finish()
    with pytest.raises(BadStateError, match="the model is invalid"):
        call(broken)


def test_rule_017_memory_that_cannot_be_mapped_does_not_fail_the_finish(tmp_path: Path) -> None:
    file = tmp_path / "short"
    file.write_bytes(bytes(8))
    with file.open("rb") as short:
        late = Memory.from_fd(16, mmap.PROT_READ, short.fileno())
    model = sum_with((late, 0, 16))
    with pytest.raises(UnmappableError, match=r"y \(1\).*: memory of 16 bytes at file offset 0 cannot be mapped"):
        on_reference(model)
    file.write_bytes(np.full(4, 2, np.float32).tobytes())
    assert np.array_equal(on_reference(model).run(ZEROS)[0], ZEROS + 2)


def test_rule_018_omitted_null_with_length_empty() -> None:
    model, _, y, _ = open_sum(tensor("float32"))
    model.set_operand_value(y, None)
    model.set_operand_value(y, None, 0)
    assert model.operands[y].lifetime.value == "omitted"
    with pytest.raises(UnexpectedNullError, match="no value, but a length of 4"):
        model.set_operand_value(y, None, 4)
    with pytest.raises(BadDataError, match="an empty value"):
        model.set_operand_value(y, b"", 0)


@pytest.mark.parametrize("dimensions", [(), (0, 2)])
def test_rule_019_constants_have_known_dimensions(dimensions: tuple[int, ...]) -> None:
    model, _, y, _ = open_sum(tensor("float32", dimensions))
    for call in (
        lambda: model.set_operand_value(y, ZEROS),
        lambda: model.set_operand_value_from_memory(y, memory(), 0, 16),
    ):
        with pytest.raises(BadDataError, match="has unknown dimensions and cannot be a constant"):
            call()


@pytest.mark.parametrize(
    ("type", "legal", "wrong"),
    [
        (FLOATS, bytes(16), bytes(12)),
        (OperandType(OperandCode.INT32), bytes(4), bytes(8)),
        (OperandType(OperandCode.BOOL), bytes(1), bytes(4)),
        (OperandType(TENSOR_OEM_BYTE, (3,)), bytes(3), bytes(4)),
    ],
)
def test_rule_020_a_value_has_the_size_of_its_type(type: OperandType, legal: bytes, wrong: bytes) -> None:
    model = Model()
    index = model.add_operand(type)
    model.set_operand_value(index, legal)
    with pytest.raises(BadDataError, match=f"takes {len(legal)} bytes, got {len(wrong)}"):
        model.set_operand_value(index, wrong)
    with pytest.raises(BadDataError, match=f"length {len(wrong)} of a value of {len(legal)} bytes"):
        model.set_operand_value(index, legal, len(wrong))


def test_rule_020_an_oem_scalar_has_any_size() -> None:
    model = Model()
    index = model.add_operand(OperandType(OEM_SCALAR))
    for size in (1, 3, 1000):
        model.set_operand_value(index, bytes(size))


@pytest.mark.parametrize(("dimension", "seen"), [(32, 0), (33, 1)])
def test_rule_021_short_values_are_copied_at_the_call_long_ones_at_finish(dimension: int, seen: int) -> None:
    value = np.zeros(dimension, np.float32)
    model, x, y, z = open_sum(tensor("float32", (dimension,)))
    model.set_operand_value(y, value)
    value[:] = 1
    finished(model, [x], [z])
    value[:] = 2
    assert np.all(model.operands[y].value == seen)


@pytest.mark.parametrize("dimension", [32, 33])
def test_rule_021_read_only_views_of_what_can_change_are_copied_too(dimension: int) -> None:
    value = np.zeros(dimension, np.float32)
    view = value.view()
    view.flags.writeable = False
    model = sum_with(view, tensor("float32", (dimension,)))
    value[:] = 1
    assert not np.any(model.operands[1].value)
    constant = np.frombuffer(bytes(4 * dimension), np.float32)
    assert np.shares_memory(sum_with(constant, tensor("float32", (dimension,))).operands[1].value, constant)


def test_rule_022_the_last_value_counts() -> None:
    model, x, y, z = open_sum()
    model.set_operand_value_from_memory(y, memory(), 0, 16)
    model.set_operand_value(y, None)
    model.set_operand_value(y, ZEROS + 1)
    model.set_operand_value(y, ZEROS + 2)
    finished(model, [x], [z])
    assert np.array_equal(on_reference(model).run(ZEROS)[0], ZEROS + 2)


def test_rule_023_a_region_of_a_memory() -> None:
    model, _, y, _ = open_sum()
    for offset, length, message in (
        (0, 12, "takes 16 bytes, got 12"),
        (0, 0, "takes 16 bytes, got 0"),
        (49, 16, "region of 16 bytes at offset 49 is not inside the memory of 64 bytes"),
        (-1, 16, "region of 16 bytes at offset -1 is not inside"),
    ):
        with pytest.raises(BadDataError, match=message):
            model.set_operand_value_from_memory(y, memory(), offset, length)
    model.set_operand_value_from_memory(y, memory(), 48, 16)
    scalar = model.add_operand(OperandType(OEM_SCALAR))
    with pytest.raises(BadDataError, match="cannot live in a memory"):
        model.set_operand_value_from_memory(scalar, memory(), 0, 4)


def test_rule_024_regions_do_not_wrap() -> None:
    model, _, y, _ = open_sum()
    with pytest.raises(BadDataError, match="is not inside the memory of 64 bytes"):
        model.set_operand_value_from_memory(y, memory(), (1 << 32) - 8, 16)


def test_rule_025_a_model_referred_to_is_finished() -> None:
    broken, *_ = open_sum()
    with pytest.raises(BadStateError, match="the model referred to is building, not finished"):
        Model().set_operand_value_from_model(99, broken)
    with pytest.raises(BadDataError):
        broken.finish()
    with pytest.raises(BadStateError, match="the model referred to is invalid, not finished"):
        Model().set_operand_value_from_model(99, broken)
    with pytest.raises(BadDataError, match="operand 99 does not exist"):
        Model().set_operand_value_from_model(99, finished_sum())


def test_rule_026_models_and_only_models_are_values_of_model_operands() -> None:
    model, x, y, z = open_sum()
    model.set_operand_value_from_model(y, finished_sum())
    model.identify_inputs_and_outputs([x], [z])
    with pytest.raises(BadDataError, match=rf"y \({y}\).* must be given a model exactly when its type is MODEL"):
        model.finish()
    model, x, y, z = open_sum()
    index = model.add_operand(OperandType(OperandCode.MODEL), "branch")
    with pytest.raises(BadDataError, match="takes 0 bytes, got 4"):
        model.set_operand_value(index, bytes(4))
    model.set_operand_value(index, None)
    model.identify_inputs_and_outputs([x, y], [z])
    with pytest.raises(BadDataError, match=rf"branch \({index}\).* must be given a model exactly when"):
        model.finish()


def test_rule_027_scales_of_channels() -> None:
    model = Model()
    filter = model.add_operand(PER_CHANNEL)
    other = model.add_operand(FLOATS)
    unknown = model.add_operand(tensor("quant8_symm_per_channel"))
    open_dimension = model.add_operand(tensor("quant8_symm_per_channel", (0, 1)))
    call = model.set_operand_symm_per_channel_quant_params
    for index, dimension, scales, message in (
        (9, 0, [1.0, 1.0], "operand 9 does not exist"),
        (filter, 0, None, "scales are None"),
        (filter, 0, [], "0 scales for 2 channels"),
        (filter, 0, [1.0], "1 scales for 2 channels"),
        (filter, 4, [1.0, 1.0], "has no dimension 4"),
        (filter, -1, [1.0], "has no dimension -1"),
        (filter, 0, [1.0, 0.0], "a scale that is not above 0"),
        (filter, 0, [1.0, float("nan")], "a scale that is not above 0"),
        (other, 0, [1.0, 1.0], "is not TENSOR_QUANT8_SYMM_PER_CHANNEL"),
        (unknown, 0, [1.0, 1.0], "has no dimension 0"),
        (open_dimension, 0, [], "an unknown dimension along dimension 0"),
    ):
        with pytest.raises(BadDataError, match=message):
            call(index, dimension, scales)
    call(filter, 0, [1.0, 1e300])


def test_rule_028_every_per_channel_operand_has_scales() -> None:
    model, x, y, z = open_sum()
    unused = model.add_operand(PER_CHANNEL, "filter")
    model.set_operand_value(unused, bytes(2))
    model.identify_inputs_and_outputs([x, y], [z])
    with pytest.raises(BadDataError, match=rf"filter \({unused}\).* was not given its scales"):
        model.finish()


@pytest.mark.parametrize(
    ("dimension", "message"),
    [(None, "filter was not given its scales"), (3, "filter has its scales along dimension 3, must be 0")],
)
def test_rule_029_scales_of_a_filter_lie_along_its_output_channels(dimension: int | None, message: str) -> None:
    model = Model()
    image = model.add_operand(tensor("uint8", (1, 1, 1, 1), 1.0))
    filter = model.add_operand(PER_CHANNEL)
    bias = model.add_operand(tensor("int32", (2,)))
    out = model.add_operand(tensor("uint8", (1, 1, 1, 2), 1.0))
    if dimension is not None:
        model.set_operand_symm_per_channel_quant_params(filter, dimension, [1.0])
    scalars = [number(model, value) for value in (1, 1, 1, 0)]
    with pytest.raises(BadDataError, match=rf"CONV_2D \(#0\): {message}"):
        model.add_operation(OperationCode.CONV_2D, [image, filter, bias, *scalars], [out])


def test_rule_031_lists_of_an_operation() -> None:
    model, x, y, z = open_sum()
    for inputs, outputs, message in (
        ([], [z], r"ADD \(#1\): needs at least one input and one output"),
        ([x, y, 3], [], r"ADD \(#1\): needs at least one input and one output"),
        ([x, y, 4], [z], r"ADD \(#1\): operand 4 does not exist, the model has 4"),
        ([x, y, 3], [9], r"ADD \(#1\): operand 9 does not exist"),
    ):
        with pytest.raises(BadDataError, match=message):
            model.add_operation(OperationCode.ADD, inputs, outputs)


def test_rule_032_operation_codes() -> None:
    model, x, _, z = open_sum()
    for code in (106, 20000, -1, 0xFFFF << 16):
        with pytest.raises(BadDataError, match=f"operation code {code} is not one of NeuralNetworks.h"):
            model.add_operation(code, [x], [z])
    model.add_operation(OEM_OPERATION, [x], [z])
    model.add_operation(model.extension_operation_type("com.example.rules", 7), [x], [z])
    assert [call.name for call in model.operations] == ["ADD", "OEM_OPERATION", "operation 7 of com.example.rules"]


def test_rule_033_types_are_tested_at_once_values_when_computing() -> None:
    model = Model()
    x = model.add_operand(FLOATS)
    out = model.add_operand(FLOATS)
    beta = number(model, -1, OperandType(OperandCode.FLOAT32))
    with pytest.raises(BadDataError, match=r"SOFTMAX \(#0\): beta is INT32, must be FLOAT32"):
        model.add_operation(OperationCode.SOFTMAX, [x, number(model)], [out])
    with pytest.raises(BadDataError, match=r"SOFTMAX \(#0\): takes 2 or 3 inputs, got 1"):
        model.add_operation(OperationCode.SOFTMAX, [x], [out])
    model.add_operation(OperationCode.SOFTMAX, [x, beta], [out])
    compilation = on_reference(finished(model, [x], [out]))
    with pytest.raises(OpFailedError, match=r"SOFTMAX \(#0\): beta is -1.0, must be above 0"):
        compilation.run(ZEROS)


def test_rule_034_types_of_outputs_are_tested_their_dimensions_are_not() -> None:
    model, x, y, _ = open_sum()
    wrong = model.add_operand(tensor("int32", (2, 2)))
    with pytest.raises(BadDataError, match=r"ADD \(#1\): out is TENSOR_INT32, must be TENSOR_FLOAT32"):
        add(model, x, y, wrong)
    model, x, y = Model(), 0, 1
    model.add_operand(FLOATS)
    model.add_operand(FLOATS)
    add(model, x, y, model.add_operand(tensor("float32", (3, 2))))
    compilation = on_reference(finished(model, [x, y], [2]))
    with pytest.raises(
        OpFailedError, match=r"ADD \(#0\): gives TENSOR_FLOAT32\[2, 2\], but the model declares TENSOR_FLOAT32\[3"
    ):
        compilation.run(ZEROS, ZEROS)


def test_rule_035_operations_of_others_are_tested_for_their_indices_only() -> None:
    for name in (None, "com.example.rules"):
        model = Model()
        x, z = model.add_operand(FLOATS), model.add_operand(OperandType(OperandCode.BOOL))
        code = model.extension_operation_type(name, 1) if name else OEM_OPERATION
        with pytest.raises(BadDataError, match="operand 5 does not exist"):
            model.add_operation(code, [5], [z])
        model.add_operation(code, [x, x, x], [z])
        finished(model, [x], [z])
        with pytest.raises(BadDataError, match=r"no device supports .* \(#0\)"):
            on_reference(model)


def test_only_models_that_permit_it_have_ranks_beyond_nnapi() -> None:
    model, x, y, z = open_sum(tensor("float32", (1, 2)))
    deep = [model.add_operand(tensor("float32", (1, 1, 1, 1, 2))) for _ in range(2)]
    with pytest.raises(BadDataError, match="lhs has rank 5, must have rank 1 or 2 or 3 or 4"):
        add(model, deep[0], deep[0], deep[1])
    model.permit_high_ranks(True)
    add(model, deep[0], deep[0], deep[1])
    model.identify_inputs_and_outputs([x, y, deep[0]], [z, deep[1]])
    model.finish()
    assert {call.number: bool(call.match and call.match.beyond) for call in model.operations} == {0: False, 1: True}
    assert on_reference(model).run(*np.ones((2, 1, 2), np.float32), np.ones((1, 1, 1, 1, 2), np.float32))[1].sum() == 4


@pytest.mark.parametrize("rank", [7, 8])
def test_no_model_has_higher_ranks(rank: int) -> None:
    model = Model()
    model.permit_high_ranks(True)
    deep = [model.add_operand(tensor("float32", (1,) * rank)) for _ in range(2)]
    with pytest.raises(BadDataError, match=f"lhs has rank {rank}, must have rank 1 or 2 or 3 or 4"):
        add(model, deep[0], deep[0], deep[1])
