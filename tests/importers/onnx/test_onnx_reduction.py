"""Reductions and running sums of ONNX: every kind, axes given in both ways, every type."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import QUANTIZE, X, chain, compare, computed, reference, single, step  # noqa: E402

NOTE = "reductions of int32 are computed as float32, exact up to 2**24"
INTS = np.arange(-11, 13, dtype=np.int32).reshape(2, 3, 4)
BYTES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
TRUTHS = INTS % 3 == 0
KINDS = {
    "ReduceL1": "ABS REDUCE_SUM",
    "ReduceL2": "MUL REDUCE_SUM SQRT",
    "ReduceLogSum": "REDUCE_SUM LOG",
    "ReduceLogSumExp": "REDUCE_MAX SUB EXP REDUCE_SUM LOG ADD",
    "ReduceMax": "REDUCE_MAX",
    "ReduceMean": "MEAN",
    "ReduceMin": "REDUCE_MIN",
    "ReduceProd": "REDUCE_PROD",
    "ReduceSum": "REDUCE_SUM",
    "ReduceSumSquare": "MUL REDUCE_SUM",
}


def row(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_every_reduction(kind: str) -> None:
    x = abs(X) + 1 if kind == "ReduceLogSum" else X
    compare(single(kind, x, row(1, -1), opset=18), x, KINDS[kind], 1e-4)
    compare(single(kind, x, opset=18), x, KINDS[kind], 1e-4)
    compare(single(kind, x, opset=18, keepdims=0), x, f"{KINDS[kind]} RESHAPE", 1e-4)
    older = 12 if kind == "ReduceSum" else 17
    expected = reference(single(kind, x, row(-3), opset=18, keepdims=0), x)
    content = single(kind, x, axes=[1], keepdims=0, opset=older)
    compare(content, x, f"{KINDS[kind]} RESHAPE", 1e-4, expected)


@pytest.mark.parametrize(
    ("axes", "is_kept", "operations"),
    [
        ((1,), 1, "REDUCE_MAX RESHAPE"),
        ((2, -1), 1, "REDUCE_MAX RESHAPE"),
        ((2,), 1, "REDUCE_MAX TRANSPOSE"),
        ((1,), 0, "REDUCE_MAX RESHAPE"),
        ((2, 3), 0, "REDUCE_MAX RESHAPE"),
        ((2,), 0, "TRANSPOSE REDUCE_MAX RESHAPE"),
        ((0, 2), 0, "TRANSPOSE REDUCE_MAX RESHAPE"),
    ],
)
def test_an_image_is_reduced_as_it_is_stored_unless_the_rest_would_be_permuted(
    axes: Any, is_kept: int, operations: str
) -> None:
    first = step("Transpose", perm=[0, 3, 1, 2])
    compare(chain(X, first, step("ReduceMax", row(*axes), keepdims=is_kept), opset=18), X, operations)


@pytest.mark.parametrize(
    ("kind", "x", "axes", "options", "operations"),
    [
        ("ReduceSum", X, (), {"noop_with_empty_axes": 1}, "CAST"),
        ("ReduceL1", X, (), {"noop_with_empty_axes": 1}, "ABS"),
        ("ReduceSum", INTS, (), {"noop_with_empty_axes": 1}, "CAST"),
        ("ReduceSum", INTS, (1,), {}, "CAST REDUCE_SUM CAST"),
        ("ReduceProd", INTS[:, :, 1:2], (0, 2), {"keepdims": 0}, "CAST REDUCE_PROD CAST RESHAPE"),
        ("ReduceMax", BYTES, (1,), {}, "REDUCE_MAX"),
        ("ReduceMin", BYTES.astype(np.int8), (0,), {"keepdims": 0}, "REDUCE_MIN RESHAPE"),
        ("ReduceMax", TRUTHS, (1,), {}, "REDUCE_ANY"),
        ("ReduceMin", TRUTHS, (2,), {}, "REDUCE_ALL"),
    ],
)
def test_types_and_axes_that_are_left_out(kind: str, x: Any, axes: Any, options: Any, operations: str) -> None:
    content = single(kind, x, row(*axes), opset=20, **options)
    compare(content, x, operations)
    assert (NOTE in nnapi.load(content).notes) == (operations.startswith("CAST "))


@pytest.mark.parametrize(("axes", "is_kept"), [((2,), 1), ((0, 1), 0), ((1, 2, 4), 0), ((0, 2), 1)])
def test_neighbors_of_five_axes_are_reduced_together(axes: Any, is_kept: int) -> None:
    back, flat = step("Reshape", row(2, 3, 2, 2, 5)), step("Reshape", row(-1))
    content = chain(X, back, step("ReduceMean", row(*axes), keepdims=is_kept), flat, opset=18)
    np.testing.assert_allclose(computed(nnapi.load(content)), reference(content, X), 1e-5, 1e-6)


def test_a_sum_of_powers_does_not_overflow() -> None:
    x = X[0, 0] + 1000
    compare(single("ReduceLogSumExp", x, row(1), opset=18), x, KINDS["ReduceLogSumExp"], 1e-6)


@pytest.mark.parametrize(
    ("kind", "scale", "operations"),
    [
        ("ReduceMean", 0.25, "MEAN"),
        ("ReduceMean", 0.5, f"MEAN DEQUANTIZE {QUANTIZE}"),
        ("ReduceMean", 0.125, f"DEQUANTIZE MEAN {QUANTIZE}"),
        ("ReduceMean", None, "DEQUANTIZE MEAN"),
        ("ReduceMax", 0.125, "REDUCE_MAX DEQUANTIZE QUANTIZE"),
        ("ReduceMax", None, "REDUCE_MAX DEQUANTIZE"),
        ("ReduceSum", 0.5, f"DEQUANTIZE REDUCE_SUM {QUANTIZE}"),
    ],
)
def test_quantized_values_are_reduced_as_they_are_unless_the_result_is_finer(
    kind: str, scale: float | None, operations: str
) -> None:
    x, zero = np.arange(0, 96, 4, dtype=np.uint8).reshape(2, 3, 4), np.uint8(8)
    nodes = [step("DequantizeLinear", np.float32(0.25), zero), step(kind, row(2), keepdims=1)]
    if scale is not None:
        nodes.append(step("QuantizeLinear", np.float32(scale), zero))
    compare(chain(x, *nodes, opset=21), x, operations)


@pytest.mark.parametrize(
    ("kind", "x", "axes", "reason"),
    [
        ("ReduceMean", INTS, (1,), "NNAPI has no mean of integers"),
        ("ReduceSum", BYTES, (1,), "NNAPI adds no bytes that stand for themselves"),
        ("ReduceSum", TRUTHS, (1,), "NNAPI reduces booleans to any or all"),
        ("ReduceSum", X, (4,), "axis 4 is outside rank 4"),
        ("ReduceSum", X.reshape(2, 3, 1, 2, 1, 2, 5), (0, 2, 4, 6), "it reduces along too many axes that are not"),
        ("CumProd", BYTES, (1,), "NNAPI multiplies no bytes that stand for themselves"),
    ],
)
def test_other_reductions_are_refused(kind: str, x: Any, axes: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, row(*axes), opset=18))


@each_row("options", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
@each_row(("axis", "x"), [(0, INTS[:, 0]), (1, INTS), (-1, X), (-3, X)])
def test_sums_of_all_before(options: dict[str, int], axis: int, x: Any) -> None:
    content = single("CumSum", x, np.array(axis), **options)
    model = nnapi.load(content)
    np.testing.assert_allclose(computed(model, x), reference(content, x), 1e-5, 1e-6)
    assert [call.name for call in model.operations] == ["CUMSUM"]


@pytest.mark.parametrize(
    ("count", "options", "operations"),
    [
        (1, {}, ""),
        (2, {}, "SLICE CONCATENATION MUL "),
        (4, {}, "SLICE CONCATENATION MUL SLICE CONCATENATION MUL "),
        (5, {"reverse": 1}, "SLICE CONCATENATION MUL SLICE CONCATENATION MUL SLICE CONCATENATION MUL "),
        (2, {"exclusive": 1, "reverse": 1}, "SLICE CONCATENATION SLICE CONCATENATION MUL "),
    ],
)
def test_products_double_the_number_of_factors(count: int, options: dict[str, int], operations: str) -> None:
    x = X[:, :, 0, :count]
    compare(single("CumProd", x, np.array(2), opset=26, **options), x, f"RESHAPE {operations}RESHAPE", 1e-5)
    x = X[:, :, 0, :1]
    compare(single("CumProd", x, np.array(2), opset=26, exclusive=1), x, "CAST", expected=np.ones_like(x))
