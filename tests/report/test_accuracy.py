"""Metrics against values that were worked out by hand."""

import numpy as np
import pytest

from nnapi import OperandCode, OperandType, tensor
from nnapi.report.accuracy import Boxes, classification, detection, is_in_top, measure_agreement, overlap, squared_error

QUANT = OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (4,), 0.5, 3)


def boxes(*rows: tuple[float, ...]) -> Boxes:
    """Each row: class, score, then ymin, xmin, ymax, xmax."""
    table = np.array(rows, np.float64).reshape(-1, 6)
    return Boxes(table[:, 2:], table[:, 0].astype(int), table[:, 1])


def test_equal_outputs_agree() -> None:
    found = measure_agreement([tensor("float32", (2,))], [np.array([1.0, np.nan])], [np.array([1.0, np.nan])])
    assert found is not None
    assert (found.largest, found.differing, found.unit, str(found)) == (0, 0, "floats", "equal")


def test_codes_that_differ() -> None:
    found = measure_agreement([QUANT], [np.array([0, 10, 20, 200], np.uint8)], [np.array([0, 13, 20, 199], np.uint8)])
    assert found is not None
    assert (found.largest, found.mean, found.differing, found.relative) == (3, 1.0, 0.5, 3 / 200)
    assert str(found) == "≤ 3 steps"


def test_numbers_are_relative_to_the_largest() -> None:
    found = measure_agreement([tensor("float32", (2,))], [np.array([8.0, -10.0])], [np.array([8.0, -9.5])])
    assert str(found) == "≤ 0.05 rel."


def test_nothing_compared_is_nothing_found() -> None:
    assert measure_agreement([QUANT], [np.zeros(0)], [np.zeros(0)]) is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([np.zeros(3)], "output 0 has shape [3], the reference's [2]"),
        ([np.array([0, np.nan])], "value 1 of an output is nan, the reference's 1.0"),
        ([], "there are 0 outputs, the reference has 1"),
    ],
)
def test_what_cannot_be_compared(found: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=".") as error:
        measure_agreement([tensor("float32", (2,))], [np.array([0.0, 1.0])], found)
    assert str(error.value) == message


def test_top() -> None:
    scores = np.array([[0.1, 0.5, 0.2, 0.2]])
    assert [is_in_top(scores, label, 2) for label in range(4)] == [False, True, True, False]


def test_unsigned_scores_are_ranked() -> None:
    assert is_in_top(np.array([0, 255, 3], np.uint8), 1, 1)


def test_classification() -> None:
    scores = [np.eye(10)[3], np.arange(10.0), np.arange(10.0)]
    assert classification(scores, [3, 5, 4]) == {"top-1": pytest.approx(1 / 3), "top-5": pytest.approx(2 / 3)}


def test_squared_error() -> None:
    found = squared_error([[np.array([1.0, 2.0])], [np.array([3.0])]], [[np.array([1.0, 4.0])], [np.array([2.0])]])
    assert found == {"mean squared error": pytest.approx(5 / 3)}


def test_overlap() -> None:
    found = overlap(np.array([[0, 0, 2, 2]]) * 1.0, np.array([[1, 1, 3, 3], [0, 0, 2, 2], [5, 5, 6, 6]]) * 1.0)
    assert found.tolist() == [[pytest.approx(1 / 7), 1.0, 0.0]]


def test_perfect_detection() -> None:
    given = [boxes((1, 1, 0, 0, 0.5, 0.5), (2, 1, 0, 0, 1, 1)), boxes()]
    assert detection(given, given) == {"mAP@[.5:.95]": 1.0, "mAP@.5": 1.0}


def test_a_box_that_is_half_right_counts_at_low_overlaps_only() -> None:
    given = [boxes((1, 1, 0, 0, 1, 1))]
    found = detection([boxes((1, 0.9, 0, 0, 1, 0.72))], given)
    assert found == {"mAP@[.5:.95]": pytest.approx(0.5), "mAP@.5": 1.0}  # 0.72 passes 0.5, 0.55, 0.6, 0.65 and 0.7


def test_a_wrong_box_before_the_right_one_halves_precision() -> None:
    given = [boxes((1, 1, 0, 0, 1, 1))]
    found = detection([boxes((1, 0.9, 0, 0, 0.1, 0.1), (1, 0.8, 0, 0, 1, 1))], given)
    assert found["mAP@.5"] == pytest.approx(0.5)


def test_a_box_found_twice_counts_once() -> None:
    given = [boxes((1, 1, 0, 0, 1, 1), (1, 1, 0, 0, 0.1, 0.1))]
    found = detection([boxes((1, 0.9, 0, 0, 1, 1), (1, 0.8, 0, 0, 1, 1))], given)
    assert found["mAP@.5"] == pytest.approx(51 / 101)  # recalls 0 to 0.5 at precision 1, none beyond


def test_nothing_found() -> None:
    assert detection([boxes()], [boxes((1, 1, 0, 0, 1, 1))])["mAP@.5"] == 0
