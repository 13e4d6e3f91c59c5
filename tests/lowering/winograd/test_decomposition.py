"""CONV_2D with fewer multiplications, computed by the reference driver and compared with a plain sum in float64."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from nnapi import Model
from nnapi.codes import OperationCode as Op
from nnapi.lowering.tile_choice import list_layers
from tests.lowering.winograd.winograd_cases import compute, find_decomposition, make_convolution
from tests.rows import each_row

ACCURATE, LEAST_ACCURATE = 5e-6, 2e-5
"""Largest errors, relative to the largest result."""


def convolve(model: Model, x: Any, padding: Any, dilation: tuple[int, int] = (1, 1)) -> Any:
    filter, bias = (model.operands[index].value.astype(np.float64) for index in model.operations[0].inputs[1:3])
    padded = np.pad(x.astype(np.float64), [(0, 0), *padding, (0, 0)])
    extent = [step * (k - 1) + 1 for step, k in zip(dilation, filter.shape[1:3], strict=True)]
    windows = sliding_window_view(padded, extent, (1, 2))[..., :: dilation[0], :: dilation[1]]
    return np.maximum(np.einsum("nhwcab,kabc->nhwk", windows, filter) + bias, 0)


@each_row("tile", [(6, 0), (0, 6), (4, 4), (6, 4), (6, 6), (4, 0)])
@each_row("image", [(1, 12, 8, 5), (2, 7, 9, 3), (1, 1, 1, 4)])
def test_the_results_are_those_of_the_convolution(tile: tuple[int, int], image: tuple[int, ...]) -> None:
    model = make_convolution(image, units=6)
    x = np.random.default_rng(0).standard_normal(image).astype(np.float32)
    wanted, found = convolve(model, x, ((1, 1), (1, 1))), compute(find_decomposition(model, tile).model, x)
    assert found.shape == wanted.shape
    assert abs(found - wanted).max() <= (LEAST_ACCURATE if tile == (6, 6) else ACCURATE) * wanted.max()


@pytest.mark.parametrize(
    ("size", "tile", "around"),
    [
        ((3, 1), (6, 0), (0, 0, 1, 1)),
        ((1, 3), (0, 6), (2, 0, 0, 0)),
        ((5, 5), (6, 0), (2, 2, 2, 2)),
        ((5, 3), (6, 4), (1, 2, 0, 4)),
        ((3, 3), (6, 6), (0, 0, 0, 0)),
    ],
)
def test_filters_of_other_sizes_and_paddings(size: Any, tile: Any, around: Any) -> None:
    model = make_convolution((1, 9, 11, 4), 5, size, padding=around)
    x = np.random.default_rng(1).standard_normal((1, 9, 11, 4)).astype(np.float32)
    wanted = convolve(model, x, (around[2:], around[:2]))
    assert abs(compute(find_decomposition(model, tile).model, x) - wanted).max() <= LEAST_ACCURATE * wanted.max()


@each_row("tile", [(6, 0), (6, 4), (6, 6)])
@each_row(
    ("image", "dilation", "around"),
    [
        ((1, 12, 12, 4), (2, 2), (2, 2, 2, 2)),
        ((2, 13, 10, 3), (3, 2), (2, 2, 3, 3)),
        ((1, 9, 8, 4), (1, 3), (0, 2, 1, 0)),
        ((1, 5, 7, 3), (4, 4), (4, 5, 8, 7)),
        ((1, 11, 7, 3), (2, 3), (0, 0, 0, 0)),
    ],
)
def test_a_dilated_convolution_is_one_of_phases(image: Any, dilation: Any, around: Any, tile: tuple[int, int]) -> None:
    model = make_convolution(image, 5, padding=around, dilation=dilation)
    assert [number for number, _ in list_layers(model)] == [0]
    x = np.random.default_rng(3).standard_normal(image).astype(np.float32)
    wanted = convolve(model, x, (around[2:], around[:2]), dilation)
    found = compute(find_decomposition(model, tile).model, x)
    assert found.shape == wanted.shape
    assert abs(found - wanted).max() <= (LEAST_ACCURATE if tile == (6, 6) else ACCURATE) * wanted.max()


def test_padding_by_a_part_of_a_step_keeps_the_convolution_direct() -> None:
    assert not [*list_layers(make_convolution((1, 9, 9, 3), 4, padding=(1, 1, 2, 2), dilation=(2, 2)))]


def test_an_image_of_channels_first_is_transposed() -> None:
    model = make_convolution((1, 4, 9, 8), 5, layout=True)
    x = np.random.default_rng(2).standard_normal((1, 9, 8, 4)).astype(np.float32)
    found = compute(find_decomposition(model, (6, 4)).model, np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    wanted = convolve(model, x, ((1, 1), (1, 1)))
    np.testing.assert_allclose(found.transpose(0, 2, 3, 1), wanted, atol=1e-5)


def test_few_tensors_are_concatenated_and_the_activation_comes_last() -> None:
    model = find_decomposition(make_convolution((1, 16, 16, 4), 4), (6, 6)).model
    joined = [call for call in model.operations if call.code == Op.CONCATENATION]
    assert joined
    assert all(len(call.inputs) - 1 <= 5 for call in joined)
    sums = {Op.CONV_2D, Op.DEPTHWISE_CONV_2D}
    last = max(call.number for call in model.operations if call.code in sums)
    activations = [
        call.number
        for call in model.operations
        if call.code in (Op.ADD, Op.SUB) and model.operands[call.inputs[2]].value != 0
    ]
    assert len(activations) == 4
    assert min(activations) > last
    biases = [model.operands[call.inputs[2]].value for call in model.operations if call.code == Op.CONV_2D]
    assert sum(bool(bias.any()) for bias in biases) == 1
