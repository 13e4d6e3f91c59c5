"""The inputs of a run: arrays that fit, refusals, zeros."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, OperandCode, OperandType, tensor
from nnapi.errors import BadDataError
from nnapi.runtime.inputs import check_inputs, has_known_ranks, make_zeros


def taking(*types: OperandType) -> Model:
    model = Model("taking")
    inputs = [model.add_operand(type) for type in types]
    outputs = [model.add_operand(tensor("float32", (1,))) for _ in types]
    model.identify_inputs_and_outputs(inputs, outputs)
    return model


SCALAR = OperandType(OperandCode.FLOAT32)


@pytest.mark.parametrize(
    ("type", "dimensions"),
    [
        (tensor("float32", (0, 3)), (1, 3)),
        (tensor("int32", (2, 0, 0)), (2, 1, 1)),
        (SCALAR, ()),
        (tensor("quant8_asymm", (4,), 0.5, 3), (4,)),
    ],
)
def test_zeros_have_one_element_along_a_dynamic_dimension(type: OperandType, dimensions: tuple[int, ...]) -> None:
    (found,) = make_zeros(taking(type))
    assert found is not None
    assert (found.shape, found.dtype) == (dimensions, type.dtype)
    assert not found.any()


@pytest.mark.parametrize(
    ("types", "known"),
    [
        ([tensor("float32", (0, 2)), SCALAR], True),
        ([SCALAR, tensor("float32")], False),
        ([tensor("float32", (2,)), SCALAR, tensor("float32", (1,))], True),
    ],
)
def test_zeros_need_ranks(types: list[OperandType], known: bool) -> None:
    assert has_known_ranks(taking(*types)) is known


FLOATS, SIGNED = tensor("float32", (2, 3)), tensor("quant8_asymm_signed", (2,), 0.5, 3)


@pytest.mark.parametrize(
    ("type", "given", "found"),
    [
        (FLOATS, [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]),
        (FLOATS, None, None),
        (tensor("float32", (0, 2)), np.ones((3, 2), np.float32), [[1, 1]] * 3),
        (tensor("float32"), np.ones((1, 2), np.float32), [[1, 1]]),
        (tensor("bool8", (2,)), np.array([True, False]), [1, 0]),
        (SIGNED, np.array([1, -2], np.int8), [1, -2]),
        (SCALAR, 1.5, 1.5),
        (SCALAR, np.full((1, 1), 2.5, np.float32), 2.5),
    ],
)
def test_inputs_that_fit(type: OperandType, given: Any, found: Any) -> None:
    (array,) = check_inputs(taking(type), [given])
    assert (None if array is None else array.tolist()) == found
    assert array is None or array.dtype == type.dtype


@pytest.mark.parametrize(
    ("type", "given", "message"),
    [
        (FLOATS, np.ones((3, 2), np.float32), r"cannot take an array of shape \[3, 2\]"),
        (FLOATS, np.ones((2, 3, 1), np.float32), r"cannot take an array of shape \[2, 3, 1\]"),
        (FLOATS, np.ones(6, np.float32), r"cannot take an array of shape \[6\]"),
        (tensor("float32", (0, 2)), np.ones((0, 2), np.float32), r"cannot take an array of shape \[0, 2\]"),
        (tensor("float32"), 1.0, r"cannot take an array of shape \[\]"),
        (FLOATS, np.ones((2, 3)), "stores float32, got an array of float64$"),
        (FLOATS, "text", "cannot take 'text': "),
        (FLOATS, [[1], [2, 3]], r"cannot take \[\[1\], \[2, 3\]\]: "),
        (SIGNED, np.ones(2, np.float32), r"got an array of float32: nnapi.quantize\(type, array\) converts it"),
        (SIGNED, np.ones(2, np.int32), "got an array of int32$"),
        (SCALAR, np.ones(2, np.float32), r"is a scalar, got \[2\]"),
    ],
)
def test_inputs_that_do_not_fit(type: OperandType, given: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        check_inputs(taking(type), [given])


def test_the_number_of_inputs_and_their_names() -> None:
    b = Builder("sum")
    x, y = b.input(tensor("float32", (2,)), name="x"), b.input(tensor("float32", (2,)), name="y")
    b.output(b.add(x, y))
    model, one, two = b.finish(), np.zeros(2, np.float32), np.ones(2, np.float32)
    for given in ([one], [one, two, two]):
        with pytest.raises(BadDataError, match=f"sum takes 2 inputs, got {len(given)}"):
            check_inputs(model, given)
    found = check_inputs(model, [{"y": two, "x": one}])
    assert found[0] is one
    assert found[1] is two


def test_inputs_without_elements_belong_to_models_of_files() -> None:
    model, empty, full = taking(tensor("float32", (0, 2))), np.ones((0, 2), np.float32), np.ones((3, 2), np.float32)
    model.empty_tensors = True
    assert check_inputs(model, [empty])[0] is empty
    assert check_inputs(model, [full])[0] is full
    assert [each.shape for each in make_zeros(model)] == [(1, 2)]
    model.empty_inputs = frozenset(model.inputs)
    assert check_inputs(model, [empty])[0] is empty
    assert [each.shape for each in make_zeros(model)] == [(0, 2)]
    with pytest.raises(BadDataError, match=r"cannot take an array of shape \[3, 2\]"):
        check_inputs(model, [full])
