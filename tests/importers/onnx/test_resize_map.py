"""Maps of Resize, against ONNX's reference evaluator."""

import itertools
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from nnapi.importers.onnx.resize_map import NEAREST, find_map  # noqa: E402
from nnapi.model.operand import Array  # noqa: E402

LAYOUTS = "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"
MODES = [("linear", "floor"), *(("nearest", name) for name in NEAREST)]
SCALES = 0.3, 0.5, 1.0, 1 / 3, 1.5, 2.0, 2.7, 4.0
SIZES = 1, 2, 5, 8


def evaluate(size: int, scale: float | None, length: int | None, attributes: dict[str, Any]) -> Array:
    given = np.array([1, scale], np.float32) if scale is not None else np.array([size, length], np.int64)
    names = ["x", "", "given"] if scale is not None else ["x", "", "", "given"]
    described = [helper.make_tensor_value_info(name, 0, None) for name in ("x", "given", "y")]
    graph = helper.make_graph(
        [helper.make_node("Resize", names, ["y"], **attributes)], "g", described[:2], described[2:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    found: Any = ReferenceEvaluator(model).run(None, {"x": np.eye(size, dtype=np.float32), "given": given})
    return np.asarray(found[0]).T


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("mode", "nearest"), MODES)
def test_maps_have_the_evaluators_bits(layout: str, mode: str, nearest: str) -> None:
    attributes = {"mode": mode, "nearest_mode": nearest, "coordinate_transformation_mode": layout}
    cases = [(size, float(np.float32(scale)), None) for size, scale in itertools.product(SIZES, SCALES)]
    for case in [*cases, *((size, None, length) for size, length in itertools.product(SIZES, (1, 3, 5, 16)))]:
        found = find_map(*case, attributes)
        assert found is not None
        np.testing.assert_array_equal(found, evaluate(*case, attributes), str(case), strict=True)


def test_defaults_are_those_of_the_operator() -> None:
    found = find_map(3, 2.0, None, {})
    assert found is not None
    np.testing.assert_array_equal(found, evaluate(3, 2.0, None, {}))


@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": b"cubic"},
        {"mode": b"linear", "antialias": 1},
        {"mode": b"linear", "exclude_outside": 1},
        {"coordinate_transformation_mode": b"tf_crop_and_resize"},
        {"nearest_mode": b"unheard-of"},
    ],
)
def test_the_evaluator_computes_what_is_rare(attributes: dict[str, Any]) -> None:
    assert find_map(4, 2.0, None, attributes) is None
    assert find_map(4, None, None, {}) is None
