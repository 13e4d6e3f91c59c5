"""Formulas of several operations: whole quotients, and the activations of transformers."""

import math
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi import load  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402
from tests.importers.onnx.operator_cases import compare, computed, single  # noqa: E402

ENDS = -(2**31), 2**31 - 1
BY_SIZE = "MAXIMUM MINIMUM MUL SUB DIV"


def divide(x: Any, divisor: Any) -> Any:
    """Return whole quotients rounded towards zero; that of the lowest integer by -1 wraps around."""
    wide, by = x.astype(np.int64), np.asarray(divisor, np.int64)
    return (np.sign(wide) * np.sign(by) * (abs(wide) // abs(by))).astype(np.int32)


@pytest.mark.parametrize("divisor", [-(2**31) + 1, -3, -2, -1, 2, 3, 7, 2**31 - 1])
def test_whole_quotients_are_rounded_towards_zero(divisor: int) -> None:
    """Also those of the lowest integer, whose size is not an int32."""
    x = np.array([*ENDS, ENDS[0] + 1, *range(-7, 8)], np.int32)
    operations = "NEG" if divisor == -1 else BY_SIZE if divisor > 0 else f"{BY_SIZE} NEG"
    compare(single("Div", x, np.array([divisor], np.int32)), x, operations, expected=divide(x, divisor))


@pytest.mark.parametrize("divisors", [[3, -3, 7, -1], [ENDS[0], 1, ENDS[1], -2]])
def test_whole_quotients_by_several_integers(divisors: list[int]) -> None:
    x = np.array([*ENDS, *range(-7, 7)], np.int32).reshape(4, 4)
    by = np.array(divisors, np.int32)
    operations = "DIV MUL SUB LESS LESS NOT_EQUAL NOT_EQUAL LOGICAL_AND ADD SELECT"
    model = load(single("Div", x, by))
    assert sorted(call.name for call in model.operations) == sorted(operations.split())
    np.testing.assert_array_equal(computed(model, x), divide(x, by))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_bytes_keep_the_lowest_bits_on_every_device(device: str, dtype: Any) -> None:
    x = np.array([0, 1, -1, 127, 128, -128, -129, 255, 256, -256, 300, 65535, 2**24 + 1, *ENDS], np.int32)
    model = load(single("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))))
    (found,) = nnapi.compile(model, find_device(device), cache=False).run(x)
    np.testing.assert_array_equal(found, x.astype(dtype))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_by_the_error_function_or_by_the_hyperbolic_tangent(approximate: str) -> None:
    x = np.linspace(-6, 6, 1201).astype(np.float32)
    wide: Any = x.astype(np.float64)
    if approximate == "none":
        expected = wide / 2 * (1 + np.array([math.erf(each / math.sqrt(2)) for each in wide]))
    else:
        expected = wide / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    found = computed(load(single("Gelu", x, opset=20, approximate=approximate)), x)
    assert abs(found - expected).max() < 1e-6
