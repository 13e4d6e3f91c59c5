"""Finite numbers from end to end of float32: each operation gives what the reference gives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi import Builder, compile
from nnapi.codes import FuseCode, OperationCode
from nnapi.model.operand import tensor
from nnapi.testing.compare import SINGLE, compare
from tests.drivers.xnnpack.engine_cases import engine, reference, refusal
from tests.rows import each_row
from tests.single import single

LARGEST, NORMAL, LEAST = (float(x) for x in np.array([3.4028235e38, 2.0**-126, 2.0**-149], np.float32))
MAGNITUDES = [
    0.0,
    LEAST,
    NORMAL / 2,
    NORMAL,
    1e-30,
    1e-10,
    0.3,
    1.0,
    1.5,
    2.0,
    7.0,
    17.0,
    88.0,
    89.0,
    104.0,
    1e4,
    1e7,
    2.0**24,
    2.0**31,
    1e10,
    1e15,
    1e19,
    2e19,
    1e20,
    4e26,
    1e30,
    8.6e37,
    1.7e38,
    3.4e38,
    LARGEST,
]
ENDS = np.array([*MAGNITUDES, *(-x for x in MAGNITUDES)], np.float32)
ROWS = [0.0, 1e-30, 1.0, -1.0, 3.0, 100.0, 1e10, 1e18, 1e20, -1e20, 1e30, -1e30, 3.4e38, -3.4e38]


def rows(count: int, dimension: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).choice(np.array(ROWS, np.float32), (count, dimension))


def agree(build: Any, *arrays: Any) -> None:
    """Assert that a model of inputs like these gives the same on both, NaN where the other is."""
    b = Builder()
    b.output(build(b, *(b.input(tensor("float32", array.shape)) for array in arrays)))
    model = b.finish()
    with np.errstate(all="ignore"):
        (theirs,) = compile(model, [reference()]).run(*arrays)
    (ours,) = compile(model, [engine()]).run(*arrays)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    difference = compare(
        np.nan_to_num(ours, posinf=np.inf, neginf=-np.inf), np.where(np.isnan(theirs), 0, theirs), SINGLE
    )
    assert difference is None, str(difference)


@pytest.mark.parametrize(
    "name",
    ["abs", "neg", "floor", "log", "rsqrt", "sin", "relu", "relu1", "relu6", "tanh", "logistic", "hard_swish"],
)
def test_functions_of_single_numbers(name: str) -> None:
    agree(lambda b, x: getattr(b, name)(x), ENDS)


def test_roots() -> None:
    """Numbers below 2**-126 count as 0, of which -0 is a root."""
    negative = ENDS[(ENDS > -NORMAL) & (ENDS < 0)]
    agree(lambda b, x: b.sqrt(x), np.append(np.setdiff1d(ENDS, negative), np.float32(np.inf)))


@pytest.mark.parametrize("name", ["log", "rsqrt", "sin", "floor", "logistic"])
def test_they_take_every_rank(name: str) -> None:
    for rank in (1, 2, 3, 4):
        agree(lambda b, x: getattr(b, name)(x), ENDS.reshape(*[1] * (rank - 1), -1))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["log", "rsqrt", "sin", "logistic", "tanh"]), st.integers(0, 2**32 - 1))
def test_any_bits(name: str, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2**32, 200, np.uint32).view(np.float32)
    agree(lambda b, x: getattr(b, name)(x), np.where(np.isfinite(bits), bits, 1).astype(np.float32))


@pytest.mark.parametrize("alpha", [1.0, 0.5, 1e30])
def test_elu(alpha: float) -> None:
    agree(lambda b, x: b.elu(x, alpha), ENDS)


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "prelu",
    ],
)
def test_functions_of_two_numbers(name: str) -> None:
    """Numbers below 2**-126 aside, which the engine's arithmetic takes for 0."""
    normal = ENDS[(np.abs(ENDS) >= NORMAL) | (ENDS == 0)]
    x, y = (each.ravel() for each in np.meshgrid(normal, normal))
    agree(lambda b, x, y: getattr(b, name)(x, y), x, y)


@each_row("base", [(1,), (1, 1), (5,), (2, 3, 4), (4, 1, 1)])
@each_row("exponent", [1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 0.0, -2.0, 0.5])
@each_row("shape", [(1,), (1, 1)])
def test_powers_that_are_infinite(base: tuple[int, ...], exponent: float, shape: tuple[int, ...]) -> None:
    """One exponent for all, constant and computed."""
    x = np.random.default_rng(5).choice(np.array([1e20, -1e20, 3.4e38, -3.4e38, 2, -2, 0.5, 0], np.float32), base)
    power = np.full(shape, exponent, np.float32)
    agree(lambda b, x: b.pow(x, b.constant(power, tensor("float32", shape))), x)
    agree(lambda b, x, y: b.pow(x, y), x, power)


def test_quotients_of_what_counts_as_zero_are_refused() -> None:
    b = Builder()
    b.output(b.div(b.input(tensor("float32", (2,))), np.array([1, LEAST], np.float32)))
    assert "rhs holds a value that the engine takes for 0" in refusal(b.finish())


@pytest.mark.parametrize("beta", [1.0, 0.5, 3.0, 1e30, 1e-30])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, beta: float) -> None:
    agree(lambda b, x: getattr(b, name)(x, beta, axis=-1), rows(300, 4))


@each_row("radius", [0, 1, 2, 3, 7, 100])
@each_row(("bias", "alpha", "beta"), [(1.0, 1.0, 0.5), (2.0, 1e-4, 0.75), (1.0, 0.5, 1.0), (1.0, 1.0, -2)])
def test_local_response_normalization(radius: int, bias: float, alpha: float, beta: float) -> None:
    agree(lambda b, x: b.local_response_normalization(x, radius, bias, alpha, beta), rows(200, 6))


def test_local_response_normalization_of_neighbors_far_apart() -> None:
    """The rounding error of the engine's running sum: large values beside small ones."""
    x = np.array([[1e4, 1e-2, 2e-2, 3e-2, 1e-2, 5e-2, 1e3, 1e-1, 2e-1]], np.float32)
    agree(lambda b, x: b.local_response_normalization(x, 1, 1.0, 1.0, 0.5), x)


def test_l2_normalization() -> None:
    agree(lambda b, x: b.l2_normalization(x), rows(300, 4))


def test_instance_normalization() -> None:
    flat = np.full((3, 2, 2, 1), 7, np.float32)
    agree(lambda b, x: b.instance_normalization(x, 1.5, 0.5, NORMAL), flat)
    b = Builder()
    b.output(b.instance_normalization(b.input(tensor("float32", (3, 2, 2, 1))), 1.0, 0.0, 1e-40))
    assert "the engine divides by 0 where a variance is below" in refusal(b.finish())


@each_row(
    "padding",
    [{"padding_scheme": 1}, {"padding_scheme": 2}, {"pad_left": 1, "pad_top": 0, "pad_right": 0, "pad_bottom": 1}],
)
@each_row("activation", [FuseCode.FUSED_NONE, FuseCode.FUSED_RELU6])
@each_row("name", ["average_pool_2d", "l2_pool_2d", "max_pool_2d"])
def test_pools(name: str, activation: FuseCode, padding: Any) -> None:
    image = np.abs(rows(150, 9)).reshape(-1, 3, 3, 1)
    sizes = {"stride_w": 1, "stride_h": 1, "filter_w": 2, "filter_h": 2, "activation": activation}
    agree(lambda b, x: getattr(b, name)(x, **padding, **sizes), image)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("activation", [FuseCode.FUSED_NONE, FuseCode.FUSED_RELU1])
def test_sums_of_products_that_are_infinite(is_constant: bool, activation: FuseCode) -> None:
    x, bias = np.array([[1e20, 1], [1, 2], [-1e30, 0]], np.float32), np.zeros(3, np.float32)
    weights = np.array([[1e20, 0], [3, 4], [1e-20, 1]], np.float32)
    if is_constant:
        agree(lambda b, x: b.fully_connected(x, weights, bias, activation), x)
    else:
        agree(lambda b, x, w, bias: b.fully_connected(x, w, bias, activation), x, weights, bias)


def test_roots_of_codes_stay_refused() -> None:
    codes = tensor("uint8", (4,), 0.5, 0)
    model = single(OperationCode.RSQRT, [(codes, np.zeros(4, np.uint8))], [codes])
    assert "may be infinite" in refusal(model)


@pytest.mark.parametrize("stride", [1, 2])
def test_roots_of_single_cells(stride: int) -> None:
    sizes = {"stride_w": stride, "stride_h": stride, "filter_w": 1, "filter_h": 1, "padding_scheme": 2}
    agree(lambda b, x: b.l2_pool_2d(x, **sizes), ENDS[:36].reshape(1, 6, 6, 1))


def test_roots_of_windows_with_gaps_are_refused() -> None:
    b = Builder()
    sizes = {"stride_w": 3, "stride_h": 3, "filter_w": 2, "filter_h": 2, "padding_scheme": 2}
    b.output(b.l2_pool_2d(b.input(tensor("float32", (1, 6, 6, 1))), **sizes))  # type: ignore[call-overload]
    assert "leave gaps between windows" in refusal(b.finish())


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize(
    ("stride", "size", "before"), [((2, 2), (1, 1), 0), ((3, 3), (2, 2), 1), ((1, 3), (1, 2), 0), ((2, 3), (7, 2), 1)]
)
def test_the_largest_of_windows_with_gaps_may_be_infinite(
    stride: tuple[int, int], size: tuple[int, int], before: int, activation: int
) -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 9, 9, 3)))
    b.output(b.max_pool_2d(x, before, 0, before, 0, *stride, *size, activation))
    model, image = b.finish(), np.random.default_rng(0).normal(size=(1, 9, 9, 3)).astype(np.float32)
    image[0, :3], image[0, 6:, 6:] = -np.inf, np.inf
    ours, right = (compile(model, [which]).run(image)[0] for which in (engine(), reference()))
    np.testing.assert_array_equal(ours, right)


def test_a_product_with_zero_keeps_its_dimensions() -> None:
    """The engine took ``x · 0`` before a minimum for a single 0."""
    b = Builder()
    x, bound = b.input(tensor("float32", (2, 5))), b.input(tensor("float32", (1, 1)))
    b.output(b.minimum(b.mul(x, np.zeros(1, np.float32)), bound))
    inputs = np.ones((2, 5), np.float32), np.full((1, 1), -1, np.float32)
    (result,) = compile(b.finish(), [engine()]).run(*inputs)
    np.testing.assert_array_equal(result, np.full((2, 5), -1, np.float32))


def test_an_instance_normalization_with_gamma_0_keeps_its_dimensions() -> None:
    """The engine took it, before a minimum, for a single 0."""
    b = Builder()
    x = b.input(tensor("float32", (2, 5, 3, 4)))
    normal = b.instance_normalization(x, 0.0, 0.0, 0.5, False)
    b.output(b.minimum(normal, np.array([-1, 1], np.float32).reshape(2, 1, 1, 1)))
    (result,) = compile(b.finish(), [engine()]).run(np.ones((2, 5, 3, 4), np.float32))
    np.testing.assert_array_equal(result, np.stack([np.full((5, 3, 4), each, np.float32) for each in (-1, 0)]))
