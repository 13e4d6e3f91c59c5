"""PRELU."""

from typing import Any

import numpy as np
from hypothesis import given

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.pair_cases import assert_pairs, pairs
from tests.ops.tensor_cases import REALS, assert_stores, floats, level, quickly, refuses_to_compute, run, unknown

PRELU = OperationCode.PRELU


def test_literal() -> None:
    x = floats([[-1, 2], [-3, 0], [0.5, 0.25]])
    assert run(PRELU, x, floats([0.5, 10])).tolist() == [[-0.5, 2], [-1.5, 0], [0.5, 0.25]]


def test_literal_quantized() -> None:
    x = tensor("uint8", (3,), 0.5, 10), np.array([8, 10, 20], np.uint8)  # -1, 0, 5
    alpha = tensor("uint8", (1,), 0.25, 4), np.array([12], np.uint8)  # 2
    assert run(PRELU, x, alpha, out=tensor("uint8", (), 1.0, 50)).tolist() == [48, 50, 55]


@quickly
@given(pairs(REALS))
def test_negative_numbers_take_the_slope(both: list[Any]) -> None:
    type = both[0][0]
    out = unknown(type) if not type.is_quantized else tensor(type.dtype.name, (), 2.0, 30)
    y = run(PRELU, *both, out=out)
    assert_pairs(lambda real: assert_stores(out, y, real), lambda x, slope: x if x >= 0 else slope * x, *both)


def test_refuses_shapes_that_do_not_stretch() -> None:
    message = "input of shape [2] and alpha of shape [3] do not broadcast"
    refuses_to_compute(message, PRELU, floats([1, 2]), floats([1, 2, 3]))


def test_level() -> None:
    assert level(PRELU, floats([1]), floats([1])) == 3
