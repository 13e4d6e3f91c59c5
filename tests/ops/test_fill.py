"""FILL."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi import Builder, compile
from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import OperandType, tensor
from tests.ops.tensor_cases import assert_same, ints, level, quickly, refuses_to_add, refuses_to_compute, run, shapes
from tests.single import scalar

FILL = OperationCode.FILL
SCALARS = {"float32": OperandCode.FLOAT32, "float16": OperandCode.FLOAT16, "int32": OperandCode.INT32}


def test_literal() -> None:
    out = run(FILL, ints(2, 3), scalar(OperandCode.FLOAT32, 1.5), out=tensor("float32"))
    assert_same(out, np.array([[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]], np.float32))


@quickly
@given(st.sampled_from(sorted(SCALARS)), shapes(most=5), st.integers(-(2**31), 2**31 - 1))
def test_every_element_is_the_value(kind: str, shape: Any, value: Any) -> None:
    value = np.asarray(value if kind == "int32" else value / 2**20, kind)
    out = run(FILL, ints(*shape), scalar(SCALARS[kind], value), out=tensor(kind))
    assert out.shape == shape
    assert out.dtype == value.dtype
    assert set(out.ravel().tolist()) == {value.item()}


@pytest.mark.parametrize("kind", sorted(SCALARS))
def test_no_more_memory_is_taken_than_the_result_has(kind: str) -> None:
    b = Builder("filled")
    dims = b.input(tensor("int32", (2,)))
    b.output(b.fill(dims, b.constant(np.asarray(1, kind), OperandType(SCALARS[kind])), out=tensor(kind, (0, 0))))
    compilation = compile(b.finish(), "nnapi-reference")
    tracemalloc.start()
    try:
        (out,) = compilation.run(np.array([1000, 1000], np.int32))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < out.nbytes + 500_000


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_an_dimension_of_0_gives_no_elements(shape: tuple[int, ...]) -> None:
    assert run(FILL, ints(*shape), scalar(OperandCode.FLOAT32, 1.5), out=tensor("float32")).shape == shape


def test_refusals() -> None:
    one = scalar(OperandCode.FLOAT32, 1)
    refuses_to_compute("dims [2, -1] must not be negative", FILL, ints(2, -1), one, outs=[tensor("float32")])
    refuses_to_compute("dims has rank 2, must have rank 1", FILL, ints([2, 1]), one, outs=[tensor("float32")])
    refuses_to_add("out is TENSOR_FLOAT16, must be TENSOR_FLOAT32", FILL, ints(2), one, outs=[tensor("float16")])


@pytest.mark.parametrize("kind", sorted(SCALARS))
def test_level(kind: str) -> None:
    assert level(FILL, ints(1), scalar(SCALARS[kind], 1), out=tensor(kind)) == 4
