"""PACK."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    NUMBERS,
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
    unknown,
)

PACK = OperationCode.PACK
FLOAT32 = tensor("float32")


def test_literal() -> None:
    a, b = floats([1, 2, 3]), floats([4, 5, 6])
    assert run(PACK, int32(0), a, b, out=FLOAT32).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert run(PACK, int32(1), a, b, out=FLOAT32).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert run(PACK, int32(1), a, out=FLOAT32).tolist() == [[1], [2], [3]]


@quickly
@given(st.sampled_from(sorted(NUMBERS)), shapes(), st.integers(1, 4), st.integers(0, 2**32), st.booleans())
def test_each_input_is_a_slice_along_the_new_axis(
    kind: str, shape: tuple[int, ...], count: int, seed: int, constant: bool
) -> None:
    random = np.random.default_rng(seed)
    type = NUMBERS[kind].with_dimensions(shape)
    inputs = [(type, stored(type, random)) for _ in range(count)]
    axis = int(random.integers(0, len(shape) + 1))
    out = run(PACK, int32(axis), *inputs, out=unknown(type), constant=constant)
    assert out.shape == (*shape[:axis], count, *shape[axis:])
    for place, (_, value) in enumerate(inputs):
        assert_same(out.take(place, axis), value)


def test_refusals() -> None:
    a = floats([1, 2])
    outs = [FLOAT32]
    refuses_to_compute("axis is 2, must be in [0, 1]", PACK, int32(2), a, a, outs=outs)
    refuses_to_compute("axis is -1, must not be negative", PACK, int32(-1), a, a, outs=outs)
    refuses_to_compute("inputs 1 has shape [1], must be [2]", PACK, int32(0), a, floats([1]), outs=outs)
    refuses_to_add("inputs 1 has rank 2, must have rank 1", PACK, int32(0), a, floats([[1]]), outs=outs)
    refuses_to_add("out has rank 1, must have rank 2", PACK, int32(0), a, outs=[tensor("float32", (2,))])
    refuses_to_add("inputs 1 is TENSOR_INT32, the first is TENSOR_FLOAT32", PACK, int32(0), a, ints(1), outs=outs)
    x, y = ((tensor("uint8", (1,), 0.5, zero), np.array([0], np.uint8)) for zero in (1, 2))
    message = "inputs 1 is TENSOR_QUANT8_ASYMM[1] (scale 0.5, zero point 2), must have"
    refuses_to_add(message, PACK, int32(0), x, y, outs=[unknown(x[0])])


def test_an_unknown_rank_fits_any() -> None:
    a = tensor("float32"), None
    assert level(PACK, int32(0), a, floats([1, 2]), out=tensor("float32", (0, 0))) == 6
