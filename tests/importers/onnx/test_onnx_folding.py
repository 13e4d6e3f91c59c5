"""The size of folded constants, estimated before they are computed."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from nnapi.importers.onnx import folding

MOST = folding.MOST


@pytest.mark.parametrize(
    ("kind", "arrays", "shape"),
    [
        ("ConstantOfShape", [[3, 4]], [3, 4]),
        ("ConstantOfShape", [[-3]], [3]),
        ("HannWindow", [[10]], [10]),
        ("ConstantOfShape", [[1] * 9], [MOST + 1]),
        ("EyeLike", [np.zeros((2, 5))], [2, 5]),
        ("Expand", [np.zeros((2, 1)), [3, 1, 4]], [3, 1, 4, 2]),
        ("Tile", [np.zeros((2, 3)), [0, 5]], [1, 5, 6]),
        ("Tile", [np.zeros(0), [2]], [2, 1]),
        ("Range", [1.0, 10.0, 2.0], [5]),
        ("Range", [10, 1, -3], [4]),
        ("Range", [1, 10, 0], [MOST + 1]),
        ("Range", [[1, 2], 10, 1], [MOST + 1]),
        ("Pad", [np.zeros((2, 3)), [1, 0, 2, 4]], [5, 7]),
        ("Pad", [np.zeros((2, 3)), [-1, 0, 0, 0]], [3, 3]),
        ("Pad", [np.zeros(()), []], [1]),
        ("Pad", [np.zeros((2, 3))], [MOST + 1]),
        ("Pad", [np.zeros((1,) * 9), [1] * 18], [MOST + 1]),
        ("OneHot", [[1, 2, 0], 5], [3, 5]),
        ("OneHot", [[1, 2, 0], [5, 6]], [MOST + 1]),
        ("Other", [[1]], [MOST + 1]),
    ],
)
def test_the_shape_that_constants_ask_for(kind: str, arrays: list[Any], shape: list[int]) -> None:
    assert folding._estimate_shape(kind, [np.asarray(array) for array in arrays]) == shape


@pytest.mark.parametrize(("shapes", "size"), [([(2, 3), (3,)], 6), ([(2, 1), (1, 5)], 10), ([(2,), (3,)], MOST * MOST)])
def test_the_elements_of_a_broadcast(shapes: list[tuple[int, ...]], size: int) -> None:
    assert folding._broadcast([np.zeros(shape) for shape in shapes]) == size
