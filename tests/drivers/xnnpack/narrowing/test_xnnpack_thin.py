"""Depthwise filters of few channels, computed as dense ones on pairs of pixels."""

import numpy as np
import pytest
from engine_cases import Net, both
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.graph import Tensor
from nnapi.drivers.xnnpack.lowering import lowered
from nnapi.drivers.xnnpack.narrowing.narrow import narrowed
from nnapi.drivers.xnnpack.narrowing.thin import _dense, thickened
from nnapi.model.operand import ChannelQuantization, tensor

SAME, VALID = 1, 2


def depthwise(random, image, size, padding=SAME, stride=1, activation=0):
    """A model of one depthwise operation whose filter has a scale for each channel."""
    net, depth = Net(), image[3]
    x = net.input(tensor("uint8", image, 0.05, 120))
    scales = tuple(random.uniform(0.005, 0.02, depth).astype(np.float32).tolist())
    type = tensor("quant8_symm_per_channel", (1, *size, depth), channel=ChannelQuantization(3, scales))
    w = net.constant(type, random.integers(-127, 128, type.dimensions))
    b = net.constant(tensor("int32", (depth,)), random.integers(-500, 500, depth))
    spans = image[1:3] if padding == SAME else [e - k + 1 for e, k in zip(image[1:3], size, strict=True)]
    out = tensor("uint8", (image[0], *(-(-e // stride) for e in spans), depth), 0.1, 100)
    tail = net.numbers(padding, stride, stride, 1, activation)
    return net.finished(net.call(OperationCode.DEPTHWISE_CONV_2D, [x, w, b, *tail], out))


def kinds(model):
    return [operator.kind for operator in narrowed(lowered(model).graph).operators]


def test_a_number_is_where_a_pixel_of_a_pair_sees_one_of_another():
    filter = Tensor("i8", (1, 1, 3, 1), np.ones(1, np.float32), axis=3, data=np.int8([7, 8, 9]).reshape(1, 1, 3, 1))
    before, here, after = _dense(filter)[:, 0].transpose(1, 0, 2).tolist()
    assert before == [[0, 7], [0, 0]]
    assert here == [[8, 9], [7, 8]]
    assert after == [[0, 0], [9, 0]]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_results_agree(seed):
    random = np.random.default_rng(seed)
    image = int(random.integers(1, 3)), int(random.integers(4, 9)), 2 * int(random.integers(4, 9)), 8
    size = int(random.choice([1, 2, 3, 5])), int(random.choice([3, 5]))
    model = depthwise(random, image, size, activation=int(random.integers(0, 4)))
    assert size[1] == 5 or kinds(model) == ["RESHAPE", "CONV_2D", "RESHAPE"]
    (ours,), (theirs,) = both(model, random.integers(0, 256, image, np.uint8))
    assert np.abs(ours.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize(
    ("image", "size", "padding", "stride"),
    [
        ((1, 8, 8, 9), (3, 3), SAME, 1),
        ((1, 8, 7, 8), (3, 3), SAME, 1),
        ((1, 8, 8, 8), (3, 3), SAME, 2),
        ((1, 8, 8, 8), (3, 3), VALID, 1),
        ((1, 8, 8, 8), (3, 4), SAME, 1),
    ],
)
def test_others_stay_as_they_are(image, size, padding, stride):
    graph = lowered(depthwise(np.random.default_rng(1), image, size, padding, stride)).graph
    assert thickened(graph) is graph
