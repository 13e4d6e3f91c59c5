"""Shared by tests of operations on most tensor types: random tensors, their dequantized values, refusals."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from tests.single import run_single, scalar, single

QUANTIZED = {
    "quant8": tensor("quant8_asymm", (), 0.5, 10),
    "quant8_signed": tensor("quant8_asymm_signed", (), 0.25, -5),
}
FLOATS = {"float32": tensor("float32"), "float16": tensor("float16")}
INT32 = {"int32": tensor("int32")}
BOOL8 = {"bool8": tensor("bool8")}
REALS = FLOATS | QUANTIZED
NUMBERS = REALS | INT32

quickly = settings(max_examples=25, deadline=None)


def stored(type: Any, random: Any) -> Any:
    """Random stored numbers: every code of a quantized type, floats around 0, small and large integers, any byte
    for a truth value."""
    if type.dtype.kind == "f":
        return random.normal(0, 3, type.dimensions).astype(type.dtype)
    if type.code == OperandCode.TENSOR_INT32:
        return random.integers(-4, 5, type.dimensions, np.int32) * random.choice(
            np.array([1, 1, 400_000_000], np.int32)
        )
    limits = np.iinfo(type.dtype)
    return random.integers(limits.min, limits.max, type.dimensions, type.dtype, endpoint=True)


@st.composite
def tensors(draw: st.DrawFn, kinds: Any, shapes: Any) -> Any:
    """A tensor input, type and value, of one of the kinds."""
    type = kinds[draw(st.sampled_from(sorted(kinds)))].with_dimensions(draw(shapes))
    return type, stored(type, np.random.default_rng(draw(st.integers(0, 2**32))))


def shapes(least: int = 1, most: int = 4, dimension: int = 4) -> Any:
    """Dimensions of ``least`` to ``most`` axes."""
    return st.lists(st.integers(1, dimension), min_size=least, max_size=most).map(tuple)


def reals(type: Any, codes: Any) -> Any:
    """The real numbers that are stored, exactly."""
    return (np.asarray(codes, np.float64) - type.zero_point) * type.scale if type.is_quantized else codes


def rounded(type: Any, real: Any) -> Any:
    """Codes of a quantized type for real numbers: nearest, halves away from zero, saturated."""
    limits = np.iinfo(type.dtype)
    steps = np.asarray(real, np.float64) / type.scale
    return np.clip(np.copysign(np.floor(np.abs(steps) + 0.5), steps) + type.zero_point, limits.min, limits.max)


def assert_stores(type: Any, actual: Any, real: Any) -> None:
    """Codes within one of the real results; floats as near as the type and a few roundings allow."""
    assert actual.dtype == type.dtype
    assert actual.shape == np.shape(real)
    if type.is_quantized:
        assert np.abs(actual.astype(int) - rounded(type, real)).max(initial=0) <= 1
    elif type.dtype.kind == "f":
        near = 2e-3 if type.dtype == np.float16 else 1e-5
        with np.errstate(over="ignore"):  # beyond the type's range both are infinite
            np.testing.assert_allclose(actual, np.asarray(real).astype(type.dtype), near, near)
    else:
        np.testing.assert_array_equal(actual, real)


def assert_same(actual: Any, expected: Any) -> None:
    """The same stored numbers."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


def assert_moved(actual: Any, x: Any, shape: Any, source: Any) -> None:
    """Each element of a result of ``shape`` is the one of ``x`` at ``source(*its index)``."""
    expected = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape):
        expected[index] = x[source(*index)]
    assert_same(actual, expected)


def given_array(array: Any) -> tuple[Any, ...]:
    """An array as an input of the type that stores it."""
    name = {"float32": "float32", "float16": "float16", "int32": "int32", "uint8": "quant8", "int8": "quant8_signed"}
    return NUMBERS[name[array.dtype.name]].with_dimensions(array.shape), array


def floats(value: Any) -> tuple[Any, ...]:
    return given_array(np.asarray(value, np.float32))


def ints(*value: Any) -> tuple[Any, ...]:
    """A TENSOR_INT32 input: ``ints(1, 2)``, ``ints([0, 1], [2, 3])``."""
    return given_array(np.asarray(value, np.int32))


def int32(value: int) -> tuple[Any, ...]:
    return scalar(OperandCode.INT32, value)


def flag(value: bool) -> tuple[Any, ...]:
    return scalar(OperandCode.BOOL, value)


def unknown(type: Any) -> Any:
    """The type with everything about its dimensions left open."""
    return type.with_dimensions(())


def run(code: Any, *inputs: tuple[Any, ...], out: Any = None, constant: bool = False) -> Any:
    """The only output of an operation; of the first input's type and of unknown rank unless told otherwise."""
    (result,) = run_all(code, inputs, [out or unknown(inputs[0][0])], constant=constant)
    return result


def run_all(code: Any, inputs: Any, outs: list[Any], *, constant: bool = False) -> list[Any]:
    """Every output of an operation on the reference."""
    return run_single(code, inputs, outs, constant=constant, devices=["nnapi-reference"])


def refuses_to_compute(
    message: str, code: Any, *inputs: tuple[Any, ...], outs: list[Any] | None = None, error: Any = OpFailedError
) -> None:
    """Adding the operation works, running it fails with this message."""
    outputs = outs or [unknown(inputs[0][0])]
    single(code, inputs, outputs)
    with pytest.raises(error, match=re.escape(message)):
        run_all(code, inputs, outputs)


def refuses_to_add(message: str, code: Any, *inputs: tuple[Any, ...], outs: list[Any] | None = None) -> None:
    """The operation cannot be added to a model."""
    with pytest.raises(BadDataError, match=re.escape(message)):
        single(code, inputs, outs or [unknown(inputs[0][0])])


def level(code: Any, *inputs: tuple[Any, ...], out: Any = None) -> int:
    """The feature level that the call asks for, the types' own levels aside."""
    types = [type for type, _ in inputs]
    return REGISTRY[code].match(types, [out or unknown(types[0])]).level
