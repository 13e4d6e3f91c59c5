"""Filters that are computed, and filters with channels too faint for the engine."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.model.operand import ChannelQuantization, tensor
from tests.drivers.xnnpack.engine_cases import agree, both, refusal
from tests.drivers.xnnpack.filter_cases import FILTERS, SIGNED, filtered
from tests.single import scalar, single

SAME = 1
UNITS = 4


def ints(*numbers: int) -> list[Any]:
    return [scalar(OperandCode.INT32, number) for number in numbers]


def grouped() -> list[Any]:
    return [*ints(SAME, 1, 1, 2, 1), scalar(OperandCode.BOOL, False)]


@pytest.mark.parametrize("kind", FILTERS)
def test_computed_filters_of_convolutions(kind: str) -> None:
    inputs, out = filtered(kind, (2, 9, 7, 5), (6, 3, 3, 5), 0, 6)
    agree(Op.CONV_2D, [*inputs, *ints(2, 1, 0, 2, 2, 1, 1)], [out], constant=False)
    inputs, out = filtered(kind, (1, 6, 6, 4), (6, 3, 3, 2), 0, 6)
    agree(Op.GROUPED_CONV_2D, [*inputs, *grouped()], [out], constant=False)


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("multiplier", [1, 2])
def test_computed_filters_of_single_channels(kind: str, multiplier: int) -> None:
    inputs, out = filtered(kind, (1, 8, 7, 4), (1, 3, 3, 4 * multiplier), 3, 4 * multiplier)
    agree(Op.DEPTHWISE_CONV_2D, [*inputs, *ints(SAME, 1, 1, multiplier, 3)], [out], constant=False)


@pytest.mark.parametrize("kind", FILTERS)
def test_computed_filters_that_spread(kind: str) -> None:
    inputs, out = filtered(kind, (1, 5, 4, 3), (2, 3, 3, 3), 0, 2)
    tail = [*ints(1, 2, 0, 1, 2, 2, 1), scalar(OperandCode.BOOL, False)]
    agree(Op.TRANSPOSE_CONV_2D, [*inputs, *tail], [out], constant=False)


@pytest.mark.parametrize("kind", ["float32", "narrow", "wide", "signed_wide"])
def test_computed_weights(kind: str) -> None:
    inputs, out = filtered(kind, (2, 3, 8), (5, 12), 0, 5)
    agree(Op.FULLY_CONNECTED, [*inputs, *ints(1)], [out], constant=False)


def faint(
    code: Any, scale: float, bias: tuple[int, ...] = (900, -900, 300, 2), input_scale: float = 0.05, activation: int = 0
) -> tuple[Any, ...]:
    """A convolution of which the second channel has that scale; the model and an input."""
    random = np.random.default_rng(0)
    is_dense = code == Op.CONV_2D
    axis, shape = (0, (UNITS, 3, 3, UNITS)) if is_dense else (3, (1, 3, 3, UNITS))
    channel = ChannelQuantization(axis, (0.01, scale, 0.02, 0.03))
    w = tensor("quant8_symm_per_channel", shape, channel=channel)
    x = tensor("int8", (1, 5, 5, UNITS), input_scale, -7)
    inputs = [
        (x, random.integers(-128, 128, x.shape, np.int8)),
        (w, random.integers(-127, 128, shape, np.int8)),
        (tensor("int32", (UNITS,)), np.array(bias, np.int32)),
        *ints(SAME, 1, 1, *([] if is_dense else [1]), activation),
    ]
    model = single(code, inputs, [tensor("int8", (), 0.5, 11)], constant=True)
    return model, inputs[0][1]


@pytest.mark.parametrize("code", [Op.CONV_2D, Op.DEPTHWISE_CONV_2D])
@pytest.mark.parametrize(("scale", "activation"), [(2.0**-41, 0), (1e-19, 1), (1e-30, 0)])
def test_faint_channels_are_their_zero_point(code: Any, scale: float, activation: int) -> None:
    model, codes = faint(code, scale, activation=activation)
    assert refusal(model) is None
    (ours,), (wanted,) = both(model, codes)
    assert np.abs(ours.astype(int) - wanted).max() <= 1
    assert (ours[..., 1] == wanted[..., 1]).all()
    assert (ours[..., 1] == 11).all()
    assert np.ptp(ours[..., 0]) > 0


def test_a_faint_channel_keeps_no_bias() -> None:
    model, codes = faint(Op.CONV_2D, 1e-30, (0, 2**31 - 1, 0, 0))
    (ours,), (wanted,) = both(model, codes)
    assert (ours[..., 1] == wanted[..., 1]).all()


def test_channels_that_are_faint_but_heard_are_refused() -> None:
    model, _ = faint(Op.CONV_2D, 2.0**-41, (0, 2**31 - 1, 0, 0), input_scale=400.0)
    assert "has scales 4.54747e-13 to" in refusal(model)


def test_filters_that_no_channel_is_heard_of() -> None:
    w = tensor("quant8_symm_per_channel", (1, 1, 1, 2), channel=ChannelQuantization(3, (1e-20, 1e-25)))
    x = SIGNED.with_dimensions((1, 1, 1, 2))
    inputs = [(x, [[[[5, 9]]]]), (w, [[[[100, -100]]]]), (tensor("int32", (2,)), [7, 8]), *ints(SAME, 1, 1, 1, 0)]
    agree(Op.DEPTHWISE_CONV_2D, inputs, [tensor("int8", (), 0.5, 11)])


@pytest.mark.parametrize(("scales", "is_refused"), [((2.0**-25, 2.0**15), False), ((2.0**-25, 2.0**16), True)])
def test_the_scale_of_a_faint_channel_is_one_that_the_engine_takes(
    scales: tuple[float, float], is_refused: bool
) -> None:
    """It becomes that of the result divided by the input's: at most 2**40."""
    channel = ChannelQuantization(0, (2.0**-10, 2.0**-50))
    w = tensor("quant8_symm_per_channel", (2, 1, 1, 1), channel=channel)
    inputs = [
        (tensor("int8", (1, 1, 1, 1), scales[0], 0), np.ones((1, 1, 1, 1), np.int8)),
        (w, np.ones((2, 1, 1, 1), np.int8)),
        (tensor("int32", (2,)), np.zeros(2, np.int32)),
        *ints(SAME, 1, 1, 0),
    ]
    found = refusal(single(Op.CONV_2D, inputs, [tensor("int8", (1, 1, 1, 2), scales[1], 0)], constant=True))
    assert (found is not None) == is_refused
