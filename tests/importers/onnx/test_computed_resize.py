"""Images resized to sizes that only a run knows, beside ONNX's reference."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.onnx.computed_resize import LAYOUTS, ROUNDINGS  # noqa: E402
from tests.importers.onnx.literal_cases import node as literal  # noqa: E402
from tests.importers.onnx.literal_cases import reasons  # noqa: E402
from tests.importers.onnx.test_computed_sizes import compare, node  # noqa: E402
from tests.rows import each_row  # noqa: E402

RNG = np.random.default_rng(7)
IMAGE = RNG.random((2, 3, 5, 4)).astype(np.float32) + 1


def check(sizes: list[list[int]], **attributes: Any) -> None:
    """Resize to computed sizes: as the last input says them, with known numbers of images and channels."""
    nodes = [
        node("Shape", ["x"], ["own"], end=2),
        node("Concat", ["own", "wanted"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], **attributes),
    ]
    feeds = [{"x": IMAGE, "wanted": np.array(each)} for each in sizes]
    compare(nodes, feeds[0], "y", *feeds[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_an_image_is_resized_to_computed_sizes(mode: str, layout: str) -> None:
    check([[7, 9], [2, 3], [5, 4], [1, 8]], mode=mode, coordinate_transformation_mode=layout)


@pytest.mark.parametrize("way", ROUNDINGS)
def test_the_nearest_element_is_found_by_each_rounding(way: str) -> None:
    check([[10, 2], [3, 7]], mode="nearest", nearest_mode=way, coordinate_transformation_mode="asymmetric")


def test_an_image_whose_channels_are_last_is_resized_as_it_is() -> None:
    kernel = RNG.standard_normal((2, 3, 1, 1)).astype(np.float32)
    nodes = [
        node("Conv", ["x", "kernel"], ["c"]),
        node("Resize", ["c", "", "", "sizes"], ["y"], mode="linear"),
    ]
    compare(nodes, {"x": IMAGE, "sizes": np.array([2, 2, 8, 3])}, "y", kernel=kernel)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_image_is_resized_by_computed_factors(layout: str) -> None:
    """ONNX computes positions by the length before it is rounded."""
    options = {"mode": "linear", "coordinate_transformation_mode": layout}
    nodes = [node("Resize", ["x", "", "scales"], ["y"], axes=[2, 3], **options)]
    feeds = [
        {"x": IMAGE, "scales": np.array(each, np.float32)} for each in ([2, 1.5], [0.5, 1], [1.3, 2.6], [0.3, 0.6])
    ]
    compare(nodes, feeds[0], "y", *feeds[1:])


def test_a_constant_factor_resizes_rows_of_an_unknown_number() -> None:
    nodes = [
        node("NonZero", ["x"], ["positions"]),
        node("Cast", ["positions"], ["f"], to=1),
        node("Resize", ["f", "", "scales"], ["y"], mode="nearest"),
    ]
    x = np.array([0, 3, 2, 0, 1], np.float32)
    compare(nodes, {"x": x}, "y", {"x": np.ones(5, np.float32)}, scales=np.array([1, 2], np.float32))


def test_rows_of_an_unknown_number_are_resized_to_a_computed_one() -> None:
    nodes = [
        node("NonZero", ["x"], ["positions"]),
        node("Cast", ["positions"], ["f"], to=1),
        node("Resize", ["f", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    x = np.array([0, 3, 2, 0, 1], np.float32)
    feeds = [{"x": each, "sizes": np.array([1, size])} for each in (x, np.ones(5, np.float32)) for size in (2, 6)]
    compare(nodes, feeds[0], "y", *feeds[1:])


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"mode": "cubic"}, "its mode is cubic, and its size is computed"),
        ({"mode": "linear", "antialias": 1}, "it filters, and its size is computed"),
        (
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
            "its coordinate_transformation_mode is half_pixel_symmetric, and its size is computed",
        ),
        (
            {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
            "its keep_aspect_ratio_policy is not_larger, and its size is computed",
        ),
        ({"nearest_mode": "up"}, "its nearest_mode is up, must be one of floor, ceil, "),
    ],
)
def test_attributes_that_need_known_sizes(attributes: dict[str, Any], reason: str) -> None:
    resized = literal("Resize", "x - - sizes", **attributes)
    (found,) = reasons([resized], {"x": IMAGE, "sizes": np.array([2, 3, 8, 3])}, opset=19)
    assert found.startswith(reason)


@each_row("scale", [0.4, 0.75, 1.5, 2.5])
@each_row("mode", ["nearest", "linear"])
@each_row("is_computed", [False, True])
def test_before_opset_11_positions_begin_at_the_first_element(is_computed: bool, mode: str, scale: float) -> None:
    """Resize had no attributes for it; as in ONNX Runtime, the nearest element lies outward."""
    x, scales = np.arange(7, dtype=np.float32)[None] ** 2, np.array([1, scale], np.float32)
    at = np.arange(int(7 * scales[1])) / scales[1]
    low, high = np.floor(at).astype(int), np.ceil(at).astype(int).clip(max=6)
    nearest, mixed = x[:, high if scale < 1 else low], x[:, low] + (x[:, high] - x[:, low]) * (at - low)
    given = {"x": x, "scales": scales} if is_computed else {"x": x}
    constants = {} if is_computed else {"scales": numpy_helper.from_array(scales, "scales")}
    infos = [helper.make_tensor_value_info(name, 1, array.shape) for name, array in given.items()]
    resized = node("Resize", ["x", "scales"], ["y"], mode=mode)
    graph = helper.make_graph(
        [resized], "g", infos, [helper.make_tensor_value_info("y", 1, None)], [*constants.values()]
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)])
    compiled = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference")
    np.testing.assert_allclose(compiled.run(*given.values())[0], nearest if mode == "nearest" else mixed, 1e-6)
