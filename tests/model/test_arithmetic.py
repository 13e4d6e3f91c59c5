"""Python's operators on the tensors of a Builder."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import BadDataError, Builder, tensor

X = np.array([[-2.5, 0.5, 3], [4, -1, 0.25]], np.float32)
Formula = Callable[[Any], Any]


def build(formula: Formula, type: str = "float32") -> nnapi.Model:
    builder = Builder()
    builder.output(formula(builder.input(tensor(type, X.shape))))
    return builder.finish()


def computed(formula: Formula, x: Any = X, type: str = "float32") -> Any:
    (found,) = nnapi.compile(build(formula, type), "nnapi-reference", cache=False).run(x)
    return found


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: (x + 2) * x - x / 4,
        lambda x: 2 + 3 * x,
        lambda x: 1 - x,
        lambda x: 1 / (abs(x) + 1),
        lambda x: -x,
        lambda x: np.array([1, 2, 3], np.float32) * x + 0.5,
    ],
)
def test_operators_compute_as_numpy_does(formula: Formula) -> None:
    np.testing.assert_allclose(computed(formula), formula(X), rtol=1e-6)


@pytest.mark.parametrize("formula", [lambda x: x < 0.5, lambda x: x > 0.5, lambda x: x < x * 2])
def test_comparisons_give_booleans(formula: Formula) -> None:
    np.testing.assert_array_equal(computed(formula), formula(X))


def test_numbers_have_the_type_of_the_value() -> None:
    x = np.arange(6, dtype=np.int32).reshape(X.shape)
    found = computed(lambda x: np.int64(10) - x * 3, x, "int32")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, 10 - x * 3)
    assert computed(lambda x: x + 1, X.astype(np.float16), "float16").dtype == np.float16


def test_each_operator_is_one_operation_without_activation() -> None:
    model = build(lambda x: x * 2 + x)
    assert [call.name for call in model.operations] == ["MUL", "ADD"]
    assert [int(model.operands[call.inputs[2]].value.item()) for call in model.operations] == [0, 0]


def test_numbers_that_the_type_cannot_hold_are_refused() -> None:
    builder = Builder()
    whole, quantized = builder.input(tensor("int32", (2,))), builder.input(tensor("uint8", (2,), 0.5))
    with pytest.raises(BadDataError, match="TENSOR_FLOAT32"):
        whole * 0.5
    with pytest.raises(BadDataError, match="TENSOR_INT32"):
        quantized + 1
    with pytest.raises(BadDataError, match="say what it means"):
        1 - quantized
