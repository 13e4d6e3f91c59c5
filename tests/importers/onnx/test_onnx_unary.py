"""Functions of single elements: values over their whole domain, every rank and type."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import X, compare, computed, loaded, single  # noqa: E402

UNIT = np.concatenate([np.linspace(-1, 1, 401), [1e-3, -1e-4, 1e-6]]).astype(np.float32)
WIDE = np.concatenate([np.linspace(-8, 8, 801), [1e-3, -1e-4, 1e3, -1e4, 1e10, -1e30, np.inf, -np.inf]]).astype(
    np.float32
)
CALM, POSITIVE = WIDE[:803], abs(WIDE[:805]) + np.float32(1e-3)
HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -0.4, 0.6, 7, -3, 2.4999998, -1.2], np.float32)
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Abs": (np.abs, WIDE),
    "Acos": (np.arccos, UNIT),
    "Acosh": (np.arccosh, abs(CALM) + 1),
    "Asin": (np.arcsin, UNIT),
    "Asinh": (np.arcsinh, CALM),
    "Atan": (np.arctan, WIDE),
    "Atanh": (np.arctanh, UNIT[1:400]),
    "Ceil": (np.ceil, HALVES),
    "Cos": (np.cos, CALM),
    "Cosh": (np.cosh, CALM),
    "Exp": (np.exp, CALM),
    "Floor": (np.floor, HALVES),
    "Log": (np.log, POSITIVE),
    "Neg": (np.negative, WIDE),
    "Reciprocal": (np.reciprocal, POSITIVE),
    "Round": (np.round, HALVES),
    "Sign": (np.sign, WIDE),
    "Sin": (np.sin, CALM),
    "Sinh": (np.sinh, CALM),
    "Sqrt": (np.sqrt, POSITIVE),
    "Tan": (np.tan, UNIT),
}
ABSOLUTE = {"Acos": 3e-7, "Acosh": 8e-7, "Asinh": 2e-7, "Atanh": 1e-7, "Cos": 5e-7, "Sinh": 1e-7}
"""Differences that a formula has near the zeros of its function."""


@each_row("kind", FUNCTIONS)
def test_every_function(kind: str) -> None:
    function, x = FUNCTIONS[kind]
    found = computed(loaded([helper.make_node(kind, ["x"], ["y"])], x=x), x)
    np.testing.assert_allclose(found, function(x.astype(np.float64)), 5e-7, ABSOLUTE.get(kind, 0))


@pytest.mark.parametrize(
    ("kind", "x", "operations"),
    [
        ("Exp", X[..., None], "EXP"),
        ("Neg", (10 * X).astype(np.int32), "NEG"),
        ("Abs", (10 * X).astype(np.int8), "CONVERT ABS CONVERT"),
        ("Neg", np.arange(-128, 128).astype(np.int8), "CONVERT NEG CONVERT"),
        ("Neg", np.arange(256).astype(np.uint8), "CAST NEG CONVERT"),
        ("Sign", (10 * X).astype(np.int32), "SIGN"),
        ("Not", X > 0, "LOGICAL_NOT"),
        ("IsNaN", np.where(X > 1, np.nan, X).astype(np.float32), "NOT_EQUAL"),
        ("IsNaN", np.where(X > 1, np.nan, X).astype(np.float16), "NOT_EQUAL"),
        ("IsInf", np.array([65504, np.inf, -65504, -np.inf, np.nan, 0], np.float16), "LESS GREATER LOGICAL_OR"),
        ("Identity", X, "CAST"),
    ],
)
def test_types_and_ranks(kind: str, x: Any, operations: str) -> None:
    compare(single(kind, x, opset=20), x, operations)
    assert computed(nnapi.load(single(kind, x, opset=20)), x).dtype == (
        np.uint8 if kind in ("Not", "IsNaN", "IsInf") else x.dtype
    )


@pytest.mark.parametrize(
    ("to", "source"),
    [
        (np.uint8, np.int32),
        (np.int8, np.int32),
        (np.uint8, np.float32),
        (np.int8, np.float32),
        (np.int32, np.int8),
        (np.float32, np.int8),
        (np.float32, np.uint8),
        (np.bool_, np.float32),
        (np.bool_, np.int32),
        (np.uint8, np.bool_),
        (np.int8, np.bool_),
        (np.float16, np.bool_),
        (np.int32, np.bool_),
    ],
)
def test_casts_keep_the_lowest_bits(to: Any, source: Any) -> None:
    numbers = np.arange(-300, 301)
    x = np.where(numbers < 0, numbers - 0.75, numbers + 0.75).astype(source) if source != np.bool_ else numbers % 3 > 0
    if source == np.float32 and to == np.uint8:
        x = x[300:]
    expected = x.astype(np.int32).astype(to) if to in (np.uint8, np.int8) else x.astype(to)
    found = computed(nnapi.load(single("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))), x)
    assert found.dtype == (np.uint8 if to == np.bool_ else to)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("ratio", "training", "opset", "refused"),
    [
        (None, None, 17, False),
        (0.5, None, 17, False),
        (0.5, False, 17, False),
        (0.0, True, 17, False),
        (0.5, True, 17, True),
        (None, True, 17, True),
        (None, None, 10, False),
    ],
)
def test_no_elements_are_dropped(ratio: float | None, training: bool | None, opset: int, refused: bool) -> None:
    constants = {"r": np.float32(ratio or 0), "t": np.array(bool(training))}
    names = ["x", "" if ratio is None else "r", "" if training is None else "t"]
    given = {name: constants[name] for name in names[1:] if name}
    nodes = [helper.make_node("Dropout", names if opset > 11 else ["x"], ["y", "mask"])]
    if refused:
        with pytest.raises(BadDataError, match="in training mode, it drops elements at random"):
            loaded(nodes, given, opset)
        return
    np.testing.assert_array_equal(computed(loaded(nodes, given, opset)), X)


def test_a_mask_of_dropped_elements_is_all_true() -> None:
    nodes = [
        helper.make_node("Dropout", ["x"], ["z", "mask"]),
        helper.make_node("Where", ["mask", "x", "seven"], ["y"]),
    ]
    np.testing.assert_array_equal(computed(loaded(nodes, {"seven": np.float32(7)})), X)


@pytest.mark.parametrize(
    ("kind", "x", "reason"),
    [
        ("Sign", X.astype(np.int8), "NNAPI has no signs of bytes"),
        ("IsNaN", X.astype(np.int32), "only floats may be NaN"),
        ("IsInf", X.astype(np.int32), "only floats may be infinite"),
    ],
)
def test_other_types_are_refused(kind: str, x: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, opset=20))
