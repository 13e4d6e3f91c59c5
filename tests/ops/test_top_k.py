"""TOP_K: kernel, decomposition and engines beside Python's sort."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, compile
from nnapi.errors import NnapiError
from nnapi.model.operand import tensor
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

TYPES = {
    "float32": tensor("float32"),
    "float16": tensor("float16"),
    "int32": tensor("int32"),
    "quant8": tensor("quant8_asymm", (), 0.5, 10),
    "quant8_signed": tensor("quant8_asymm_signed", (), 0.25, -5),
}


def found(kind: str, x: Any, axis: int, k: int, largest: bool, way: str) -> list[Any]:
    type = TYPES[kind].with_dimensions(x.shape)
    return run(model_of(lambda b: b.top_k(b.input(type), axis, k, largest)), way, x)


@pytest.mark.parametrize("way", WAYS)
def test_literal(way: str) -> None:
    x = np.array([[3, 1, 3, 2], [0, 0, 0, -1]], np.float32)
    values, indices = found("float32", x, -1, 3, True, way)
    assert (values.tolist(), indices.tolist()) == ([[3, 3, 2], [0, 0, 0]], [[0, 2, 3], [0, 1, 2]])
    values, indices = found("float32", x, 0, 1, False, way)
    assert (values.tolist(), indices.tolist()) == ([[0, 0, 0, -1]], [[1, 1, 1, 1]])


@each_row("way", WAYS)
@each_row("kind", TYPES)
def test_of_equal_elements_the_first_comes_first(kind: str, way: str) -> None:
    """Few different values, so that many are equal; the lowest integer has no negative."""
    random = np.random.default_rng(8)
    for axis, largest in ((0, True), (1, False), (-1, True), (2, False)):
        x = random.integers(0, 3, (3, 5, 6)).astype(TYPES[kind].dtype)
        if kind == "int32":
            x[x == 0] = -(2**31)
            if way == "openvino-cpu":
                with pytest.raises(NnapiError, match="compares as float32|openvino-cpu"):
                    found(kind, x, axis, 2, largest, way)
                continue
        values, indices = found(kind, x, axis, 2, largest, way)
        lines = np.moveaxis(x.astype(np.int64), axis, -1)
        for at in np.ndindex(lines.shape[:-1]):
            line = lines[at].tolist()
            order = sorted(range(len(line)), key=lambda i: (-line[i] if largest else line[i], i))[:2]
            assert np.moveaxis(indices, axis, -1)[at].tolist() == order
            assert np.moveaxis(values, axis, -1)[at].astype(np.int64).tolist() == [line[i] for i in order]


@pytest.mark.parametrize(
    ("axis", "k", "message"),
    [
        (0, 3, "k is 3, must not be above 2, dimension 0 of input"),
        (0, 0, "k is 0, must be above 0"),
        (2, 1, "axis is 2, must be in [-2, 2)"),
    ],
)
def test_refusals(axis: int, k: int, message: str) -> None:
    with pytest.raises(NnapiError) as caught:
        found("float32", np.zeros((2, 3), np.float32), axis, k, True, "nnapi-reference")
    assert message in str(caught.value)


def test_a_computed_k() -> None:
    b = Builder()
    x, k = b.input(tensor("float32", (2, 4))), b.input(tensor("int32", (1,)))
    values, indices = b.top_k(x, -1, k, True)
    b.output(values, indices)
    compiled = compile(b.finish())
    given = np.array([[3, 1, 4, 1], [5, 9, 2, 6]], np.float32)
    for count, right in ((1, [[2], [1]]), (3, [[2, 0, 1], [1, 3, 0]])):
        found, at = compiled.run(given, np.array([count], np.int32))
        assert at.tolist() == right
        np.testing.assert_array_equal(found, np.take_along_axis(given, at, -1))
    with pytest.raises(NnapiError, match="k is 5, must not be above 4"):
        compiled.run(given, np.array([5], np.int32))
    with pytest.raises(NnapiError, match="k is 0, must be above 0"):
        compiled.run(given, np.array([0], np.int32))
