"""Outputs in numbers and in words."""

import math

import numpy as np
import pytest

import nnapi
from nnapi.codes import OEM_OPERATION, OperandCode, OperationCode
from nnapi.model.operand import OperandType
from nnapi.vision.output_summaries import Rank, class_count, find_producer, rank_classes, summaries
from nnapi.vision.view import percent
from tests.single import scalar, single

INT32, FLOAT32 = OperandCode.INT32, OperandCode.FLOAT32


def floats(*dimensions: int) -> OperandType:
    return nnapi.tensor("float32", dimensions)


def zeros(*dimensions: int) -> tuple[OperandType, np.ndarray]:
    return floats(*dimensions), np.zeros(dimensions, np.float32)


def scores(*dimensions: int) -> nnapi.Model:
    """A model that gives scores of that shape: a sum over one more dimension."""
    axes = nnapi.tensor("int32", (1,)), np.array([0], np.int32)
    return single(
        OperationCode.REDUCE_SUM, [zeros(2, *dimensions), axes, scalar(OperandCode.BOOL, 0)], [floats(*dimensions)]
    )


def probabilities() -> nnapi.Model:
    """A softmax of scores, then quantized and reshaped."""
    model = nnapi.Model()
    codes = nnapi.tensor("uint8", (1, 1, 3), 1 / 256, 0)
    for type in (floats(1, 3), floats(1, 3), codes.with_dimensions((1, 3)), codes):
        model.add_operand(type)
    beta = model.add_operand(OperandType(FLOAT32))
    model.set_operand_value(beta, np.float32(1))
    shape = model.add_operand(nnapi.tensor("int32", (3,)))
    model.set_operand_value(shape, np.array([1, 1, 3], np.int32))
    model.add_operation(OperationCode.SOFTMAX, [0, beta], [1])
    model.add_operation(OperationCode.QUANTIZE, [1], [2])
    model.add_operation(OperationCode.RESHAPE, [2, shape], [3])
    model.identify_inputs_and_outputs([0], [3])
    model.finish()
    return model


@pytest.mark.parametrize(
    ("dimensions", "count"), [((1, 3), 3), ((3,), 3), ((1, 1), None), ((2, 3), None), ((1, 2, 3), None)]
)
def test_classifier(dimensions: tuple[int, ...], count: int | None) -> None:
    assert class_count(scores(*dimensions)) == count


def test_changed_copy_of_the_input_is_no_classifier() -> None:
    assert class_count(single(OperationCode.ABS, [zeros(1, 640)], [floats(1, 640)])) is None


def test_several_outputs_are_no_classifier() -> None:
    model = single(OperationCode.SPLIT, [zeros(1, 6), scalar(INT32, 1), scalar(INT32, 2)], [floats(1, 3)] * 2)
    assert class_count(model) is None


def test_meaning_comes_from_the_operation_behind_changes_of_form() -> None:
    assert find_producer(probabilities()) == OperationCode.SOFTMAX
    assert find_producer(scores(1, 3)) == OperationCode.REDUCE_SUM


def test_an_operation_that_is_not_declared_means_itself() -> None:
    model = nnapi.Model("vendor's")
    x, y = (model.add_operand(nnapi.tensor("float32", (1, 3))) for _ in range(2))
    model.add_operation(OEM_OPERATION, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    assert find_producer(model) == OEM_OPERATION


def test_probabilities_are_dequantized() -> None:
    ranks = rank_classes(probabilities(), np.array([[[64, 128, 32]]], np.uint8), ["a", "b, bee", "c"], 2)
    assert ranks == [Rank(1, "b, bee", 0.5), Rank(0, "a", 0.25)]
    assert [str(rank_classes) for rank_classes in ranks] == ["b (50 %)", "a (25 %)"]


def test_scores_are_shared_by_softmax() -> None:
    output = np.log(np.array([[1, 6, 3]], np.float32))
    first, second, third = rank_classes(scores(1, 3), output, None, 5)
    assert [first.index, second.index, third.index] == [1, 2, 0]
    assert [first.share, second.share, third.share] == pytest.approx([0.6, 0.3, 0.1])
    assert first.score == pytest.approx(math.log(6))
    assert str(first) == "class 1 (score 1.79, 60 % by softmax)"


def test_large_scores_do_not_overflow() -> None:
    first, *_ = rank_classes(scores(1, 3), np.array([[-1e4, 1e4, 0]], np.float32), None, 1)
    assert (first.index, first.share) == (1, 1.0)


def test_log_probabilities() -> None:
    beta, axis = scalar(FLOAT32, 1.0), scalar(INT32, 1)
    model = single(OperationCode.LOG_SOFTMAX, [zeros(1, 3, 1), beta, axis], [floats(1, 3, 1)])
    first, *_ = rank_classes(model, np.log(np.array([0.2, 0.7, 0.1], np.float32)), None, 1)
    assert (first.score, first.share) == (None, pytest.approx(0.7))


def test_equal_classes_keep_their_order() -> None:
    assert [
        rank_classes.index for rank_classes in rank_classes(scores(1, 3), np.array([[2, 5, 5]], np.float32), None, 3)
    ] == [1, 2, 0]


def test_summary() -> None:
    model = scores(2, 2)
    (summary,) = summaries(model, [np.array([[-1, 0], [2, 5]], np.float32)])
    assert (summary.least, summary.greatest, summary.mean, summary.shape) == (-1, 5, 1.5, (2, 2))
    assert str(summary) == "output0 has 2×2 values from -1 to 5, mean 1.5"


def test_summary_of_codes_is_of_real_numbers() -> None:
    (summary,) = summaries(probabilities(), [np.array([[[0, 128, 64]]], np.uint8)])
    assert (summary.least, summary.greatest, summary.mean) == (0, 0.5, 0.25)
    assert summary.name == "output 0"


def test_summary_of_one_value_and_of_none() -> None:
    model = scores(1, 1)
    assert str(summaries(model, [np.array([[0.8414]], np.float32)])[0]) == "output0 is 0.8414"
    (empty,) = summaries(model, [np.zeros((0, 1), np.float32)])
    assert math.isnan(empty.mean)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.871, "87 %"), (1.0, "100 %"), (0.01, "1 %"), (0.0042, "0.4 %"), (2e-5, "<0.1 %"), (0, "0 %")],
)
def test_percent(share: float, words: str) -> None:
    assert percent(share) == words
