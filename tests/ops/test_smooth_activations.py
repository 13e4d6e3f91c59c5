"""ERF, GELU, MISH, SOFTPLUS."""

import math
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode as C
from nnapi.ops.smooth_activations import ERROR_FUNCTION, SCALE
from tests.single import run_single, scalar

X = np.array([-100, -2, -0.5, 0, 0.5, 2, 100], np.float32)
FLAGS = {False: [scalar(OperandCode.BOOL, False)], True: [scalar(OperandCode.BOOL, True)]}


def run(code: C, x: Any, *more: Any) -> Any:
    type = tensor("float32", x.shape)
    return run_single(code, [(type, x), *more], [type])[0]


def test_the_polynomial_approximates_the_error_function() -> None:
    u = np.linspace(-1, 1, 2001)
    total = sum(factor * u ** (2 * i + 1) for i, factor in enumerate(ERROR_FUNCTION))
    expected = np.array([math.erf(SCALE * each) for each in u])
    np.testing.assert_allclose(np.tanh(total), expected, 0, 1.5e-7)


@pytest.mark.parametrize(
    ("code", "more", "expected"),
    [
        (C.ERF, [], [-1, -0.9953223, -0.5204999, 0, 0.5204999, 0.9953223, 1]),
        (C.GELU, FLAGS[False], [0, -0.0455003, -0.1542688, 0, 0.3457312, 1.9544997, 100]),
        (C.GELU, FLAGS[True], [0, -0.0454023, -0.154286, 0, 0.345714, 1.9545977, 100]),
        (C.MISH, [], [0, -0.2525015, -0.2207440, 0, 0.3752447, 1.9439590, 100]),
        (C.SOFTPLUS, [], [0, 0.1269280, 0.4740770, 0.6931472, 0.9740770, 2.1269280, 100]),
    ],
)
def test_literal_examples(code: C, more: list[Any], expected: list[float]) -> None:
    np.testing.assert_allclose(run(code, X, *more), np.array(expected, np.float32), 2e-6, 2e-7)


def test_random_values_are_those_of_double_precision() -> None:
    x = np.random.default_rng(3).normal(0, 3, 300).astype(np.float32)
    wide = x.astype(np.float64)
    error = np.array([math.erf(each) for each in wide])
    np.testing.assert_allclose(run(C.ERF, x), error, 0, 3e-7)
    share = np.array([math.erf(each / math.sqrt(2)) for each in wide])
    np.testing.assert_allclose(run(C.GELU, x, *FLAGS[False]), wide * (1 + share) / 2, 1e-6, 1e-6)
    soft = np.logaddexp(0, wide)
    np.testing.assert_allclose(run(C.SOFTPLUS, x), soft, 1e-6, 1e-7)
    np.testing.assert_allclose(run(C.MISH, x), wide * np.tanh(soft), 1e-6, 1e-6)
