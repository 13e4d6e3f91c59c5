"""Constants of which the file stores some elements only."""

from pathlib import Path

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.formats.tflite.sparse import Level, Sparsity, expand
from tests.importers.tflite.against_litert import litert, loaded, run
from tests.tflite_writer import Graph, T, f32, single, write

ROWS = T("FLOAT32", (3, 4), data=[1, 2, 3], sparsity=([0, 1], [], [3, ([0, 2, 2, 3], [1, 3, 0])]))
"""Rows of which the second is empty."""
BLOCKS = T("FLOAT32", (4, 4), data=range(1, 9), sparsity=([0, 1, 2, 3], [0, 1], [2, ([0, 1, 2], [1, 0]), 2, 2]))
"""Blocks of 2 by 2."""


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (ROWS, [[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]]),
        (BLOCKS, [[0, 0, 1, 2], [0, 0, 3, 4], [5, 6, 0, 0], [7, 8, 0, 0]]),
    ],
)
def test_densify(weights: T, expected: list[list[float]], tmp_path: Path) -> None:
    x, whole, y = f32(4, 4), f32(*weights.shape), f32(4, weights.shape[0])
    graph = Graph().operator("DENSIFY", [weights], [whole])
    graph.operator("FULLY_CONNECTED", [x, whole], [y], "FullyConnectedOptions")
    content = write(graph.between([x], [y]))
    columns = np.eye(4, dtype=np.float32)
    assert run(loaded(content, tmp_path), [columns])[0].T.tolist() == expected
    assert litert(content, [columns])[0].T.tolist() == expected


def test_the_order_of_axes_may_be_another() -> None:
    by_column = Sparsity((1, 0), (), (Level(2), Level(0, np.array([0, 1, 3]), np.array([2, 0, 1]))))
    assert expand(by_column, np.array([7, 8, 9]), (3, 2), "w").tolist() == [[0, 8], [0, 9], [7, 0]]


@pytest.mark.parametrize(
    ("sparsity", "reason"),
    [
        (([0, 1], [], [3, ([0, 2, 2, 3], [1, 4, 0])]), r"w stores elements outside \[3, 4\]"),
        (([0, 1], [], [3, ([0, 2, 1, 3], [1, 3, 0])]), "w lists 3 positions of 3 in 3 segments"),
        (([0, 1], [], [2, ([0, 2, 2, 3], [1, 3, 0])]), "w lists 3 positions of 2 in 3 segments"),
        (([0, 1], [], [3, ([0, 1, 1, 2], [1, 3])]), "w stores 3 elements, its positions are 2"),
        (([0, 1], [], [3, 4]), "w stores 3 elements, its positions are more"),
        (([0, 1], [], [10**9, 1]), "w stores 3 elements, its positions are more"),
        (([0, 0], [], [3, 1]), r"w is sparse along axes \(0, 0\)"),
        (([0, 1, 2], [5], [3, 1, 1]), r"w is sparse along axes \(0, 1, 2\)"),
        (([0, 1], [], [3]), "w is sparse along axes"),
    ],
)
def test_positions_that_are_none(sparsity: tuple[list[int], list[int], list[int]], reason: str, tmp_path: Path) -> None:
    weights = T("FLOAT32", (3, 4), data=[1, 2, 3], sparsity=sparsity, name="w")  # type: ignore[arg-type]
    with pytest.raises(BadDataError, match=reason):
        loaded(single("FULLY_CONNECTED", [f32(1, 4), weights], f32(1, 3), "FullyConnectedOptions"), tmp_path)


def test_what_takes_less_than_a_byte_is_not_stored_sparsely(tmp_path: Path) -> None:
    weights = T("INT4", (3, 4), 0.5, data=[1, 2, 3], sparsity=ROWS.sparsity, name="w")
    with pytest.raises(BadDataError, match="w is stored sparsely as INT4"):
        loaded(single("FULLY_CONNECTED", [f32(1, 4), weights], f32(1, 3), "FullyConnectedOptions"), tmp_path)
