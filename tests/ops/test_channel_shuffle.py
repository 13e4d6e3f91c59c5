"""CHANNEL_SHUFFLE."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from tests.ops.tensor_cases import (
    REALS,
    assert_same,
    floats,
    int32,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    stored,
)

CHANNEL_SHUFFLE = OperationCode.CHANNEL_SHUFFLE


def test_literal() -> None:
    x = floats([[11, 12, 13, 21, 22, 23]])
    assert run(CHANNEL_SHUFFLE, x, int32(2), int32(-1)).tolist() == [[11, 21, 12, 22, 13, 23]]
    assert run(CHANNEL_SHUFFLE, x, int32(3), int32(1)).tolist() == [[11, 13, 22, 12, 21, 23]]


@quickly
@given(st.sampled_from(sorted(REALS)), shapes(dimension=3), st.integers(1, 4), st.integers(0, 2**32))
def test_channel_k_of_each_group_comes_before_channel_k_plus_1(
    kind: str, shape: tuple[int, ...], groups: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    axis = int(random.integers(-len(shape), len(shape)))
    size = shape[axis]
    dimensions = list(shape)
    dimensions[axis] *= groups
    type = REALS[kind].with_dimensions(dimensions)
    x = stored(type, random)
    out = run(CHANNEL_SHUFFLE, (type, x), int32(groups), int32(axis))
    assert out.shape == x.shape
    for group in range(groups):
        for k in range(size):
            assert_same(out.take(k * groups + group, axis), x.take(group * size + k, axis))


def test_refusals() -> None:
    x = floats([[1, 2, 3]])
    refuses_to_compute(
        "axis 1 of input has dimension 3, must be a multiple of 2", CHANNEL_SHUFFLE, x, int32(2), int32(1)
    )
    refuses_to_compute("num_groups is 0, must be above 0", CHANNEL_SHUFFLE, x, int32(0), int32(1))
    refuses_to_compute("axis is -3, must be in [-2, 2)", CHANNEL_SHUFFLE, x, int32(1), int32(-3))
    five = floats(np.zeros((1,) * 5))
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", CHANNEL_SHUFFLE, five, int32(1), int32(0))
    refuses_to_add("input is TENSOR_INT32, must be", CHANNEL_SHUFFLE, ints(1), int32(1), int32(0))


def test_level() -> None:
    assert level(CHANNEL_SHUFFLE, floats([1]), int32(1), int32(0)) == 3
