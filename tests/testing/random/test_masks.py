"""Rows of infinities: what draws them, and what is judged of them."""

import numpy as np

from nnapi.testing.example import Example, Graph, OperationSpec
from nnapi.testing.random.judging import Outcome, judge
from nnapi.testing.random.masks import with_masked_rows
from tests.testing.testing_cases import F32, REFERENCE, changed, constant, given, relu, taken, tensor


def largest(x: np.ndarray) -> Example:
    """REDUCE_MAX along the last axis."""
    operands = (
        taken(tensor(F32, *x.shape)),
        constant("TENSOR_INT32", np.array([-1], np.int32)),
        constant("BOOL", np.array(False)),
        given(tensor(F32, *x.shape[:-1])),
    )
    return Example("largest", Graph(operands, (OperationSpec("REDUCE_MAX", (0, 1, 2), (3,)),), (0,), (3,)), {0: x}, {})


def test_rows_columns_and_blocks_are_masked() -> None:
    x = np.ones((3, 4), np.float32)
    drawn = [with_masked_rows(largest(x), np.random.default_rng(seed)).inputs[0] for seed in range(40)]
    assert all(array is not None and array.dtype == np.float32 and array.shape == x.shape for array in drawn)
    masks = [np.isinf(array) for array in drawn if array is not None]
    rows = [mask for mask in masks if (mask.all(1) | ~mask.any(1)).all() and mask.any() and not mask.all()]
    columns = [mask for mask in masks if (mask.all(0) | ~mask.any(0)).all() and mask.any() and not mask.all()]
    assert rows
    assert columns


def test_quantized_values_are_left_alone() -> None:
    example = relu(inputs={0: np.array([0, 128, 200], np.uint8)})
    assert with_masked_rows(example, np.random.default_rng(0)).inputs[0] is example.inputs[0]


def test_the_maximum_of_a_masked_row_is_judged() -> None:
    example = largest(np.array([[-np.inf, -np.inf], [1, 2]], np.float32))
    assert judge(example, REFERENCE).outcome == Outcome.AGREED
    lowest = changed(lambda y: np.maximum(y, np.finfo(np.float32).min))
    judgement = judge(example, lowest)
    assert judgement.outcome == Outcome.FAILED
    assert "is -3.40282347e+38, expected -inf" in judgement.reason


def test_what_follows_a_nan_is_not() -> None:
    example = largest(np.array([[np.nan, -np.inf], [1, 2]], np.float32))
    assert judge(example, changed(lambda y: np.nan_to_num(y))).outcome == Outcome.AGREED
