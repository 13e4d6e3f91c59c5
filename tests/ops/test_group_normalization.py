from typing import Any

import numpy as np
import pytest

from nnapi.errors import NnapiError
from tests.ops.kernel_cases import ENGINES, build, compute, need_same_on, need_same_parts, normal

X = normal(2, 3, 4, 8)


def normalize(x: Any, axes: tuple[int, ...], epsilon: float = 1e-5, *, centered: bool = True) -> Any:
    """Normalize in float64."""
    x = x.astype(np.float64)
    x = x - x.mean(axes, keepdims=True) if centered else x
    return x / np.sqrt((x**2).mean(axes, keepdims=True) + epsilon)


def test_a_layer_norm_in_numbers() -> None:
    x = np.array([[1, 2, 3], [2, 2, 2]], np.float32)
    gamma, beta = np.array([1, 2, 3], np.float32), np.array([0, 0, 1], np.float32)
    found = compute(lambda b, x: b.layer_norm(x, gamma, beta, 1, 0.0), x[:1])
    np.testing.assert_allclose(found, [[-1.2247449, 0, 4.6742346]], 1e-6)
    np.testing.assert_allclose(compute(lambda b, x: b.layer_norm(x, gamma, beta, 1, 1.0), x)[1], [0, 0, 1])


def test_an_rms_norm_in_numbers() -> None:
    found = compute(lambda b, x: b.rms_norm(x, np.array([1, 2], np.float32), -1, 0.5), np.array([[3, 4]], np.float32))
    np.testing.assert_allclose(found, [[3 / 13**0.5, 8 / 13**0.5]], 1e-6)


def test_a_group_norm_in_numbers() -> None:
    x = np.array([1, 3, 0, 0, 3, 5, 0, 8], np.float32).reshape(1, 2, 4)  # two positions, groups of two channels
    found = compute(lambda b, x: b.group_norm(x, None, None, 2, 0.0), x)
    np.testing.assert_allclose(found[0, :, :2], np.array([[-2, 0], [0, 2]]) / 2**0.5, 1e-6)
    np.testing.assert_allclose(found[0, :, 2:], np.array([[-2, -2], [-2, 6]]) / 12**0.5, 1e-6)


@pytest.mark.parametrize("axis", [1, 2, 3, -1, -3])
@pytest.mark.parametrize("centered", [True, False])
def test_groups_of_the_last_axes(axis: int, centered: bool) -> None:
    axes = tuple(range(axis % 4, 4))
    factors = [normal(*X.shape[axes[0] :]) for _ in range(2)]

    def make(b: Any, x: Any) -> Any:
        return b.layer_norm(x, *factors, axis, 1e-5) if centered else b.rms_norm(x, factors[0], axis, 1e-5)

    expected = normalize(X, axes, centered=centered) * factors[0] + (factors[1] if centered else 0)
    np.testing.assert_allclose(need_same_parts(make, X), expected, 2e-6, 2e-6)


@pytest.mark.parametrize("shape", [(8,), (1,), (4, 1), (1, 8), (3, 1, 8), (4, 8)])
def test_factors_broadcast_to_a_group(shape: tuple[int, ...]) -> None:
    gamma, beta = normal(*shape), normal(*shape)
    found = need_same_parts(lambda b, x, g, h: b.layer_norm(x, g, h, 1, 1e-5), X, gamma, beta)
    np.testing.assert_allclose(found, normalize(X, (1, 2, 3)) * gamma + beta, 2e-6, 2e-6)


@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize("shape", [(2, 8), (2, 5, 8), (2, 3, 4, 8)])
def test_groups_of_channels(shape: tuple[int, ...], groups: int) -> None:
    x, gamma, beta = normal(*shape), normal(8), normal(8)
    found = need_same_parts(lambda b, x: b.group_norm(x, gamma, beta, groups, 1e-5), x)
    divided = normalize(x.reshape(len(x), -1, groups, 8 // groups), (1, 3))
    np.testing.assert_allclose(found, divided.reshape(shape) * gamma + beta, 3e-6, 3e-6)


def test_a_mean_of_squares_that_is_next_to_zero() -> None:
    """Engines take the smallest floats for 0, so the decomposition has no quotient by their root."""
    found = need_same_parts(lambda b, x: b.rms_norm(x, None, -1, 1e-38), np.full((1, 4), 1e-19, np.float32))
    np.testing.assert_allclose(found, 0.70710678, 1e-5)


def test_float16_is_computed_in_float32() -> None:
    x = normal(2, 3, 8, dtype=np.float16) * np.float16(300)  # the squares overflow float16
    found = need_same_parts(lambda b, x: b.layer_norm(x, None, None, -1, 1e-5), x, bound=0)
    np.testing.assert_allclose(found, normalize(x, (2,)), 1e-3, 1e-3)


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("factor", [1, 1e-18, 1e18])
def test_engines_normalize_alike(name: str, factor: float) -> None:
    """Also variances that are tiny, and those beyond the square root of XNNPACK."""
    x, gamma, beta = X * np.float32(factor), normal(8), normal(8)
    need_same_on(name, lambda b, x: b.layer_norm(x, gamma, beta, -1, 1e-5), x, bound=1e-5)
    need_same_on(name, lambda b, x: b.layer_norm(x, normal(4, 8), None, 2, 1e-5), X)
    need_same_on(name, lambda b, x: b.rms_norm(x, gamma, -1, 1e-5), x, bound=1e-5)
    need_same_on(name, lambda b, x: b.rms_norm(x, None, 1, 1e-5), X)
    need_same_on(name, lambda b, x: b.group_norm(x, gamma, beta, 2, 1e-5), X)


@pytest.mark.engine
def test_openvino_normalizes_images_in_its_own_layout() -> None:
    """The result of a convolution is NCHW in the engine."""
    filter, bias, gamma = normal(6, 1, 1, 8), normal(6), normal(6)

    def make(b: Any, x: Any) -> Any:
        image = b.conv_2d(x, filter, bias, 1, 1, 1, 0)
        return b.rms_norm(b.layer_norm(image, gamma, None, -1, 1e-5), normal(4, 6), 2, 1e-5)

    need_same_on("openvino", make, X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b, x: b.layer_norm(x, np.ones(7, np.float32), None, -1, 1e-5), r"gamma of shape \[7\]"),
        (lambda b, x: b.layer_norm(x, None, np.ones((2, 8), np.float32), -1, 1e-5), r"beta has shape \[2, 8\]"),
        (lambda b, x: b.layer_norm(x, None, None, 4, 1e-5), "axis is 4"),
        (lambda b, x: b.rms_norm(x, None, -1, -1.0), "epsilon is -1"),
        (lambda b, x: b.group_norm(x, None, None, 3, 1e-5), "8 channels do not form 3 groups"),
        (lambda b, x: b.group_norm(x, np.ones(4, np.float32), None, 2, 1e-5), r"gamma has shape \[4\]"),
        (lambda b, x: b.group_norm(x, None, None, 0, 1e-5), "groups is 0"),
    ],
)
def test_wrong_arguments(make: Any, message: str) -> None:
    with pytest.raises(NnapiError, match=message):
        build(make, [X])


@pytest.mark.parametrize("name", ["LAYER_NORM", "GROUP_NORM", "INSTANCE_NORMALIZATION"])
def test_equal_elements_give_beta(name: str) -> None:
    """In float32, the mean of these 31 elements is off by a digit, which a small deviation makes large."""
    x = np.full((1, 31, 1, 1), -1.9226965, np.float32)
    write: dict[str, Any] = {
        "LAYER_NORM": lambda b, x: b.layer_norm(x, None, np.full((1, 1, 1), -1.5, np.float32), 1, 1e-10),
        "GROUP_NORM": lambda b, x: b.group_norm(x, None, np.full(1, -1.5, np.float32), 1, 1e-10),
        "INSTANCE_NORMALIZATION": lambda b, x: b.instance_normalization(x, 1.0, -1.5, 1e-10, False),
    }
    assert (compute(write[name], x) == -1.5).all()
