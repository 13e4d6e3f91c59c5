"""PAD, PAD_V2, MIRROR_PAD."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    NUMBERS,
    REALS,
    assert_moved,
    assert_same,
    floats,
    given_array,
    int32,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)
from tests.single import scalar

PAD, PAD_V2, MIRROR_PAD = OperationCode.PAD, OperationCode.PAD_V2, OperationCode.MIRROR_PAD
REFLECT, SYMMETRIC = int32(0), int32(1)


def pad_value(array: Any, value: Any) -> tuple[Any, ...]:
    """The scalar that PAD_V2 wants beside an input."""
    codes = {"float32": OperandCode.FLOAT32, "float16": OperandCode.FLOAT16}
    return scalar(codes.get(array.dtype.name, OperandCode.INT32), value)


def test_pad_literal() -> None:
    assert run(PAD, floats([[1, 2]]), ints([1, 0], [0, 2])).tolist() == [[0, 0, 0, 0], [1, 2, 0, 0]]
    x = tensor("int8", (2,), 0.5, -7), np.array([1, 2], np.int8)
    assert run(PAD, x, ints([2, 1])).tolist() == [-7, -7, 1, 2, -7]


def test_pad_v2_literal() -> None:
    x = floats([[1, 2]])
    assert run(PAD_V2, x, ints([1, 0], [0, 2]), pad_value(x[1], 9.5)).tolist() == [[9.5] * 4, [1, 2, 9.5, 9.5]]
    codes = tensor("uint8", (1,), 0.5, 7), np.array([1], np.uint8)
    assert run(PAD_V2, codes, ints([1, 1]), int32(200)).tolist() == [200, 1, 200]


def test_mirror_pad_literal() -> None:
    x = floats([1, 2, 3])
    assert run(MIRROR_PAD, x, ints([1, 2]), REFLECT).tolist() == [2, 1, 2, 3, 2, 1]
    assert run(MIRROR_PAD, x, ints([1, 2]), SYMMETRIC).tolist() == [1, 1, 2, 3, 3, 2]
    assert run(MIRROR_PAD, x, ints([3, 3]), SYMMETRIC).tolist() == [3, 2, 1, 1, 2, 3, 3, 2, 1]


def paddings_for(data: Any, value: Any, most: Any = 2) -> tuple[Any, ...]:
    limits = [most] * value.ndim if isinstance(most, int) else most
    return ints(*([data.draw(st.integers(0, limit)) for _ in range(2)] for limit in limits))


@quickly
@given(tensors(REALS, shapes(dimension=3)), st.data(), st.booleans())
def test_the_input_is_surrounded(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    type, value = x
    paddings = paddings_for(data, value)
    fill = value.dtype.type(data.draw(st.integers(-5, 5) if value.dtype != np.uint8 else st.integers(0, 255)))
    for code, surroundings, more in ((PAD, type.zero_point, []), (PAD_V2, fill, [pad_value(value, fill)])):
        out = run(code, x, paddings, *more, constant=constant)
        assert out.shape == tuple(n + int(sum(around)) for n, around in zip(value.shape, paddings[1], strict=True))
        for index in np.ndindex(*out.shape):
            at = tuple(i - before for i, (before, _) in zip(index, paddings[1], strict=True))
            inside = all(0 <= i < n for i, n in zip(at, value.shape, strict=True))
            assert out[index] == (value[at] if inside else surroundings)


@quickly
@given(tensors(NUMBERS, shapes(dimension=3)), st.data(), st.sampled_from([0, 1]), st.booleans())
def test_the_surroundings_are_reflections(x: tuple[Any, ...], data: Any, mode: int, constant: bool) -> None:
    value = x[1]
    paddings = paddings_for(data, value, [n - 1 + mode for n in value.shape])

    def bounced(i: Any, before: Any, dimension: Any) -> Any:
        i -= before
        if i < 0:
            i = -i - mode
        return i if i < dimension else 2 * dimension - 2 + mode - i

    def source(*index: Any) -> Any:
        return tuple(bounced(i, p[0], n) for i, p, n in zip(index, paddings[1], value.shape, strict=True))

    out = run(MIRROR_PAD, x, paddings, int32(mode), constant=constant)
    assert_moved(out, value, tuple(n + sum(p) for n, p in zip(value.shape, paddings[1].tolist(), strict=True)), source)


def test_only_the_low_byte_of_a_code_counts() -> None:
    x = given_array(np.array([1], np.uint8))
    assert_same(run(PAD_V2, x, ints([1, 0]), int32(256 + 3)), np.array([3, 1], np.uint8))
    assert_same(run(PAD_V2, given_array(np.array([1], np.int8)), ints([1, 0]), int32(255)), np.array([-1, 1], np.int8))


@pytest.mark.parametrize(
    ("code", "more"), [(PAD, []), (PAD_V2, [scalar(OperandCode.FLOAT32, 0)]), (MIRROR_PAD, [REFLECT])]
)
def test_refusals(code: OperationCode, more: list[Any]) -> None:
    x = floats([[1, 2]])
    refuses_to_compute("paddings [[0, 0], [-1, 0]] must not be negative", code, x, ints([0, 0], [-1, 0]), *more)
    if code != MIRROR_PAD:
        refuses_to_compute("paddings has shape [1, 2], must be [2, 2]", code, x, ints([0, 0]), *more)
        refuses_to_compute("paddings has rank 1, must have rank 2", code, x, ints(0, 0), *more)
        five = floats([[[[[1]]]]])
        refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", code, five, ints([0, 0]), *more)


def test_dimensions_are_counted_exactly() -> None:
    most = 2**31 - 1
    message = f"gives TENSOR_FLOAT32[{2 * most + 1}], which takes {8 * most + 4} bytes"
    refuses_to_compute(message, PAD, floats([1]), ints([most, most]))


def test_mirror_pad_refuses() -> None:
    x = floats([[1, 2]])
    message = "paddings [[0, 0], [2, 0]] must not be above [0, 1] in mode 0 (REFLECT)"
    refuses_to_compute(message, MIRROR_PAD, x, ints([0, 0], [2, 0]), REFLECT)
    message = "paddings [[0, 2], [0, 0]] must not be above [1, 2] in mode 1 (SYMMETRIC)"
    refuses_to_compute(message, MIRROR_PAD, x, ints([0, 2], [0, 0]), SYMMETRIC)
    refuses_to_compute("mode is 2, must be one of 0, 1", MIRROR_PAD, x, ints([0, 0], [0, 0]), int32(2))
    refuses_to_add("paddings has rank 1, must have rank 2", MIRROR_PAD, x, ints(0, 0), REFLECT)
    refuses_to_add("paddings has shape [1, 2], must be [rank of input, 2]", MIRROR_PAD, x, ints([0, 0]), REFLECT)
    out = [tensor("float32", (2,))]
    refuses_to_add("out has rank 1, must have that of input, 2", MIRROR_PAD, x, ints([0, 0], [0, 0]), REFLECT, outs=out)
    codes = tensor("uint8", (1,), 0.5, 7), np.array([1], np.uint8)
    out = [tensor("uint8", (1,), 0.5, 8)]
    refuses_to_add("must have the scale and zero point of input", MIRROR_PAD, codes, ints([0, 0]), REFLECT, outs=out)


def test_levels() -> None:
    x = tensor("uint8", (1,), 0.5, 0), None
    shifted = tensor("uint8", (1,), 0.5, 1), None
    assert level(PAD, x, ints([0, 0])) == 2
    assert level(PAD, shifted, ints([0, 0])) == 3
    assert level(PAD_V2, x, ints([0, 0]), int32(0)) == 3
    assert level(MIRROR_PAD, x, ints([0, 0]), REFLECT) == 7
