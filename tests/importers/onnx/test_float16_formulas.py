"""Operators on float16 whose intermediate results exceed float16, or vanish in it, have results that do neither."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi
from tests.engines import DEVICES, find_device
from tests.importers.onnx.literal_cases import file_of, node

X = np.array([[0, 0.001, -0.001, 0.5, -0.75, 1, -2, 9.5, -9.5, 11.5, -11.5, 300, -300, 6e4]], np.float16)
SMALL, ANGLES, ABOVE_1 = X[:, :6], X[:, :11], abs(X[:, 5:])
COSINES = X[:, [1, 3, 4]]
PIXELS = np.array([300, -400, 0.01, 1e-4], np.float16).reshape(1, 1, 2, 2)

CASES: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "Acos": (COSINES, {}, np.arccos),
    "Acosh": (ABOVE_1, {}, np.arccosh),
    "Asin": (COSINES, {}, np.arcsin),
    "Asinh": (X, {}, np.arcsinh),
    "Atan": (X, {}, np.arctan),
    "Atanh": (COSINES, {}, np.arctanh),
    "Cos": (ANGLES, {}, np.cos),
    "Cosh": (ANGLES, {}, np.cosh),
    "Sinh": (ANGLES, {}, np.sinh),
    "Tan": (ANGLES, {}, np.tan),
    "Softplus": (X, {}, lambda x: np.logaddexp(x, 0)),
    "ReduceL2": (X[:, :12], {"axes": [1]}, lambda x: np.sqrt((x * x).sum(1, keepdims=True))),
    "ReduceLogSum": (abs(X), {"axes": [1]}, lambda x: np.log(x.sum(1, keepdims=True))),
    "ReduceLogSumExp": (X[:, :11], {"axes": [1]}, lambda x: np.log(np.exp(x).sum(1, keepdims=True))),
    "ReduceSumSquare": (SMALL / 64, {"axes": [1]}, lambda x: (x * x).sum(1, keepdims=True)),
    "LpNormalization": (X, {"p": 2, "axis": 1}, lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    "LpPool": (PIXELS, {"kernel_shape": [2, 2]}, lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True))),
}
SQUARES = {kind: CASES[kind] for kind in ("Asinh", "ReduceL2", "LpNormalization", "LpPool")}


def check(kind: str, x: Any, options: dict[str, Any], expected: Any, device: str) -> None:
    """Assert that results are the exact ones rounded to float16, within one unit in the last place."""
    model = nnapi.load(file_of([node(kind, "x", **options)], {"x": x}, opset=11))
    found = nnapi.compile(model, find_device(device), cache=False).run(x)[0].astype(np.float64)
    wanted = expected(x.astype(np.float64)).astype(np.float16)
    assert np.isfinite(wanted).all()
    np.testing.assert_array_less(
        abs(found - wanted.astype(np.float64)), 1.001 * np.spacing(abs(wanted)).astype(np.float64)
    )


@each_row("kind", CASES)
def test_results_are_exact_ones_rounded(kind: str) -> None:
    check(kind, *CASES[kind], "nnapi-reference")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", SQUARES)
def test_squares_do_not_overflow_on_any_device(kind: str, device: str) -> None:
    check(kind, *SQUARES[kind], device)
