"""Operand types as values, and what two descriptions of a shape say together."""

import pickle
from copy import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike

from nnapi import ChannelQuantization, OperandCode, OperandType, tensor
from nnapi.errors import BadDataError
from nnapi.model.operand import combine, type_name


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        ((), (), ()),
        ((), (2, 3), (2, 3)),
        ((2, 0), (), (2, 0)),
        ((2, 0), (0, 3), (2, 3)),
        ((0, 0), (0, 3), (0, 3)),
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (2, 4), None),
        ((2, 3), (2, 3, 1), None),
        ((0,), (0, 0), None),
    ],
)
def test_rule_143_combining(a: tuple[int, ...], b: tuple[int, ...], both: tuple[int, ...] | None) -> None:
    assert combine(a, b) == both
    assert combine(b, a) == both


def test_types_by_name() -> None:
    assert tensor("float32", (2,)).code == OperandCode.TENSOR_FLOAT32
    assert tensor("INT8", (2,), 0.5, -3) == tensor("quant8_asymm_signed", (2,), 0.5, -3)
    assert tensor(OperandCode.TENSOR_BOOL8) == tensor("bool")
    with pytest.raises(BadDataError, match="'float64' is not a tensor type; known: float32, "):
        tensor("float64")


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), np.float32(0).dtype])
def test_types_by_dtype(dtype: DTypeLike) -> None:
    assert tensor(dtype, (2,)) == tensor("float32", (2,))


def test_types_by_dtypes_of_bytes() -> None:
    assert tensor(np.uint8, (2,), 0.5, 3) == tensor("quant8_asymm", (2,), 0.5, 3)
    assert tensor(np.bool_, (2,)) == tensor("bool8", (2,))
    assert tensor(bool) == tensor("bool8")
    for unknown in (np.float64, float, np.int64, "object", None, object()):
        with pytest.raises(BadDataError, match="is not a tensor type"):
            tensor(unknown)  # type: ignore[arg-type]


def test_sizes() -> None:
    assert (tensor("float16", (2, 3)).size, tensor("float16", (2, 3)).nbytes) == (6, 12)
    assert (tensor("float16", (2, 0)).size, tensor("float16").size) == (0, 0)
    assert (OperandType(OperandCode.BOOL).size, OperandType(OperandCode.BOOL).nbytes) == (1, 1)
    assert OperandType(OperandCode.MODEL).nbytes == 0


def test_words() -> None:
    assert str(tensor("uint8", (2, 0), 0.1, 3)) == "TENSOR_QUANT8_ASYMM[2, ?] (scale 0.1, zero point 3)"
    assert str(OperandType(OperandCode.INT32)) == "INT32"
    assert str(tensor("float32")) == "TENSOR_FLOAT32[]"
    channel = ChannelQuantization(1, (0.5, 2.0))
    assert str(tensor("quant8_symm_per_channel", (3, 2), channel=channel)).endswith("[3, 2] (per channel 1)")
    assert [type_name(code) for code in (10000, 10001, 1 << 16 | 3)] == [
        "OEM_SCALAR",
        "TENSOR_OEM_BYTE",
        "extension type 0x10003",
    ]


def test_scales_along_a_dimension() -> None:
    scales = ChannelQuantization(1, (0.5, 2.0)).broadcast(3)
    assert scales.shape == (1, 2, 1)
    assert scales.dtype == np.float32


def test_a_type_is_a_value() -> None:
    type = tensor("uint8", (2, 0), 0.1, 3)
    assert {type: 1}[tensor("uint8", [2, 0], 0.1, 3)] == 1
    assert type != tensor("uint8", (2, 0), 0.1, 4)
    assert type != (5, (2, 0))
    assert pickle.loads(pickle.dumps(type)) == copy(type) == type
    assert repr(type).startswith("OperandType(code=<OperandCode.TENSOR_QUANT8_ASYMM: 5>, dimensions=(2, 0), scale=0.1")
    assert type.replace(zero_point=4) == tensor("uint8", (2, 0), 0.1, 4)
    with pytest.raises(TypeError, match="rank"):
        type.replace(rank=1)


def test_a_type_never_changes() -> None:
    type = tensor("float32", (2,))
    with pytest.raises(AttributeError, match="dimensions of an operand's type cannot be changed"):
        type.dimensions = (3,)
    with pytest.raises(AttributeError, match="scale of an operand's type cannot be removed"):
        del type.scale
    assert type == tensor("float32", (2,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimensions": (0, -1)}, "dimensions has -1, must not be negative"),
        ({"dimensions": (2.5,)}, r"dimensions is \(2\.5,\), must be a sequence of whole numbers"),
        ({"dimensions": 3}, "dimensions is 3, must be a sequence"),
        ({"scale": "x"}, "scale is 'x', must be a number"),
        ({"zero_point": 2.5}, r"zero_point is 2\.5, must be a whole number"),
    ],
)
def test_what_no_tensor_can_have(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        tensor("int8", **arguments)


def test_dimensions_may_be_of_numpy() -> None:
    assert tensor("float32", np.array([2, 3])).dimensions == (2, 3)  # type: ignore[arg-type]  # as from array.shape
