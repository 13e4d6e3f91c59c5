"""Transposed convolutions by phases: which are rewritten, and their results beside the engine's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from nnapi import Builder, Model
from nnapi.compiling import compile
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.xnnpack import rewriting
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.transposed import use_phases
from nnapi.model.operand import Array, ChannelQuantization
from nnapi.testing.compare import compare
from tests.drivers.xnnpack.engine_cases import engine, reference, tolerance

pytestmark = pytest.mark.engine
RANDOM = np.random.default_rng(11)
IMAGES = {"float32": None, "quant8_asymm_signed": (0.02, 3), "quant8_asymm": (0.02, 120)}
"""Element types, with the scale and the zero point of the image."""


def make_model(
    image: tuple[int, ...], filter: tuple[int, ...], stride: tuple[int, int], how: Any, kind: str = "float32"
) -> Model:
    """Return a TRANSPOSE_CONV_2D; ``how`` is the padding at the left, right, top and bottom, or the scheme and the rows
    and columns of ``output_shape``."""
    builder, units = Builder(), filter[0]
    out = (image[0], *count_pixels(image, filter, stride, how), units)
    padding: Any = how if len(how) == 4 else (np.array((image[0], *how[1:], units), np.int32), how[0])
    steps: Any = (*padding, *stride[::-1], "RELU" if kind == "float32" else "NONE")
    if kind == "float32":
        x = builder.input(nnapi.tensor(kind, image), "x")
        weights: Any = RANDOM.standard_normal(filter).astype(np.float32)
        bias: Any = RANDOM.standard_normal(units).astype(np.float32)
        type = nnapi.tensor(kind, out)
    else:
        scale, zero = IMAGES[kind]
        x = builder.input(nnapi.tensor(kind, image, scale, zero), "x")
        codes = RANDOM.integers(0, 256, filter).astype(np.uint8)
        is_signed = kind == "quant8_asymm_signed"
        codes = codes.view(np.int8) if is_signed else codes
        weights = builder.constant(codes, nnapi.tensor(kind, filter, 0.01, 0 if is_signed else 131))
        offsets = RANDOM.integers(-900, 900, units).astype(np.int32)
        bias = builder.constant(offsets, nnapi.tensor("int32", (units,), scale * 0.01, 0))
        type = nnapi.tensor(kind, out, 0.1, zero)
    builder.output(builder.transpose_conv_2d(x, weights, bias, *steps, out=type))
    return builder.finish()


def count_pixels(image: tuple[int, ...], filter: tuple[int, ...], stride: tuple[int, int], how: Any) -> list[int]:
    """Return the result's rows and columns."""
    ends = [(size - 1) * step + k for size, k, step in zip(image[1:3], filter[1:3], stride, strict=True)]
    if len(how) == 4:
        return [end - cut for end, cut in zip(ends, (sum(how[2:]), sum(how[:2])), strict=True)]
    if how[0] == "VALID":
        return ends
    wanted = zip(image[1:3], how[1:], stride, strict=True)
    return [rows + (size - -(-rows // step)) * step for size, rows, step in wanted]


def make_image(model: Model) -> Array:
    type = model.operands[model.inputs[0]].type
    if type.dtype == np.float32:
        return RANDOM.standard_normal(type.dimensions).astype(np.float32)
    return RANDOM.integers(0, 256, type.dimensions).astype(np.uint8).view(type.dtype)


def list_kinds(model: Model) -> list[str]:
    return [operator.kind for operator in use_phases(lower_model(model).graph).operators]


@contextmanager
def without_phases() -> Iterator[None]:
    with patch.object(rewriting, "PASSES", tuple(each for each in rewriting.PASSES if each is not use_phases)):
        yield


def run(model: Model, x: Array) -> Array:
    return engine().driver.prepare(model, PrepareOptions()).execute(Request([x])).outputs[0]


CASES = [
    ((1, 5, 6, 7), (3, 2, 2, 7), (2, 2), (0, 0, 0, 0)),
    ((2, 4, 5, 3), (5, 4, 4, 3), (2, 2), (1, 1, 1, 1)),
    ((1, 4, 5, 3), (2, 4, 6, 3), (2, 2), (2, 1, 0, 1)),
    ((1, 5, 4, 3), (2, 6, 3, 3), (3, 3), (0, 1, 2, 0)),
    ((1, 5, 4, 3), (4, 3, 3, 3), (2, 2), ("SAME", 10, 8)),
    ((1, 5, 4, 3), (4, 4, 4, 3), (2, 2), ("SAME", 10, 8)),
    ((1, 5, 4, 3), (4, 5, 3, 3), (2, 2), (1, 0, 1, 1)),
    ((1, 1, 9, 4), (3, 1, 4, 4), (1, 2), (0, 0, 0, 0)),
    ((2, 3, 4, 4), (3, 3, 5, 4), (1, 2), (1, 1, 1, 1)),
    ((1, 9, 1, 4), (3, 10, 1, 4), (5, 1), (0, 0, 0, 0)),
]


@each_row("kind", IMAGES)
@each_row(("image", "filter", "stride", "how"), CASES)
def test_phases_give_the_results_of_the_engines_transposed_convolution(
    kind: str, image: Any, filter: Any, stride: Any, how: Any
) -> None:
    model = make_model(image, filter, stride, how, kind)
    assert "TRANSPOSE_CONV" not in list_kinds(model)
    x = make_image(model)
    with without_phases():
        wanted = run(model, x)
    found = run(model, x)
    assert found.shape == wanted.shape
    if kind == "float32":
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    else:
        is_float = kind == "quant8_asymm"  # the engine computes such filters in float32, where sums are rounded
        assert abs(found.astype(int) - wanted).max() <= is_float


def draw_geometry(random: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """Return shapes of image and filter, strides and padding, small and of every kind, and often of one column."""

    def draw(low: int, high: int) -> int:
        return int(random.integers(low, high + 1))

    n, depth, units, rows = draw(1, 2), draw(1, 3), draw(1, 3), draw(1, 4)
    image, filter = (n, rows, draw(0, 1) or draw(1, 4), depth), (units, draw(1, 5), draw(1, 5), depth)
    down, scheme = draw(1, 3), draw(0, 2)
    stride = down, down if draw(0, 1) else draw(1, 3)
    if not scheme:
        return image, filter, stride, [draw(low, k - 1) for k in filter[2:0:-1] for low in (0, -2)]
    return image, filter, stride, [("SAME", "VALID")[scheme - 1], draw(1, 30), draw(1, 30)]


@pytest.mark.parametrize("kind", IMAGES)
def test_random_geometries_give_the_results_of_the_reference(kind: str) -> None:
    random, rewritten = np.random.default_rng(5), 0
    for _ in range(300):
        geometry = draw_geometry(random)
        if min(count_pixels(*geometry)) < 1:
            continue
        model = make_model(*geometry, kind)
        if "TRANSPOSE_CONV" in list_kinds(model):
            continue
        rewritten += 1
        x, type = make_image(model), model.operands[model.outputs[0]].type
        (wanted,) = compile(model, [reference()]).run(x)
        difference = compare(run(model, x), wanted, tolerance(type))
        assert difference is None, f"{geometry}: {difference}"
    assert rewritten > 30


def test_filters_of_the_same_size_are_joined() -> None:
    assert list_kinds(make_model(*CASES[0])) == ["CONV_2D", "DEPTH_TO_SPACE"]
    assert list_kinds(make_model(*CASES[1])) == ["PAD", "CONV_2D", "DEPTH_TO_SPACE", "SLICE"]
    assert list_kinds(make_model(*CASES[4])).count("CONV_2D") == 4
    assert list_kinds(make_model(*CASES[7])) == ["PAD", "CONV_2D", "RESHAPE"]


@pytest.mark.parametrize(
    ("image", "filter", "stride"),
    [
        ((1, 5, 6, 3), (2, 2, 2, 3), (1, 1)),
        ((1, 5, 6, 3), (2, 2, 2, 3), (3, 3)),
        ((1, 5, 6, 3), (2, 4, 4, 3), (3, 3)),
        ((1, 5, 6, 3), (2, 2, 3, 3), (2, 3)),
        ((1, 5, 6, 3), (2, 2, 1, 3), (2, 1)),
    ],
)
def test_others_stay(image: Any, filter: Any, stride: Any) -> None:
    model = make_model(image, filter, stride, (0, 0, 0, 0))
    assert list_kinds(model) == ["TRANSPOSE_CONV"]


def test_a_computed_filter_stays() -> None:
    builder = Builder()
    x = builder.input(nnapi.tensor("float32", (1, 4, 4, 3)), "x")
    filter = builder.input(nnapi.tensor("float32", (2, 2, 2, 3)), "filter")
    builder.output(builder.transpose_conv_2d(x, filter, np.zeros(2, np.float32), 0, 0, 0, 0, 2, 2, "NONE"))
    assert list_kinds(builder.finish()) == ["TRANSPOSE_CONV"]


@pytest.mark.parametrize("case", [0, 1, 4, 6])
def test_non_finite_values_reach_the_same_results(case: int) -> None:
    model = make_model(*CASES[case])
    x = make_image(model)
    x[0, 1, 2, 1], x[0, 3, 0, 0] = np.inf, np.nan
    with without_phases():
        wanted = run(model, x)
    np.testing.assert_array_equal(np.isfinite(run(model, x)), np.isfinite(wanted))


def test_a_filter_with_a_scale_per_channel() -> None:
    builder, units = Builder(), 3
    channel = ChannelQuantization(0, (0.01, 0.02, 0.005))
    x = builder.input(nnapi.tensor("quant8_asymm_signed", (1, 5, 4, 6), 0.02, 3), "x")
    codes = RANDOM.integers(-127, 128, (units, 4, 4, 6)).astype(np.int8)
    weights = builder.constant(codes, nnapi.tensor("quant8_symm_per_channel", codes.shape, channel=channel))
    offsets = RANDOM.integers(-90, 90, units).astype(np.int32)
    bias = builder.constant(offsets, nnapi.tensor("int32", (units,)))
    out = nnapi.tensor("quant8_asymm_signed", (1, 12, 10, units), 0.1, 3)
    builder.output(builder.transpose_conv_2d(x, weights, bias, 0, 0, 0, 0, 2, 2, "NONE", out=out))
    model = builder.finish()
    assert "TRANSPOSE_CONV" not in list_kinds(model)
    image = make_image(model)
    with without_phases():
        wanted = run(model, image)
    np.testing.assert_array_equal(run(model, image), wanted)
