"""The engine's refusals and their messages."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, tensor
from tests.drivers.xnnpack.engine_cases import Net, engine, refusal
from tests.single import scalar, single

FLOATS = tensor("float32", (1, 4, 4, 2))


def one(code: OperationCode, inputs: list[Any], *outputs: OperandType, constant: bool = True) -> Any:
    return single(code, inputs, outputs, constant=constant)


def zeros(type: OperandType) -> tuple[Any, ...]:
    return type, np.zeros(type.dimensions, type.dtype)


def test_types_that_the_engine_does_not_compute_in() -> None:
    wide = tensor("quant16_asymm", (2, 3), 0.5, 7)
    message = "CAST (#0): TensorFlow Lite has no TENSOR_QUANT16_ASYMM, which input0 is"
    assert refusal(one(OperationCode.CAST, [zeros(wide)], wide)) == message


def test_ranks_not_known() -> None:
    net = Net()
    x = net.input(tensor("float32"))
    model = net.finished(net.call(OperationCode.RELU, [x], tensor("float32")))
    assert "not known before the" in refusal(model)


def test_dimensions_assumed_where_they_are_open_are_named() -> None:
    net = Net()
    x, weights, bias = (net.input(tensor("float32", shape)) for shape in ((1, 4), (0, 4), (0,)))
    model = net.finished(
        net.call(OperationCode.FULLY_CONNECTED, [x, weights, bias, *net.numbers(0)], tensor("float32", (1, 8)))
    )
    assert (
        "it fails with 1 for each dimension that the model leaves unspecified: gives TENSOR_FLOAT32[1, 1]"
        in refusal(model)
    )


def test_dimensions_that_values_decide() -> None:
    net = Net()
    x, shape = net.input(FLOATS), net.input(tensor("int32", (2,)))
    model = net.finished(net.call(OperationCode.RESHAPE, [x, shape], tensor("float32")))
    assert "not known before the model runs" in refusal(model)


def test_operations_without_rule() -> None:
    model = one(OperationCode.RANK, [zeros(FLOATS)], scalar(OperandCode.INT32, 0)[0])
    assert refusal(model) == "RANK (#0): the engine has no operator with this meaning"


def test_scales_that_the_engine_aborts_on() -> None:
    tiny = tensor("int8", (2, 3), 1e-30, 0)
    assert "has scales 1e-30 to 1e-30, the engine takes" in refusal(one(OperationCode.RELU, [zeros(tiny)], tiny))


def test_products_that_grow_too_much() -> None:
    x, w = tensor("uint8", (1, 1, 1, 1), 1e4, 0), tensor("uint8", (1, 1, 1, 1), 1e4, 128)
    b, y = tensor("int32", (1,), 1e8), tensor("uint8", (1, 1, 1, 1), 1.0, 0)
    ints = [scalar(OperandCode.INT32, value) for value in (2, 1, 1, 0)]
    assert "would be multiplied by 1e+08 to 1e+08" in refusal(
        one(OperationCode.CONV_2D, [zeros(x), zeros(w), zeros(b), *ints], y)
    )


def test_computed_filters_whose_sums_float_cannot_hold() -> None:
    x, w = tensor("uint8", (1, 1, 1, 2), 1, 0), tensor("uint8", (1, 1, 1, 2), 20, 128)
    b, y = tensor("int32", (1,), 20), tensor("uint8", (1, 1, 1, 1), 2, 0)
    ints = [scalar(OperandCode.INT32, value) for value in (2, 1, 1, 0)]
    model = one(OperationCode.CONV_2D, [zeros(x), zeros(w), zeros(b), *ints], y, constant=False)
    assert "filter is computed, and sums may reach 1300500 LSB, which float32 does not represent" in refusal(model)


@pytest.mark.parametrize(
    ("channels", "constant", "taken"), [(4833, True, True), (4832, False, True), (4833, False, False)]
)
def test_depthwise_channels_for_which_the_engine_has_no_memory(channels: int, constant: bool, taken: bool) -> None:
    """With a computed filter or bias LiteRT's own kernel computes, which never returned."""
    image = tensor("float32", (1, 1, 1, channels))
    ints = [scalar(OperandCode.INT32, value) for value in (2, 1, 1, 1, 0)]
    inputs = [zeros(image), zeros(image), zeros(tensor("float32", (channels,))), *ints]
    model = one(OperationCode.DEPTHWISE_CONV_2D, inputs, image, constant=constant)
    if taken:
        assert engine().driver.verdicts(model)[0].supported
    else:
        assert "filter and bias computed, for 4833 channels, at most 4832 are possible so" in refusal(model)


def test_computed_filters_of_which_a_run_decides_how_large_they_are() -> None:
    x, w = tensor("uint8", (1, 1, 1, 0), 1, 0), tensor("uint8", (1, 1, 1, 0), 1, 128)
    b, y = tensor("int32", (1,), 1), tensor("uint8", (1, 1, 1, 1), 2, 0)
    ints = [scalar(OperandCode.INT32, value) for value in (2, 1, 1, 0)]
    codes = np.zeros((1, 1, 1, 1), np.uint8)
    model = one(OperationCode.CONV_2D, [(x, codes), (w, codes), zeros(b), *ints], y, constant=False)
    assert "filter is computed, and may come too large for its sums to be exact in float" in refusal(model)


def test_projections_of_which_a_run_decides_how_wide_they_are() -> None:
    model = Model()
    names = iter(range(100))
    gates = [tensor("float32", dimensions) for dimensions in [(0, 0)] * 8]
    omitted = [tensor("float32", (1,))] * 3
    tensors = [tensor("float32", (0, 0)), *gates, *omitted, *[tensor("float32", (0,))] * 4]
    tensors += [
        tensor("float32", (0, 0)),
        tensor("float32", (1,)),
        tensor("float32", (0, 0)),
        tensor("float32", (0, 0)),
    ]
    indices = [model.add_operand(type, f"input{next(names)}") for type in tensors]
    left_out = {9, 10, 11, 17}
    for place in left_out:
        model.set_operand_value(indices[place], None)
    for code, value in ((OperandCode.INT32, 4), (OperandCode.FLOAT32, 0), (OperandCode.FLOAT32, 0)):
        indices.append(model.add_operand(OperandType(code), f"input{next(names)}"))
        model.set_operand_value(indices[-1], np.array(value, np.int32 if code == OperandCode.INT32 else np.float32))
    results = [model.add_operand(tensor("float32", (0, 0)), f"output{place}") for place in range(4)]
    model.add_operation(OperationCode.LSTM, indices, results)
    given = [index for place, index in enumerate(indices[:20]) if place not in left_out]
    model.identify_inputs_and_outputs(given, results)
    model.finish()
    assert "the projection may have more columns than the engine has memory for" in refusal(model)


@pytest.mark.parametrize("code", [OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D])
def test_activations_of_results_that_are_kept_in_another_scale(code: OperationCode) -> None:
    image, kept = (tensor("uint8", (1, 1, 1, 1), scale, 128) for scale in (12.0, 24.0))
    windows = [scalar(OperandCode.INT32, value) for value in (0, 0, 0, 0, 1, 1, 1, 1, 3)]
    message = "the result has another scale than the activation is rounded to"
    assert message in refusal(one(code, [zeros(image), *windows], kept))


def test_bad_values_are_left_to_the_device_that_words_them() -> None:
    model = one(OperationCode.SOFTMAX, [zeros(FLOATS), (OperandType(OperandCode.FLOAT32), np.float32(-1))], FLOATS)
    assert refusal(model).startswith("SOFTMAX (#0): it fails when it runs: beta is -1.0")


@pytest.mark.parametrize(
    ("code", "scalars", "reason"),
    [
        (OperationCode.LOG_SOFTMAX, [-1.0, 0], "beta is -1.0, must be above 0"),
        (OperationCode.ELU, [-0.5], "alpha is -0.5: not above 0 it would act above zero as well"),
        (OperationCode.LOCAL_RESPONSE_NORMALIZATION, [1, 1.0, -1.0, 0.5], "alpha is -1.0: the engine loses precision"),
    ],
)
def test_arguments_that_the_engine_means_otherwise(code: OperationCode, scalars: list[float], reason: str) -> None:
    given = [scalar(OperandCode.INT32 if isinstance(s, int) else OperandCode.FLOAT32, s) for s in scalars]
    assert reason in refusal(one(code, [zeros(FLOATS), *given], FLOATS))


@pytest.mark.parametrize("code", [OperationCode.TRANSPOSE, OperationCode.SQUEEZE])
def test_optional_values_that_a_run_decides(code: OperationCode) -> None:
    net = Net()
    x, order = net.input(tensor("float32", (0, 0))), net.input(tensor("int32", (0,)))
    model = net.finished(net.call(code, [x, order], tensor("float32")))
    assert "is not known before the model runs" in refusal(model)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (OperationCode.MEAN, [(tensor("int32", (2,)), np.array([1, 2], np.int32)), scalar(OperandCode.INT32, 1)]),
        (OperationCode.RESIZE_BILINEAR, [scalar(OperandCode.INT32, 1), scalar(OperandCode.INT32, 1)]),
    ],
)
def test_rounded_codes_that_are_kept_in_finer_steps(code: OperationCode, arguments: list[Any]) -> None:
    image = tensor("uint8", (1, 4, 4, 2), 0.1, 128)
    kept = [tensor("uint8", (1, 1, 1, 2), scale, 5) for scale in (0.0005, 0.1, 0.3)]
    reasons = [refusal(one(code, [zeros(image), *arguments], out)) for out in kept]
    assert "has steps of 0.0005, the engine may be a step of 0.1 off" in reasons[0]
    assert reasons[1:] == [None, None]


def test_a_refusal_does_not_spread() -> None:
    net = Net()
    x = net.input(tensor("uint8", (2, 3), 0.5, 0))
    y = net.call(OperationCode.RSQRT, [x], tensor("uint8", (2, 3), 0.5, 0))
    model = net.finished(net.call(OperationCode.RELU, [y], tensor("uint8", (2, 3), 0.5, 0)))
    assert [verdict.supported for verdict in engine().driver.verdicts(model)] == [False, True]


def test_preparing_what_is_refused_fails_with_the_reasons() -> None:
    wide = tensor("quant16_asymm", (2, 3), 0.5, 7)
    with pytest.raises(OpFailedError, match="TENSOR_QUANT16_ASYMM"):
        engine().driver.prepare(one(OperationCode.CAST, [zeros(wide)], wide), PrepareOptions())
