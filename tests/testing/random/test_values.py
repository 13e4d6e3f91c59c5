"""Values of random calls."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import FuseCode, OperandCode
from nnapi.model.operand import check_type
from nnapi.model.parameter import Activation, Scalar, Tensor, Values, one_of, positive
from nnapi.testing.example import OperandSpec
from nnapi.testing.random.values import (
    FEW,
    draw_ranges,
    random_data,
    random_dimensions,
    random_scalar,
    random_values,
)

SEEDS = range(40)


def rngs() -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in SEEDS]


def test_tastes_keep_dimensions_small() -> None:
    tastes = [draw_ranges(rng) for rng in rngs()]
    assert all(1 <= dimension <= 24 for ranges in tastes for dimension in ranges.dimensions)
    assert {ranges.rank for ranges in tastes} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    "code",
    [
        OperandCode.TENSOR_FLOAT32,
        OperandCode.TENSOR_QUANT8_ASYMM,
        OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
        OperandCode.TENSOR_QUANT8_SYMM,
        OperandCode.TENSOR_QUANT16_SYMM,
        OperandCode.TENSOR_QUANT16_ASYMM,
        OperandCode.TENSOR_BOOL8,
    ],
)
def test_quantization_and_data_are_legal(code: OperandCode) -> None:
    for rng in rngs():
        ranges = draw_ranges(rng)
        operand = OperandSpec(code.name, (2, 3), **ranges.quantization(code, rng))
        check_type(operand.operand_type)
        data = random_data(operand, ranges, rng)
        assert data.shape == (2, 3)
        assert data.dtype == (np.bool_ if code == OperandCode.TENSOR_BOOL8 else operand.operand_type.dtype)


@pytest.mark.parametrize(
    ("parameter", "code", "legal"),
    [
        (Scalar("x", check=positive), OperandCode.INT32, lambda x: x > 0),
        (Scalar("x", check=positive), OperandCode.FLOAT16, lambda x: x > 0),
        (Scalar("x", check=one_of(3, 6)), OperandCode.INT32, lambda x: x in (3, 6)),
        (Scalar("x"), OperandCode.UINT32, lambda x: x >= 0),
        (Activation(), OperandCode.INT32, lambda x: x in tuple(FuseCode)),
        (Scalar("x"), OperandCode.BOOL, lambda x: x in (False, True)),
    ],
)
def test_scalars_satisfy_their_checks(parameter: Any, code: OperandCode, legal: Any) -> None:
    drawn = [random_scalar(parameter, code, rng) for rng in rngs()]
    assert all(value.shape == () and legal(value.item()) for value in drawn)
    assert len({value.item() for value in drawn}) > 1


def test_values_are_numbers_only_where_numbers_decide() -> None:
    rng = np.random.default_rng(0)
    first = OperandSpec("TENSOR_FLOAT32", (5, 6))
    assert random_values(Tensor("x"), first, rng) is None
    lists = [random_values(Values("x"), first, rng) for _ in SEEDS]
    assert {values.dtype for values in lists} == {np.dtype(np.int32)}
    assert {values.ndim for values in lists} == {1}
    paddings = [random_values(Values("x", rank=2), first, rng) for _ in SEEDS]
    assert {values.shape for values in paddings} == {(2, 2)}


def test_boxes_do_not_end_before_they_begin() -> None:
    for rng in rngs():
        ranges = draw_ranges(rng)
        assert random_dimensions("rois", 2, ranges, rng)[1] == 4
        boxes = random_data(OperandSpec("TENSOR_FLOAT32", (6, 8), name="boxes"), ranges, rng).reshape(-1, 4)
        assert (boxes[:, :2] <= boxes[:, 2:]).all()


def test_some_tensors_have_few_values() -> None:
    """Without ties, the order of equal elements is not tested."""
    operand = OperandSpec("TENSOR_FLOAT32", (40,))
    rng = np.random.default_rng(0)
    counts = [len(np.unique(random_data(operand, draw_ranges(rng), rng))) for _ in range(300)]
    assert sum(1 < count <= FEW for count in counts) > 10
