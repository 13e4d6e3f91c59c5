"""SELECT."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.pair_cases import type_of
from tests.ops.tensor_cases import (
    NUMBERS,
    assert_stores,
    floats,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    stored,
    tensors,
    unknown,
)

SELECT = OperationCode.SELECT


def truth(*values: Any) -> Any:
    return tensor("bool8", (len(values),)), np.uint8(values)  # type: ignore[arg-type]


def test_literal() -> None:
    a, b = floats([1, 2, 3]), floats([-1, -2, -3])
    assert run(SELECT, truth(1, 0, 7), a, b, out=a[0]).tolist() == [1, -2, 3]


def test_literal_codes_of_different_scales() -> None:
    a = tensor("uint8", (3,), 0.5, 10), np.array([10, 12, 255], np.uint8)  # 0, 1, 122.5
    b = tensor("uint8", (3,), 1.0, 0), np.array([3, 4, 5], np.uint8)
    assert run(SELECT, truth(1, 0, 1), a, b, out=tensor("uint8", (3,), 0.25, 100)).tolist() == [100, 116, 255]


@quickly
@given(tensors(NUMBERS, shapes(most=5, dimension=3)), st.sampled_from([1, 0.5, 3]), st.integers(0, 2**32))
def test_each_element_by_itself(a: tuple[Any, ...], factor: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    type, value = a
    b_type = type_of(type, value.shape, type.scale * factor)
    b = b_type, stored(b_type, random)
    bytes_ = random.integers(0, 3, value.shape, np.uint8)
    out = unknown(type_of(type, (), type.scale * 2))
    real = [x if c != 0 else y for c, x, y in zip(bytes_.flat, reals(*a).flat, reals(*b).flat, strict=True)]
    result = run(SELECT, (tensor("bool8", value.shape), bytes_), a, b, out=out)
    assert_stores(out, result, np.reshape(real, value.shape))


@pytest.mark.parametrize("lengths", [(2, 2, 1), (2, 1, 2), (1, 2, 2)])
def test_shapes_must_be_the_same(lengths: tuple[int, ...]) -> None:
    condition, a, b = (np.ones(length) for length in lengths)
    message = f"condition, a and b have shapes {', '.join(f'[{n}]' for n in lengths)}, must be the same"
    refuses_to_compute(message, SELECT, truth(*condition), floats(a), floats(b), outs=[tensor("float32")])


def test_refuses_when_added() -> None:
    a = floats([1, 2])
    refuses_to_add("condition is TENSOR_FLOAT32, must be TENSOR_BOOL8", SELECT, a, a, a)


def test_level() -> None:
    a = floats([1])
    assert level(SELECT, truth(1), a, a, out=a[0]) == 3
