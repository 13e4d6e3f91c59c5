"""Graphs of which LiteRT computes partitions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tflite_writer import Graph, T, const, write

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from tests.litert.interpreter_cases import both, feed, needs_library, run  # noqa: E402


@needs_library
def test_partitions_have_the_shapes_that_litert_infers() -> None:
    x, a, b = T("FLOAT32", (2, 6)), T("FLOAT32", (2, 6)), T("FLOAT32", (1, 1), signature=(-1, -1))
    c, y = T("FLOAT32", (1, 1), signature=(-1, -1)), T("FLOAT32", (1, 1), signature=(-1, -1))
    graph = Graph().operator("RELU", [x], [a])
    graph.operator("RESHAPE", [a, const([3, 4], "INT32")], [b], "ReshapeOptions", NewShape=[3, 4])
    graph.operator("ATAN2", [b, b], [c]).operator("RELU", [c], [y])
    pair = both(write(graph.between([x], [y])), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    assert "3 of 4 operators run here, in 2 partitions" in pair[1].explain()


def test_temporary_tensors_of_litert_are_not_the_file_s() -> None:
    x, y, angle = T("FLOAT32", (1, 2)), T("FLOAT32", (1, 4)), T("FLOAT32", (1, 4))
    features, times = const(np.ones((4, 2)), "FLOAT32"), const(np.ones((4, 3)), "FLOAT32")
    state = T("FLOAT32", (1, 12), variable=True)
    graph = Graph().operator("SVDF", [x, features, times, None, state], [y], "SVDFOptions", Rank=1)
    pair = both(write(graph.operator("ATAN2", [y, y], [angle]).between([x], [angle])), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
