"""Operations on each element, against LiteRT."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode, OperationCode
from tests.importers.tflite.against_litert import Case, case, check, loaded, run
from tests.tflite_writer import T, const, f32, flags, i32, s8, u8

RELU, RELU1, RELU6 = 1, 2, 3
a, b, row = f32(2, 3, 4), f32(2, 3, 4), f32(4)
n, m = i32(2, 3), i32(2, 3)
ua, ub = u8(2, 3, 4), u8(2, 3, 4, scale=0.03, zero_point=100)
sa, sb = s8(2, 3, 4), s8(2, 3, 4, scale=0.03, zero_point=7)
H = T("FLOAT16", (2, 3, 4))

ARITHMETIC = [
    *(
        case(kind, [a, b], f32(2, 3, 4), f"{kind.capitalize()}Options", FusedActivationFunction=RELU6)
        for kind in ("ADD", "SUB", "MUL")
    ),
    *(
        case(kind, [a, row], f32(2, 3, 4), f"{kind.capitalize()}Options", label="broadcast")
        for kind in ("ADD", "SUB", "MUL")
    ),
    *(case(kind, [n, m], i32(2, 3), f"{kind.capitalize()}Options", low=-99, high=99) for kind in ("ADD", "SUB", "MUL")),
    case("ADD", [n, m], i32(2, 3), "AddOptions", FusedActivationFunction=RELU, low=-9, high=9, label="relu"),
    case("ADD", [n, m], i32(2, 3), "AddOptions", FusedActivationFunction=RELU6, low=-9, high=9, label="relu6"),
    case("DIV", [a, b], f32(2, 3, 4), "DivOptions", low=1),
    case("DIV", [n, const([[3, -4, 7], [-2, 5, -1]])], i32(2, 3), "DivOptions", low=-99, high=99),
    *(
        case("DIV", [n, by], i32(2, 3), "DivOptions", low=-99, high=99, FusedActivationFunction=3, label=label)
        for by, label in ((const([7]), "RELU6"), (const([[3, -4, 7], [-2, 5, -1]]), "RELU6 of several"))
    ),
    *(
        case("DIV", [n, const([by])], i32(2, 3), "DivOptions", low=-(2**31), high=2**31 - 1, label=str(by))
        for by in (3, -3)
    ),
    case("ADD", [ua, ub], u8(2, 3, 4, scale=0.07), "AddOptions", FusedActivationFunction=RELU),
    case("SUB", [sa, sb], s8(2, 3, 4, scale=0.07), "SubOptions"),
    case("MUL", [ua, ub], u8(2, 3, 4, scale=0.2), "MulOptions"),
    case("MUL", [sa, sb], s8(2, 3, 4, scale=0.001), "MulOptions", label="fine scale"),
    case("ADD_N", [a, b, f32(2, 3, 4)], f32(2, 3, 4)),
    case("MAXIMUM", [a, row], f32(2, 3, 4)),
    case("MINIMUM", [n, m], i32(2, 3), low=-99, high=99),
    case("MAXIMUM", [sa, s8(2, 3, 4)], s8(2, 3, 4)),
    case("POW", [a, row], f32(2, 3, 4), low=0.5),
    case("SQUARED_DIFFERENCE", [a, row], f32(2, 3, 4)),
    case("SQUARED_DIFFERENCE", [n, m], i32(2, 3), low=-99, high=99),
    case("SQUARED_DIFFERENCE", [sa, sb], s8(2, 3, 4, scale=0.5)),
    case("FLOOR_DIV", [a, b], f32(2, 3, 4), low=1, high=50),
    case("FLOOR_DIV", [n, const([[3, -4, 7], [-2, 5, -1]])], i32(2, 3), low=-99, high=99),
    case("FLOOR_MOD", [a, row], f32(2, 3, 4), low=1, high=9, within=1e-5),
    case("FLOOR_MOD", [n, const([[3, -4, 7], [-2, 5, -1]])], i32(2, 3), low=-99, high=99),
]

UNARY = [
    *(
        case(kind, [a], f32(2, 3, 4))
        for kind in (
            "ABS",
            "NEG",
            "EXP",
            "SIN",
            "FLOOR",
            "CEIL",
            "LOGISTIC",
            "TANH",
            "HARD_SWISH",
            "SQUARE",
            "ELU",
            "SIGN",
            "RELU",
            "RELU_N1_TO_1",
            "RELU6",
            "RELU_0_TO_1",
        )
    ),
    case("COS", [a], f32(2, 3, 4), low=-20, high=20),
    *(case(kind, [a], f32(2, 3, 4), low=0.1, label="positive") for kind in ("LOG", "SQRT", "RSQRT")),
    case("ROUND", [a], f32(2, 3, 4)),
    case("NEG", [n], i32(2, 3)),
    case("LEAKY_RELU", [a], f32(2, 3, 4), "LeakyReluOptions", Alpha=0.2),
    case("LEAKY_RELU", [sa], s8(2, 3, 4, scale=0.06), "LeakyReluOptions", Alpha=0.2),
    case("LEAKY_RELU", [ua], u8(2, 3, 4), "LeakyReluOptions", Alpha=0.1),
    case("PRELU", [f32(1, 3, 4, 2), const([[[0.1, -0.3]]], "FLOAT32")], f32(1, 3, 4, 2)),
    case("GELU", [a], f32(2, 3, 4), "GeluOptions", Approximate=False, within=3e-6),
    case("GELU", [a], f32(2, 3, 4), "GeluOptions", Approximate=True, within=3e-6, label="approximate"),
    case("SOFTMAX", [f32(2, 5)], f32(2, 5), "SoftmaxOptions", Beta=1.5),
    case("SOFTMAX", [f32(2, 5)], f32(2, 5), "SoftmaxOptions", Beta=-0.5, label="negative beta"),
    case("SOFTMAX", [s8(2, 5)], s8(2, 5, scale=1 / 256, zero_point=-128), "SoftmaxOptions", Beta=0.0, label="beta 0"),
    case("SOFTMAX", [u8(2, 5)], u8(2, 5, scale=1 / 256, zero_point=0), "SoftmaxOptions", Beta=1.0),
    case("SOFTMAX", [s8(2, 5)], s8(2, 5, scale=1 / 256, zero_point=-128), "SoftmaxOptions", Beta=1.0),
    case("LOG_SOFTMAX", [f32(2, 5)], f32(2, 5)),
    case("LOG_SOFTMAX", [s8(2, 5)], s8(2, 5, scale=16 / 256, zero_point=127)),
    case("LOGISTIC", [ua], u8(2, 3, 4, scale=1 / 256, zero_point=0)),
    case("LOGISTIC", [sa], s8(2, 3, 4, scale=1 / 256, zero_point=-128)),
    case("TANH", [sa], s8(2, 3, 4, scale=1 / 128, zero_point=0)),
    case("HARD_SWISH", [sa], s8(2, 3, 4, scale=0.04, zero_point=-100)),
    case("RELU", [sa], s8(2, 3, 4)),
    case("RELU6", [sa], s8(2, 3, 4, scale=6 / 255, zero_point=-128), label="other scale"),
    *(case(kind, [sa], s8(2, 3, 4, scale=0.06)) for kind in ("ABS", "ELU")),
    case("EXP", [s8(2, 3, 4, scale=0.01)], s8(2, 3, 4, scale=0.02, zero_point=-128)),
    case("RSQRT", [s8(2, 3, 4, scale=0.05, zero_point=-128)], s8(2, 3, 4, scale=0.02, zero_point=-128)),
    case("ABS", [i32(2, 3)], i32(2, 3), low=-99, high=99),
]

LOGIC = [
    *(case(kind, [a, row], flags(2, 3, 4)) for kind in ("LESS", "GREATER_EQUAL")),
    *(case(kind, [n, m], flags(2, 3), low=-2, high=2) for kind in ("EQUAL", "NOT_EQUAL", "GREATER", "LESS_EQUAL")),
    case("EQUAL", [flags(2, 3), flags(2, 3)], flags(2, 3)),
    case("GREATER", [sa, sb], flags(2, 3, 4)),
    case("LOGICAL_AND", [flags(2, 3), flags(2, 3)], flags(2, 3)),
    case("LOGICAL_OR", [flags(2, 3), flags(3)], flags(2, 3)),
    case("LOGICAL_NOT", [flags(2, 3)], flags(2, 3)),
    case("SELECT", [flags(2, 3), f32(2, 3), f32(2, 3)], f32(2, 3)),
    case("SELECT", [flags(2), f32(2, 3), f32(2, 3)], f32(2, 3), label="rows"),
    case("SELECT_V2", [flags(2, 1), f32(2, 3), f32(1)], f32(2, 3), label="broadcast"),
    case("SELECT_V2", [flags(3), i32(2, 3), const(5)], i32(2, 3), label="scalar"),
    case("SELECT_V2", [flags(2, 3), flags(2, 3), flags(2, 3)], flags(2, 3), label="booleans"),
    case("SELECT_V2", [flags(2, 3), s8(2, 3), s8(2, 3)], s8(2, 3)),
]

CONVERSIONS = [
    case("QUANTIZE", [a], s8(2, 3, 4)),
    case("QUANTIZE", [a], u8(2, 3, 4)),
    case("QUANTIZE", [ua], s8(2, 3, 4, zero_point=-8), label="shifted"),
    case("QUANTIZE", [sa], s8(2, 3, 4, scale=0.11), label="rescaled"),
    case("DEQUANTIZE", [sa], f32(2, 3, 4)),
    case("DEQUANTIZE", [H], f32(2, 3, 4)),
    case("CAST", [a], i32(2, 3, 4), "CastOptions", high=99, low=-99),
    case("CAST", [n], f32(2, 3), "CastOptions", high=99, low=-99),
    case("CAST", [flags(2, 3)], f32(2, 3), "CastOptions"),
    case("CAST", [flags(2, 3)], i32(2, 3), "CastOptions"),
    case("CAST", [flags(2, 3)], T("UINT8", (2, 3)), "CastOptions", codes=0, label="to bytes"),
    case("CAST", [n], flags(2, 3), "CastOptions", low=-1, high=1),
    case("CAST", [T("UINT8", (2, 3))], f32(2, 3), "CastOptions"),
    case("CAST", [T("INT8", (2, 3))], i32(2, 3), "CastOptions", label="signed"),
    case("CAST", [s8(2, 3, scale=[0.5, 0.3], axis=0, zero_point=0)], f32(2, 3), "CastOptions", label="per channel"),
    case("CAST", [a], T("INT8", (2, 3, 4)), "CastOptions", low=-99, high=99, codes=0, label="to signed"),
    case("CAST", [n], T("INT64", (2, 3)), "CastOptions", label="to int64"),
    case("FAKE_QUANT", [a], f32(2, 3, 4), "FakeQuantOptions", Min=-2.0, Max=2.5, NumBits=8),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", ARITHMETIC + UNARY + LOGIC + CONVERSIONS, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_round_takes_the_even_one_of_two(tmp_path: Path) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 1e7, 3.2], np.float32)
    model = loaded(case("ROUND", [f32(9)], f32(9)).content(), tmp_path)
    np.testing.assert_array_equal(run(model, [x])[0], np.rint(x))


def codes_of(model: object) -> list[OperationCode]:
    return [call.code for call in model.operations]  # type: ignore[attr-defined]


def test_what_nnapi_fixes_is_computed_in_real_numbers_where_the_file_wants_another_scale(tmp_path: Path) -> None:
    model = loaded(case("TANH", [sa], s8(2, 3, 4, scale=0.01, zero_point=3)).content(), tmp_path)
    assert codes_of(model) == [OperationCode.DEQUANTIZE, OperationCode.TANH, OperationCode.QUANTIZE]
    x = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    real = np.tanh((x.astype(float) + 3) * np.float32(0.05))
    expected = np.clip(np.round(real / np.float32(0.01)) + 3, -128, 127)
    assert np.abs(run(model, [x])[0] - expected).max() <= 1


def test_a_scale_that_is_off_by_rounding_is_the_fixed_one(tmp_path: Path) -> None:
    model = loaded(case("LOGISTIC", [ua], u8(2, 3, 4, scale=0.00390625 * (1 + 3e-7), zero_point=0)).content(), tmp_path)
    assert codes_of(model) == [OperationCode.LOGISTIC]
    assert model.operands[model.outputs[0]].type.scale == 1 / 256


def test_int64_becomes_int32_and_says_so(tmp_path: Path) -> None:
    model = loaded(case("CAST", [n], T("INT64", (2, 3)), "CastOptions").content(), tmp_path)
    assert model.operands[model.outputs[0]].type.code == OperandCode.TENSOR_INT32
    assert "int64 tensors are TENSOR_INT32" in model.notes


def test_leaky_relu_with_a_negative_slope_of_codes(tmp_path: Path) -> None:
    model = loaded(case("LEAKY_RELU", [ua], u8(2, 3, 4), "LeakyReluOptions", Alpha=-0.5).content(), tmp_path)
    x = np.arange(100, 124, dtype=np.uint8).reshape(2, 3, 4)
    real = (x.astype(float) - 120) * 0.05
    expected = np.round(np.where(real < 0, -0.5 * real, real) / 0.05) + 120
    assert np.abs(run(model, [x])[0] - expected).max() <= 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("STABLEHLO_ADD", [4.0, 1.0]),
        ("STABLEHLO_SUBTRACT", [-2.0, 5.0]),
        ("STABLEHLO_MULTIPLY", [3.0, -6.0]),
        ("STABLEHLO_DIVIDE", [1 / 3, -1.5]),
        ("STABLEHLO_MAXIMUM", [3.0, 3.0]),
        ("STABLEHLO_MINIMUM", [1.0, -2.0]),
        ("STABLEHLO_POWER", [1.0, 1 / 9]),
    ],
)
def test_stablehlo_has_the_same_arithmetic(kind: str, expected: list[float], tmp_path: Path) -> None:
    model = loaded(case(kind, [f32(2), f32(2)], f32(2)).content(), tmp_path)
    given = [np.array(values, np.float32) for values in ([1, 3], [3, -2])]
    np.testing.assert_allclose(run(model, given)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("STABLEHLO_ABS", np.abs),
        ("STABLEHLO_NEGATE", np.negative),
        ("STABLEHLO_EXPONENTIAL", np.exp),
        ("STABLEHLO_LOG", np.log),
        ("STABLEHLO_FLOOR", np.floor),
        ("STABLEHLO_COSINE", np.cos),
        ("STABLEHLO_TANH", np.tanh),
        ("STABLEHLO_RSQRT", lambda x: x**-0.5),
        ("STABLEHLO_LOGISTIC", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_stablehlo_has_the_same_functions(kind: str, function: Callable[..., Any], tmp_path: Path) -> None:
    x = np.array([0.3, 1.0, 2.7], np.float32)
    found = run(loaded(case(kind, [f32(3)], f32(3)).content(), tmp_path), [x])[0]
    np.testing.assert_allclose(found, function(x), rtol=2e-6, atol=1e-7)


def test_stablehlo_has_the_same_logic(tmp_path: Path) -> None:
    x, y = np.array([True, True, False]), np.array([True, False, False])
    for kind, expected in (("STABLEHLO_AND", x & y), ("STABLEHLO_OR", x | y)):
        model = loaded(case(kind, [flags(3), flags(3)], flags(3)).content(), tmp_path)
        np.testing.assert_array_equal(run(model, [x, y])[0], expected)
    chosen = loaded(case("STABLEHLO_SELECT", [flags(3), i32(3), i32(3)], i32(3)).content(), tmp_path)
    numbers = [np.array(values, np.int32) for values in ([1, 2, 3], [4, 5, 6])]
    assert run(chosen, [x, *numbers])[0].tolist() == [1, 2, 6]


def test_stablehlo_compare_clamp_and_convert(tmp_path: Path) -> None:
    x, y = np.array([1, 2, 3], np.float32), np.array([2, 2, 2], np.float32)
    compared = case("STABLEHLO_COMPARE", [f32(3), f32(3)], flags(3), "StablehloCompareOptions", ComparisonDirection=3)
    assert run(loaded(compared.content(), tmp_path), [x, y])[0].tolist() == [0, 0, 1]
    low, high = const([1.5], "FLOAT32"), const([2.5], "FLOAT32")
    clamped = case("STABLEHLO_CLAMP", [low, f32(3), high], f32(3))
    assert run(loaded(clamped.content(), tmp_path), [x])[0].tolist() == [1.5, 2, 2.5]
    converted = case("STABLEHLO_CONVERT", [f32(3)], i32(3))
    assert run(loaded(converted.content(), tmp_path), [x])[0].tolist() == [1, 2, 3]
