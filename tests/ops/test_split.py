"""SPLIT."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError
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
    run_all,
    shapes,
    stored,
    unknown,
)

SPLIT = OperationCode.SPLIT
SIX = floats([[1, 2, 3], [4, 5, 6]])
ANY = tensor("float32")


def test_literal() -> None:
    parts = run_all(SPLIT, [SIX, int32(1), int32(3)], [ANY] * 3)
    assert [part.tolist() for part in parts] == [[[1], [4]], [[2], [5]], [[3], [6]]]
    parts = run_all(SPLIT, [SIX, int32(-2), int32(2)], [ANY] * 2)
    assert [part.tolist() for part in parts] == [[[1, 2, 3]], [[4, 5, 6]]]


@quickly
@given(st.sampled_from(sorted(NUMBERS)), shapes(), st.integers(1, 4), st.integers(0, 2**32))
def test_each_slice_is_in_its_part(kind: str, shape: tuple[int, ...], count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    axis = int(random.integers(0, len(shape)))
    dimension = shape[axis]
    type = NUMBERS[kind].with_dimensions((*shape[:axis], dimension * count, *shape[axis + 1 :]))
    x = stored(type, random)
    given_axis = axis - len(shape) * int(random.integers(0, 2))
    parts = run_all(SPLIT, [(type, x), int32(given_axis), int32(count)], [unknown(type)] * count)
    assert [part.shape for part in parts] == [shape] * count
    for place in range(dimension * count):
        assert_same(parts[place // dimension].take(place % dimension, axis), x.take(place, axis))


def test_refusals() -> None:
    refuses_to_compute("axis is 2, must be in [-2, 2)", SPLIT, SIX, int32(2), int32(1))
    message = "axis 1 of input has dimension 3, must be a multiple of 2"
    refuses_to_compute(message, SPLIT, SIX, int32(1), int32(2), outs=[ANY] * 2)
    refuses_to_compute("num_splits is 0, must be above 0", SPLIT, SIX, int32(1), int32(0))
    refuses_to_add("takes 3 inputs, got 2", SPLIT, SIX, int32(1))
    refuses_to_add("out 1 is TENSOR_INT32", SPLIT, SIX, int32(1), int32(3), outs=[ANY, tensor("int32"), ANY])


def test_the_number_of_outputs_is_the_number_of_parts() -> None:
    for outs, what in ((1, "out 1, out 2 are missing"), (2, "out 2 is missing"), (5, "out 2 is the last, 2 too many")):
        message = f"gives 3 outputs, {outs} are listed: {what}"
        refuses_to_compute(message, SPLIT, SIX, int32(1), int32(3), outs=[ANY] * outs, error=BadDataError)


def test_level() -> None:
    assert level(SPLIT, ints(1), int32(0), int32(1)) == 3
