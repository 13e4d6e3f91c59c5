"""Views of single operators."""

from typing import Any

import numpy as np
import pytest

from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor


def convolution(kind: Any, depth: Any, units: Any, data: bool = True) -> Any:
    x, y = Tensor("i8", (1, 4, 4, 6), 0.1), Tensor("i8", (1, 4, 4, units), 0.1)
    shape = (units, 1, 1, depth) if kind == "CONV_2D" else (1, 1, 1, units)
    filter = Tensor("u8", shape, 0.1, 100, data=np.zeros(shape, np.uint8) if data else None)
    bias = Tensor("i32", (units,), 0.1, data=np.zeros(units, np.int32))
    return Operator(kind, [x, filter, bias], [y])


@pytest.mark.parametrize(
    ("operator", "dense", "depthwise"),
    [
        (convolution("CONV_2D", 6, 8), True, False),
        (convolution("CONV_2D", 3, 8), False, False),
        (convolution("CONV_2D", 6, 8, data=False), False, False),
        (convolution("DEPTHWISE_CONV_2D", 1, 6), False, True),
        (convolution("DEPTHWISE_CONV_2D", 1, 12), False, False),
        (Operator("CONCATENATION", [None], []), False, False),
    ],
)
def test_constant_convolutions_are_told_from_others(operator: Any, dense: Any, depthwise: Any) -> None:
    conv = Conv(operator)
    assert (conv.is_constant_dense, conv.is_constant_depthwise) == (dense, depthwise)


def test_a_view_names_what_a_transposed_convolution_is_given_in_another_order() -> None:
    x, filter, bias = (Tensor("f32", (1, 2, 2, 1)) for _ in range(3))
    shape, y = Tensor("i32", (4,)), Tensor("f32", (1, 4, 4, 1))
    conv = Conv(Operator("TRANSPOSE_CONV", [shape, filter, x, bias], [y]))
    assert (conv.input, conv.filter, conv.bias, conv.output) == (x, filter, bias, y)
    assert conv.unsigned_filter is None


def test_an_input_that_is_left_out_cannot_be_had() -> None:
    with pytest.raises(TypeError, match="CONV_2D has no input 2"):
        Operator("CONV_2D", [None, None, None], []).input(2)
    with pytest.raises(TypeError, match=r"a tensor \(i8\[2\]\) is computed"):
        Tensor("i8", (2,)).value  # noqa: B018
