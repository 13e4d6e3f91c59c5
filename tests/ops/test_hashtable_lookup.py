"""HASHTABLE_LOOKUP."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import tensor
from tests.ops.recurrent_cases import quickly
from tests.single import run_single

HITS = tensor("quant8_asymm", (), 1.0, 0)
TYPES = {"float32": ("float32", 0, 0), "int32": ("int32", 0, 0), "quant8": ("quant8_asymm", 0.5, 3)}


def look_up(lookups: list[int], keys: list[int], values: Any, kind: str = "float32", hits: Any = HITS) -> list[Any]:
    type = tensor(TYPES[kind][0], np.shape(values), *TYPES[kind][1:])
    int32 = [(tensor("int32", np.shape(array)), array) for array in (lookups, keys)]
    inputs = [*int32, (type, np.asarray(values, type.dtype))]
    return run_single(Op.HASHTABLE_LOOKUP, inputs, [type.with_dimensions(()), hits])


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_literal(kind: str) -> None:
    # a miss is zero bytes, not the zero point
    out, hits = look_up([7, 2, 3, 9], [-5, 2, 7], [[1, 2], [3, 4], [5, 6]], kind)
    np.testing.assert_array_equal(out, [[5, 6], [3, 4], [0, 0], [0, 0]])
    np.testing.assert_array_equal(hits, np.array([1, 1, 0, 0], np.uint8))


@quickly
@given(
    st.sampled_from(sorted(TYPES)),
    st.sets(st.integers(-20, 20), min_size=1, max_size=8),
    st.lists(st.integers(-20, 20), min_size=1, max_size=10),
    st.integers(1, 3),
)
def test_as_a_dictionary(kind: str, keys: Any, lookups: list[int], rank: int) -> None:
    keys = sorted(keys)
    values = np.arange(1, 1 + len(keys) * 2 ** (rank - 1)).reshape(len(keys), *[2] * (rank - 1))
    rows = dict(zip(keys, values, strict=True))
    out, hits = look_up(lookups, keys, values, kind)
    assert out.tolist() == [np.asarray(rows.get(key, 0 * values[0])).tolist() for key in lookups]
    assert hits.tolist() == [int(key in rows) for key in lookups]


def test_refusals() -> None:
    with pytest.raises(OpFailedError, match=re.escape("keys has 2 elements, values has 1 rows, must be as many")):
        look_up([1], [1, 2], [[1]])
    with pytest.raises(OpFailedError, match="gives scale 1 and zero point 0"):
        look_up([1], [1], [[1]], hits=tensor("quant8_asymm", (), 0.5, 0))
    with pytest.raises(BadDataError, match="hits is TENSOR_INT32, must be TENSOR_QUANT8_ASYMM"):
        look_up([1], [1], [[1]], hits=tensor("int32"))
