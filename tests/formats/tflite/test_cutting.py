"""Parts of files as files of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.formats.tflite.cutting import cut
from tests.tflite_writer import Graph, T, write

NAMES = [T("FLOAT32", (2, 3), name=name) for name in ("x", "a", "b", "y")]
X, A, B, Y = NAMES


def chain() -> bytes:
    graph = Graph().operator("TANH", [X], [A]).operator("ABS", [A], [B]).operator("NEG", [B], [Y])
    return write(graph.between([X], [Y]))


@pytest.mark.parametrize(
    ("operators", "inputs", "outputs", "meaning"),
    [
        ([0, 1, 2], [0], [3], lambda x: -np.abs(np.tanh(x))),
        ([1], [1], [2], np.abs),
        ([1, 2], [1], [2, 3], lambda x: (np.abs(x), -np.abs(x))),
        ([0, 2], [0, 2], [1, 3], lambda x, b: (np.tanh(x), -b)),
    ],
)
def test_a_part_computes_what_its_operators_do(
    operators: list[int], inputs: list[int], outputs: list[int], meaning: Callable[..., Any]
) -> None:
    model = nnapi.load(cut(memoryview(chain()), 0, operators, inputs, outputs))
    values = [np.random.default_rng(index).normal(size=(2, 3)).astype(np.float32) for index in inputs]
    given = nnapi.compile(model, "nnapi-reference").run(*values)
    expected = meaning(*values)
    for ours, wanted in zip(given, expected if isinstance(expected, tuple) else [expected], strict=True):
        np.testing.assert_allclose(ours, wanted, 1e-6)


def test_a_subgraph_that_is_not_there_cannot_be_cut() -> None:
    with pytest.raises(BadDataError, match="there is no subgraph 3"):
        cut(memoryview(chain()), 3, [0], [0], [1])
