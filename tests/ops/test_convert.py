"""CONVERT: the cast of files, between all types, on every device and as its decomposition."""

from typing import Any

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.model.operand import OperandType, tensor
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

TYPES = {
    "float32": tensor("float32"),
    "float16": tensor("float16"),
    "int32": tensor("int32"),
    "bool8": tensor("bool8"),
    "quant8": tensor("quant8_asymm", (), 0.5, 10),
    "quant8_signed": tensor("quant8_asymm_signed", (), 0.25, -5),
}
VALUES: dict[str, Any] = {
    "float32": [0.0, -0.0, 0.4, -1.9, 100.9, 127.5, 128.5, 300.7, -200.5, 40000.0, 3e9, -3e9],
    "float16": [0.0, 0.4, -1.9, 100.9, 127.5, 300.7, -200.5, 60000.0],
    "int32": [0, 1, -1, 127, 128, -128, -129, 255, 256, 300, 2**31 - 1, -(2**31)],
    "bool8": [0, 1, 1, 0],
    "quant8": [0, 1, 10, 127, 128, 200, 255],
    "quant8_signed": [0, 1, -5, 127, -128, -1],
}


def converted(source: OperandType, target: OperandType, x: Any, way: str) -> Any:
    given = source.with_dimensions(x.shape)
    model = model_of(lambda b: b.convert(b.input(given), out=target.with_dimensions(x.shape)))
    return run(model, way, x)[0]


def expect(x: Any, source: OperandType, target: OperandType) -> Any:
    """Python's integers: one element after another."""
    if target == TYPES["bool8"]:
        return [bool(each) for each in x]
    if target.dtype.kind == "f" or source == TYPES["bool8"]:
        return [each != 0 if source == TYPES["bool8"] else each for each in x]
    limits = np.iinfo(target.dtype)
    if source.dtype.kind == "f":
        return [min(max(int(each), limits.min), limits.max) for each in x.astype(float)]
    steps = int(limits.max) - int(limits.min) + 1
    return [(int(each) - int(limits.min)) % steps + int(limits.min) for each in x]


@each_row("way", WAYS)
@each_row("target", TYPES)
@each_row("source", TYPES)
def test_stored_values_are_converted(source: str, target: str, way: str) -> None:
    x = np.array(VALUES[source]).astype(TYPES[source].dtype)
    with np.errstate(over="ignore"):
        expected = np.array(expect(x, TYPES[source], TYPES[target])).astype(TYPES[target].dtype)
    found = converted(TYPES[source], TYPES[target], x, way)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@each_row("way", WAYS)
@each_row("target", ["float32", "float16", "int32", "quant8"])
def test_any_byte_but_0_is_true(target: str, way: str) -> None:
    """Callers may give any byte as a boolean."""
    x = np.array([0, 1, 2, 255], np.uint8)
    assert converted(TYPES["bool8"], TYPES[target], x, way).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("way", WAYS)
def test_computed_booleans_become_numbers(way: str) -> None:
    x = np.array([-1, 0, 2], np.float32)
    floats, integers = tensor("float32", (3,)), tensor("int32", (3,))

    def make(b: Any) -> Any:
        given = b.input(floats)
        above = b.greater(given, b.constant(np.zeros(1, np.float32)))
        return b.convert(above, out=floats), b.convert(above, out=integers)

    assert [each.tolist() for each in run(model_of(make), way, x)] == [[0, 0, 1]] * 2


@pytest.mark.parametrize("way", WAYS)
def test_a_reader_gets_no_fractions(way: str) -> None:
    x = np.array([-1.9, -0.5, 0.9, 1.2], np.float32)
    floats, bytes_ = tensor("float32", (4,)), tensor("quant8_asymm_signed", (4,), 20.0, 0)
    model = model_of(lambda b: b.dequantize(b.convert(b.input(floats), out=bytes_), out=floats))
    assert run(model, way, x)[0].tolist() == [-20, 0, 0, 20]


def test_other_types_are_refused() -> None:
    with pytest.raises(BadDataError, match="out is TENSOR_QUANT16_SYMM, must be"):
        model_of(lambda b: b.convert(b.input(tensor("float32", (2,))), out=tensor("quant16_symm", (2,), 1.0)))
