"""MOD."""

import math
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.lowering.expansion import expand
from nnapi.model.builder import Builder
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.ops.kernel_cases import ENGINES, build, engine, normal
from tests.single import run_single, scalar


def run(x: Any, y: Any, fmod: bool = False) -> Any:
    types = [tensor(each.dtype.name, each.shape) for each in (x, y)]
    out = tensor(x.dtype.name, np.broadcast_shapes(x.shape, y.shape))
    given = [*zip(types, (x, y), strict=True), scalar(OperandCode.BOOL, fmod)]
    return run_single(CompositeCode.MOD, given, [out])[0]


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float16])
def test_literal_examples(dtype: Any) -> None:
    x, y = np.array([-4, 7, 5, 4, -7, 8], dtype), np.array([2, -3, 8, -2, 3, 5], dtype)
    assert run(x, y).tolist() == [0, -2, 5, 0, 2, 3]
    assert run(x, y, fmod=True).tolist() == [0, 1, 5, 0, -1, 3]


def test_random_integers_beside_python() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(-99, 99, (4, 30)).astype(np.int32), rng.integers(1, 20, 30).astype(np.int32)
    y[::2] *= -1
    pairs = [[(int(a), int(b)) for a, b in zip(row, y, strict=True)] for row in x]
    assert run(x, y).tolist() == [[a % b for a, b in row] for row in pairs]
    assert run(x, y, fmod=True).tolist() == [[int(math.fmod(a, b)) for a, b in row] for row in pairs]


EDGES = [(3, np.inf), (-3, np.inf), (3, -np.inf), (-3, -np.inf), (0, 2), (0, -2), (np.inf, 2), (2, 0), (np.nan, 1)]


@pytest.mark.parametrize("fmod", [False, True])
def test_infinite_numbers_and_those_of_the_decomposition(fmod: bool) -> None:
    x, y = (np.array(column, np.float32) for column in zip(*EDGES, strict=True))
    nan = math.nan
    expected = [3, -3, 3, -3, 0, 0, nan, nan, nan] if fmod else [3, math.inf, -math.inf, -3, 0, 0, nan, nan, nan]
    np.testing.assert_array_equal(run(x, y, fmod), np.array(expected, np.float32))
    b = Builder()
    b.output(b.mod(b.input(tensor("float32", x.shape)), b.input(tensor("float32", y.shape)), fmod))
    found = nnapi.compile(expand(b.finish()).model, "nnapi-reference").run(x, y)[0]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
def test_equal_numbers_leave_nothing_on_engines(name: str) -> None:
    """OpenVINO multiplies by 1 / y, so that the quotient of equal numbers may lie below 1."""
    x = normal(1000)
    for fmod in (False, True):
        model = build(lambda b, x, y, fmod=fmod: b.mod(x, y, fmod), [x, x])
        (found,) = nnapi.compile(model, [engine(name)]).run(x, x.copy())
        assert not found.any()
