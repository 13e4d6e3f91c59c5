"""The judge: each rule by a value that just passes and one that just does not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nnapi.testing.compare import SINGLE, STEP, compare, judge, tolerance_for
from nnapi.testing.example import Criterion, Example, ExampleGraph, OperationSpec
from tests.rows import each_row
from tests.testing.testing_cases import given, taken, tensor

FP32, FP16, LOOSE = Criterion("fp32"), Criterion("fp16"), Criterion("fp32", 3)


@each_row(
    ("type", "criterion", "expected", "passes", "fails"),
    [
        ("TENSOR_FLOAT32", FP32, 0.0, 0.99e-5, 1.01e-5),
        ("TENSOR_FLOAT32", FP32, 1000.0, 1000.0006, 1000.0007),
        ("TENSOR_FLOAT32", FP32, -1000.0, -1000.0006, -1000.0007),
        ("TENSOR_FLOAT32", FP16, 0.0, 0.0048, 0.0049),
        ("TENSOR_FLOAT32", FP16, 100.0, 100.49, 100.5),
        ("TENSOR_FLOAT16", FP32, 0.0, 0.00487, 0.0049),
        ("TENSOR_INT32", FP32, 7, 8, 9),
        ("INT32", FP32, 7, 6, 5),
        ("TENSOR_QUANT8_ASYMM", FP32, 0, 1, 2),
        ("TENSOR_QUANT8_ASYMM", LOOSE, 0, 3, 4),
        ("TENSOR_QUANT8_ASYMM_SIGNED", FP32, 127, 126, 125),
        ("TENSOR_QUANT8_ASYMM_SIGNED", LOOSE, -128, -125, -124),
        ("TENSOR_QUANT8_SYMM", FP32, 0, -1, -2),
        ("TENSOR_QUANT16_ASYMM", LOOSE, 65535, 65534, 65533),
        ("TENSOR_QUANT16_SYMM", FP32, 0, -1, -2),
        ("TENSOR_BOOL8", FP32, 1, 1, 0),
    ],
)
def test_tolerance_of_each_type(type: str, criterion: Criterion, expected: Any, passes: Any, fails: Any) -> None:
    tolerance = tolerance_for(type, criterion)
    wanted = np.array([expected], np.float64)
    assert compare(np.array([passes], np.float64), wanted, tolerance) is None
    assert compare(np.array([fails], np.float64), wanted, tolerance) is not None


def test_the_float_tolerance_is_that_of_a_float32() -> None:
    assert SINGLE == (9.999999747378752e-06, 5.9604644775390625e-07)


@pytest.mark.parametrize("type", ["TENSOR_INT32", "INT32"])
def test_strict_wants_integers_exact(type: str) -> None:
    assert tolerance_for(type, FP32, strict=True) == (0, 0)
    assert tolerance_for("TENSOR_QUANT8_ASYMM", FP32, strict=True) == STEP


def test_dimensions_come_first() -> None:
    difference = compare(np.zeros((2, 1)), np.zeros((1, 2)), STEP, "output 3 (y)")
    assert difference == "output 3 (y) has dimensions [2, 1], expected [1, 2]"


def test_zero_sized_results_agree_by_their_dimensions() -> None:
    assert compare(np.zeros((0, 4)), np.zeros((0, 4)), SINGLE) is None
    assert compare(np.zeros((0, 3)), np.zeros((0, 4)), SINGLE)


@pytest.mark.parametrize(
    ("actual", "expected", "agrees"),
    [
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.nan, np.nan, False),
        (np.inf, 1.0, False),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (1.0, np.inf, False),
        (-0.0, 0.0, True),
    ],
)
def test_nan_never_agrees_and_infinity_only_with_itself(actual: float, expected: float, agrees: bool) -> None:
    difference = compare(np.array([actual], np.float32), np.array([expected], np.float32), SINGLE)
    assert (difference is None) is agrees


def test_the_first_difference_is_reported_with_both_values() -> None:
    expected = np.zeros((2, 3), np.float32)
    actual = expected.copy()
    actual[1, 0], actual[1, 2] = 0.25, 4
    difference = compare(actual, expected, SINGLE, "output 1 (y)")
    assert difference == (
        "output 1 (y)[1, 0] is 0.25, expected 0 (tolerance 1e-05 + 5.96046e-07 of the expected); "
        "2 of 6 differ, the worst by 4"
    )


def example(type: str, expected: np.ndarray, **changes: Any) -> Example:
    """An example with that expected output; what it computes does not matter."""
    inputs = {0: np.zeros(1, np.float32)}
    operands = (taken(tensor("TENSOR_FLOAT32", 1)), given(tensor(type, *expected.shape, name="y")))
    main = ExampleGraph(operands, (OperationSpec("RELU", (0,), (1,)),), (0,), (1,))
    return Example("example", main, **({"inputs": inputs, "outputs": {1: expected}} | changes))


def test_outputs_are_judged_in_the_order_of_the_model() -> None:
    first = example("TENSOR_INT32", np.array([1], np.int32))
    operands = (*first.main.operands, given(tensor("TENSOR_FLOAT32", 1, name="z")))
    main = ExampleGraph(operands, first.main.operations, (0,), (2, 1))
    both = replace(first, main=main, outputs={1: np.array([1], np.int32), 2: np.array([0.5], np.float32)})
    right = [np.array([0.5], np.float32), np.array([1], np.int32)]
    assert judge(both, right) is None
    difference = judge(both, [np.array([0.5], np.float32), np.array([5], np.int32)])
    assert difference
    assert difference.startswith("output 1 (y)[0] is 5, expected 1 (")
    assert judge(both, right[:1]) == "1 outputs came out of 2"


def test_strict_reaches_the_elements() -> None:
    off_by_one = [np.array([2], np.int32)]
    indices = example("TENSOR_INT32", np.array([1], np.int32))
    assert judge(indices, off_by_one) is None
    assert judge(indices, off_by_one, strict=True)


def test_ignored_outputs_may_be_anything() -> None:
    ignoring = example("TENSOR_FLOAT32", np.zeros(2, np.float32))
    operands = (ignoring.main.operands[0], replace(ignoring.main.operands[1], is_ignored=True))
    ignoring = replace(ignoring, main=replace(ignoring.main, operands=operands))
    assert judge(ignoring, [np.full((7, 7), np.nan)]) is None


def test_bytes_of_booleans_are_compared_as_such() -> None:
    truth = example("TENSOR_BOOL8", np.array([True, False]))
    assert judge(truth, [np.array([1, 0], np.uint8)]) is None
    assert judge(truth, [np.array([1, 1], np.uint8)])


def test_types_without_a_rule_never_agree() -> None:
    difference = judge(example("UINT32", np.array(1, np.uint32)), [np.array(1, np.uint32)])
    assert difference == "output 0 (y): no rule judges outputs of this type"


LOGITS = np.log(np.array([[0.5, 0.25, 0.25]], np.float32))


def drawn(*counts: int) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts).astype(np.int32)[None]


def test_draws_are_judged_by_their_frequencies() -> None:
    draws = example("TENSOR_INT32", drawn(0, 0, 100), inputs={0: LOGITS}, multinomial_tolerance=0.025)
    assert judge(draws, [drawn(52, 23, 25)]) is None
    difference = judge(draws, [drawn(50, 22, 28)])
    assert difference
    assert "frequency of class [1] is 0.22, expected 0.25 (tolerance 0.025)" in difference


@pytest.mark.parametrize("stranger", [-1, 3])
def test_draws_outside_of_the_classes_are_found(stranger: int) -> None:
    draws = example("TENSOR_INT32", drawn(50, 25, 25), inputs={0: LOGITS}, multinomial_tolerance=0.025)
    outside = drawn(50, 25, 25)
    outside[0, 7] = stranger
    assert judge(draws, [outside]) == f"output 0 (y)[0, 7] is class {stranger} of 3"
    assert judge(draws, [drawn(50, 25)])
