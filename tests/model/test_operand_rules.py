"""Rules 1 to 16 of validation.md: in general, and what an operand type may be."""

import math
import threading

import numpy as np
import pytest

import nnapi
from nnapi import Execution, Memory, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.codes import OEM_SCALAR, TENSOR_OEM_BYTE, ResultCode
from nnapi.contract.driver import Outcome, Request
from nnapi.contract.handles import open_handle
from nnapi.errors import (
    BadDataError,
    BadStateError,
    NnapiError,
    OpFailedError,
    OutOfMemoryError,
    UnexpectedNullError,
    error_for,
)
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.executors.wrappers import execute
from tests.graphs import FLOATS, finished_sum, number, open_sum

NONE = None


def refuse(message: str, *type: object) -> None:
    """add_operand must refuse the type with BAD_DATA and this message."""
    with pytest.raises(BadDataError, match=message):
        Model().add_operand(OperandType(*type))  # type: ignore[arg-type]


def test_rule_001_null() -> None:
    model = Model()
    with pytest.raises(UnexpectedNullError, match="type is None"):
        model.add_operand(NONE)
    with pytest.raises(UnexpectedNullError, match="memory for operand 0 is None"):
        model.set_operand_value_from_memory(0, NONE, 0, 4)
    with pytest.raises(UnexpectedNullError, match="model is None"):
        model.set_operand_value_from_model(0, NONE)
    with pytest.raises(UnexpectedNullError, match="inputs or outputs is None"):
        model.add_operation(OperationCode.ADD, NONE, [0])
    with pytest.raises(UnexpectedNullError, match="inputs or outputs is None"):
        model.identify_inputs_and_outputs([0], NONE)
    with pytest.raises(UnexpectedNullError, match="devices is None"):
        model.supported_operations(NONE)
    with pytest.raises(UnexpectedNullError, match="extension is None"):
        model.extension_operand_type(NONE, 0)
    with pytest.raises(UnexpectedNullError, match="model is None"):
        Compilation(NONE)
    with pytest.raises(UnexpectedNullError, match="compilation is None"):
        Execution(NONE)
    with pytest.raises(UnexpectedNullError, match="compilation is None"):
        nnapi.Burst(NONE)
    with pytest.raises(UnexpectedNullError, match="array is None"):
        Memory.from_array(NONE)


def test_rule_002_null_before_state_before_values() -> None:
    model = finished_sum()
    with pytest.raises(UnexpectedNullError, match="type is None"):
        model.add_operand(NONE)
    with pytest.raises(UnexpectedNullError, match="no value, but a length of 4"):
        model.set_operand_value(99, None, 4)
    with pytest.raises(UnexpectedNullError, match="memory for operand 99 is None"):
        model.set_operand_value_from_memory(99, NONE, 0, 4)
    with pytest.raises(UnexpectedNullError, match="model is None"):
        model.set_operand_value_from_model(99, NONE)
    with pytest.raises(UnexpectedNullError, match="inputs or outputs is None"):
        model.add_operation(20000, [0], NONE)
    with pytest.raises(UnexpectedNullError, match="inputs or outputs is None"):
        model.identify_inputs_and_outputs(NONE, [99])
    with pytest.raises(BadStateError, match="the model is finished"):
        model.set_operand_value(99, None)
    with pytest.raises(BadStateError, match="the model is finished"):
        model.add_operand(OperandType(16))
    with pytest.raises(BadStateError, match="the model is finished"):
        model.add_operation(20000, [], [])


def test_rule_003_a_negative_index_is_out_of_range() -> None:
    model, x, y, z = open_sum()
    for call in (
        lambda: model.set_operand_value(-1, None),
        lambda: model.set_operand_value_from_memory(-1, Memory.from_array(np.zeros(4, np.uint8)), 0, 4),
        lambda: model.set_operand_symm_per_channel_quant_params(-1, 0, [1.0]),
        lambda: model.add_operation(OperationCode.ADD, [x, y, -1], [z]),
        lambda: model.identify_inputs_and_outputs([-1], [z]),
    ):
        with pytest.raises(BadDataError, match="operand -1 does not exist, the model has 4"):
            call()


def test_rule_005_memory_that_runs_out() -> None:
    class Exhausted:
        def execute(self, request: Request) -> Outcome:
            raise MemoryError("1 TiB")

        def close(self) -> None: ...

    with pytest.raises(OutOfMemoryError, match="no memory left: 1 TiB"):
        execute(open_handle(Exhausted()), Request([]))


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (ResultCode.BAD_DATA, ResultCode.BAD_DATA),
        (ResultCode.UNEXPECTED_NULL, ResultCode.BAD_DATA),
        (ResultCode.BAD_STATE, ResultCode.OP_FAILED),
        (ResultCode.INCOMPLETE, ResultCode.OP_FAILED),
        (ResultCode.OP_FAILED, ResultCode.OP_FAILED),
        (ResultCode.OUT_OF_MEMORY, ResultCode.OP_FAILED),
        (ResultCode.UNMAPPABLE, ResultCode.OP_FAILED),
        (ResultCode.DEAD_OBJECT, ResultCode.OP_FAILED),
        (ResultCode.OUTPUT_INSUFFICIENT_SIZE, ResultCode.OUTPUT_INSUFFICIENT_SIZE),
        (ResultCode.UNAVAILABLE_DEVICE, ResultCode.UNAVAILABLE_DEVICE),
        (ResultCode.MISSED_DEADLINE_TRANSIENT, ResultCode.MISSED_DEADLINE_TRANSIENT),
        (ResultCode.MISSED_DEADLINE_PERSISTENT, ResultCode.MISSED_DEADLINE_PERSISTENT),
        (ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, ResultCode.RESOURCE_EXHAUSTED_TRANSIENT),
        (ResultCode.RESOURCE_EXHAUSTED_PERSISTENT, ResultCode.RESOURCE_EXHAUSTED_PERSISTENT),
    ],
)
def test_rule_006_codes_that_pass_through_an_event(raised: ResultCode, arrives: ResultCode) -> None:
    def work() -> None:
        raise error_for(raised)("the message").at("ADD (#0)")

    event = nnapi.Event(work)
    errors = []
    for _ in range(2):
        with pytest.raises(NnapiError, match=r"ADD \(#0\): the message") as caught:
            event.wait()
        assert caught.value.code == arrives
        errors.append(caught.value)
    assert errors[0] is not errors[1]  # whoever waits may write to its own


def test_rule_006_anything_else_is_a_failed_operation() -> None:
    def work() -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(OpFailedError, match="ZeroDivisionError: oh"):
        nnapi.Event(work).wait()


def test_rule_007_a_finished_model_is_read_by_several_threads() -> None:
    model = finished_sum()
    assert isinstance(model.operands, tuple)
    assert isinstance(model.operations, tuple)
    levels: list[int] = []
    threads = [threading.Thread(target=lambda: levels.append(model.feature_level)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert levels == [1] * 4


def test_rule_008_type_codes() -> None:
    for code in (16, 9999, 10002, -1, 0xFFFF << 16):
        refuse(f"operand type {code} is not one of NeuralNetworks.h", code, (1,))
    unknown = Model().extension_operand_type("com.nobody.describes", 1)
    refuse("no driver describes the extension com.nobody.describes", unknown, (1,))
    model = Model()
    for code in (*range(16), OEM_SCALAR, TENSOR_OEM_BYTE):
        scale = float("quant" in OperandCode(code).name.lower() if code < 16 else 0) * (code != 11)
        assert model.add_operand(OperandType(code, (), scale)) == len(model.operands) - 1


@pytest.mark.parametrize("code", [0, 1, 2, 6, 10, 15, OEM_SCALAR])
def test_rule_010_scalars_have_no_dimensions(code: int) -> None:
    Model().add_operand(OperandType(code))
    refuse(r"is a scalar and has no dimensions, got \[1\]", code, (1,))


def test_rule_011_unknown_rank_and_dimensions_are_legal() -> None:
    model = Model()
    model.add_operand(tensor("float32"))
    model.add_operand(tensor("float32", (0, 3)))
    assert [operand.type.is_known for operand in model.operands] == [False, False]


def test_rule_012_the_known_dimensions_are_below_4_gib() -> None:
    refuse("takes 4294967296 bytes, more than 4294967295", OperandCode.TENSOR_FLOAT32, (1 << 15, 1 << 15))
    refuse("takes 4294967296 bytes", OperandCode.TENSOR_FLOAT32, (1 << 15, 0, 1 << 15))
    refuse("takes 340282366920938463463374607431768211456 bytes", OperandCode.TENSOR_BOOL8, (1 << 64, 1 << 64))
    Model().add_operand(tensor("bool8", (0xFFFFFFFF,)))
    refuse("has a negative dimension", OperandCode.TENSOR_FLOAT32, (-1,))


@pytest.mark.parametrize(
    ("code", "low", "high"),
    [
        (OperandCode.TENSOR_QUANT8_ASYMM, 0, 255),
        (OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, -128, 127),
        (OperandCode.TENSOR_QUANT8_SYMM, 0, 0),
        (OperandCode.TENSOR_QUANT16_SYMM, 0, 0),
        (OperandCode.TENSOR_QUANT16_ASYMM, 0, 65535),
    ],
)
def test_rule_013_scale_and_zero_point_of_quantized_types(code: int, low: int, high: int) -> None:
    for zero_point in (low, high):
        Model().add_operand(OperandType(code, (1,), 0.5, zero_point))
    for zero_point in (low - 1, high + 1):
        refuse(rf"needs a zero point in {low}\.\.{high}, got {zero_point}", code, (1,), 0.5, zero_point)
    for scale in (0.0, -0.5):
        refuse(f"needs a scale above 0, got {scale:g}", code, (1,), scale, low)


@pytest.mark.parametrize(
    "code",
    [
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL,
        OperandCode.TENSOR_FLOAT32,
        OperandCode.TENSOR_FLOAT16,
        OperandCode.TENSOR_BOOL8,
        OperandCode.FLOAT32,
        OperandCode.INT32,
        OperandCode.BOOL,
        OperandCode.MODEL,
    ],
)
def test_rule_013_other_types_have_neither(code: OperandCode) -> None:
    refuse(f"{code.name} has no scale, got 0.5", code, (), 0.5)
    refuse(f"{code.name} has no zero point, got 1", code, (), 0.0, 1)


def test_rule_014_int32_and_oem_types_are_not_tested_when_added() -> None:
    for scale, zero_point, message in ((-1.0, 0, "has a negative scale"), (0.5, 3, "has zero point 3")):
        model, *_ = open_sum()
        model.add_operand(OperandType(OEM_SCALAR, (), scale, zero_point))
        model.add_operand(OperandType(TENSOR_OEM_BYTE, (1,), scale, zero_point))
        bias = model.add_operand(tensor("int32", (1,), scale, zero_point))
        model.set_operand_value(bias, [0])
        model.set_operand_value(bias - 1, b"x")
        model.set_operand_value(bias - 2, b"anything")
        model.identify_inputs_and_outputs([0, 1], [2])
        with pytest.raises(BadDataError, match=message):
            model.finish()


def test_rule_014_oem_types_are_never_tested() -> None:
    model, x, y, z = open_sum()
    number(model, 1, OperandType(OEM_SCALAR, (), -1.0, 3))
    model.identify_inputs_and_outputs([x, y], [z])
    model.finish()
    assert model.is_finished


def test_rule_016_a_scale_that_is_no_number_is_not_above_0() -> None:
    refuse("needs a scale above 0, got nan", OperandCode.TENSOR_QUANT8_ASYMM, (1,), math.nan)
    refuse("has no scale, got nan", OperandCode.TENSOR_FLOAT32, (1,), math.nan)
    for scale in (3e38, 1e300):  # no upper bound, not even that of float32
        Model().add_operand(OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (1,), scale))


def test_types_compare_as_the_c_structure_does() -> None:
    assert tensor("uint8", (1,), 0.1) == tensor("uint8", (1,), float(np.float32(0.1)))
    assert tensor("float32", (4,)) != FLOATS
