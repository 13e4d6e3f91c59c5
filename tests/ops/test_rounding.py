"""ROUND, CEIL, SIGN."""

from typing import Any

import numpy as np
import pytest

from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode as C
from tests.single import run_single

X = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 1e9]


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (C.ROUND, [-2, -2, 0, 0, 0, 2, 2, 1e9]),
        (C.CEIL, [-2, -1, 0, 0, 1, 2, 3, 1e9]),
        (C.SIGN, [-1, -1, -1, 0, 1, 1, 1, 1]),
    ],
)
def test_literal_examples(code: C, expected: list[float], name: str) -> None:
    type = tensor(name, (7,))
    x = np.array(X[:7], type.dtype)
    (found,) = run_single(code, [(type, x)], [type])
    np.testing.assert_array_equal(found, np.array(expected[:7], type.dtype))


def test_the_sign_of_integers() -> None:
    type = tensor("int32", (3,))
    (found,) = run_single(C.SIGN, [(type, np.array([-(2**31), 0, 7], np.int32))], [type])
    assert found.tolist() == [-1, 0, 1]


def test_random_values_are_those_of_integer_arithmetic() -> None:
    """Halves of integers, whose floor division has no rounding error."""
    doubled = np.random.default_rng(5).integers(-999, 999, 500)
    type, x = tensor("float32", doubled.shape), (doubled / 2).astype(np.float32)
    ceiling: Any = -(-doubled // 2)
    (found,) = run_single(C.CEIL, [(type, x)], [type])
    np.testing.assert_array_equal(found, ceiling)
    (found,) = run_single(C.ROUND, [(type, x)], [type])
    np.testing.assert_array_equal(found, np.where(doubled % 4 == 1, doubled // 2, ceiling))
