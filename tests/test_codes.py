"""The numbers are the headers'."""

import inspect
import json
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

import nnapi
from nnapi import codes, operation_codes
from tests.rows import each_row

ENUMS = {
    name: value
    for module in (codes, operation_codes)
    for name, value in inspect.getmembers(module, inspect.isclass)
    if value.__module__ == module.__name__
}


@each_row(
    ("member", "value"),
    [
        (codes.OperandCode.FLOAT32, 0),
        (codes.OperandCode.TENSOR_FLOAT32, 3),
        (codes.OperandCode.TENSOR_QUANT8_ASYMM, 5),
        (codes.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, 11),
        (codes.OperandCode.MODEL, 15),
        (codes.OperationCode.ADD, 0),
        (codes.OperationCode.CONV_2D, 3),
        (codes.OperationCode.SOFTMAX, 25),
        (codes.OperationCode.TRANSPOSE, 37),
        (codes.OperationCode.RESIZE_NEAREST_NEIGHBOR, 94),
        (codes.OperationCode.REVERSE, 105),
        (codes.FuseCode.FUSED_NONE, 0),
        (codes.FuseCode.FUSED_RELU6, 3),
        (codes.PaddingCode.PADDING_SAME, 1),
        (codes.PaddingCode.PADDING_VALID, 2),
        (codes.PreferenceCode.PREFER_LOW_POWER, 0),
        (codes.PreferenceCode.PREFER_SUSTAINED_SPEED, 2),
        (codes.DeviceTypeCode.DEVICE_CPU, 2),
        (codes.DeviceTypeCode.DEVICE_ACCELERATOR, 4),
        (codes.ResultCode.NO_ERROR, 0),
        (codes.ResultCode.BAD_DATA, 4),
        (codes.ResultCode.BAD_STATE, 6),
        (codes.ResultCode.DEAD_OBJECT, 14),
        (codes.DurationCode.DURATION_ON_HARDWARE, 0),
        (codes.DurationCode.FENCED_DURATION_IN_DRIVER, 3),
        (codes.PriorityCode.PRIORITY_LOW, 90),
        (codes.PriorityCode.PRIORITY_DEFAULT, 100),
        (codes.PriorityCode.PRIORITY_HIGH, 110),
        (codes.MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES, 128),
        (codes.BYTE_SIZE_OF_CACHE_TOKEN, 32),
        (codes.OEM_SCALAR, 10000),
        (codes.TENSOR_OEM_BYTE, 10001),
        (codes.OEM_OPERATION, 10000),
    ],
)
def test_values(member: int, value: int) -> None:
    assert member == value


def test_there_are_106_operations() -> None:
    assert sorted(codes.OperationCode) == list(range(106))


def test_feature_levels() -> None:
    levels = {code.level: int(code) for code in codes.FeatureLevelCode}
    assert levels == {1: 27, 2: 28, 3: 29, 4: 30, 5: 31, 6: 1000006, 7: 1000007, 8: 1000008}


def test_feature_levels_are_ordered_by_code() -> None:
    assert [code.level for code in sorted(codes.FeatureLevelCode)] == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ENUMS)
def test_every_enum_says_what_it_is(name: str) -> None:
    assert issubclass(ENUMS[name], IntEnum)
    assert ENUMS[name].__doc__


@pytest.mark.shared
def test_enums_are_complete(shared: Path) -> None:
    enums = facts(shared)["enums"]
    expected = {enum["name"]: {bare(v["name"]): v["value"] for v in enum["values"]} for enum in enums}
    actual = {name: {k: int(v) for k, v in enum.__members__.items()} for name, enum in ENUMS.items()}  # type: ignore[attr-defined]
    assert actual.pop("CompositeCode")  # which NNAPI lacks
    assert actual == expected


@pytest.mark.shared
def test_constants_are_complete(shared: Path) -> None:
    expected = {bare(constant["name"]): constant["value"] for constant in facts(shared)["constants"]}
    assert {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)} == expected


def facts(shared: Path) -> Any:
    return json.loads((shared / "reference" / "api.json").read_text())


def bare(name: str) -> str:
    return name.removeprefix("ANEURALNETWORKS_")


def test_what_is_no_code_is_not_found() -> None:
    assert codes.OperationCode is operation_codes.OperationCode is nnapi.OperationCode
    with pytest.raises(AttributeError, match="'nnapi.codes' has no attribute 'OperationCodes'"):
        _ = codes.OperationCodes  # type: ignore[attr-defined]
