"""Models built by calling operations as methods."""

from typing import Any

import numpy as np
import pytest

from nnapi import (
    ChannelQuantization,
    Memory,
    Model,
    OperandCode,
    OperandType,
    tensor,
)
from nnapi.errors import BadDataError, BadStateError, NnapiError
from nnapi.model.builder import Builder
from tests.graphs import on_reference

IMAGE = tensor("float32", (1, 5, 5, 2))
FILTER, BIAS = np.ones((3, 2, 2, 2), np.float32), np.zeros(3, np.float32)


@pytest.fixture
def b() -> Builder:
    return Builder()


def run(b: Builder, *inputs: Any) -> list[Any]:
    return on_reference(b.finish()).run(*inputs)


def codes(b: Builder) -> list[str]:
    """Types of the inputs of the last operation."""
    return [b.model.operands[index].type.name for index in b.model.operations[-1].inputs]


def value(b: Builder, position: int) -> Any:
    """The scalar at a position of the last operation."""
    operand = b.model.operands[b.model.operations[-1].inputs[position]]
    return operand.value.view(operand.type.dtype)[0].item()


def test_a_model_of_two_operations(b: Builder) -> None:
    x = b.input(tensor("float32", (3, 4)), name="x")
    first, second = np.full((3, 4), 2, np.float32), np.arange(4, dtype=np.float32)
    y = b.mul(b.add(x, first), second)
    assert (y.index, y.type, y.shape) == (6, tensor("float32", (3, 4)), (3, 4))
    assert repr(y) == "<mul_1 (6): TENSOR_FLOAT32[3, 4]>"
    assert repr(x) == "<x (0): TENSOR_FLOAT32[3, 4]>"
    b.output(y)
    ones = np.ones((3, 4), np.float32)
    assert np.array_equal(run(b, ones)[0], 3 * ones * second)


def test_inputs_and_outputs_keep_their_order(b: Builder) -> None:
    x, y = b.input(tensor("float32", (1,)), "x"), b.input(tensor("float32", (1,)), "y")
    product, quotient = b.mul(x, y), b.div(x, y)
    b.output(quotient)
    b.output(product, b.sub(x, y))
    assert [float(array[0]) for array in run(b, [6.0], [2.0])] == [3, 12, 4]


def test_the_model_is_at_hand_while_it_is_built(b: Builder) -> None:
    b.output(b.relu(b.input(tensor("float32", (1,)))))
    b.model.relax_computation_float32_to_float16(True)
    assert b.finish().relaxed
    with pytest.raises(BadStateError, match=r"cannot add RELU: the model is finished"):
        b.relu([1.0])


# Scalars


def test_numbers_take_the_type_that_is_asked_for(b: Builder) -> None:
    b.softmax(b.input(tensor("float32", (2, 2))), 1)
    assert codes(b) == ["TENSOR_FLOAT32", "FLOAT32"]
    b.softmax(b.input(tensor("float16", (2, 2))), 0.5, axis=np.int64(0))
    assert codes(b) == ["TENSOR_FLOAT16", "FLOAT16", "INT32"]
    assert [value(b, 1), value(b, 2)] == [0.5, 0]


@pytest.mark.parametrize(
    ("given", "type"),
    [(3, "TENSOR_INT32"), (3.0, "TENSOR_FLOAT32"), (np.float16(3), "TENSOR_FLOAT16"), (np.int32(3), "TENSOR_INT32")],
)
def test_a_free_scalar_follows_the_number(b: Builder, given: Any, type: str) -> None:
    filled = b.fill([2, 3], given)
    assert (filled.type.name, filled.shape) == (type, (2, 3))


def test_a_truth_value_may_be_an_int32_where_forms_cannot_be_confused(b: Builder) -> None:
    assert b.mean(b.input(IMAGE), [1, 2], keep_dims=True).shape == (1, 1, 1, 2)
    assert b.mean(b.input(IMAGE), [1, 2], 0).shape == (1, 2)


@pytest.mark.parametrize(
    ("activation", "code"), [("relu", 1), ("relu1", 2), ("RELU6", 3), ("none", 0), (3, 3)], ids=str
)
def test_activations_by_name_or_number(b: Builder, activation: Any, code: int) -> None:
    b.add(b.input(IMAGE), 1.0, activation)
    assert value(b, 2) == code
    b.fully_connected(b.input(tensor("float32", (1, 2))), [[1.0, 2.0]], [0.0], activation=activation)
    assert value(b, 3) == code


def test_an_activation_left_out_is_none(b: Builder) -> None:
    b.add(b.input(IMAGE), 1.0)
    assert value(b, 2) == 0


@pytest.mark.parametrize(("scheme", "shape"), [("same", (1, 5, 5, 3)), ("valid", (1, 4, 4, 3)), (2, (1, 4, 4, 3))])
def test_padding_schemes_by_name_or_number(b: Builder, scheme: Any, shape: tuple[int, ...]) -> None:
    assert b.conv_2d(b.input(IMAGE), FILTER, BIAS, scheme, 1, 1).shape == shape


# Forms and lists


def test_the_form_follows_from_number_names_and_types(b: Builder) -> None:
    x = b.input(IMAGE)
    b.conv_2d(x, FILTER, BIAS, 1, 0, 1, 0, 1, 1)
    assert b.model.operations[-1].match is not None
    forms = []
    for given, named in (
        ((x, FILTER, BIAS, 1, 0, 1, 0, 1, 1), {}),
        ((x, FILTER, BIAS, 1, 1, 1, "relu", False, 1, 1), {}),
        ((x, FILTER, BIAS), {"padding_scheme": "same", "stride_h": 1, "stride_w": 1, "dilation_h": 2}),
        (
            (x, FILTER, BIAS),
            dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom", "stride_w", "stride_h"), 1),
        ),
    ):
        b.conv_2d(*given, **named)
        forms.append((b.model.operations[-1].match.overload.name, len(b.model.operations[-1].inputs)))
    assert forms == [
        ("explicit_padding", 10),
        ("implicit_padding", 10),
        ("implicit_padding", 10),
        ("explicit_padding", 10),
    ]
    assert b.resize_bilinear(x, 10, 15).shape == (1, 15, 10, 2)
    assert b.resize_bilinear(x, 2.0, 3.0).shape == (1, 15, 10, 2)


def test_what_is_left_off_the_end_stays_off(b: Builder) -> None:
    x = b.input(IMAGE)
    for given, named, length in (
        ((x, FILTER, BIAS, 1, 1, 1), {}, 7),
        ((x, FILTER, BIAS, 1, 1, 1), {"layout": False}, 8),
        ((x, FILTER, BIAS, 1, 1, 1), {"dilation_w": 2}, 10),
    ):
        b.conv_2d(*given, **named)
        assert len(b.model.operations[-1].inputs) == length
    b.resize_nearest_neighbor(x, 2, 2)
    assert len(b.model.operations[-1].inputs) == 4  # the layout cannot be left off the list, but left out it can


def test_images_stored_as_nchw(b: Builder) -> None:
    x = b.input(tensor("float32", (1, 2, 5, 5)))
    assert b.conv_2d(x, FILTER, BIAS, "valid", 1, 1, layout=True).shape == (1, 3, 4, 4)


def test_lists_of_tensors(b: Builder) -> None:
    x = b.input(tensor("float32", (2, 3)))
    for call in (
        lambda: b.concatenation(x, x, 1),
        lambda: b.concatenation([x, x], 1),
        lambda: b.concatenation((x, x), axis=1),
        lambda: b.concatenation(x, x, axis=1),
        lambda: b.concatenation(inputs=[x, x], axis=1),
        lambda: b.concatenation(x, np.zeros((2, 3), np.float32), axis=1),
    ):
        assert call().shape == (2, 6)
    assert b.concatenation(x, x, x, 0).shape == (6, 3)
    for call in (lambda: b.pack(0, x, x), lambda: b.pack(0, [x, x]), lambda: b.pack(x, x, axis=0)):  # type: ignore[call-overload]
        assert call().shape == (2, 2, 3)


# Tensors


def test_arrays_become_constants(b: Builder) -> None:
    for array in (np.zeros(2, np.float32), [0.0, 0.0], np.zeros(2), (0, 0)):
        b.maximum(b.input(tensor("float32", (2,))), array)
        assert codes(b) == ["TENSOR_FLOAT32"] * 2
    b.maximum(b.input(tensor("float16", (2,))), [0.5, 0.5])
    assert codes(b) == ["TENSOR_FLOAT16"] * 2
    b.maximum(b.input(tensor("int32", (2,))), np.zeros(2, np.int64))
    assert codes(b) == ["TENSOR_INT32"] * 2
    b.select(np.array([True, False]), b.input(tensor("float32", (2,))), [2.0, 3.0])
    assert codes(b) == ["TENSOR_BOOL8", "TENSOR_FLOAT32", "TENSOR_FLOAT32"]


def test_numbers_that_decide_the_shape(b: Builder) -> None:
    x = b.input(IMAGE)
    assert b.reshape(x, [-1, 2]).shape == (25, 2)
    assert b.reshape(x, -1).shape == (50,)
    assert b.reshape(x, np.array([2, 25])).shape == (2, 25)
    assert b.reshape(x, b.constant([50, 1])).shape == (50, 1)
    assert b.pad(x, [[0, 0], [1, 2], [0, 0], [0, 0]]).shape == (1, 8, 5, 2)


def test_dimensions_that_are_not_known_stay_open(b: Builder) -> None:
    x = b.input(IMAGE)
    assert b.reshape(x, b.input(tensor("int32", (2,)))).shape == ()
    assert b.relu(b.input(tensor("float32", (0, 2)))).shape == ()
    out = b.relu(b.input(tensor("float32", (0, 2))), out=tensor("float32", (0, 2)))
    assert out.shape == (0, 2)
    b.output(out)
    b.model.identify_inputs_and_outputs(b._inputs, b._outputs)
    b.model.finish()
    results = on_reference(b.model).run(
        np.ones((1, 5, 5, 2)).astype(np.float32), [5, 10], -np.ones((1, 2), np.float32), -np.ones((3, 2), np.float32)
    )
    assert results[0].shape == (3, 2)


def test_optional_operands(b: Builder) -> None:
    x = b.input(IMAGE)
    assert b.transpose(x).shape == b.transpose(x, None).shape == (2, 5, 5, 1)
    omitted = b.model.operands[b.model.operations[-1].inputs[1]]
    assert (omitted.lifetime.value, omitted.type) == ("omitted", tensor("int32", (0,)))
    weights, bias, state = np.ones((1, 1), np.float32), np.zeros(1, np.float32), np.zeros((1, 1), np.float32)
    gates = [None, weights, weights, weights, None, weights, weights, weights, None, None, None, None, bias, bias, bias]
    _, _, _, y = b.lstm(b.input(tensor("float32", (1, 1))), *gates, None, None, state, state, 4, 0.0, 0.0)  # type: ignore[arg-type, call-arg]
    assert y.shape == (1, 1)
    assert len(b.model.operations[-1].inputs) == 23


def test_constants_of_a_type(b: Builder) -> None:
    codes = b.constant(np.array([[1, 2]], np.uint8), tensor("uint8", scale=0.5, zero_point=1), name="codes")
    assert codes.type == tensor("uint8", (1, 2), 0.5, 1)
    assert b.constant([1, 2], tensor("int8", (2,), 1.0)).type.name == "TENSOR_QUANT8_ASYMM_SIGNED"
    assert b.constant(3.5).type == tensor("float32", (1,))
    assert b.constant([1, 2]).type == tensor("int32", (2,))
    scalar = b.constant(7, OperandType(OperandCode.INT32))
    assert b.expand_dims(codes, b.constant(0, OperandType(OperandCode.INT32))).shape == (1, 1, 2)
    assert scalar.type.is_scalar


def test_constants_of_a_mapped_file_are_not_copied(b: Builder) -> None:
    bytes_ = np.arange(64, dtype=np.float32)
    bytes_.flags.writeable = False
    weights = Memory.from_array(bytes_).view().view(np.float32)
    b.output(b.add(b.input(tensor("float32", (64,))), weights))
    model = b.finish()
    assert np.shares_memory(model.operands[1].value, weights)


# Results


def test_the_declaration_gives_the_quantization(b: Builder) -> None:
    x = b.input(tensor("uint8", (2, 2), 0.5, 3))
    assert b.reshape(x, [4]).type == tensor("uint8", (4,), 0.5, 3)
    assert b.logistic(x).type == tensor("uint8", (2, 2), 1 / 256, 0)
    assert b.softmax(b.input(tensor("int8", (2, 2), 0.5)), 1.0).type == tensor("int8", (2, 2), 1 / 256, -128)


def test_a_free_quantization_is_given(b: Builder) -> None:
    x = b.input(tensor("uint8", (2,), 0.5, 3))
    assert b.add(x, x, scale=0.25, zero_point=7).type == tensor("uint8", (2,), 0.25, 7)
    assert b.add(x, x, out=tensor("uint8", (), 0.25, 7)).type == tensor("uint8", (2,), 0.25, 7)
    with pytest.raises(BadDataError, match=r"ADD \(#2\): out is TENSOR_QUANT8_ASYMM and needs its scale"):
        b.add(x, x)
    assert len(b.split(x, 0, 2, scale=0.5, zero_point=3)) == 2
    with pytest.raises(BadDataError, match=r"out is given scale 0.25 and zero point 0, the operation gives 0.5 and 3"):
        b.reshape(x, [2], scale=0.25)


def test_the_type_of_a_result_is_chosen(b: Builder) -> None:
    x = b.input(tensor("float32", (2,)))
    assert b.cast(x, out="int32").type == tensor("int32", (2,))
    assert b.quantize(x, out=tensor("int8", scale=0.5)).type == tensor("int8", (2,), 0.5)
    assert b.quantize(x, out="uint8", scale=0.5, zero_point=1).type == tensor("uint8", (2,), 0.5, 1)
    assert b.dequantize(b.quantize(x, out="uint8", scale=0.5), out="float16").type == tensor("float16", (2,))
    with pytest.raises(BadDataError, match="out may be TENSOR_FLOAT16 or .*: say which as out"):
        b.cast(x)


def test_operations_with_several_results(b: Builder) -> None:
    x = b.input(IMAGE)
    values, indices = b.topk_v2(x, 1)
    assert (values.shape, indices.type.name) == ((1, 5, 5, 1), "TENSOR_INT32")
    assert [part.shape for part in b.split(x, 3, 2)] == [(1, 5, 5, 1)] * 2
    assert [part.shape for part in b.split(x, 3, 1)] == [IMAGE.dimensions]
    with pytest.raises(BadDataError, match=r"SPLIT \(#3\): the number of outputs is not known: list them as out"):
        b.split(b.input(tensor("float32", (0, 2))), 1, 2)
    assert len(b.split(b.input(tensor("float32", (0, 2))), 1, 2, out=["float32"] * 2)) == 2


def test_states_are_given_back_when_they_are_listed(b: Builder) -> None:
    given = b.input(tensor("float32", (2, 1, 3))), np.ones((4, 3)), np.ones((4, 4)), np.zeros(4), np.zeros((2, 4)), 1, 0
    assert b.unidirectional_sequence_rnn(*given).shape == (2, 1, 4)
    y, state = b.unidirectional_sequence_rnn(*given, out=["float32", "float32"])
    assert (y.shape, state.shape) == ((2, 1, 4), (2, 4))


def test_dimensions_that_are_wished_must_be_those_that_come_out(b: Builder) -> None:
    x = b.input(IMAGE)
    assert b.relu(x, out=tensor("float32", (0, 5, 5, 2))).shape == IMAGE.dimensions
    with pytest.raises(BadDataError, match=r"RELU \(#1\): out has dimensions \[1, 5, 5, 2\], not \[2\]"):
        b.relu(x, out=tensor("float32", (2,)))


def test_results_are_named(b: Builder) -> None:
    x = b.input(IMAGE)
    assert [b.relu(x).name, b.relu(x, name="y").name] == ["relu_0", "y"]
    assert [part.name for part in b.split(x, 3, 2, name="part")] == ["part_0", "part_1"]


# Control flow


def adding(number: float, dimensions: tuple[int, ...] = (2,)) -> Model:
    b = Builder()
    b.output(b.add(b.input(tensor("float32", dimensions)), number))
    return b.finish()


def test_branches(b: Builder) -> None:
    condition, x = b.input(tensor("bool8", (1,))), b.input(tensor("float32", (2,)))
    (y,) = b.if_(condition, adding(1), adding(2), x)
    assert y.type == tensor("float32", (2,))
    b.output(y)
    model = b.finish()
    zeros = np.zeros(2, np.float32)
    assert [on_reference(model).run(np.array([way]), zeros)[0][0] for way in (True, False)] == [1, 2]


def test_branches_that_do_not_agree_leave_an_dimension_open() -> None:
    b, pair, any_ = Builder(), adding(1, (2, 2)), Builder()
    x = any_.input(tensor("float32", (0, 2)))
    any_.output(any_.relu(x, out=tensor("float32", (0, 2))))
    (y,) = b.if_(b.input(tensor("bool8", (1,))), pair, any_.finish(), b.input(tensor("float32", (2, 2))))
    assert y.shape == (0, 2)


def test_loops(b: Builder) -> None:
    condition = Builder()
    condition.output(condition.less(condition.input(tensor("float32", (1,))), 5.0))
    (y,) = b.while_(condition.finish(), adding(2, (1,)), b.input(tensor("float32", (1,))))
    b.output(y)
    assert run(b, [0.5])[0][0] == 6.5


def test_a_model_that_is_not_finished_cannot_be_referred_to(b: Builder) -> None:
    x = b.input(tensor("float32", (2,)))
    with pytest.raises(BadStateError, match=r"IF \(#0\): the model referred to is building, not finished"):
        b.if_(b.constant([True]), Builder().model, adding(1), x)
    with pytest.raises(BadDataError, match=r"IF \(#0\): then_model is 3, must be a finished Model"):
        b.if_(b.constant([True]), 3, adding(1), x)  # type: ignore[call-overload]


def test_filters_with_a_scale_per_channel(b: Builder) -> None:
    filter = OperandType(
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (3, 1, 1, 2), channel=ChannelQuantization(0, (0.5, 0.25, 1.0))
    )
    x = b.input(tensor("uint8", (1, 1, 1, 2), 1.0))
    weights = b.constant(np.ones((3, 1, 1, 2), np.int8), filter)
    b.output(b.conv_2d(x, weights, np.zeros(3, np.int32), "valid", 1, 1, scale=0.5))
    assert run(b, np.full((1, 1, 1, 2), 4, np.uint8))[0].reshape(-1).tolist() == [8, 4, 16]


def test_a_model_with_a_composite_permits_tensors_without_elements() -> None:
    """As in files, every operation of the model then computes them, also those that refuse them otherwise."""

    def build(*, with_composite: bool) -> Model:
        builder = Builder()
        x = builder.input(tensor("float32", (3, 2)))
        above = builder.slice(x, [0, 0], builder.input(tensor("int32", (2,))))
        builder.output(builder.neg(builder.sign(above) if with_composite else above))
        return builder.finish()

    x, none = np.ones((3, 2), np.float32), np.array([0, 2], np.int32)
    plain, composed = build(with_composite=False), build(with_composite=True)
    assert (plain.empty_tensors, composed.empty_tensors) == (False, True)
    assert on_reference(composed).run(x, none)[0].shape == (0, 2)
    with pytest.raises(NnapiError):
        on_reference(plain).run(x, none)
