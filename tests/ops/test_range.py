"""RANGE: the numbers from a start in equal steps, before a limit."""

import math
from typing import Any

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.single import run_single


def numbers(start: float, limit: float, delta: float, type: str = "int32") -> Any:
    dtype = tensor(type).dtype
    given = [(tensor(type, (1,)), np.array([number], dtype)) for number in (start, limit, delta)]
    return run_single(CompositeCode.RANGE, given, [tensor(type, (0,))])[0]


def test_literal() -> None:
    assert numbers(2, 9, 3).tolist() == [2, 5, 8]
    assert numbers(1, -3, -2).tolist() == [1, -1]
    assert numbers(0.5, 2, 0.5, "float32").tolist() == [0.5, 1, 1.5]
    assert numbers(1, 2, 0.25, "float16").tolist() == [1, 1.25, 1.5, 1.75]


@pytest.mark.parametrize(("start", "limit", "delta"), [(3, 3, 1), (3, 1, 1), (1, 3, -1)])
def test_no_numbers(start: int, limit: int, delta: int) -> None:
    assert numbers(start, limit, delta).shape == (0,)


def test_random_ranges_beside_python() -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        start, limit, delta = (int(each) for each in random.integers(-40, 40, 3))
        if delta:
            assert numbers(start, limit, delta).tolist() == list(range(start, limit, delta))
        first, step = float(np.float32(random.normal())), float(np.float32(random.normal()))
        end = first + 6.5 * step
        found = numbers(first, end, step, "float32")
        expected = [first + i * step for i in range(math.ceil((float(np.float32(end)) - first) / step))]
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def test_a_step_of_zero_and_too_many_numbers() -> None:
    with pytest.raises(OpFailedError, match="delta is 0"):
        numbers(0, 1, 0)
    with pytest.raises(OpFailedError, match="it gives"):
        numbers(-(2**31), 2**31 - 1, 1)
