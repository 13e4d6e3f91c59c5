"""MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from tests.ops.tensor_cases import (
    BOOL8,
    FLOATS,
    QUANTIZED,
    REALS,
    assert_same,
    assert_stores,
    flag,
    floats,
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


def truth(values: list[Any]) -> tuple[Any, ...]:
    return tensor("bool8", np.shape(values)), np.asarray(values, np.uint8)


SIX = floats([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("code", "rows", "columns", "both"),
    [
        (Op.MEAN, [2, 5], [2.5, 3.5, 4.5], 3.5),
        (Op.REDUCE_MAX, [3, 6], [4, 5, 6], 6),
        (Op.REDUCE_MIN, [1, 4], [1, 2, 3], 1),
        (Op.REDUCE_PROD, [6, 120], [4, 10, 18], 720),
        (Op.REDUCE_SUM, [6, 15], [5, 7, 9], 21),
    ],
)
def test_literal(code: Any, rows: list[int], columns: list[float], both: float) -> None:
    keep, drop = (int32(1), int32(0)) if code == Op.MEAN else (flag(True), flag(False))
    assert run(code, SIX, ints(1), drop).tolist() == rows
    assert run(code, SIX, ints(-2, 0, 0), drop).tolist() == columns
    assert run(code, SIX, ints(0, 1), drop).tolist() == [both]
    assert run(code, SIX, ints(0, -1), keep).tolist() == [[both]]
    assert run(code, SIX, ints(0), keep).tolist() == [columns]


def test_literal_truth() -> None:
    x = truth([[1, 0], [255, 2]])
    assert run(Op.REDUCE_ALL, x, ints(1), flag(False)).tolist() == [0, 1]
    assert run(Op.REDUCE_ANY, x, ints(0), flag(True)).tolist() == [[1, 1]]
    assert run(Op.REDUCE_ANY, truth([0, 0]), ints(0), flag(False)).tolist() == [0]


def test_mean_keeps_dimensions_only_for_a_number_above_0() -> None:
    assert [run(Op.MEAN, SIX, ints(0), int32(keep)).ndim for keep in (-1, 0, 1, 2)] == [1, 1, 2, 2]


def test_mean_of_codes_is_the_code_below() -> None:
    x = tensor("uint8", (2, 2), 0.5, 100), np.array([[10, 11], [7, 7]], np.uint8)
    assert run(Op.MEAN, x, ints(1), int32(0)).tolist() == [10, 7]
    x = tensor("int8", (2, 2), 0.5, 100), np.array([[-117, -118], [-1, 0]], np.int8)
    assert run(Op.MEAN, x, ints(1), int32(0)).tolist() == [-118, -1]


def test_mean_of_many_codes_is_exact() -> None:
    x = tensor("uint8", (300, 300), 0.5, 0), np.full((300, 300), 255, np.uint8)
    assert run(Op.MEAN, x, ints(0, 1), int32(0)).tolist() == [255]


MEANING = {
    Op.MEAN: lambda numbers: sum(numbers) / len(numbers),
    Op.REDUCE_ALL: lambda numbers: int(all(numbers)),
    Op.REDUCE_ANY: lambda numbers: int(any(numbers)),
    Op.REDUCE_MAX: max,
    Op.REDUCE_MIN: min,
    Op.REDUCE_PROD: math.prod,
    Op.REDUCE_SUM: sum,
}
KINDS = {
    Op.MEAN: REALS,
    Op.REDUCE_ALL: BOOL8,
    Op.REDUCE_ANY: BOOL8,
    Op.REDUCE_MAX: REALS,
    Op.REDUCE_MIN: REALS,
    Op.REDUCE_PROD: FLOATS,
    Op.REDUCE_SUM: FLOATS,
}


def reduced(x: Any, axes: Any, keep: bool, meaning: Any) -> Any:
    """The definition: the numbers that differ only along the axes, together."""
    together = defaultdict(list)
    for index in np.ndindex(*x.shape):
        together[tuple(0 if axis in axes else i for axis, i in enumerate(index))].append(x[index].item())
    shape = tuple(1 if axis in axes else dimension for axis, dimension in enumerate(x.shape))
    kept = shape if keep else tuple(dimension for axis, dimension in enumerate(x.shape) if axis not in axes) or (1,)
    return np.reshape([meaning(together[index]) for index in np.ndindex(*shape)], kept)


@quickly
@given(st.sampled_from(sorted(MEANING)), st.data(), st.booleans())
def test_numbers_along_the_axes(code: Any, data: Any, constant: bool) -> None:
    type, x = data.draw(tensors(KINDS[code], shapes(dimension=3)))
    if code == Op.REDUCE_PROD:
        x = np.clip(x, -1.25, 1.25)
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=5))
    keep = data.draw(st.booleans())
    given_keep = int32(data.draw(st.sampled_from([1, 7] if keep else [0, -1]))) if code == Op.MEAN else flag(keep)
    out = run(code, (type, x), ints(*axes), given_keep, constant=constant)
    expected = reduced(x, {axis % x.ndim for axis in axes}, keep, MEANING[code])
    if type.is_quantized:
        assert_same(out, np.floor(expected).astype(x.dtype))
    else:
        assert_stores(type, out, expected)


@pytest.mark.parametrize("code", sorted(MEANING))
def test_refusals(code: Any) -> None:
    type = next(iter(KINDS[code].values()))
    keep, failure = (int32(0), BadDataError) if code == Op.MEAN else (flag(False), None)
    x = type.with_dimensions((2, 2)), np.ones((2, 2), type.dtype)
    refuses_to_compute("axes is 2, must be in [-2, 2)", code, x, ints(0, 2), keep)
    refuses_to_compute("axes is -3, must be in [-2, 2)", code, x, ints(-3), keep)
    omitted = tensor("int32", (1,)), None
    more = {"error": failure} if failure else {}
    refuses_to_compute("axes is omitted, but needed", code, x, omitted, keep, **more)  # type: ignore[arg-type]
    five = type.with_dimensions((1,) * 5), np.ones((1,) * 5, type.dtype)
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", code, five, ints(0), keep)
    refuses_to_add("keep_dims is", code, x, ints(0), flag(False) if code == Op.MEAN else int32(0))


def test_levels() -> None:
    assert level(Op.MEAN, SIX, ints(0), int32(0)) == 2
    assert level(Op.MEAN, (QUANTIZED["quant8_signed"], None), ints(0), int32(0)) == 4
    assert level(Op.REDUCE_SUM, SIX, ints(0), flag(True)) == 3


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Op.REDUCE_MAX, -np.inf),
        (Op.REDUCE_MIN, np.inf),
        (Op.REDUCE_SUM, 0),
        (Op.REDUCE_PROD, 1),
        (Op.MEAN, np.nan),
    ],
)
def test_no_elements(code: Op, expected: float) -> None:
    """NumPy warns of the mean of nothing; the kernel does not."""
    reduce = REGISTRY[code].kernel_for(OperandCode.TENSOR_FLOAT32).function
    found = reduce(np.zeros((2, 0), np.float32), axes=np.array([1]), keep_dims=False)
    np.testing.assert_array_equal(found, np.full(2, expected, np.float32))


def test_no_quantized_elements() -> None:
    for code, limit in ((Op.REDUCE_MAX, -128), (Op.REDUCE_MIN, 127)):
        reduce = REGISTRY[code].kernel_for(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED).function
        assert reduce(np.zeros((0, 1), np.int8), axes=np.array([0]), keep_dims=True).tolist() == [[limit]]
