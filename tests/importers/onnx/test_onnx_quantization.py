"""Quantized values: products of them, the operators that give and read them, and their bytes."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import (  # noqa: E402
    QUANTIZE,
    X,
    compare,
    computed,
    loaded,
    made,
    reference,
    single,
    step,
)

BYTES = np.arange(3, 243, 2, dtype=np.uint8).reshape(2, 3, 4, 5)
ROWS = BYTES.reshape(24, 5)
WEIGHTS = np.arange(-14, 16).reshape(5, 6)
FINE, COARSE = np.float32(0.25), np.float32(2.0)
SCALES = np.array([0.5, 0.25, 0.125, 1, 2, 4], np.float32)
BIAS = np.array([1, -2, 30, 4.5, 0, 100], np.float32)
QUANTIZED = step("DequantizeLinear", FINE, np.uint8(16))
AGAIN = step("QuantizeLinear", COARSE, np.uint8(90))


def products(
    kind: str,
    weights: Any,
    scale: Any,
    zero: Any,
    *,
    x: Any = ROWS,
    bias: Any = None,
    axis: int = 1,
    **options: Any,
) -> bytes:
    """Quantized rows times constant quantized weights, quantized again."""
    constants = {"s": FINE, "z": x.dtype.type(16), "w": weights, "t": scale, "u": zero, "o": COARSE}
    constants |= {"p": x.dtype.type(90)} | ({} if bias is None else {"b": bias})
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "t", "u"], ["v"], axis=axis),
        helper.make_node(kind, ["r", "v", *([] if bias is None else ["b"])], ["m"], **options),
        helper.make_node("QuantizeLinear", ["m", "o", "p"], ["y"]),
    ]
    return made(nodes, constants, x, opset=21)


def compare_bytes(content: bytes, x: Any, operations: str) -> None:
    """As ``compare``, within one quantization step."""
    model, expected = nnapi.load(content), np.asarray(reference(content, x))
    names = " ".join(call.name for call in model.operations)
    assert names == operations, names
    found = computed(model, x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert len(np.unique(expected)) > 20
    assert abs(found.astype(np.int32) - expected).max() <= 1


SIGNED, UNSIGNED = WEIGHTS.astype(np.int8), (WEIGHTS + 128).astype(np.uint8)
REAL = f"DEQUANTIZE FULLY_CONNECTED {QUANTIZE}"
PRODUCTS: list[tuple[str, bytes]] = [
    ("FULLY_CONNECTED", products("MatMul", UNSIGNED, np.float32(0.5), np.uint8(120))),
    ("FULLY_CONNECTED", products("MatMul", SIGNED, np.float32(0.5), np.int8(3))),
    ("RESHAPE CONV_2D RESHAPE", products("MatMul", SIGNED, np.float32(0.5), np.int8(0))),
    ("RESHAPE CONV_2D RESHAPE", products("MatMul", SIGNED, SCALES, np.zeros(6, np.int8))),
    ("RESHAPE CONV_2D RESHAPE", products("MatMul", UNSIGNED, SCALES, np.full(6, 128, np.uint8))),
    (REAL, products("MatMul", SIGNED, SCALES[:5], np.zeros(5, np.int8), axis=0)),
    (REAL, products("MatMul", SIGNED, SCALES, np.arange(6, dtype=np.int8))),
    ("FULLY_CONNECTED", products("Gemm", UNSIGNED, np.float32(0.5), np.uint8(128), bias=BIAS)),
    ("FULLY_CONNECTED", products("Gemm", UNSIGNED, np.float32(0.5), np.uint8(128), bias=BIAS[2:3])),
    ("RESHAPE CONV_2D RESHAPE", products("Gemm", SIGNED, SCALES, np.zeros(6, np.int8), bias=BIAS)),
    (
        "RESHAPE CONV_2D RESHAPE",
        products("Gemm", SIGNED.T.copy(), SCALES, np.zeros(6, np.int8), bias=BIAS, axis=0, transB=1),
    ),
    (REAL, products("Gemm", UNSIGNED, np.float32(0.5), np.uint8(128), bias=BIAS, alpha=0.5)),
    (REAL, products("Gemm", UNSIGNED, np.float32(0.5), np.uint8(128), bias=BIAS, beta=0.5)),
]


@pytest.mark.parametrize(("operations", "content"), PRODUCTS, ids=map(str, range(len(PRODUCTS))))
def test_quantized_products(operations: str, content: bytes) -> None:
    compare_bytes(content, ROWS, operations)


@pytest.mark.parametrize(
    ("weights", "zero", "operations"),
    [(SIGNED, np.int8(4), "FULLY_CONNECTED"), (UNSIGNED, np.uint8(130), "FULLY_CONNECTED")],
)
def test_products_of_signed_bytes(weights: Any, zero: Any, operations: str) -> None:
    x = (ROWS.astype(np.int32) - 128).astype(np.int8)
    compare_bytes(products("MatMul", weights, np.float32(0.5), zero, x=x), x, operations)


def test_products_into_floats_or_other_bytes_are_computed_in_floats() -> None:
    nodes = [
        helper.make_node(DQ, ["x", "s", "z"], ["r"]),
        helper.make_node(DQ, ["w", "s", "u"], ["v"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    constants = {"s": FINE, "z": np.uint8(16), "w": UNSIGNED, "u": np.uint8(120)}
    compare(made(nodes, constants, ROWS, opset=21), ROWS, "DEQUANTIZE FULLY_CONNECTED", 1e-5)
    for dtype in (np.int8, np.uint8):
        nodes[2:] = [helper.make_node("MatMul", ["r", "v"], ["m"]), helper.make_node(Q, ["m", "o", "p"], ["y"])]
        content = made(nodes, constants | {"o": COARSE, "p": dtype(9)}, ROWS, opset=21)
        compare_bytes(content, ROWS, "FULLY_CONNECTED" if dtype == np.uint8 else REAL)


Q, DQ = "QuantizeLinear", "DequantizeLinear"
ROUNDED = "DIV ROUND"
VALUES = np.linspace(-40, 40, 120, dtype=np.float32).reshape(2, 3, 4, 5)
THREE = np.array([0.25, 0.5, 1.0], np.float32)
CODED: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], str]] = [
    (Q, VALUES, (FINE,), {}, QUANTIZE),
    (Q, VALUES, (FINE, np.uint8(7)), {}, QUANTIZE),
    (Q, VALUES, (FINE, np.int8(-9)), {}, QUANTIZE),
    (Q, VALUES, (FINE,), {"output_dtype": TensorProto.INT8}, QUANTIZE),
    (Q, 1e6 * VALUES, (FINE, np.uint16(9)), {}, f"{ROUNDED} ADD MAXIMUM MINIMUM CAST"),
    (Q, 1e6 * VALUES, (FINE, np.int16(-9)), {}, f"{ROUNDED} ADD MAXIMUM MINIMUM CAST"),
    (Q, VALUES, (THREE, np.array([1, 20, 200], np.uint8)), {}, f"{ROUNDED} ADD MAXIMUM MINIMUM CONVERT"),
    (
        Q,
        VALUES,
        (THREE, np.array([1, 20, -100], np.int8)),
        {"axis": -3},
        f"{ROUNDED} ADD MAXIMUM MINIMUM CONVERT",
    ),
    (Q, VALUES[0], (THREE,), {"axis": 0}, f"{ROUNDED} MAXIMUM MINIMUM CONVERT"),
    (DQ, BYTES, (FINE,), {}, "DEQUANTIZE"),
    (DQ, BYTES, (FINE, np.uint8(100)), {}, "DEQUANTIZE"),
    (DQ, BYTES.astype(np.int8), (FINE,), {}, "DEQUANTIZE"),
    (DQ, BYTES.astype(np.int8), (FINE, np.int8(-3)), {}, "DEQUANTIZE"),
    (DQ, BYTES, (THREE, np.array([1, 20, 200], np.uint8)), {}, "CAST SUB CAST MUL"),
    (
        DQ,
        BYTES[0].astype(np.int8),
        (THREE, np.array([1, 20, -100], np.int8)),
        {"axis": 0},
        "CONVERT SUB CAST MUL",
    ),
    (DQ, BYTES.astype(np.int32) * 999, (FINE,), {}, "CAST MUL"),
    (DQ, BYTES.astype(np.int32) * 999, (np.array([0.5], np.float32),), {}, "CAST MUL"),
    (DQ, BYTES.astype(np.int16), (FINE, np.int16(300)), {}, "SUB CAST MUL"),
]


@each_row(("kind", "x", "constants", "options", "operations"), CODED)
def test_values_are_quantized_and_dequantized(kind: str, x: Any, constants: Any, options: Any, operations: str) -> None:
    content = single(kind, x, *constants, opset=21, **options)
    compare(content, x, operations)


@pytest.mark.parametrize(
    ("kind", "x", "constants", "options", "reason"),
    [
        (Q, VALUES, (FINE,), {"output_dtype": TensorProto.UINT4}, "NNAPI quantizes to integers of 8 and 16 bits only"),
        (Q, BYTES.astype(np.int32), (THREE, np.zeros(3, np.uint8)), {}, "NNAPI quantizes floats only"),
        (Q, VALUES, (THREE[:2],), {}, r"it has 2 scales, axis 1 of shape \[2, 3, 4, 5\] needs 3"),
        (Q, VALUES, (THREE[:, None],), {}, "its scales have several axes"),
        (Q, VALUES, (THREE[:, None],), {"block_size": 2}, "it has a scale for each block"),
        (DQ, BYTES[..., None, None, None], (THREE,), {}, "its input has rank 7, operations at most 6"),
        ("Cast", BYTES, (), {"to": TensorProto.STRING}, "is of type STRING, which NNAPI does not have"),
    ],
)
def test_other_scales_and_types_are_refused(kind: str, x: Any, constants: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, *constants, opset=21, **options))


@pytest.mark.parametrize(
    ("to", "source", "notes"),
    [
        (np.int64, np.int32, ("a cast to int64 gives TENSOR_INT32",)),
        (np.float64, np.float32, ("a cast to float64 gives TENSOR_FLOAT32",)),
        (np.int64, np.int64, ()),
        (np.int32, np.int64, ()),
        (np.int32, np.int16, ()),
        (np.uint16, np.int16, ()),
        (np.float16, np.float32, ()),
    ],
)
def test_casts_to_wider_types_are_noted(to: Any, source: Any, notes: tuple[str, ...]) -> None:
    x = np.arange(6, dtype=source)
    model = nnapi.load(single("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(to))))
    assert tuple(note for note in model.notes if note.startswith("a cast")) == notes
    assert computed(model, x.astype(np.int32) if x.dtype.kind == "i" else x).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_scale_that_is_not_finite_is_noted() -> None:
    for kind, x in ((Q, VALUES), (DQ, BYTES)):
        notes = nnapi.load(single(kind, x, np.float32(np.inf))).notes
        assert notes == (f"c0.0, the scale of {kind} y, is not finite",)
        assert nnapi.load(single(kind, x, FINE)).notes == ()


def test_an_input_has_one_scale_the_others_are_computed() -> None:
    nodes = [
        helper.make_node(DQ, ["x", "s", "z"], ["a"]),
        helper.make_node(DQ, ["x", "t", "z"], ["b"]),
        helper.make_node("Concat", ["a", "b", "a"], ["y"], axis=1),
    ]
    content = made(nodes, {"s": FINE, "t": COARSE, "z": np.uint8(5)}, BYTES, opset=21)
    np.testing.assert_array_equal(computed(nnapi.load(content), BYTES), reference(content, BYTES))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_constants_are_dequantized_by_channel(axis: int, dtype: Any) -> None:
    weights = (BYTES if dtype == np.uint8 else BYTES.astype(np.int32) - 128).astype(dtype)
    count = weights.shape[axis]
    scales = np.array([0.5, 0.25, 2, 1, 4], np.float32)[:count]
    points = np.arange(count).astype(dtype)
    nodes = [helper.make_node(DQ, ["w", "s", "z"], ["v"], axis=axis), helper.make_node("Add", ["x", "v"], ["y"])]
    content = made(nodes, {"w": weights, "s": scales, "z": points}, X, opset=21)
    compare(content, X, "ADD")


@pytest.mark.parametrize("weights", [BYTES, np.int8(-7), np.uint8(9)])
def test_constants_without_a_zero_point(weights: Any) -> None:
    nodes = [helper.make_node(DQ, ["w", "s"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    compare(made(nodes, {"w": weights, "s": FINE}, X, opset=21), X, "ADD")


def test_channels_are_the_second_axis_in_opsets_that_do_not_say() -> None:
    nodes = [helper.make_node(DQ, ["w", "s"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    expected = X + BYTES * THREE[:, None, None]
    compare(made(nodes, {"w": BYTES, "s": THREE}, X, opset=12), X, "ADD", expected=expected)
    scaled = BYTES * THREE[:, None, None]
    compare(single(DQ, BYTES, THREE, opset=12), BYTES, "CAST CAST MUL", expected=scaled)


@pytest.mark.parametrize(
    ("scale", "options", "reason"),
    [
        (THREE[:2], {"axis": 1}, r"2 scales for \[2, 3, 4, 5\]"),
        (THREE, {"axis": 0}, r"3 scales for \[2, 3, 4, 5\]"),
        (THREE[:, None], {}, "its scales have several axes"),
        (THREE, {"block_size": 2}, r"its scales have shape \[3\], its blocks \[2, 2, 4, 5\]"),
    ],
)
def test_constants_of_other_scales_are_refused(scale: Any, options: Any, reason: str) -> None:
    nodes = [helper.make_node(DQ, ["w", "s"], ["v"], **options), helper.make_node("Add", ["x", "v"], ["y"])]
    with pytest.raises(BadDataError, match=reason):
        loaded(nodes, {"w": BYTES, "s": scale}, 21)
