"""Arguments of a Python call as operands: constants, scalars, words, omissions, and their positions."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.errors import BadDataError
from nnapi.model.arguments import Argument, arrange, constant, default_of
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import Activation, Layout, Scalar, Several, Tensor

X = Argument(tensor("float32", (1, 4, 5, 3)), index=0)
ROWS = Argument(tensor("float32", (2, 3)), index=0)
BYTES = Argument(tensor("quant8_asymm", (2, 3), 0.5, 3), index=0)


def fit(code: OperationCode, *given: Any, **named: Any) -> dict[str, Any]:
    """Arrange a call; return values by name, None for existing operands, and the types of omitted ones."""
    found: dict[str, Any] = {}
    for slot, row in arrange(REGISTRY[code], given, named):
        values = [argument.type if argument.is_omitted else argument.value for argument in row]
        plain = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        found[slot.name] = plain if isinstance(slot, Several) else plain[0]
    return found


def codes_of(code: OperationCode, *given: Any, **named: Any) -> list[int]:
    return [argument.type.code for _, row in arrange(REGISTRY[code], given, named) for argument in row]


# Constants

F32, F16, I32, B8 = (OperandCode[f"TENSOR_{name}"] for name in ("FLOAT32", "FLOAT16", "INT32", "BOOL8"))


@pytest.mark.parametrize(
    ("value", "accepted", "code", "dimensions", "stored"),
    [
        (1.5, (F32, F16), F32, (1,), [1.5]),
        (1.5, (F16,), F16, (1,), [1.5]),
        (3, (F32, I32), I32, (1,), [3]),
        (3, (F32, F16), F32, (1,), [3.0]),
        (3, (F16,), F16, (1,), [3.0]),
        (3, (), I32, (1,), [3]),
        ([[1, 2, 3]], (I32,), I32, (1, 3), [[1, 2, 3]]),
        (True, (B8,), B8, (1,), [1]),
        (np.array([1.5, 2]), (F32,), F32, (2,), [1.5, 2.0]),
        (np.array([1, 2], np.int64), (F32,), F32, (2,), [1.0, 2.0]),
        (np.array([1, 2], np.uint64), (I32,), I32, (2,), [1, 2]),
        (np.array([1, 2], np.int32), (F32,), I32, (2,), [1, 2]),
        (np.array([1, 2], np.float16), (F32,), F16, (2,), [1.0, 2.0]),
        (np.array([True, False]), (F32,), B8, (2,), [1, 0]),
    ],
)
def test_the_type_of_a_constant(
    value: Any, accepted: tuple[int, ...], code: int, dimensions: tuple[int, ...], stored: Any
) -> None:
    found = constant(value, None, dict.fromkeys(accepted, 1), "x")
    assert (found.type.code, found.type.dimensions) == (code, dimensions)
    assert isinstance(found.value, np.ndarray)
    assert found.value.dtype == found.type.dtype
    assert found.value.tolist() == stored


@pytest.mark.parametrize(
    ("value", "type", "message"),
    [
        (np.zeros(2, np.uint8), None, r"x is an array of uint8: say what it means, as constant\(array, type\)"),
        (np.zeros(2, np.int16), None, "x is an array of int16: say"),
        ("text", None, "x is an array of <U4: say"),
        ([[1], [1, 2]], None, "x is not an array: "),
        ([1, 2], tensor("float32", (3,)), r"x is an array of shape \[2\], its type is TENSOR_FLOAT32\[3\]"),
        ([1, 2], OperandType(OperandCode.FLOAT32), r"x is an array of shape \[2\], its type is FLOAT32"),
        (np.zeros(2, np.int32), tensor("float32", (2,)), "x is an array of int32, TENSOR_FLOAT32 stores float32"),
        ([1.5], tensor("int32", (1,)), "x holds numbers that TENSOR_INT32 cannot"),
        ([256], tensor("quant8_asymm", (1,), 0.5), "x holds numbers that TENSOR_QUANT8_ASYMM cannot"),
    ],
)
def test_constants_that_do_not_fit(value: Any, type: OperandType | None, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        constant(value, type, {}, "x")


@pytest.mark.parametrize(
    ("value", "type", "dimensions", "stored"),
    [
        ([[1, 2]], tensor("float32"), (1, 2), [[1.0, 2.0]]),
        ([255, 0], tensor("quant8_asymm", (2,), 0.5), (2,), [255, 0]),
        (7, OperandType(OperandCode.INT32), (), 7),
        ([7], OperandType(OperandCode.INT32), (), 7),
        (np.array([True, False]), tensor("bool8", (2,)), (2,), [1, 0]),
        (np.array([1.5]), tensor("float32", (1,)), (1,), [1.5]),
        ([1e-50], tensor("float16", (1,)), (1,), [0.0]),
    ],
)
def test_constants_of_a_given_type(value: Any, type: OperandType, dimensions: tuple[int, ...], stored: Any) -> None:
    found = constant(value, type, {}, "x")
    assert found.type == type.with_dimensions(dimensions)
    assert isinstance(found.value, np.ndarray)
    assert found.value.tolist() == stored


# Scalars


@pytest.mark.parametrize(
    ("leader", "value", "code"),
    [
        (ROWS, 1, OperandCode.FLOAT32),
        (ROWS, 1.5, OperandCode.FLOAT32),
        (ROWS, np.float32(2), OperandCode.FLOAT32),
        (Argument(tensor("float16", (2, 3)), index=0), 1.5, OperandCode.FLOAT16),
    ],
)
def test_the_type_of_a_scalar_follows_the_tensor(leader: Argument, value: Any, code: int) -> None:
    assert codes_of(OperationCode.SOFTMAX, leader, value)[1] == code


@pytest.mark.parametrize(
    ("code", "given", "message"),
    [
        (OperationCode.SOFTMAX, (ROWS, "much"), "beta is 'much', must be a number"),
        (OperationCode.SOFTMAX, (ROWS, True), "beta is True, must be a number of type FLOAT32"),
        (OperationCode.SOFTMAX, (ROWS, 1.0, 0.5), "axis is 0.5, must be a number of type INT32"),
        (OperationCode.SOFTMAX, (ROWS, 1.0, 1 << 31), "axis is 2147483648, which INT32 cannot hold"),
        (OperationCode.ADD, (ROWS, ROWS, "wide"), "activation is 'wide', must be none or relu or relu1 or relu6"),
    ],
)
def test_scalars_that_do_not_fit(code: OperationCode, given: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        arrange(REGISTRY[code], given, {})


def test_the_largest_whole_number() -> None:
    assert fit(OperationCode.SOFTMAX, ROWS, 1.0, (1 << 31) - 1)["axis"] == (1 << 31) - 1
    assert fit(OperationCode.SOFTMAX, ROWS, 1e39)["beta"] == float("inf")


@pytest.mark.parametrize(("word", "value"), [("none", 0), ("relu", 1), ("RELU1", 2), ("relu6", 3)])
def test_the_words_of_an_activation(word: str, value: int) -> None:
    assert fit(OperationCode.ADD, ROWS, ROWS, word)["activation"] == value


@pytest.mark.parametrize(("word", "value"), [("same", 1), ("valid", 2), ("VALID", 2)])
def test_the_words_of_a_padding(word: str, value: int) -> None:
    found = fit(OperationCode.MAX_POOL_2D, X, word, 1, 2, 3, 4)
    assert found == {
        "input": None,
        "padding_scheme": value,
        "stride_w": 1,
        "stride_h": 2,
        "filter_w": 3,
        "filter_h": 4,
        "activation": 0,
    }


# Places


def test_a_whole_number_chooses_the_overload_with_numbers_and_a_truth_value_that_with_a_flag() -> None:
    """RESIZE_BILINEAR takes a width or a factor; the layout follows."""
    by_size = arrange(REGISTRY[OperationCode.RESIZE_BILINEAR], (X, 8, 9, True), {})
    by_scale = arrange(REGISTRY[OperationCode.RESIZE_BILINEAR], (X, 2.0, 1.5), {})
    assert [slot.name for slot, _ in by_size] == ["input", "width", "height", "layout"]
    assert [slot.name for slot, _ in by_scale] == ["input", "width_scale", "height_scale"]
    assert by_size[3][1][0].type.code == OperandCode.BOOL


def test_unnamed_arguments_fill_what_is_not_named() -> None:
    assert fit(OperationCode.SOFTMAX, ROWS, axis=1, beta=0.5) == {"input": None, "beta": 0.5, "axis": 1}
    assert fit(OperationCode.SOFTMAX, 0.5, input=ROWS) == {"input": None, "beta": 0.5}
    assert fit(OperationCode.ADD, ROWS, ROWS) == {"lhs": None, "rhs": None, "activation": 0}


@pytest.mark.parametrize(
    ("code", "given", "named", "message"),
    [
        (OperationCode.SOFTMAX, (ROWS,), {}, "beta is missing"),
        (OperationCode.SOFTMAX, (ROWS, 1.0, 1, 1), {}, "takes 3 operands, got 4"),
        (OperationCode.SOFTMAX, (ROWS, 1.0), {"gamma": 1}, "has no operand gamma; it has input, beta, axis"),
        (OperationCode.SOFTMAX, (None, 1.0), {}, "input is None, but needed"),
        (OperationCode.CONCATENATION, ([], 0), {}, "inputs must be at least 1, got 0"),
        (OperationCode.CONCATENATION, (), {"inputs": ROWS, "axis": 0}, "inputs must be a list of operands"),
        (OperationCode.IF, (1, 2, 3), {}, "then_model is 2, must be a finished Model"),
    ],
)
def test_calls_that_do_not_fit(code: OperationCode, given: Any, named: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        arrange(REGISTRY[code], given, named)


@pytest.mark.parametrize("given", [(ROWS, ROWS, ROWS, 1), ([ROWS, ROWS, ROWS], 1), ((ROWS, ROWS, ROWS), 1)])
def test_several_operands_are_a_list_or_all_but_the_rest(given: Any) -> None:
    assert fit(OperationCode.CONCATENATION, *given) == {"inputs": [None] * 3, "axis": 1}


def test_operands_of_control_flow() -> None:
    b = Builder("branch")
    b.output(b.abs(b.input(tensor("float32", (2,)))))
    model, flag = b.finish(), Argument(tensor("bool8", (1,)), index=1)
    arranged = arrange(REGISTRY[OperationCode.IF], (flag, model, model, ROWS, BYTES), {})
    assert [[argument.index for argument in row] for _, row in arranged] == [[1], [None], [None], [0, 0]]
    assert [row[0].value for _, row in arranged[1:3]] == [model, model]
    assert arrange(REGISTRY[OperationCode.IF], (flag, model, model), {})[3][1] == []


def test_an_omitted_tensor_has_a_type_of_the_lowest_legal_rank() -> None:
    """The table of an LSTM has weights of rank 2, a bias of rank 1, an optional projection of rank 2."""
    lstm, batch, units = OperationCode.LSTM, 2, 4
    x, state = Argument(tensor("float32", (batch, 3)), index=0), Argument(tensor("float32", (batch, units)), index=1)
    named: dict[str, Any] = {slot.name: None for slot in REGISTRY[lstm].overloads[0].inputs if slot.optional}  # type: ignore[union-attr]
    given: dict[str, Any] = {}
    for slot in REGISTRY[lstm].overloads[0].inputs:
        if isinstance(slot, Tensor) and not slot.optional:
            given[slot.name] = x if slot.name == "input" else state
        elif isinstance(slot, Scalar):
            given[slot.name] = 0 if slot.name == "activation" else 1.0
    found = fit(lstm, **{**named, **given})
    assert found["input_to_input_weights"] == tensor("float32", (0, 0))
    assert found["input_gate_bias"] == tensor("float32", (0,))


def test_defaults() -> None:
    assert default_of(Activation()) == 0
    assert default_of(Layout()) is False
    assert default_of(Tensor("x", {F32: 1}, optional=True)) is None
    assert default_of(Scalar("axis", OperandCode.INT32, default=-1)) == -1
    required = default_of(Scalar("k", OperandCode.INT32))
    assert required is default_of(Several(Tensor("x"), 1)) is default_of(Tensor("x"))


def test_an_argument_is_omitted_without_index_and_value() -> None:
    type = tensor("float32", (1,))
    assert Argument(type).is_omitted
    assert not Argument(type, index=0).is_omitted
    assert not Argument(type, np.zeros(1)).is_omitted
    assert not Argument(OperandType(OperandCode.MODEL), Model()).is_omitted


def test_the_error_is_that_of_the_overload_that_came_furthest() -> None:
    with pytest.raises(BadDataError, match="stride_w is 'x', must be a number"):
        arrange(REGISTRY[OperationCode.MAX_POOL_2D], (X, 0, 0, 0, 0, "x", 1, 1, 1), {})
