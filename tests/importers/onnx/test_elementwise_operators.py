"""Activations, arithmetic and comparisons beside numbers that are written down: bounds, bytes, defaults."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.codes import OperandCode  # noqa: E402
from nnapi.codes import OperationCode as O  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node, reasons, results  # noqa: E402

X = np.array([-3, -1, -0.5, 0, 0.5, 1, 4, 7], np.float32)


def codes(
    nodes: list[Any], inputs: dict[str, Any], constants: dict[str, Any] | None = None, opset: int = 17
) -> list[int]:
    return [call.code for call in nnapi.load(file_of(nodes, inputs, constants, opset=opset)).operations]


# Bounds


@each_row(
    ("low", "high", "expected"),
    [
        (0, 6, [O.RELU6]),
        (-1, 1, [O.RELU1]),
        (0, np.inf, [O.RELU]),
        (0, None, [O.RELU]),
        (0, 5, [O.MAXIMUM, O.MINIMUM]),
        (0, 7, [O.MAXIMUM, O.MINIMUM]),
        (1, 6, [O.MAXIMUM, O.MINIMUM]),
        (-1, 6, [O.MAXIMUM, O.MINIMUM]),
        (-2, 1, [O.MAXIMUM, O.MINIMUM]),
        (0, 1, [O.MAXIMUM, O.MINIMUM]),
        (-1, 2, [O.MAXIMUM, O.MINIMUM]),
        (-1, None, [O.MAXIMUM]),
        (1, np.inf, [O.MAXIMUM]),
        (None, 1, [O.MINIMUM]),
        (-np.inf, 2, [O.MINIMUM]),
    ],
)
@each_row("opset", [6, 11, 17])
def test_bounds_of_an_activation_are_one_operation(low: Any, high: Any, expected: list[O], opset: int) -> None:
    """Before opset 11 they are attributes, the largest floats by default."""
    given = {name: float(each) for name, each in (("min", low), ("max", high)) if each is not None}
    if opset == 6:
        clip, constants = node("Clip", "x", **given), {}  # type: ignore[arg-type]
    else:
        clip = node("Clip", f"x {'min' if low is not None else '-'} {'max' if high is not None else '-'}")
        constants = {name: np.float32(each) for name, each in given.items()}
    assert codes([clip], {"x": X}, constants, opset) == expected
    wanted = np.clip(X, -np.inf if low is None else low, np.inf if high is None else high)
    assert results([clip], {"x": X}, constants, opset=opset) == [wanted.tolist()]


def test_a_rectifier_is_one_operation() -> None:
    assert codes([node("Relu", "x")], {"x": X}) == [O.RELU]
    assert codes([node("Relu", "x")], {"x": X.astype(np.int32)}, opset=17) == [O.MAXIMUM]
    assert results([node("Relu", "x")], {"x": X.astype(np.int32)}) == [[0, 0, 0, 0, 0, 1, 4, 7]]


@pytest.mark.parametrize("computed", ["low", "high", "low high"])
def test_bounds_that_are_computed(computed: str) -> None:
    both = {"low": np.float32(-0.75), "high": np.float32(3)}
    inputs = {"x": X, **{name: both[name] for name in computed.split()}}
    constants = {name: each for name, each in both.items() if name not in inputs}
    assert results([node("Clip", "x low high")], inputs, constants) == [[-0.75, -0.75, -0.5, 0, 0.5, 1, 3, 3]]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "expected"),
    [
        (np.int32, -2, 5, [-2, -1, 0, 0, 0, 1, 4, 5]),
        (np.int64, -(2**40), 2**40, [-3, -1, 0, 0, 0, 1, 4, 7]),
        (np.int64, -(2**40), 2, [-3, -1, 0, 0, 0, 1, 2, 2]),
        (np.int8, -2, 5, [-2, -1, 0, 0, 0, 1, 4, 5]),
        (np.float16, -0.75, 3, [-0.75, -0.75, -0.5, 0, 0.5, 1, 3, 3]),
        (np.float16, 0, 6, [0, 0, 0, 0, 0.5, 1, 4, 6]),
    ],
)
def test_bounds_of_other_types(dtype: Any, low: float, high: float, expected: list[float]) -> None:
    """Those beyond int32 are its limits."""
    found = results([node("Clip", "x low high")], {"x": X.astype(dtype)}, {"low": dtype(low), "high": dtype(high)})
    assert found == [expected]


@pytest.mark.parametrize(("low", "high", "expected"), [(np.inf, None, np.inf), (None, -np.inf, -np.inf)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_infinite_bound_on_the_other_side_applies(dtype: Any, low: Any, high: Any, expected: float) -> None:
    constants = {name: dtype(each) for name, each in (("low", low), ("high", high)) if each is not None}
    clip = node("Clip", f"x {'-' if low is None else 'low'} {'-' if high is None else 'high'}")
    assert results([clip], {"x": X.astype(dtype)}, constants) == [[expected] * X.size]


# Formulas

GELU = [-0.00404951, -0.15865525, -0.15426877, 0, 0.34573123, 0.84134475, 3.9998733, 7]
BY_TANH = [-0.00363739, -0.15880796, -0.15428597, 0, 0.34571403, 0.841192, 3.9999297, 7]


@each_row(
    ("kind", "options", "opset", "expected"),
    [
        ("Elu", {}, 17, np.where(X < 0, np.expm1(X), X)),
        ("Elu", {"alpha": 0.5}, 17, np.where(X < 0, 0.5 * np.expm1(X), X)),
        ("Elu", {"alpha": -3.0}, 17, np.where(X < 0, -3 * np.expm1(X), X)),
        ("Elu", {"alpha": 0.0}, 17, np.where(X < 0, 0, X)),
        ("Celu", {}, 17, np.where(X < 0, np.expm1(X), X)),
        ("Celu", {"alpha": 2.0}, 17, np.where(X < 0, 2 * np.expm1(X / 2), X)),
        ("Celu", {"alpha": -3.0}, 17, np.where(X < 0, -3 * np.expm1(X / -3), X)),
        ("Selu", {"alpha": -1.5, "gamma": 2.0}, 17, 2 * np.where(X < 0, -1.5 * np.expm1(X), X)),
        ("Selu", {"alpha": 1.5, "gamma": -2.0}, 17, -2 * np.where(X < 0, 1.5 * np.expm1(X), X)),
        ("LeakyRelu", {"alpha": -2.0}, 17, np.where(X < 0, -2 * X, X)),
        ("LeakyRelu", {"alpha": 3.0}, 17, np.where(X < 0, 3 * X, X)),
        ("HardSigmoid", {"alpha": -0.5}, 17, np.clip(0.5 - 0.5 * X, 0, 1)),
        ("Selu", {}, 17, 1.050701 * np.where(X < 0, 1.6732632 * np.expm1(X), X)),
        ("Selu", {"alpha": 2.0, "gamma": 3.0}, 17, 3 * np.where(X < 0, 2 * np.expm1(X), X)),
        ("LeakyRelu", {}, 17, np.where(X < 0, 0.01 * X, X)),
        ("LeakyRelu", {"alpha": 0.25}, 17, np.where(X < 0, 0.25 * X, X)),
        ("ThresholdedRelu", {}, 9, np.where(X > 1, X, 0)),
        ("ThresholdedRelu", {}, 17, np.where(X > 1, X, 0)),
        ("ThresholdedRelu", {"alpha": -0.5}, 17, np.where(X > -0.5, X, 0)),
        ("Softplus", {}, 17, np.log1p(np.exp(X))),
        ("Sigmoid", {}, 17, 1 / (1 + np.exp(-X))),
        ("Tanh", {}, 17, np.tanh(X)),
        ("HardSwish", {}, 17, X * np.clip(X / 6 + 0.5, 0, 1)),
        ("Gelu", {}, 20, GELU),
        ("Gelu", {"approximate": "none"}, 20, GELU),
        ("Gelu", {"approximate": "tanh"}, 20, BY_TANH),
    ],
)  # fmt: skip
def test_a_formula(kind: str, options: dict[str, Any], opset: int, expected: Any) -> None:
    (found,) = results([node(kind, "x", **options)], {"x": X}, opset=opset)
    np.testing.assert_allclose(found, expected, 1e-5, 5e-7)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("alpha", [-3.0, -0.5, 0.0, 2.0])
def test_slopes_of_any_sign_on_every_device(device: str, alpha: float) -> None:
    """Above 0 an input is passed on, also where the exponential overflows."""
    x = np.array([-20, -2, -0.25, 0, 0.5, 4, 200], np.float32)
    low = np.minimum(x, 0)
    expected = {"Elu": alpha * np.expm1(low), "LeakyRelu": alpha * low}
    if alpha:
        expected["Celu"] = np.minimum(alpha * np.expm1(low / alpha), 0)
    for kind, below in expected.items():
        model = nnapi.load(file_of([node(kind, "x", alpha=alpha)], {"x": x}))
        (found,) = nnapi.compile(model, find_device(device), cache=False).run(x)
        np.testing.assert_allclose(found, np.where(x > 0, x, below), 1e-5, 1e-6, err_msg=kind)


def test_celu_has_no_alpha_0() -> None:
    assert reasons([node("Celu", "x", alpha=0.0)], {"x": X}) == ["its alpha is 0"]


def test_a_softplus_of_large_numbers_is_finite() -> None:
    (found,) = results([node("Softplus", "x")], {"x": np.array([-200, 200], np.float32)})
    assert found == [0, 200]


@pytest.mark.parametrize(
    ("opset", "slopes", "expected"),
    [
        (6, [0.5], [[[-0.5, 2], [-1.5, -2]], [[5, -3], [7, -4]]]),
        (6, [0.5, 0.25], [[[-0.5, 2], [-0.75, -1]], [[5, -3], [7, -2]]]),
        (6, [[[0.5]], [[0.25]]], [[[-0.5, 2], [-1.5, -2]], [[5, -1.5], [7, -2]]]),
        (7, [0.5, 0.25], [[[-0.5, 2], [-1.5, -1]], [[5, -1.5], [7, -2]]]),
        (17, [[0.5], [0.25]], [[[-0.5, 2], [-0.75, -1]], [[5, -3], [7, -2]]]),
    ],
)
def test_slopes_lie_along_channels_before_opset_7(opset: int, slopes: Any, expected: Any) -> None:
    x = np.array([[[-1, 2], [-3, -4]], [[5, -6], [7, -8]]], np.float32)
    found = results([node("PRelu", "x s")], {"x": x}, {"s": np.array(slopes, np.float32)}, opset=opset)
    assert found == [expected]


def test_slopes_are_of_floats() -> None:
    found = reasons([node("PRelu", "x s")], {"x": X.astype(np.int32)}, {"s": np.array([2], np.int32)})
    assert found == ["NNAPI has it for floats only"]


# Arithmetic


@each_row(
    ("kind", "dtype", "x", "y", "expected"),
    [
        ("Add", np.uint8, [200, 3], [100, 5], [44, 8]),
        ("Sub", np.uint8, [3, 200], [5, 100], [254, 100]),
        ("Mul", np.uint8, [20, 255], [20, 255], [144, 1]),
        ("Div", np.uint8, [255, 7], [2, 8], [127, 0]),
        ("Add", np.int8, [100, -100], [100, -100], [-56, 56]),
        ("Sub", np.int8, [-100, 5], [100, 9], [56, -4]),
        ("Mul", np.int8, [-20, 100], [20, 3], [112, 44]),
        ("Div", np.int8, [-7, 7], [2, -2], [-3, -3]),
        ("Div", np.int32, [-7, 7], [2, -2], [-3, -3]),
        ("Div", np.int32, [-7, 9], [-2, 4], [3, 2]),
        ("Div", np.float32, [-7, 7], [2, -2], [-3.5, -3.5]),
        ("Mul", np.int32, [-7, 70000], [2, 3], [-14, 210000]),
        ("Pow", np.int32, [-3, 4097], [3, 2], [-27, 16785409]),
        ("Pow", np.float32, [-3, 4], [3, 0.5], [-27, 2]),
        ("Mod", np.int32, [-7, 7], [3, -3], [2, -2]),
        ("Mod", np.uint8, [250, 7], [100, 8], [50, 7]),
        ("Mod", np.int8, [-128, 100], [100, -7], [72, -5]),
    ],
)
def test_arithmetic_of_each_type(kind: str, dtype: Any, x: Any, y: Any, expected: Any) -> None:
    """Bytes wrap around; integers are divided towards zero, their remainder has the sign of the divisor."""
    inputs = {"x": np.array(x, dtype), "z": np.array(y, dtype)}
    if kind == "Pow" and dtype == np.int32:
        (found,) = results([node(kind, "x z")], inputs)
        np.testing.assert_allclose(found, expected, 1e-6)
        assert nnapi.load(file_of([node(kind, "x z")], inputs)).notes == (
            "powers of int32 are computed as float32, exact up to 2**24",
        )
    else:
        assert results([node(kind, "x z")], inputs) == [expected]


@pytest.mark.parametrize(
    ("dtype", "x", "y", "expected"),
    [
        (np.int32, [-7, 7, 6], [3, -3, 3], [-1, 1, 0]),
        (np.int8, [-128, 100, 5], [100, -7, 7], [-28, 2, 5]),
        (np.float32, [-7.5, 7.5, 6], [2, -2, 4], [-1.5, 1.5, 2]),
    ],
)
def test_a_remainder_of_the_sign_of_the_number(dtype: Any, x: Any, y: Any, expected: Any) -> None:
    inputs = {"x": np.array(x, dtype), "z": np.array(y, dtype)}
    assert results([node("Mod", "x z", fmod=1)], inputs) == [expected]


def test_arithmetic_that_is_refused() -> None:
    ints, small = X.astype(np.int32), X.astype(np.int8)
    assert reasons([node("Pow", "x z")], {"x": small, "z": small}) == ["NNAPI raises no bytes to a power"]
    for kind in ("Sum", "Mean"):
        found = reasons([node(kind, "x z")], {"x": ints, "z": ints})
        assert found == ["NNAPI computes it on floats only, not on TENSOR_INT32"]


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [(np.array([2], np.int32), [9, 1, 16]), (np.array([0.5, 2, 3], np.float32), [3**0.5, 1, 64])],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_an_exponent_of_another_type(exponent: Any, expected: list[float], dtype: Any) -> None:
    (found,) = results([node("Pow", "x e")], {"x": np.array([3, 1, 4], dtype), "e": exponent})
    wanted = np.array(expected).astype(dtype)
    np.testing.assert_allclose(found, wanted, 1e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Sum", [[111, 122], [113, 124]]),
        ("Mean", [[37, 122 / 3], [113 / 3, 124 / 3]]),
        ("Max", [[100, 100], [100, 100]]),
        ("Min", [[1, 2], [3, 4]]),
    ],
)
def test_operators_of_three_inputs(kind: str, expected: Any) -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    inputs = {"x": x, "a": np.array([10, 20], np.float32), "b": np.array([[100]], np.float32)}
    (found,) = results([node(kind, "x a b")], inputs)
    np.testing.assert_allclose(found, expected, 1e-6)
    (same,) = results([node(kind, "x")], {"x": x})
    assert same == x.tolist()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Equal", [False, True, False]),
        ("Greater", [False, False, True]),
        ("GreaterOrEqual", [False, True, True]),
        ("Less", [True, False, False]),
        ("LessOrEqual", [True, True, False]),
        ("And", [False, True, False]),
        ("Or", [True, True, True]),
        ("Xor", [True, False, True]),
    ],
)
def test_comparisons(kind: str, expected: list[bool]) -> None:
    dtype = bool if kind in ("And", "Or", "Xor") else np.float32
    x, y = ([0, 1, 1], [1, 1, 0]) if dtype is bool else ([1, 2, 3], [2, 2, 2])
    assert results([node(kind, "x z")], {"x": np.array(x, dtype), "z": np.array(y, dtype)}) == [expected]


# Quantized


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div", "Sigmoid", "Tanh"])
@pytest.mark.parametrize("result", [np.uint8, np.int8])
def test_arithmetic_is_quantized_in_one_type(kind: str, result: Any) -> None:
    """NNAPI divides no quantized values, and takes one type."""
    x = np.arange(0, 250, 10).astype(np.uint8)
    scale = {"Sigmoid": 1 / 256, "Tanh": 1 / 128}.get(kind, 0.25)
    point = {"Sigmoid": 0, "Tanh": 128}.get(kind, 100) - (0 if result == np.uint8 else 128)
    constants = {
        "s": np.float32(0.05), "z": np.uint8(110), "c": np.array([140, 30, 220, 99, 111], np.uint8).repeat(5),
        "t": np.float32(scale), "u": result(point),
    }  # fmt: skip
    operands = "a" if kind in ("Sigmoid", "Tanh") else "a b"
    nodes = [
        node("DequantizeLinear", "x s z", "a"),
        node("DequantizeLinear", "c s z", "b"),
        node(kind, operands, "r"),
        node("QuantizeLinear", "r t u"),
    ]
    model = nnapi.load(file_of(nodes, {"x": x}, constants))
    code = O.LOGISTIC if kind == "Sigmoid" else O[kind.upper()]
    call = next(call for call in model.operations if call.code == code)  # others may round the quotient
    is_quantized = model.operands[call.inputs[0]].type.code == OperandCode.TENSOR_QUANT8_ASYMM
    assert is_quantized is (result == np.uint8 and kind != "Div")
    a, b = ((each.astype(np.float64) - 110) * 0.05 for each in (x, constants["c"]))
    real: Any = {"Sigmoid": lambda: 1 / (1 + np.exp(-a)), "Tanh": lambda: np.tanh(a)}.get(
        kind, lambda: {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[kind](a, b)
    )()
    limits = np.iinfo(result)
    expected = np.clip(np.rint(real / scale) + point, limits.min, limits.max)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x)
    assert np.abs(found.astype(int) - expected).max() <= 1


def test_a_sum_of_quantized_and_float_values_is_of_floats() -> None:
    constants = {"s": np.float32(0.5), "z": np.uint8(10), "t": np.float32(0.25), "u": np.uint8(20)}
    inputs = {"x": np.array([10, 20, 9], np.uint8), "f": np.array([0.25, -1, 3], np.float32)}
    for operands in ("a f", "f a"):
        nodes = [node("DequantizeLinear", "x s z", "a"), node("Add", operands, "r"), node("QuantizeLinear", "r t u")]
        assert results(nodes, inputs, constants) == [[21, 36, 30]]


def test_the_activation_after_arithmetic_is_fused() -> None:
    bounds = {"low": np.float32(0), "high": np.float32(6)}
    nodes = [node("Add", "x x", "s"), node("Clip", "s low high")]
    assert codes(nodes, {"x": X}, bounds) == [O.ADD]
    assert results(nodes, {"x": X}, bounds) == [[0, 0, 0, 0, 1, 2, 6, 6]]
    ints = {"low": np.int32(0), "high": np.int32(6)}
    assert results(nodes, {"x": X.astype(np.int32)}, ints) == [[0, 0, 0, 0, 0, 2, 6, 6]]
