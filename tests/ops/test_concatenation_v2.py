"""CONCATENATION_V2: kernel, decomposition and engines beside NumPy."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.errors import NnapiError
from tests.ops.composite_cases import WAYS, model_of, run

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_random_integers(axis: int, way: str) -> None:
    """Integers of all sizes, and parts of several widths."""
    shapes = [[size if i != axis else width for i, size in enumerate((2, 3, 4))] for width in (1, 5, 2)]
    arrays = [RANDOM.integers(-(2**31), 2**31, shape).astype(np.int32) for shape in shapes]

    def make(b: Builder) -> Any:
        given = [b.input(tensor("int32", each.shape)) for each in arrays[:2]]
        return b.concatenation_v2([*given, b.constant(arrays[2])], axis)

    np.testing.assert_array_equal(run(model_of(make), way, *arrays[:2])[0], np.concatenate(arrays, axis))


@pytest.mark.parametrize("way", WAYS)
def test_one_tensor(way: str) -> None:
    x = np.array([[1, -2]], np.int32)
    model = model_of(lambda b: b.concatenation_v2([b.input(tensor("int32", x.shape))], 1))
    assert run(model, way, x)[0].tolist() == [[1, -2]]


def test_refusals() -> None:
    b = Builder()
    x, y = b.input(tensor("int32", (2, 3))), b.input(tensor("int32", (3, 2)))
    with pytest.raises(NnapiError, match=r"inputs 1 has shape \[3, 2\], must be \[2, 3\] but for axis 1"):
        b.concatenation_v2([x, y], 1)
    with pytest.raises(NnapiError, match="inputs"):
        b.concatenation_v2([b.input(tensor("float32", (2,)))], 0)
