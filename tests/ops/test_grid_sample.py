"""GRID_SAMPLE: kernel, decomposition and engines beside ONNX's reference and a literal example."""

import itertools
from typing import Any

import numpy as np
import pytest

from nnapi.errors import NnapiError
from nnapi.lowering.expansion import expand
from nnapi.model.operand import OperandType, tensor
from nnapi.ops.grid_sample import Mode, Padding
from tests.ops.composite_cases import WAYS, model_of, run
from tests.ops.tensor_cases import assert_stores, reals
from tests.rows import each_row

NAMES = {Mode.NEAREST: "nearest", Mode.LINEAR: "linear", Mode.CUBIC: "cubic"}
CASES = list(itertools.product(Mode, Padding, (False, True)))


def sampled(type: OperandType, x: Any, grid: Any, mode: int, padding: int, aligned: bool, way: str) -> Any:
    model = model_of(
        lambda b: b.grid_sample(
            b.input(type.with_dimensions(x.shape)), b.input(tensor("float32", grid.shape)), mode, padding, aligned
        )
    )
    return run(model, way, x, grid)[0]


@pytest.mark.parametrize("way", WAYS)
def test_literal(way: str) -> None:
    """A quarter of a pixel to the right of the first center, a center, and outside of the image."""
    x = np.array([[[[1], [2]], [[3], [4]]]], np.float32)
    grid = np.array([[[[-0.25, -0.5], [0.5, 0.5], [-3, 0]]]], np.float32)
    for padding, outside in ((Padding.ZEROS, 0), (Padding.BORDER, 2), (Padding.REFLECTION, 3)):
        found = sampled(tensor("float32"), x, grid, Mode.LINEAR, padding, False, way)
        assert found.tolist() == [[[[1.25], [4], [outside]]]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("mode", "padding", "aligned"), CASES)
def test_random_grids_agree_with_onnx(mode: Mode, padding: Padding, aligned: bool, way: str) -> None:
    """Locations inside and outside of two images, one row of which is one pixel wide."""
    helper = pytest.importorskip("onnx", reason="onnx is not installed").helper
    from onnx.reference import ReferenceEvaluator

    random = np.random.default_rng(CASES.index((mode, padding, aligned)))
    node = helper.make_node(
        "GridSample",
        ["x", "g"],
        ["y"],
        mode=NAMES[mode],
        padding_mode=padding.name.lower(),
        align_corners=int(aligned),
    )
    x = random.normal(size=(2, 4, 3, 5)).astype(np.float32)
    # beyond the border, ONNX's reference moves locations, and not taps as ONNX Runtime, PyTorch and OpenVINO do
    reach = 0.99 if (mode, padding) == (Mode.CUBIC, Padding.BORDER) else 1.9
    grid = random.uniform(-reach, reach, (2, 3, 4, 2)).astype(np.float32)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, 1, None) for name in "xg"],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    evaluator: Any = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
    expected = evaluator.run(None, {"x": x.transpose(0, 3, 1, 2), "g": grid})[0].transpose(0, 2, 3, 1)
    np.testing.assert_allclose(sampled(tensor("float32"), x, grid, mode, padding, aligned, way), expected, 1e-4, 1e-5)


@each_row("way", WAYS)
@each_row("kind", ["float16", "quant8", "quant8_signed", "int32"])
def test_other_types(kind: str, way: str) -> None:
    random = np.random.default_rng(3)
    type = {
        "float16": tensor("float16"),
        "quant8": tensor("quant8_asymm", (), 0.5, 10),
        "quant8_signed": tensor("quant8_asymm_signed", (), 0.25, -5),
        "int32": tensor("int32"),
    }[kind]
    x = random.integers(0, 100, (1, 3, 4, 2)).astype(type.dtype)
    x = x if kind != "int32" else x + 2**25
    grid = random.uniform(-1.2, 1.2, (1, 2, 3, 2)).astype(np.float32)
    if way == "openvino-cpu" and kind == "int32":
        with pytest.raises(NnapiError, match="openvino-cpu"):
            sampled(type, x, grid, Mode.NEAREST, Padding.ZEROS, False, way)
        return
    for mode in (Mode.NEAREST,) if kind == "int32" else (Mode.NEAREST, Mode.LINEAR):
        found = sampled(
            type,
            x,
            grid,
            mode,
            Padding.ZEROS,
            False,
            "nnapi-reference" if way == "openvino-cpu" and kind == "int32" else way,
        )
        real = x if kind == "int32" else np.asarray(reals(type, x), np.float32)
        code = tensor("int32") if kind == "int32" else tensor("float32")
        assert_stores(type, found, sampled(code, real, grid, mode, Padding.ZEROS, False, "nnapi-reference"))


def test_the_decomposition_takes_no_more_pixels_than_float32_counts() -> None:
    def refusals(width: int) -> Any:
        x, grid = tensor("float32", (1, 4096, width, 1)), tensor("float32", (1, 1, 1, 2))
        return expand(model_of(lambda b: b.grid_sample(b.input(x), b.input(grid), 0, Padding.BORDER, False))).refusals

    assert refusals(4096) == {}
    assert "its images have too many pixels" in refusals(4097)[0]


def test_a_location_that_is_not_a_number_reads_within_the_image() -> None:
    x, grid = np.ones((1, 2, 2, 1), np.float32), np.array([[[[np.nan, np.inf], [-np.inf, 0]]]], np.float32)
    for mode, padding in itertools.product(Mode, Padding):
        found = sampled(tensor("float32"), x, grid, mode, padding, False, "nnapi-reference")
        assert found.shape == (1, 1, 2, 1)


@pytest.mark.parametrize(
    ("image", "grid", "mode", "padding", "message"),
    [
        ((1, 2, 2, 1), (2, 1, 1, 2), 0, 0, "grid has shape [2, 1, 1, 2], must be [1, …, …, 2]"),
        ((1, 2, 2, 1), (1, 1, 1, 3), 0, 0, "grid has shape [1, 1, 1, 3], must be [1, …, …, 2]"),
        ((2, 2, 1), (1, 1, 1, 2), 0, 0, "input has rank 3, must have rank 4"),
        ((1, 2, 2, 1), (1, 1, 1, 2), 3, 0, "mode is 3, must be one of 0, 1, 2"),
        ((1, 2, 2, 1), (1, 1, 1, 2), 0, -1, "padding is -1, must be one of 0, 1, 2"),
    ],
)
def test_refusals(image: Any, grid: Any, mode: int, padding: int, message: str) -> None:
    with pytest.raises(NnapiError) as caught:
        sampled(tensor("float32"), np.zeros(image), np.zeros(grid), mode, padding, False, "nnapi-reference")
    assert message in str(caught.value)


def test_integers_are_not_mixed() -> None:
    with pytest.raises(NnapiError, match="input is TENSOR_INT32, which only the nearest mode takes"):
        sampled(tensor("int32"), np.zeros((1, 2, 2, 1)), np.zeros((1, 1, 1, 2)), 1, 0, False, "nnapi-reference")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("mode", "padding", "aligned"), [each for each in CASES if each[0] != Mode.CUBIC])
def test_volumes_agree_with_loops(mode: Mode, padding: Padding, aligned: bool, way: str) -> None:
    """Each location is mixed from the eight cells around it, or is the nearest one."""
    random = np.random.default_rng(CASES.index((mode, padding, aligned)))
    x = random.normal(size=(2, 3, 4, 5, 2)).astype(np.float32)
    grid = random.uniform(-1.6, 1.6, (2, 2, 3, 2, 3)).astype(np.float32)
    if way == "openvino-cpu":
        with pytest.raises(NnapiError, match="openvino-cpu"):
            sampled(tensor("float32"), x, grid, mode, padding, aligned, way)
        return
    found = sampled(tensor("float32"), x, grid, mode, padding, aligned, way)

    def cell(position: float, size: int) -> int | None:
        low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
        if padding == Padding.REFLECTION:
            while not low <= position <= high:
                position = 2 * low - position if position < low else 2 * high - position
        if padding != Padding.ZEROS:
            position = min(max(position, 0), size - 1)
        return int(position) if 0 <= position <= size - 1 else None

    for at in np.ndindex(*grid.shape[:-1]):
        sizes = x.shape[3:0:-1]
        centers = [
            (g + 1) * (n - 1) / 2 if aligned else ((g + 1) * n - 1) / 2 for g, n in zip(grid[at], sizes, strict=True)
        ]
        expected = np.zeros(2)
        nearest = [[(np.rint(each), 1.0)] for each in centers]
        around = [[(np.floor(c), 1 - c + np.floor(c)), (np.floor(c) + 1, c - np.floor(c))] for c in centers]
        for taps in itertools.product(*(nearest if mode == Mode.NEAREST else around)):
            cells = [cell(position, size) for (position, _), size in zip(taps, sizes, strict=True)]
            if None not in cells:
                expected += x[at[0], cells[2], cells[1], cells[0]] * np.prod([weight for _, weight in taps])
        np.testing.assert_allclose(found[at], expected, 1e-4, 1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_volumes_of_integers_are_sampled_exactly(way: str) -> None:
    """The first location is outside, where volumes are zeros."""
    x = np.arange(2**25, 2**25 + 24, dtype=np.int32).reshape(1, 2, 3, 2, 2)
    grid = np.array([-3, 0, 0, -1, -1, -1, 1, 0, 1], np.float32).reshape(1, 1, 1, 3, 3)
    if way == "openvino-cpu":
        with pytest.raises(NnapiError, match="openvino-cpu"):
            sampled(tensor("int32"), x, grid, Mode.NEAREST, Padding.ZEROS, True, way)
        return
    found = sampled(tensor("int32"), x, grid, Mode.NEAREST, Padding.ZEROS, True, way)
    assert found.reshape(3, 2).tolist() == [[0, 0], x[0, 0, 0, 0].tolist(), x[0, 1, 1, 1].tolist()]


def test_the_cubic_mode_takes_no_volumes() -> None:
    x, grid = np.zeros((1, 2, 2, 2, 1), np.float32), np.zeros((1, 1, 1, 1, 3), np.float32)
    with pytest.raises(NnapiError, match="input is a volume, which the cubic mode does not take"):
        sampled(tensor("float32"), x, grid, Mode.CUBIC, Padding.ZEROS, False, "nnapi-reference")


@pytest.mark.parametrize("way", WAYS)
def test_the_result_is_rounded_once_to_its_own_scale(way: str) -> None:
    """Halfway between 0 and 8 is 4, which the input's scale of 8 lacks."""

    def make(b: Any) -> Any:
        x, grid = b.input(tensor("quant8_asymm", (1, 1, 2, 1), 8.0, 0)), b.input(tensor("float32", (1, 1, 1, 2)))
        return b.grid_sample(x, grid, Mode.LINEAR, Padding.BORDER, True, scale=1.0, zero_point=0)

    found = run(model_of(make), way, np.array([[[[0], [1]]]], np.uint8), np.zeros((1, 1, 1, 2), np.float32))
    assert found[0].tolist() == [[[[4]]]]
