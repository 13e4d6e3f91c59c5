"""FULLY_CONNECTED."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.image_cases import (
    NONE,
    RELU,
    activations,
    clamped,
    floats,
    numbers,
    operands,
    random_seeds,
    real_operands,
)
from tests.ops.tensor_cases import assert_stores, level, quickly, refuses_to_add, refuses_to_compute, run, unknown

FULLY = OperationCode.FULLY_CONNECTED
INPUT = floats([[1, 2], [3, 4]])
WEIGHTS = floats([[1, 10], [0.5, 0], [-1, -1]])
BIAS = floats([0, 1, 2])
PLAIN = numbers(NONE)


def test_literal() -> None:
    assert run(FULLY, INPUT, WEIGHTS, BIAS, *PLAIN).tolist() == [[21, 1.5, -1], [43, 2.5, -5]]
    assert run(FULLY, INPUT, WEIGHTS, BIAS, *numbers(RELU)).tolist() == [[21, 1.5, 0], [43, 2.5, 0]]


def test_an_input_of_any_shape_is_cut_into_rows() -> None:
    cube = floats(np.arange(8).reshape(2, 2, 2))
    y = run(FULLY, cube, floats([[1, 1, 1, 1]]), floats([0]), *PLAIN)
    assert y.tolist() == [[6], [22]]


def test_literal_quantized() -> None:
    input = tensor("int8", (1, 2), 0.5, 1), np.array([[3, -3]], np.int8)  # 1, -2
    weights = tensor("int8", (2, 2), 0.25, 0), np.array([[4, -4], [0, 3]], np.int8)  # (1, -1), (0, 0.75)
    bias = tensor("int32", (2,), 0.125), np.array([4, 0], np.int32)  # 0.5, 0
    y = run(FULLY, input, weights, bias, *PLAIN, out=tensor("int8", (), 1.0, 10))
    assert y.tolist() == [[14, 9]]  # 3.5, -1.5: halves of sums go up


@quickly
@given(
    st.data(),
    random_seeds,
    st.sampled_from(["float32", "float16", "quant8", "quant8_signed"]),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_every_number_is_a_sum_of_products(data: Any, random: Any, kind: str, rows: int, units: int) -> None:
    inner = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    width = int(np.prod(inner))
    activation = data.draw(activations)
    x, out = operands(kind, (rows, *inner), (units, width), 0, random)
    y = run(FULLY, *x, *numbers(activation), out=unknown(out), constant=data.draw(st.booleans()))
    input, weights, bias = real_operands(*x)
    flat = input.reshape(-1)
    real = [
        [sum(flat[row * width + i] * weights[unit, i] for i in range(width)) + bias[unit] for unit in range(units)]
        for row in range(rows)
    ]
    assert_stores(out, y, clamped(np.array(real), activation))


def test_refusals_when_added() -> None:
    refuses_to_add("input has rank 1, must have rank 2", FULLY, floats([1, 2]), WEIGHTS, BIAS, *PLAIN)
    refuses_to_add("weights has rank 1", FULLY, INPUT, floats([1, 2]), BIAS, *PLAIN)
    refuses_to_add("bias has rank 2", FULLY, INPUT, WEIGHTS, floats([[1, 2, 3]]), *PLAIN)
    refuses_to_add("input holds 4 elements, not a multiple of the 3", FULLY, INPUT, floats([[1, 2, 3]]), BIAS, *PLAIN)
    refuses_to_add("bias has length 2, weights has 3 rows", FULLY, INPUT, WEIGHTS, floats([1, 2]), *PLAIN)


def test_dimensions_that_are_not_known_are_not_compared_when_added() -> None:
    for width, units, length in ((0, 0, 3), (2, 3, 0), (0, 3, 0)):
        weights = tensor("float32", (units, width)), WEIGHTS[1]
        bias = tensor("float32", (length,)), BIAS[1]
        assert run(FULLY, INPUT, weights, bias, *PLAIN).shape == (2, 3)


def test_refusals_when_computed() -> None:
    def open_(x: Any) -> Any:
        return x[0].with_dimensions(()), x[1]

    refuses_to_compute("not a multiple of 3", FULLY, open_(INPUT), floats([[1, 2, 3]]), floats([1]), *PLAIN)
    refuses_to_compute("input has rank 1, must have rank 2", FULLY, open_(floats([1, 2])), WEIGHTS, BIAS, *PLAIN)
    refuses_to_compute("bias has shape [2], must be [3]", FULLY, INPUT, WEIGHTS, open_(floats([1, 2])), *PLAIN)
    input = tensor("uint8", (1, 1), 0.5, 1), np.array([[3]], np.uint8)
    weights = tensor("uint8", (1, 1), 0.25, 0), np.array([[4]], np.uint8)
    bias = tensor("int32", (1,), 0.25), np.array([4], np.int32)
    refuses_to_compute("must be input scale × weights scale = 0.125", FULLY, input, weights, bias, *PLAIN)


def test_levels() -> None:
    assert level(FULLY, INPUT, WEIGHTS, BIAS, *PLAIN) == 1
    x, _ = operands("quant8", (1, 2), (3, 2), 0, np.random.default_rng(0))
    assert level(FULLY, *x, *PLAIN, out=tensor("uint8", (), 0.25, 0)) == 1
    assert level(FULLY, *x, *PLAIN, out=tensor("uint8", (), 0.125, 0)) == 3
