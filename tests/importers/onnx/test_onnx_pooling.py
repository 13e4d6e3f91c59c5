"""Pools of every window: uneven pads, rounded sizes, dilation, one and three dimensions."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import (  # noqa: E402
    QUANTIZE,
    X,
    chain,
    compare,
    computed,
    loaded,
    reference,
    single,
    step,
)

LINE, WIDE = X[:, :, 0], np.concatenate([X, X[:, :, ::-1] + 1, X - 1], 2)
"""Images of one row, and of 12 rows and 5 columns."""
UNEVEN = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}
ROUNDED = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1}
LAST = {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1}
POOL = "TRANSPOSE {} TRANSPOSE".format
MAX, MEAN = POOL("MAX_POOL_2D"), POOL("AVERAGE_POOL_2D")
ROW = "RESHAPE TRANSPOSE {} TRANSPOSE RESHAPE".format
CASES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("MaxPool", X, {"kernel_shape": [2, 3]}, MAX),
    ("MaxPool", WIDE, UNEVEN, MAX),
    ("MaxPool", X, ROUNDED, MAX),
    ("MaxPool", WIDE, LAST, MAX),
    ("MaxPool", X, {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}, MAX),
    ("MaxPool", LINE, {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}, ROW("MAX_POOL_2D")),
    ("MaxPool", LINE[:, :2], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, ROW("MAX_POOL_2D")),
    ("AveragePool", X, {"kernel_shape": [2, 3]}, MEAN),
    ("AveragePool", WIDE, UNEVEN, MEAN),
    ("AveragePool", WIDE, UNEVEN | {"count_include_pad": 1}, POOL("PAD AVERAGE_POOL_2D")),
    ("AveragePool", WIDE, LAST, MEAN),
    ("AveragePool", WIDE, LAST | {"count_include_pad": 1}, MEAN),
    ("AveragePool", WIDE, LAST | {"count_include_pad": 1, "pads": [1, 0, 1, 2]}, POOL("PAD AVERAGE_POOL_2D")),
    ("AveragePool", LINE, {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}, ROW("AVERAGE_POOL_2D")),
    ("LpPool", X, {"kernel_shape": [2, 3]}, POOL("ABS POW AVERAGE_POOL_2D MUL POW")),
    ("LpPool", WIDE, UNEVEN | {"p": 1}, POOL("ABS POW PAD AVERAGE_POOL_2D MUL POW")),
    ("LpPool", LINE, {"kernel_shape": [3], "p": 3, "pads": [1, 1]}, ROW("ABS POW PAD AVERAGE_POOL_2D MUL POW")),
    ("GlobalAveragePool", X, {}, "TRANSPOSE MEAN RESHAPE"),
    ("GlobalAveragePool", LINE, {}, "RESHAPE TRANSPOSE MEAN RESHAPE"),
    ("GlobalMaxPool", X, {}, "TRANSPOSE REDUCE_MAX RESHAPE"),
    ("MaxPool", (100 + 10 * WIDE).astype(np.uint8), UNEVEN, MAX),
]


@each_row(("kind", "x", "options", "operations"), CASES)
def test_windows_are_pooled_as_in_the_reference(kind: str, x: Any, options: Any, operations: str) -> None:
    compare(single(kind, x, **options), x, operations, 1e-5)


def taps(count: int, combined: int) -> str:
    """The operations of dilated windows: a strided image along each axis for each filter tap, and their maximum."""
    return " ".join(["STRIDED_SLICE"] * count + ["MAXIMUM"] * combined)


@pytest.mark.parametrize(
    ("x", "options", "operations"),
    [
        (X, {"kernel_shape": [2, 2], "dilations": [2, 1]}, taps(8, 3)),
        (WIDE, UNEVEN | {"dilations": [3, 2]}, f"PAD_V2 {taps(12, 5)}"),
        ((10 * WIDE - 60).astype(np.int8), UNEVEN | {"dilations": [3, 2]}, f"PAD_V2 {taps(12, 5)}"),
        ((10 * WIDE - 60).astype(np.float16), UNEVEN | {"dilations": [2, 3]}, f"PAD_V2 {taps(12, 5)}"),
    ],
)
def test_windows_with_gaps(x: Any, options: Any, operations: str) -> None:
    compare(single("MaxPool", x, **options), x, POOL(operations))


@pytest.mark.parametrize(
    ("mode", "pads", "operations"),
    [("SAME_LOWER", [1, 1, 0, 0], MAX), ("SAME_UPPER", [0, 0, 1, 1], MAX), ("VALID", [0, 0, 0, 0], MAX)],
)
def test_automatic_pads(mode: str, pads: list[int], operations: str) -> None:
    """Rounding the size up has no effect beside them."""
    windows: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [1, 3]}
    expected = reference(single("MaxPool", X, pads=pads, **windows), X)
    compare(single("MaxPool", X, auto_pad=mode, ceil_mode=1, **windows), X, operations, expected=expected)


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool"])
def test_one_and_three_dimensions_are_pooled_whole(kind: str) -> None:
    back, flat = step("Reshape", np.array([2, 3, 2, 2, 5])), step("Reshape", np.array([-1]))
    name, function = ("MEAN", np.mean) if kind == "GlobalAveragePool" else ("REDUCE_MAX", np.max)
    compare(chain(X, back, step(kind), flat), X, f"RESHAPE {name} RESHAPE", 1e-6, function(X, (2, 3)).reshape(-1))
    expected = function(LINE, 2, keepdims=True)
    compare(single(kind, LINE), LINE, f"RESHAPE TRANSPOSE {name} RESHAPE", 1e-6, expected)


@pytest.mark.parametrize(
    ("kind", "scale", "operations"),
    [
        ("GlobalAveragePool", 0.25, "TRANSPOSE MEAN RESHAPE"),
        ("GlobalAveragePool", 0.5, f"TRANSPOSE DEQUANTIZE MEAN {QUANTIZE} RESHAPE"),
        ("GlobalMaxPool", 0.25, "TRANSPOSE REDUCE_MAX RESHAPE"),
    ],
)
def test_quantized_images_are_pooled_whole(kind: str, scale: float, operations: str) -> None:
    x, zero = np.arange(0, 240, 2, dtype=np.uint8).reshape(2, 3, 4, 5), np.uint8(8)
    nodes = (
        step("DequantizeLinear", np.float32(0.25), zero),
        step(kind),
        step("QuantizeLinear", np.float32(scale), zero),
    )
    compare(chain(x, *nodes, opset=21), x, operations)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("AveragePool", {"dilations": [2, 1]}),
        ("AveragePool", {"dilations": [2, 2], "pads": [1, 0, 1, 1], "strides": [1, 2]}),
        ("AveragePool", {"dilations": [1, 2], "pads": [1, 0, 0, 1], "count_include_pad": 1}),
        ("LpPool", {"dilations": [1, 2], "pads": [0, 1, 1, 0]}),
    ],
)
def test_dilated_means(kind: str, options: Any) -> None:
    content = single(kind, X, opset=19, kernel_shape=[2, 2], **options)
    np.testing.assert_allclose(computed(nnapi.load(content)), reference(content, X), 1e-5, 1e-6)


def test_windows_have_the_dimensions_of_the_image() -> None:
    with pytest.raises(BadDataError, match="its windows have 3 dimensions, its image 2"):
        nnapi.load(single("MaxPool", X, opset=19, kernel_shape=[2, 2, 2]))


def test_indices_in_dilated_windows_are_refused() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], dilations=[2, 1])
    with pytest.raises(BadDataError, match="NNAPI gives positions in plain windows of images only"):
        loaded([node])
