"""Operations on bits: kernels beside Python's integers and literal examples."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi.errors import NnapiError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.rows import each_row
from tests.single import run_single

Code = CompositeCode


def run(code: CompositeCode, x: Any, y: Any) -> Any:
    scale = float(x.dtype.itemsize == 1)
    types = [tensor(each.dtype.name, each.shape, scale) for each in (x, y)]
    out = tensor(x.dtype.name, np.broadcast_shapes(x.shape, y.shape), scale)
    return run_single(code, list(zip(types, (x, y), strict=True)), [out])[0]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.BITWISE_AND, [0b1000, 0, -8]),
        (Code.BITWISE_OR, [0b1110, 7, -1]),
        (Code.BITWISE_XOR, [0b0110, 7, 7]),
    ],
)
def test_literal_examples(code: CompositeCode, expected: list[int]) -> None:
    x, y = np.array([0b1100, 0, -8], np.int32), np.array([0b1010, 7, -1], np.int32)
    assert run(code, x, y).tolist() == expected


def test_literal_shifts() -> None:
    x = np.array([1, -8, 2**30, 5, 5, -1], np.int32)
    y = np.array([4, 1, 1, 32, -1, 40], np.int32)
    assert run(Code.LEFT_SHIFT, x, y).tolist() == [16, -16, -(2**31), 0, 0, 0]
    assert run(Code.RIGHT_SHIFT, x, y).tolist() == [0, -4, 2**29, 0, 0, -1]


PYTHON: dict[CompositeCode, Callable[[int, int], int]] = {
    Code.BITWISE_AND: lambda x, y: x & y,
    Code.BITWISE_OR: lambda x, y: x | y,
    Code.BITWISE_XOR: lambda x, y: x ^ y,
    Code.LEFT_SHIFT: lambda x, y: x << y if y >= 0 else 0,
    Code.RIGHT_SHIFT: lambda x, y: x >> y if y >= 0 else x >> 99,
}


def as_dtype(number: int, dtype: type[np.integer[Any]]) -> int:
    """Return the lowest bits of an integer as a signed or unsigned one."""
    limits = np.iinfo(dtype)
    return (number - int(limits.min)) % (1 << limits.bits) + int(limits.min)


@each_row("dtype", [np.int32, np.uint8, np.int8])
@each_row("code", PYTHON, ids=lambda code: code.name)
def test_random_numbers_beside_python(code: CompositeCode, dtype: type[np.integer[Any]]) -> None:
    rng, limits = np.random.default_rng(4), np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, (3, 40), dtype, endpoint=True)
    is_shift = code in (Code.LEFT_SHIFT, Code.RIGHT_SHIFT)
    low, high = (max(-3, int(limits.min)), limits.bits + 3) if is_shift else (limits.min, limits.max)
    y = rng.integers(low, high, 40, dtype, endpoint=True)
    expected = [[as_dtype(PYTHON[code](int(a), int(b)), dtype) for a, b in zip(row, y, strict=True)] for row in x]
    assert run(code, x, y).tolist() == expected


def cast(x: Any, to: str) -> Any:
    return run_single(Code.BITCAST, [(tensor(x.dtype.name, x.shape), x)], [tensor(to, x.shape)])[0]


@pytest.mark.parametrize(("dtype", "letters"), [(np.float32, "fi"), (np.float16, "eH")])
def test_the_bits_of_floats(dtype: type[np.floating[Any]], letters: str) -> None:
    x = np.array([1, -2.5, 0.1, 0, -0.0, np.inf], dtype)
    bits = [struct.unpack(f"<{letters[1]}", struct.pack(f"<{letters[0]}", each))[0] for each in x.tolist()]
    assert cast(x, "int32").tolist() == bits
    assert cast(np.array(bits, np.int32), np.dtype(dtype).name).tobytes() == x.tobytes()


def test_floats_have_no_bits() -> None:
    with pytest.raises(NnapiError, match="x is TENSOR_FLOAT32"):
        run(Code.BITWISE_AND, np.ones(2, np.float32), np.ones(2, np.float32))
