"""A builder's refusal is one message that names the operation and the operand."""

from typing import Any

import numpy as np
import pytest

from nnapi import NnapiError, tensor
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.builder import Builder
from tests.rows import each_row

IMAGE = tensor("float32", (1, 5, 5, 2))
FILTER, BIAS = np.ones((3, 2, 2, 2), np.float32), np.zeros(3, np.float32)


@pytest.fixture
def b() -> Builder:
    return Builder()


@each_row(
    ("call", "message"),
    [
        (lambda b, x: b.softmax(x), "SOFTMAX (#0): beta is missing"),
        (lambda b, x: b.softmax(x, "one"), "SOFTMAX (#0): beta is 'one', must be a number"),
        (lambda b, x: b.softmax(x, True), "SOFTMAX (#0): beta is True, must be a number of type FLOAT32"),
        (lambda b, x: b.softmax(x, 1.0, 0.5), "SOFTMAX (#0): axis is 0.5, must be a number of type INT32"),
        (lambda b, x: b.softmax(x, 1.0, 1 << 40), "SOFTMAX (#0): axis is 1099511627776, which INT32 cannot hold"),
        (lambda b, x: b.softmax(None, 1.0), "SOFTMAX (#0): input is None, but needed"),
        (lambda b, x: b.softmax(x, gamma=1.0), "SOFTMAX (#0): has no operand gamma; it has input, beta, axis"),
        (lambda b, x: b.softmax(x, 1.0, 1, 1), "SOFTMAX (#0): takes 3 operands, got 4"),
        (lambda b, x: b.softmax(x, 0.0), "SOFTMAX (#0): beta is 0.0, must be above 0"),
        (lambda b, x: b.add(x, [1, [2]]), "ADD (#0): rhs is not an array"),
        (lambda b, x: b.add(x, np.zeros(2, np.uint8)), "ADD (#0): rhs is an array of uint8: say what it means"),
        (lambda b, x: b.add(x, np.zeros(2, np.int32)), "ADD (#0): rhs is TENSOR_INT32, must be TENSOR_FLOAT32"),
        (lambda b, x: b.add(x, "words"), "ADD (#0): rhs is an array of <U5"),
        (
            lambda b, x: b.add(x, 1.0, "relu7"),
            "ADD (#0): activation is 'relu7', must be none or relu or relu1 or relu6",
        ),
        (
            lambda b, x: b.add(x, [1.0, 2.0, 3.0]),
            "ADD (#0): lhs of shape [1, 5, 5, 2] and rhs of shape [3] do not broadcast",
        ),
        (lambda b, x: b.reshape(x, [1 << 40]), "RESHAPE (#0): shape holds numbers that TENSOR_INT32 cannot"),
        (lambda b, x: b.reshape(x, [2.5]), "RESHAPE (#0): shape is TENSOR_FLOAT32, must be TENSOR_INT32"),
        (lambda b, x: b.relu(b.relu(x), out=3), "RELU (#1): out is 3, must be a type, as nnapi.tensor gives"),
        (lambda b, x: b.relu(x, out=["float32", "float32"]), "RELU (#0): has 1 output, got 2"),
        (
            lambda b, x: b.conv_2d(x, FILTER, BIAS, "whole", 1, 1),
            "CONV_2D (#0): padding_scheme is 'whole', must be same",
        ),
        (lambda b, x: b.conv_2d(x, FILTER), "CONV_2D (#0): bias is missing"),
        (lambda b, x: b.concatenation(x, axis=x), "CONCATENATION (#0): axis is TENSOR_FLOAT32, must be INT32"),
        (lambda b, x: b.concatenation([], 1), "CONCATENATION (#0): inputs must be at least 1, got 0"),
        (lambda b, x: b.concatenation(inputs=x, axis=1), "CONCATENATION (#0): inputs must be a list of operands"),
        (lambda b, x: b.dequantize(x), "DEQUANTIZE (#0): input is TENSOR_FLOAT32, must be TENSOR_QUANT8_ASYMM"),
        (
            lambda b, x: b.relu(Builder().input(IMAGE)),
            "RELU (#0): <operand (0): TENSOR_FLOAT32[1, 5, 5, 2]> belongs to",
        ),
    ],
)
def test_refusals_name_operation_and_operand(call: Any, message: str) -> None:
    b = Builder()
    x = b.input(IMAGE, "x")
    with pytest.raises(NnapiError) as caught:
        call(b, x)
    assert isinstance(caught.value, BadDataError | OpFailedError)
    assert str(caught.value).startswith(message)


def test_a_refused_call_leaves_nothing_behind(b: Builder) -> None:
    x = b.input(tensor("uint8", (2,), 0.5))
    with pytest.raises(BadDataError, match=r"MUL \(#0\): out has scale 0.25, must be above"):
        b.mul(x, x, scale=0.25)
    assert b._values == {}
    b.output(b.mul(x, x, scale=0.26))
    assert len(b.finish().operands) == 3


def test_refusals_of_constants_and_outputs(b: Builder) -> None:
    for given, type, message in (
        (np.zeros(2, np.int16), None, "the constant is an array of int16: say what it means"),
        (np.zeros(2, np.int16), tensor("uint8", (2,), 1.0), "the constant is an array of int16, TENSOR_QUANT8_ASYMM"),
        ([300], tensor("uint8", (1,), 1.0), "the constant holds numbers that TENSOR_QUANT8_ASYMM cannot"),
        (np.zeros((2, 1), np.uint8), tensor("uint8", (1, 2), 1.0), r"array of shape \[2, 1\], its type is"),
    ):
        with pytest.raises(BadDataError, match=message):
            b.constant(given, type)
    with pytest.raises(BadDataError, match="belongs|is not a tensor of this model"):
        b.output(Builder().input(IMAGE))
    with pytest.raises(BadDataError, match="3 is not a tensor of this model"):
        b.output(3)  # type: ignore[arg-type]
