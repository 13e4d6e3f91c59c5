"""Convolutions of images at every second pixel, computed on pairs of pixels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from nnapi.drivers.xnnpack.passes.signed_weights.space_to_depth import move_space_to_depth
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both

SAME, VALID = 1, 2


def convolution(
    random: Any,
    image: Any,
    filter: Any,
    padding: Any,
    wide: Any = (),
    zero_point: Any = 100,
    border: Any = (),
) -> Any:
    """A model of one convolution with strides of 2; ``wide`` are places of its filter that are out of reach.

    ``border`` is what a PAD before it adds: above, below, left, right.
    """
    net = Net()
    codes = random.integers(zero_point - 60, zero_point + 61, filter, np.uint8)
    for place in wide:
        codes[place] = 250
    x = net.input(tensor("uint8", image, 0.05, 120))
    if border:
        paddings = net.constant(tensor("int32", (4, 2)), [(0, 0), border[:2], border[2:], (0, 0)])
        image = (image[0], image[1] + sum(border[:2]), image[2] + sum(border[2:]), image[3])
        x = net.call(OperationCode.PAD, [x, paddings], tensor("uint8", image, 0.05, 120))
    w = net.constant(tensor("uint8", filter, 0.01, zero_point), codes)
    scale = float(np.float32(0.05) * np.float32(0.01))
    b = net.constant(tensor("int32", (filter[0],), scale), random.integers(-500, 500, filter[0]))
    high, wide = (
        -(-e // 2) if padding == SAME else (e - k) // 2 + 1 for e, k in zip(image[1:3], filter[1:3], strict=True)
    )
    out = tensor("uint8", (image[0], high, wide, filter[0]), 0.05, 110)
    return net.finished(net.call(OperationCode.CONV_2D, [x, w, b, *net.numbers(padding, 2, 2, 0)], out))


def agrees(model: Any, random: Any) -> Any:
    shape = model.operands[model.inputs[0]].type.dimensions
    (ours,), (theirs,) = both(model, random.integers(0, 256, shape, np.uint8))
    return np.abs(ours.astype(int) - theirs).max() <= 1


def reading(model: Any) -> tuple[Any, ...]:
    """The convolution as the engine is given it: its input's shape and its filter's."""
    (operator,) = (op for op in sign_weights(lower_model(model).graph).operators if op.kind == "CONV_2D")
    assert operator.inputs[1].type == "i8"
    return operator.inputs[0].shape, operator.inputs[1].shape


def test_two_pixels_are_read_as_one() -> None:
    random = np.random.default_rng(1)
    model = convolution(random, (1, 12, 16, 3), (20, 3, 3, 3), SAME)
    assert reading(model) == ((1, 12, 8, 6), (20, 3, 2, 6))
    assert agrees(model, random)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_row_with_numbers_out_of_reach_is_copied(row: int) -> None:
    random = np.random.default_rng(row)
    model = convolution(random, (1, 12, 16, 3), (20, 3, 3, 3), SAME, wide=[(4, row, 1, 2), (9, row, 0, 0)])
    assert reading(model) == ((1, 18, 8, 6), (20, 4, 2, 6))
    assert agrees(model, random)


def test_rows_of_an_image_with_odd_dimensions_are_padded_whole() -> None:
    random = np.random.default_rng(2)
    model = convolution(random, (2, 13, 17, 3), (20, 3, 3, 3), SAME, wide=[(4, 2, 1, 2)])
    pads = [op for op in sign_weights(lower_model(model).graph).operators if op.kind == "PAD"]
    assert [len(op.inputs[0].shape) for op in pads] == [3, 4]
    assert agrees(model, random)


@pytest.mark.parametrize(("border", "pads"), [((0, 1, 0, 1), 0), ((1, 1, 1, 1), 1), ((2, 0, 1, 2), 1)])
def test_a_border_becomes_part_of_it(border: tuple[int, ...], pads: int) -> None:
    random = np.random.default_rng(4)
    model = convolution(random, (1, 12, 16, 3), (20, 3, 3, 3), VALID, border=border)
    kinds = [op.kind for op in sign_weights(lower_model(model).graph).operators]
    assert kinds.count("PAD") == pads
    assert kinds[-2:] == ["RESHAPE", "CONV_2D"]
    assert agrees(model, random)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_ones_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    depth, size = int(random.integers(1, 5)), random.integers(2, 6, 2).tolist()
    image = (int(random.integers(1, 3)), *random.integers(6, 15, 2).tolist(), depth)
    filter = (int(random.integers(1, 20)), *size, depth)
    places = [tuple(int(random.integers(dimension)) for dimension in filter) for _ in range(random.integers(0, 4))]
    border = random.integers(0, 3, 4).tolist() if random.random() < 0.3 else ()
    scheme, zero_point = int(random.choice([SAME, VALID])), int(random.integers(61, 120))
    model = convolution(random, image, filter, scheme, places, zero_point, border)
    assert agrees(model, random)


@pytest.mark.parametrize(("image", "filter"), [((1, 12, 12, 5), (8, 3, 3, 5)), ((1, 12, 12, 3), (8, 1, 1, 3))])
def test_deep_images_and_single_pixels_stay_as_they_are(image: tuple[int, ...], filter: tuple[int, ...]) -> None:
    graph = lower_model(convolution(np.random.default_rng(3), image, filter, SAME)).graph
    assert move_space_to_depth(graph).operators == graph.operators
