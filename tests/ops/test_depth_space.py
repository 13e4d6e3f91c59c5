"""DEPTH_TO_SPACE, SPACE_TO_DEPTH."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    REALS,
    assert_moved,
    assert_same,
    flag,
    floats,
    int32,
    level,
    quickly,
    refuses_to_compute,
    run,
    stored,
)

DEPTH_TO_SPACE, SPACE_TO_DEPTH = OperationCode.DEPTH_TO_SPACE, OperationCode.SPACE_TO_DEPTH


def test_literal() -> None:
    deep, wide = floats([[[[1, 2, 3, 4]]]]), floats([[[[1], [2]], [[3], [4]]]])
    assert run(DEPTH_TO_SPACE, deep, int32(2)).tolist() == wide[1].tolist()
    assert run(SPACE_TO_DEPTH, wide, int32(2)).tolist() == deep[1].tolist()


def test_literal_nchw() -> None:
    deep, wide = floats([[[[1]], [[2]], [[3]], [[4]]]]), floats([[[[1, 2], [3, 4]]]])
    assert run(DEPTH_TO_SPACE, deep, int32(2), flag(True)).tolist() == wide[1].tolist()
    assert run(SPACE_TO_DEPTH, wide, int32(2), flag(True)).tolist() == deep[1].tolist()


DIMENSION = st.integers(1, 3)


@quickly
@given(
    st.sampled_from(sorted(REALS)),
    st.tuples(DIMENSION, DIMENSION, DIMENSION, DIMENSION),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_blocks_become_depth(kind: str, shape: tuple[int, ...], block: int, seed: int) -> None:
    n, h, w, depth = shape
    type = REALS[kind].with_dimensions((n, h * block, w * block, depth))
    x = stored(type, np.random.default_rng(seed))

    def source(b: Any, i: Any, j: Any, d: Any) -> Any:
        row, column = divmod(d // depth, block)
        return b, i * block + row, j * block + column, d % depth

    deep = run(SPACE_TO_DEPTH, (type, x), int32(block))
    assert_moved(deep, x, (n, h, w, depth * block * block), source)
    there = type.with_dimensions(deep.shape), deep
    assert_same(run(DEPTH_TO_SPACE, there, int32(block)), x)


@quickly
@given(
    st.sampled_from([DEPTH_TO_SPACE, SPACE_TO_DEPTH]), DIMENSION, DIMENSION, st.integers(1, 2), st.integers(0, 2**32)
)
def test_nchw_is_the_same_permuted(code: OperationCode, n: int, dimension: int, block: int, seed: int) -> None:
    type = tensor("float32", (n, dimension * block, 2 * block, block * block))
    x = stored(type, np.random.default_rng(seed))
    other = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    nchw = run(code, (type.with_dimensions(other.shape), other), int32(block), flag(True))
    assert_same(nchw.transpose(0, 2, 3, 1), run(code, (type, x), int32(block), flag(False)))


@pytest.mark.parametrize(
    ("code", "shape", "block", "message"),
    [
        (DEPTH_TO_SPACE, (1, 1, 1, 6), 2, "input has depth 6, must be a multiple of block_size² = 4"),
        (SPACE_TO_DEPTH, (1, 4, 3, 1), 2, "input is 4 × 3, both must be multiples of block_size = 2"),
        (DEPTH_TO_SPACE, (1, 1, 1, 4), 0, "block_size is 0, must be above 0"),
        (SPACE_TO_DEPTH, (1, 4, 4, 1), -2, "block_size is -2, must be above 0"),
        (SPACE_TO_DEPTH, (4, 4, 1), 2, "input has rank 3, must have rank 4"),
    ],
)
def test_refusals(code: OperationCode, shape: tuple[int, ...], block: int, message: str) -> None:
    refuses_to_compute(message, code, floats(np.zeros(shape)), int32(block))


def test_levels() -> None:
    x = floats(np.zeros((1, 1, 1, 4)))
    assert level(DEPTH_TO_SPACE, x, int32(2)) == 1
    assert level(DEPTH_TO_SPACE, x, int32(2), flag(False)) == 3
