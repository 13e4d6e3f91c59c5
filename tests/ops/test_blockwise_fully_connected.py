"""BLOCKWISE_FULLY_CONNECTED: kernel, decomposition and engines beside weights that are unpacked one by one."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.errors import NnapiError
from nnapi.ops.blockwise_fully_connected import pack_bits, unpack_bits
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

RANDOM = np.random.default_rng(3)


def plain(array: Any) -> Any:
    """Return the type of bytes that are plain integers."""
    return tensor("uint8", array.shape, 1.0, 0)


def digits(packed: Any, bits: int) -> list[int]:
    """Return the integers in bytes, from the lowest bits on."""
    number = int.from_bytes(bytes(packed), "little")
    return [number >> shift & ((1 << bits) - 1) for shift in range(0, 8 * len(packed), bits)]


def multiply(x: Any, weights: Any, scales: Any, points: Any, bias: Any, bits: int, size: int) -> Any:
    units, blocks, _ = weights.shape
    matrix = np.zeros((units, blocks * size))
    for unit, block in np.ndindex(units, blocks):
        zero = 1 << (bits - 1) if points is None else digits(points[unit], bits)[block]
        row = np.array(digits(weights[unit, block], bits)[:size]) - zero
        matrix[unit, block * size : (block + 1) * size] = row * float(scales[unit, block])
    y = x.reshape(-1, x.shape[-1]).astype(np.float64) @ matrix[:, : x.shape[-1]].T
    return y if bias is None else y + bias


def build(x: Any, weights: Any, scales: Any, points: Any, bias: Any, bits: int, size: int, type: str) -> Any:
    def make(b: Builder) -> Any:
        given = None if points is None else b.constant(points, plain(points))
        packed = b.constant(weights, plain(weights))
        return b.blockwise_fully_connected(b.input(tensor(type, x.shape)), packed, scales, given, bias, bits, size)

    return model_of(make)


@pytest.mark.parametrize("way", WAYS)
def test_weights_in_numbers(way: str) -> None:
    """Two units with two blocks of two weights: 1, 2, 3, 4 and 8, 9, 10, 0 minus the zero points."""
    weights = np.array([[[0x21], [0x43]], [[0x98], [0x0A]]], np.uint8)
    scales, points = np.array([[1, 2], [4, 0.5]], np.float32), np.array([[0x31], [0xA8]], np.uint8)
    x = np.array([[1, 1, 1, 1], [1, 0, 0, 1]], np.float32)
    arguments = weights, scales, points, np.array([100, 200], np.float32), 4, 2
    expected = [[100 + 0 + 1 + 0 + 2, 200 + 0 + 4 + 0 - 5], [100 + 0 + 2, 200 + 0 - 5]]
    assert run(build(x, *arguments, "float32"), way, x)[0].tolist() == expected
    middle = build(x, weights, scales, None, None, 4, 2, "float32")
    assert run(middle, way, x)[0][1].tolist() == [-7 - 8, 0 - 4]


CASES = [(4, 32, 64), (4, 16, 96), (4, 16, 40), (8, 32, 64), (8, 16, 48), (2, 16, 50), (4, 3, 9)]


@each_row("way", WAYS)
@each_row("is_whole", [False, True])
@each_row(("bits", "size", "width"), CASES)
def test_random_weights(bits: int, size: int, width: int, is_whole: bool, way: str) -> None:
    blocks = -(-width // size)
    weights = RANDOM.integers(0, 256, (7, blocks, -(-size * bits // 8)), np.uint8)
    scales = RANDOM.uniform(0.1, 1, (7, blocks)).astype(np.float32)
    points = RANDOM.integers(0, 256, (7, -(-blocks * bits // 8)), np.uint8) if is_whole else None
    bias = RANDOM.normal(size=7).astype(np.float32) if is_whole else None
    x = RANDOM.normal(size=(2, 3, width) if is_whole else (5, width)).astype(np.float32)
    arguments = weights, scales, points, bias, bits, size
    found, expected = run(build(x, *arguments, "float32"), way, x)[0], multiply(x, *arguments)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5 * np.abs(expected).max())


@each_row("way", WAYS)
@each_row("has_points", [False, True])
@each_row(("bits", "size"), [(2, 8), (4, 8), (4, 3), (8, 4)])
def test_computed_weights(bits: int, size: int, has_points: bool, way: str) -> None:
    """Weights, scales and zero points that are inputs of the model."""
    weights = RANDOM.integers(0, 256, (3, 2, -(-size * bits // 8)), np.uint8)
    scales, points = (
        RANDOM.uniform(0.1, 1, (3, 2)).astype(np.float32),
        RANDOM.integers(0, 256, (3, -(-bits // 4)), np.uint8),
    )
    x = RANDOM.normal(size=(4, 2 * size - 1)).astype(np.float32)

    def make(b: Builder) -> Any:
        packed, steps = b.input(plain(weights)), b.input(tensor("float32", scales.shape))
        zeros = b.input(plain(points)) if has_points else None
        return b.blockwise_fully_connected(x, packed, steps, zeros, None, bits, size)

    inputs = [weights, scales, *([points] if has_points else [])]
    expected = multiply(x, weights, scales, points if has_points else None, None, bits, size)
    found = run(model_of(make), way, *inputs)[0]
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("way", WAYS)
def test_half_precision(way: str) -> None:
    weights, x = RANDOM.integers(0, 256, (3, 2, 16), np.uint8), RANDOM.normal(size=(2, 64)).astype(np.float16)
    arguments = weights, RANDOM.uniform(0.1, 1, (3, 2)).astype(np.float16), None, None, 4, 32
    expected = multiply(x, *arguments)
    np.testing.assert_allclose(run(build(x, *arguments, "float16"), way, x)[0], expected, 4e-3, 0.1)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_packing(bits: int) -> None:
    values = RANDOM.integers(0, 1 << bits, (3, 11), np.uint8)
    packed = pack_bits(values, bits)
    assert packed.shape == (3, -(-11 * bits // 8))
    assert [digits(row, bits)[:11] for row in packed] == values.tolist()
    np.testing.assert_array_equal(unpack_bits(packed, bits)[:, :11], values)


@pytest.mark.parametrize(
    ("shapes", "size", "reason"),
    [
        (((2, 2, 8), (2, 2), (2, 1), (2,)), 32, r"weights has shape \[2, 2, 8\], must be \[2, 1, 16\]"),
        (((2, 2, 8), (2, 1), (2, 1), (2,)), 16, r"scales has shape \[2, 1\], must be \[2, 2\]"),
        (((2, 2, 8), (2, 2), (2, 2), (2,)), 16, r"zero_points has shape \[2, 2\], must be \[2, 1\]"),
        (((2, 2, 8), (2, 2), (2, 1), (3,)), 16, r"bias has shape \[3\], must be \[2\]"),
        (((2, 2, 8), (2, 2), (2, 1), (2,)), 0, "block_size"),
    ],
)
def test_refusals(shapes: Any, size: int, reason: str) -> None:
    b = Builder()
    weights, points = (b.input(tensor("uint8", shape, 1.0, 0)) for shape in shapes[::2])
    scales, bias = (b.input(tensor("float32", shape)) for shape in shapes[1::2])
    x = b.input(tensor("float32", (1, 32)))
    with pytest.raises(NnapiError, match=reason):
        b.blockwise_fully_connected(x, weights, scales, points, bias, 4, size)
