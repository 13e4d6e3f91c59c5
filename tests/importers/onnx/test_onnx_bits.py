"""Operators on bits beside NumPy, and casts to 16 bits (nnapi.importers.onnx.narrowing)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import compare, single  # noqa: E402

RNG = np.random.default_rng(6)
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64]


def numbers(dtype: Any, shape: tuple[int, ...] = (3, 4)) -> Any:
    """Random integers that NNAPI can hold."""
    limits = np.iinfo(dtype if np.dtype(dtype).itemsize <= 4 else np.int32)
    return RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@each_row("dtype", INTEGERS)
@each_row(
    ("kind", "function"),
    [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)],
)
def test_pairs(kind: str, function: Callable[..., Any], dtype: Any) -> None:
    x, y = numbers(dtype), numbers(dtype, (4,))
    operation = f"BITWISE_{kind.removeprefix('Bitwise').upper()}"
    compare(single(kind, x, y, opset=18), x, operation, expected=function(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_complements(dtype: Any) -> None:
    x = numbers(dtype)
    compare(single("BitwiseNot", x, opset=18), x, "BITWISE_XOR", expected=np.invert(x))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_complements_beyond_int32_are_refused(dtype: Any) -> None:
    with pytest.raises(BadDataError, match="complements of UINT.. are beyond int32"):
        nnapi.load(single("BitwiseNot", np.ones(2, dtype), opset=18))


NARROWED = {np.int16: " LEFT_SHIFT RIGHT_SHIFT", np.uint16: " BITWISE_AND"}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_shifts(dtype: Any) -> None:
    x, y = np.array([1, 77, 255], dtype), np.array([7, 2, 1], dtype)
    left = "LEFT_SHIFT" + NARROWED.get(dtype, "")
    compare(single("BitShift", x, y, direction="LEFT"), x, left, expected=x << y)
    compare(single("BitShift", x, y, direction="RIGHT"), x, "RIGHT_SHIFT", expected=x >> y)


@pytest.mark.parametrize(
    ("x", "to", "operations"),
    [
        (np.array([1, -2.5, np.inf], np.float32), np.int32, "BITCAST"),
        (np.array([0x3F800000, -1071644672], np.int32), np.float32, "BITCAST"),
        (np.array([1, -2.5], np.float16), np.uint16, "BITCAST BITWISE_AND"),
        (np.array([1, -2.5], np.float16), np.int16, "BITCAST LEFT_SHIFT RIGHT_SHIFT"),
        (np.array([0x3C00, 0xC100], np.uint16), np.float16, "BITCAST"),
        (np.array([1, 2**15, 2**16 - 1], np.uint16), np.int16, "LEFT_SHIFT RIGHT_SHIFT"),
        (np.array([1, -1, -(2**15)], np.int16), np.uint16, "BITWISE_AND"),
        (np.array([-1, -128, 127], np.int8), np.uint8, "CONVERT"),
    ],
)
def test_bits_as_another_type(x: Any, to: Any, operations: str) -> None:
    if onnx.defs.onnx_opset_version() < 26:
        pytest.skip("BitCast is of opset 26")
    content = single("BitCast", x, opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    compare(content, x, operations, expected=x.view(to))


def test_the_bits_of_64_bit_floats_are_refused() -> None:
    if onnx.defs.onnx_opset_version() < 26:
        pytest.skip("BitCast is of opset 26")
    content = single("BitCast", np.ones(2), opset=26, to=onnx.TensorProto.INT64)
    with pytest.raises(BadDataError, match="NNAPI stores 64-bit floats in 32 bits"):
        nnapi.load(content)


@pytest.mark.parametrize("to", [np.int16, np.uint16])
@pytest.mark.parametrize("source", [np.int32, np.int64, np.int16, np.uint16])
def test_casts_to_16_bits_keep_the_lowest(source: Any, to: Any) -> None:
    x = numbers(source)
    content = single("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    compare(content, x, "CAST" if source == to else NARROWED[to].strip(), expected=x.astype(to))
