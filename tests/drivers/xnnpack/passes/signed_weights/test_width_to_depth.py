"""Convolutions of few channels, computed for two pixels as one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperandCode, OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.signed_weights.width_to_depth import _make_dense, _repeat_moved, move_width_to_depth
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from tests.drivers.xnnpack.engine_cases import Net, both

SAME, VALID = 1, 2
KINDS = [OperationCode.CONV_2D, OperationCode.DEPTHWISE_CONV_2D]


def convolution(
    random: Any,
    kind: OperationCode,
    image: tuple[int, ...],
    units: int,
    size: tuple[int, ...],
    padding: int = SAME,
    stride: int = 1,
    activation: int = 0,
    dilation: int = 1,
) -> Any:
    """A model of one convolution whose filter has a scale for each channel; a depthwise one has the image's."""
    net, is_dense = Net(), kind == OperationCode.CONV_2D
    x = net.input(tensor("uint8", image, 0.05, 120))
    scales = tuple(random.uniform(0.005, 0.02, units).astype(np.float32).tolist())
    shape = (units, *size, image[3]) if is_dense else (1, *size, units)
    type = tensor("quant8_symm_per_channel", shape, channel=ChannelQuantization(0 if is_dense else 3, scales))
    w = net.constant(type, random.integers(-127, 128, shape))
    b = net.constant(tensor("int32", (units,)), random.integers(-500, 500, units))
    reach = [(k - 1) * dilation if padding == VALID else 0 for k in size]
    spans = [-(-(dimension - more) // stride) for dimension, more in zip(image[1:3], reach, strict=True)]
    out = tensor("uint8", (image[0], *spans, units), 0.1, 100)
    tail = net.numbers(padding, stride, stride, *([] if is_dense else [1]), activation)
    tail += (
        [net.constant(OperandType(OperandCode.BOOL), np.False_), *net.numbers(dilation, dilation)]
        if dilation > 1
        else []
    )
    return net.finished(net.call(kind, [x, w, b, *tail], out))


def kinds(model: Any) -> list[str]:
    return [operator.kind for operator in move_width_to_depth(lower_model(model).graph).operators]


def test_the_filter_stands_twice_a_step_apart() -> None:
    numbers = np.array([7, 8, 9], np.int8).reshape(1, 1, 3, 1)
    assert _repeat_moved(numbers, 2)[:, 0, :, 0].tolist() == [[7, 8, 9, 0, 0], [0, 0, 7, 8, 9]]


def test_a_depthwise_filter_is_dense_with_zeros() -> None:
    filter = Tensor("i8", (1, 1, 2, 2), np.ones(2, np.float32), axis=3, data=np.array([[[[1, 2], [3, 4]]]], np.int8))
    first, second = _make_dense(Conv(Operator("DEPTHWISE_CONV_2D", [None, filter], [])))[:, 0].tolist()
    assert first == [[1, 0], [3, 0]]
    assert second == [[0, 2], [0, 4]]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from([SAME, VALID]))
def test_results_agree(seed: int, kind: OperationCode, padding: int) -> None:
    random = np.random.default_rng(seed)
    stride, size = int(random.integers(1, 3)), tuple(random.integers(1, 6, 2).tolist())
    image = int(random.integers(1, 3)), int(random.integers(6, 10)), int(random.integers(6, 20)), 8
    units = 8 if kind == OperationCode.DEPTHWISE_CONV_2D else int(random.integers(1, 9))
    model = convolution(random, kind, image, units, size, padding, stride, int(random.integers(0, 4)))
    (ours,), (theirs,) = both(model, random.integers(0, 256, image, np.uint8))
    assert np.abs(ours.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("padding", "stride"), [(SAME, 1), (SAME, 2), (VALID, 1), (VALID, 2)])
def test_two_pixels_are_made_at_once(kind: OperationCode, padding: int, stride: int) -> None:
    image = (1, 16, 18 if padding == VALID and stride == 1 else 17 if stride == 2 and padding == VALID else 16, 8)
    model = convolution(np.random.default_rng(1), kind, image, 8, (3, 3), padding, stride)
    assert kinds(model) == ["CONV_2D", "RESHAPE"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("image", "size", "dilation"), [((1, 8, 8, 9), (3, 3), 1), ((1, 8, 7, 8), (3, 3), 1), ((1, 8, 8, 8), (3, 3), 2)]
)
def test_others_stay_as_they_are(
    kind: OperationCode, image: tuple[int, ...], size: tuple[int, ...], dilation: int
) -> None:
    graph = lower_model(convolution(np.random.default_rng(1), kind, image, image[3], size, dilation=dilation)).graph
    assert move_width_to_depth(graph).operators == graph.operators


@pytest.mark.parametrize(("units", "is_paired"), [(2, True), (4, True), (8, True), (9, False)])
def test_as_many_channels_as_half_a_tile_are_paired(units: int, is_paired: bool) -> None:
    model = convolution(np.random.default_rng(1), OperationCode.CONV_2D, (1, 16, 16, 8), units, (3, 3))
    assert kinds(model) == (["CONV_2D", "RESHAPE"] if is_paired else ["CONV_2D"])
