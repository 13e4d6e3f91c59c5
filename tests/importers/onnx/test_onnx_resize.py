"""Resized images: every mode and way to say the size; and images sampled at given locations."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import X, chain, compare, computed, loaded, made, reference, single, step  # noqa: E402

IMAGE = X[:1, :2]  # 1, 2, 4, 5
WIDER, LESS = np.array([1, 1, 1.5, 2], np.float32), np.array([1, 1, 0.5, 0.6], np.float32)
SIZES = np.array([1, 2, 3, 7])
MODE = "coordinate_transformation_mode"
NEAREST, LINEAR = "TRANSPOSE RESIZE_NEAREST_NEIGHBOR TRANSPOSE", "TRANSPOSE RESIZE_BILINEAR TRANSPOSE"
GATHERED = "TRANSPOSE GATHER GATHER TRANSPOSE"
MAPPED = "TRANSPOSE RESHAPE BATCH_MATMUL RESHAPE RESHAPE BATCH_MATMUL RESHAPE TRANSPOSE"
CASES: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((None, WIDER), {}, NEAREST),
    ((None, LESS), {"nearest_mode": "ceil"}, GATHERED),
    ((None, WIDER), {"nearest_mode": "floor", MODE: "asymmetric"}, NEAREST),
    ((None, WIDER), {"mode": "linear"}, LINEAR),
    ((None, WIDER), {"mode": "linear", MODE: "asymmetric"}, LINEAR),
    ((None, None, SIZES), {"mode": "linear", MODE: "align_corners"}, LINEAR),
    ((None, None, SIZES), {"mode": "linear", MODE: "pytorch_half_pixel"}, LINEAR),
    ((None, None, SIZES), {"mode": "cubic"}, MAPPED),
    ((None, LESS), {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}, MAPPED),
    ((None, None, np.array([1, 3, 4, 5])), {"mode": "linear"}, "RESHAPE BATCH_MATMUL RESHAPE"),
    ((None, np.array([1, 2], np.float32)), {"axes": [1, 3]}, NEAREST),
    ((None, np.array([2], np.float32)), {"axes": [3], "mode": "linear"}, LINEAR),
    ((None, None, np.array([8, 8])), {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, GATHERED),
    ((None, None, np.array([8, 8])), {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}, NEAREST),
    ((None, None, np.array([7, 8])), {"axes": [3, 2], "mode": "linear"}, LINEAR),
    ((None, LESS), {"mode": "linear", "antialias": 1}, MAPPED),
    (
        (np.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.6], np.float32), None, SIZES),
        {"mode": "linear", MODE: "tf_crop_and_resize"},
        MAPPED,
    ),
]


@each_row(("constants", "options", "operations"), CASES)
def test_images_are_resized_as_in_the_reference(constants: Any, options: Any, operations: str) -> None:
    content = single("Resize", IMAGE, *constants, opset=19, **options)
    compare(content, IMAGE, operations, 1e-3)


@pytest.mark.parametrize("options", [{}, {"mode": "linear"}])
def test_usual_maps_need_no_evaluator(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.importers.onnx.rules.resize.fold", None)
    assert nnapi.load(single("Resize", IMAGE, None, WIDER, opset=19, **options)).operations


TWICE = X.repeat(2, 2).repeat(3, 3)


@pytest.mark.parametrize(
    ("kind", "constants", "opset", "options"),
    [
        ("Upsample", (), 7, {"scales": [1.0, 1.0, 2.0, 3.0]}),
        ("Upsample", (np.array([1, 1, 2, 3], np.float32),), 9, {"mode": "nearest"}),
        ("Resize", (np.array([1, 1, 2, 3], np.float32),), 10, {}),
        ("Resize", (np.zeros(0, np.float32), np.array([1, 1, 2, 3], np.float32)), 11, {}),
        ("Resize", (None, None, np.array([2, 3, 8, 15])), 13, {}),
    ],
)
def test_images_are_enlarged_in_every_opset(kind: str, constants: Any, opset: int, options: Any) -> None:
    compare(single(kind, X, *constants, opset=opset, **options), X, NEAREST, expected=TWICE)


def test_a_linear_upsample_begins_at_the_first_pixel() -> None:
    x = np.array([[[[0, 4, 8]]]], np.float32)
    content = single("Upsample", x, np.array([1, 1, 1, 2], np.float32), opset=9, mode="linear")
    compare(content, x, "RESHAPE RESIZE_BILINEAR RESHAPE", expected=np.array([[[[0, 2, 4, 6, 8, 8]]]]))


@pytest.mark.parametrize(
    ("perm", "sizes", "operations"),
    [
        ([0, 3, 1, 2], [2, 5, 6, 8], "RESIZE_BILINEAR TRANSPOSE"),
        ([0, 3, 1, 2], [2, 5, 3, 8], "RESIZE_BILINEAR TRANSPOSE"),
        ([0, 3, 1, 2], [2, 7, 3, 4], "RESHAPE BATCH_MATMUL RESHAPE TRANSPOSE"),
        ([0, 3, 1, 2], [2, 5, 3, 4], "TRANSPOSE"),
    ],
)
def test_a_stored_image_is_resized_as_it_is(perm: list[int], sizes: list[int], operations: str) -> None:
    nodes = step("Transpose", perm=perm), step("Resize", None, None, np.array(sizes), mode="linear")
    compare(chain(X, *nodes), X, operations, 1e-3)


def test_a_row_of_pixels_is_resized() -> None:
    x = X[:, :, 0]
    content = single("Resize", x, None, np.array([1, 1, 2], np.float32), mode="linear")
    compare(content, x, "RESHAPE BATCH_MATMUL RESHAPE", 1e-3)


REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (X[..., None, None, None], (None, np.ones(7, np.float32)), {}, "resizes a tensor of rank 7, operations at most 6"),
    (X, (None, WIDER[1:]), {}, "3 scales for 4 axes"),
    (X, (None, WIDER), {"axes": [2, 3]}, "4 scales for 2 axes"),
    (X, (WIDER, WIDER), {}, "4 roi for 4 axes"),
    (X, (None, None, SIZES[2:]), {}, "2 sizes for 4 axes"),
    (np.zeros((1, 1, 1, 4097), np.float32), (None, WIDER), {}, "its axis of 4097 is too long"),
    (
        X,
        (np.array([0, 0, 0, 0, 1, 1, 1, 1.25], np.float32), WIDER),
        {"mode": "linear", MODE: "tf_crop_and_resize"},
        "its region reaches beyond the image",
    ),
    (
        X,
        (np.array([0, 0, -0.25, 0, 1, 1, 1, 1], np.float32), WIDER),
        {"mode": "linear", MODE: "tf_crop_and_resize"},
        "its region reaches beyond the image",
    ),
]


@pytest.mark.parametrize(("x", "constants", "options", "reason"), REFUSED)
def test_other_sizes_are_refused(x: Any, constants: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single("Resize", x, *constants, opset=18, **options))


def test_an_axis_may_be_as_long_as_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    content = single("Resize", X, None, WIDER, opset=18)
    monkeypatch.setattr("nnapi.importers.onnx.rules.resize.LARGEST", 5)
    nnapi.load(content)
    monkeypatch.setattr("nnapi.importers.onnx.rules.resize.LARGEST", 4)
    with pytest.raises(BadDataError, match="its axis of 5 is too long"):
        nnapi.load(content)


GRID = np.random.default_rng(7).uniform(-1.5, 1.5, (2, 3, 2, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("opset", "mode", "newer", "options"),
    [
        (15, None, "linear", {}),
        (16, None, "linear", {}),
        (16, "bilinear", "linear", {"align_corners": 1}),
        (16, "bicubic", "cubic", {"align_corners": 1}),
        (20, None, "linear", {"padding_mode": "reflection"}),
        (20, "cubic", "cubic", {}),
    ],
)
def test_pixels_are_sampled_around_locations(opset: int, mode: str | None, newer: str, options: Any) -> None:
    """The reference knows the modes by their newer names."""
    named = options | ({} if mode is None else {"mode": mode})
    content = made([helper.make_node("GridSample", ["i", "x"], ["y"], **named)], {"i": X}, GRID, opset=opset)
    node = helper.make_node("GridSample", ["i", "x"], ["y"], **options, mode=newer)
    expected = reference(made([node], {"i": X}, GRID, opset=20), GRID)
    np.testing.assert_allclose(computed(nnapi.load(content), GRID), expected, 1e-4, 2e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.uint8])
def test_the_nearest_pixels_are_of_any_type(dtype: Any) -> None:
    images, x = (20 * abs(X[:1])).astype(dtype), GRID[:1]
    node = helper.make_node("GridSample", ["i", "x"], ["y"], mode="nearest")
    expected = reference(made([node], {"i": images.astype(np.float32)}, x, opset=16), x)
    found = computed(nnapi.load(made([node], {"i": images}, x, opset=16)), x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("grid", "options", "reason"),
    [
        (GRID[:1], {}, r"its grid has shape \[1, 3, 2, 2\], must be \[2, height, width, 2\]"),
        (GRID[..., :1], {}, r"its grid has shape \[2, 3, 2, 1\]"),
        (GRID[0], {}, r"its grid has shape \[3, 2, 2\]"),
        (GRID, {"mode": "spline"}, "its mode is spline, must be nearest, linear or cubic"),
    ],
)
def test_other_grids_are_refused(grid: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        loaded([helper.make_node("GridSample", ["i", "x"], ["y"], **options)], {"i": X}, 20, grid)


def test_a_result_without_elements() -> None:
    x = np.zeros((1, 1, 1, 3), np.float32)
    compiled = nnapi.compile(nnapi.load(single("Resize", x, None, LESS, opset=18)), "nnapi-reference")
    assert compiled.run(x)[0].shape == (1, 1, 0, 1)
