"""EMBEDDING_LOOKUP."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from tests.ops.recurrent_cases import quickly
from tests.single import run_single, single

TYPES = {
    "float32": ("float32", 0, 0, 1),
    "float16": ("float16", 0, 0, 4),
    "int32": ("int32", 0, 0, 3),
    "quant8": ("quant8_asymm", 0.5, 3, 3),
    "quant8_signed": ("quant8_asymm_signed", 0.25, -3, 4),
}


def arguments(lookups: Any, values: Any, kind: str) -> tuple[Any, ...]:
    name, scale, zero_point, _ = TYPES[kind]
    type = tensor(name, np.shape(values), scale, zero_point)
    inputs = [(tensor("int32", np.shape(lookups)), lookups), (type, np.asarray(values, type.dtype))]
    return Op.EMBEDDING_LOOKUP, inputs, [type.with_dimensions(())]


def look_up(lookups: Any, values: Any, kind: str = "float32") -> Any:
    (out,) = run_single(*arguments(lookups, values, kind))
    return out


def test_literal() -> None:
    np.testing.assert_array_equal(look_up([2, 0, 2], [[1, 2], [3, 4], [5, 6]]), [[5, 6], [1, 2], [5, 6]])


@quickly
@given(st.sampled_from(sorted(TYPES)), st.integers(1, 5), st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32))
def test_each_row(kind: str, rows: int, count: int, rank: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-100 if kind != "quant8" else 0, 100, (rows, *random.integers(1, 4, rank - 1)))
    lookups = random.integers(0, rows, count)
    out = look_up(lookups, values, kind)
    assert out.tolist() == [values.tolist()[row] for row in lookups]


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_levels(kind: str) -> None:
    code, inputs, (out,) = arguments([0], [[1]], kind)
    assert single(code, inputs, [out.with_dimensions((1, 1))]).feature_level == TYPES[kind][-1]


@pytest.mark.parametrize(
    ("lookups", "values", "message"),
    [
        ([0, 3], [[1], [2], [3]], "are in 0..3, must be in 0..2"),
        ([-1], [[1]], "are in -1..-1, must be in 0..0"),
        ([0], [1, 2], "values has rank 1, must have at least rank 2"),
        ([[0]], [[1]], "lookups has rank 2, must have rank 1"),
    ],
)
def test_refusals(lookups: list[Any], values: list[Any], message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        look_up(lookups, values)
