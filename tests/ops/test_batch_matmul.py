"""BATCH_MATMUL."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    FLOATS,
    INT32,
    assert_stores,
    flag,
    floats,
    ints,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    stored,
)

MATMUL = OperationCode.BATCH_MATMUL
SIGNED = {"quant8_signed": tensor("int8", (), 0.25, -5)}
A, B = floats([[1, 2], [3, 4]]), floats([[10, 0], [1, 5]])


@pytest.mark.parametrize(
    ("adj_x", "adj_y", "expected"),
    [
        (False, False, [[12, 10], [34, 20]]),
        (True, False, [[13, 15], [24, 20]]),
        (False, True, [[10, 11], [30, 23]]),
        (True, True, [[10, 16], [20, 22]]),
    ],
)
def test_literal(adj_x: bool, adj_y: bool, expected: list[Any]) -> None:
    assert run(MATMUL, A, B, flag(adj_x), flag(adj_y)).tolist() == expected


def test_literal_quantized() -> None:
    lhs = tensor("int8", (1, 2), 0.5, 1), np.array([[3, -3]], np.int8)  # 1, -2
    rhs = tensor("int8", (2, 1), 0.25, 0), np.array([[4], [3]], np.int8)  # 1, 0.75
    assert run(MATMUL, lhs, rhs, flag(False), flag(False), out=tensor("int8", (), 0.5, 10)).item() == 9


def test_large_integers_stay_exact() -> None:
    x = ints([2**24 + 1, 1])
    assert run(MATMUL, x, ints([1], [2]), flag(False), flag(False)).item() == 2**24 + 3


@quickly
@given(st.data(), st.integers(0, 2**32), st.sampled_from(sorted(FLOATS | INT32 | SIGNED)), st.booleans(), st.booleans())
def test_every_matrix_is_a_product(data: Any, seed: int, kind: str, adj_x: bool, adj_y: bool) -> None:
    random = np.random.default_rng(seed)
    dimension = st.integers(1, 3)
    batch = data.draw(st.lists(dimension, max_size=2).map(tuple))
    rows, inner, columns = data.draw(dimension), data.draw(dimension), data.draw(dimension)
    type = (FLOATS | INT32 | SIGNED)[kind]
    lhs = type.with_dimensions((*batch, *((inner, rows) if adj_x else (rows, inner))))
    rhs = type.with_dimensions((*batch, *((columns, inner) if adj_y else (inner, columns))))
    if kind == "int32":
        a, b = (random.integers(-9, 9, t.dimensions, np.int32) for t in (lhs, rhs))
    else:
        a, b = stored(lhs, random), stored(rhs, random)
    out = tensor("int8", (), 4.0, 3) if kind in SIGNED else type
    y = run(MATMUL, (lhs, a), (rhs, b), flag(adj_x), flag(adj_y), out=out)
    x, z = reals(lhs, a).astype(float), reals(rhs, b).astype(float)
    real = np.zeros((*batch, rows, columns))
    for *at, row, column in np.ndindex(*real.shape):
        for i in range(inner):
            left = x[(*at, i, row) if adj_x else (*at, row, i)]
            right = z[(*at, column, i) if adj_y else (*at, i, column)]
            real[(*at, row, column)] += left * right
    assert y.shape == real.shape
    if kind == "float16":
        np.testing.assert_allclose(y, real, 2e-3, 2e-2)
    else:
        assert_stores(out, y, real)


def test_refusals() -> None:
    plain = flag(False), flag(False)
    refuses_to_compute("rhs has rank 3, lhs has 2", MATMUL, A, floats(np.ones((1, 2, 2))), *plain)
    refuses_to_compute("rhs has 1 rows to multiply, lhs has 2 columns", MATMUL, A, floats([[1, 2]]), *plain)
    refuses_to_compute("lhs has rank 1, must have rank 2", MATMUL, floats([1]), floats([1]), *plain)
    stacks = floats(np.ones((2, 1, 1))), floats(np.ones((3, 1, 1)))
    refuses_to_compute("rhs has leading dimensions [3], lhs has [2]", MATMUL, *stacks, *plain)
    unsigned = tensor("uint8", (1, 1), 1.0, 0), np.array([[1]], np.uint8)
    refuses_to_add("lhs is TENSOR_QUANT8_ASYMM", MATMUL, unsigned, unsigned, *plain)
    refuses_to_add("takes 4 inputs, got 2", MATMUL, A, B)


def test_level() -> None:
    assert level(MATMUL, A, B, flag(False), flag(False)) == 6
