"""QUANTIZE, DEQUANTIZE."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import ChannelQuantization, tensor
from tests.ops.composite_cases import WAYS, model_of
from tests.ops.composite_cases import run as run_on
from tests.ops.tensor_cases import (
    FLOATS,
    assert_same,
    floats,
    ints,
    level,
    quickly,
    refuses_to_add,
    run,
    shapes,
    stored,
    tensors,
)
from tests.rows import each_row

QUANTIZE, DEQUANTIZE = OperationCode.QUANTIZE, OperationCode.DEQUANTIZE


def test_quantize_literal() -> None:
    x = floats([0, 0.4, 0.5, 1.5, -0.5, -1.5, 1000, -1000])
    assert run(QUANTIZE, x, out=tensor("uint8", (8,), 1.0, 10)).tolist() == [10, 10, 11, 12, 9, 8, 255, 0]
    assert run(QUANTIZE, x, out=tensor("int8", (8,), 0.5, -3)).tolist() == [-3, -2, -2, 0, -4, -6, 127, -128]


def test_quantize_rounds_once() -> None:
    below_half = np.nextafter(np.float32(0.5), np.float32(0))
    assert run(QUANTIZE, floats([below_half, -below_half]), out=tensor("uint8", (2,), 1.0, 7)).tolist() == [7, 7]


def test_what_is_no_number_takes_the_highest_code() -> None:
    assert run(QUANTIZE, floats([np.nan, np.inf, -np.inf]), out=tensor("uint8", (3,), 1.0, 7)).tolist() == [255, 255, 0]


def test_the_input_is_left_alone() -> None:
    x = floats([1, 2])
    run(QUANTIZE, x, out=tensor("uint8", (2,), 3.0, 7))
    assert x[1].tolist() == [1, 2]


@quickly
@given(tensors(FLOATS, shapes(most=5)), st.sampled_from(["uint8", "int8"]), st.floats(0.01, 2), st.integers(0, 100))
def test_quantize_is_nearest(x: tuple[Any, ...], dtype: str, scale: float, zero_point: int) -> None:
    out = tensor(dtype, (), scale, zero_point)
    codes = run(QUANTIZE, x, out=out)
    limits = np.iinfo(out.dtype)
    steps = np.clip(x[1].astype(np.float64) / out.scale + zero_point, limits.min, limits.max)
    assert codes.dtype == out.dtype
    assert np.abs(codes - steps).max() <= 0.5 + 1e-5


def test_dequantize_literal() -> None:
    x = tensor("uint8", (3,), 0.5, 10), np.array([0, 10, 255], np.uint8)
    assert_same(run(DEQUANTIZE, x, out=tensor("float32", (3,))), np.array([-5, 0, 122.5], np.float32))
    assert_same(run(DEQUANTIZE, x, out=tensor("float16", (3,))), np.array([-5, 0, 122.5], np.float16))
    symmetric = tensor("quant8_symm", (2,), 0.25), np.array([-128, 4], np.int8)
    assert run(DEQUANTIZE, symmetric, out=tensor("float32")).tolist() == [-32, 1]


def test_dequantize_literal_per_channel() -> None:
    type = tensor("quant8_symm_per_channel", (2, 3), channel=ChannelQuantization(1, (1.0, 0.5, 0.25)))
    x = type, np.array([[1, 2, 4], [-1, -2, -4]], np.int8)
    assert run(DEQUANTIZE, x, out=tensor("float32")).tolist() == [[1, 1, 1], [-1, -1, -1]]


@quickly
@given(
    st.sampled_from(["quant8_asymm", "quant8_asymm_signed", "quant8_symm"]),
    st.sampled_from(sorted(FLOATS)),
    shapes(),
    st.floats(0.01, 2),
    st.integers(0, 100),
    st.integers(0, 2**32),
)
def test_dequantize_each_code(
    dtype: str, kind: str, shape: tuple[int, ...], scale: float, zero_point: int, seed: int
) -> None:
    type = tensor(dtype, shape, scale, 0 if dtype == "quant8_symm" else zero_point)
    codes = stored(type, np.random.default_rng(seed))
    out = run(DEQUANTIZE, (type, codes), out=FLOATS[kind])
    expected = [(code - type.zero_point) * type.scale for code in codes.ravel().tolist()]
    assert out.dtype == FLOATS[kind].dtype
    np.testing.assert_allclose(out.ravel(), expected, rtol=1e-3 if kind == "float16" else 1e-6)


def test_there_and_back() -> None:
    codes = tensor("uint8", (256,), 0.1, 37), np.arange(256, dtype=np.uint8)
    real = run(DEQUANTIZE, codes, out=tensor("float32", (256,)))
    assert_same(run(QUANTIZE, floats(real), out=codes[0]), codes[1])


def test_refusals() -> None:
    refuses_to_add("input is TENSOR_INT32, must be", QUANTIZE, ints(1), outs=[tensor("uint8", (1,), 1.0)])
    refuses_to_add("out is TENSOR_QUANT8_SYMM, must be", QUANTIZE, floats([1]), outs=[tensor("quant8_symm", (1,), 1.0)])
    x = tensor("uint8", (1,) * 5, 1.0), np.zeros((1,) * 5, np.uint8)
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", DEQUANTIZE, x, outs=[tensor("float32")])


@pytest.mark.parametrize(
    ("dtype", "out", "wanted"),
    [("quant8_asymm", "float32", 1), ("quant8_asymm", "float16", 3), ("quant8_symm", "float32", 3)],
)
def test_levels(dtype: str, out: str, wanted: int) -> None:
    assert level(DEQUANTIZE, (tensor(dtype, (1,), 1.0), None), out=tensor(out)) == wanted


@each_row("way", WAYS)
@each_row(("scale", "zero_point"), [(1.0, 10), (0.125, 0), (0.1, 128), (1 / 255, 3)])
def test_halves_are_rounded_to_even(scale: float, zero_point: int, way: str) -> None:
    x = np.arange(-300, 300, dtype=np.float32) / 2 * np.float32(scale)
    x[:4] = np.inf, -np.inf, 3e8, -3e8
    out = tensor("uint8", x.shape, scale, zero_point)
    model = model_of(lambda b: b.quantize_to_even(b.input(tensor("float32", x.shape)), out=out))
    expected = np.clip(np.rint(x / np.float32(scale)) + np.float32(zero_point), 0, 255)
    assert run_on(model, way, x)[0].tolist() == expected.tolist()


def test_halves_that_are_rounded_to_even_literal() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.4], np.float16)
    out = tensor("int8", (6,), 1.0, 0)
    model = model_of(lambda b: b.quantize_to_even(b.input(tensor("float16", (6,))), out=out))
    assert run_on(model, "nnapi-reference", x)[0].tolist() == [0, 2, 2, 0, -2, 0]
