"""CONCATENATION."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.call import normalize
from nnapi.model.operand import OperandType, tensor
from nnapi.model.operation import REGISTRY
from nnapi.ops.evaluate import evaluate
from tests.ops.pair_cases import type_of
from tests.ops.tensor_cases import (
    REALS,
    assert_same,
    assert_stores,
    floats,
    int32,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    stored,
    unknown,
)

CONCATENATION = OperationCode.CONCATENATION


def test_literal() -> None:
    a, b = floats([[1, 2], [3, 4]]), floats([[5, 6]])
    assert run(CONCATENATION, a, b, int32(0)).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert run(CONCATENATION, a, a, a, int32(1)).tolist() == [[1, 2, 1, 2, 1, 2], [3, 4, 3, 4, 3, 4]]
    assert run(CONCATENATION, a, int32(1)).tolist() == [[1, 2], [3, 4]]


def test_literal_codes_of_different_scales() -> None:
    a = tensor("uint8", (2,), 0.5, 10), np.array([10, 255], np.uint8)  # 0, 122.5
    b = tensor("uint8", (4,), 1.0, 100), np.array([101, 100, 99, 0], np.uint8)  # 1, 0, -1, -100
    out = tensor("uint8", (6,), 2.0, 50)
    assert run(CONCATENATION, a, b, int32(0), out=out).tolist() == [50, 111, 51, 50, 49, 0]
    same = run(CONCATENATION, a, b, int32(0), out=tensor("uint8", (6,), 0.5, 10))
    assert same.tolist() == [10, 255, 12, 10, 8, 0]


@st.composite
def parts(draw: st.DrawFn) -> Any:
    """Inputs that agree but for one axis, of different scales where quantized, and that axis."""
    shape = draw(shapes(dimension=3))
    axis = draw(st.integers(0, len(shape) - 1))
    kind = REALS[draw(st.sampled_from(sorted(REALS)))]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    inputs = []
    for dimension in draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)):
        type = type_of(
            kind, (*shape[:axis], dimension, *shape[axis + 1 :]), kind.scale * draw(st.sampled_from([1, 1, 0.3]))
        )
        inputs.append((type, stored(type, random)))
    return kind, inputs, axis


@quickly
@given(parts(), st.booleans())
def test_every_slice_is_in_its_place(case: tuple[Any, ...], constant: bool) -> None:
    kind, inputs, axis = case
    out = run(CONCATENATION, *inputs, int32(axis), out=unknown(kind), constant=constant)
    at = 0
    for type, value in inputs:
        for place in range(value.shape[axis]):
            slice_ = out.take(at, axis)
            assert_stores(kind, slice_, reals(type, value).take(place, axis))
            if type.scale == kind.scale:
                assert_same(slice_, value.take(place, axis))
            at += 1
    assert at == out.shape[axis]


def test_an_input_without_elements_adds_nothing() -> None:
    types = [tensor("float32", (0, 2)), tensor("float32", (1, 2))]
    arrays = {0: np.zeros((0, 2), np.float32), 1: np.array([[1, 2]], np.float32), 2: np.int32(0)}
    operation, out = REGISTRY[CONCATENATION], tensor("float32", (1, 2))
    operands = [*types, OperandType(int32(0)[0].code)]
    match = operation.match([unknown(types[0]), types[1], operands[2]], [out])
    call = normalize(operation, match, (0, 1, 2), (3,), (out,), operands.__getitem__, arrays.get)
    assert evaluate(call, arrays)[0].tolist() == [[1, 2]]  # type: ignore[arg-type]


def test_refusals() -> None:
    a, b = floats([[1, 2], [3, 4]]), floats([[5, 6]])
    refuses_to_compute("inputs 1 has shape [1, 2], must be [2, 2] but for axis 1", CONCATENATION, a, b, int32(1))
    refuses_to_compute(
        "inputs 1 has shape [1, 1], must be [2, 2] but for axis 0", CONCATENATION, a, floats([[5]]), int32(0)
    )
    refuses_to_compute("inputs 1 has shape [1], must be [2, 2]", CONCATENATION, a, floats([1]), int32(1))
    refuses_to_compute("axis is 2, must be in [0, 2)", CONCATENATION, a, a, int32(2))
    refuses_to_compute("axis is -1, must not be negative", CONCATENATION, a, a, int32(-1))
    refuses_to_add("takes at least 2 inputs, got 1", CONCATENATION, int32(0), outs=[tensor("float32", (1,))])
    half = tensor("float16", (1, 2)), np.array([[5, 6]], np.float16)
    refuses_to_add("inputs 1 is TENSOR_FLOAT16, the first is TENSOR_FLOAT32", CONCATENATION, a, half, int32(0))
    five = floats([[[[[1]]]]])
    refuses_to_add("inputs 1 has rank 5, must have rank 1 or 2 or 3 or 4", CONCATENATION, a, five, int32(0))


def test_levels() -> None:
    a, b = tensor("uint8", (2,), 0.5, 10), tensor("uint8", (2,), 0.5, 11)
    assert level(CONCATENATION, (a, None), (a, None), int32(0), out=a) == 1
    assert level(CONCATENATION, (a, None), (b, None), int32(0), out=a) == 3
    assert level(CONCATENATION, (a, None), (a, None), int32(0), out=b) == 3
    assert level(CONCATENATION, floats([1]), int32(0)) == 1
