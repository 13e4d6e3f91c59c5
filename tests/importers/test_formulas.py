"""Formulas of several operations: whole quotients, and the activations of transformers."""

import math
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from nnapi import load  # noqa: E402
from tests.importers.onnx.operator_cases import compare, computed, single  # noqa: E402


@pytest.mark.parametrize("divisor", [-3, -2, -1, 1, 2, 7])
def test_whole_quotients_are_rounded_towards_zero(divisor: int) -> None:
    x = np.arange(-7, 8, dtype=np.int32)
    expected = [int(each / divisor) for each in x.tolist()]
    operations = "LESS NOT_EQUAL ABS DIV NEG SELECT"
    compare(single("Div", x, np.array([divisor], np.int32)), x, operations, expected=np.array(expected))


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
