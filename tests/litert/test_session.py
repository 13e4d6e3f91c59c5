"""Graphs of which LiteRT computes partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tflite_writer import Graph, T, const, write

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert.session import Session  # noqa: E402  # LiteRT is the class that it derives from
from tests.litert.interpreter_cases import both, feed, run  # noqa: E402


def with_atan2() -> bytes:
    """Make an operator that NNAPI does not have, between two that it has."""
    x, a, b, y = (T("FLOAT32", (2, 3)) for _ in range(4))
    graph = Graph().operator("RELU", [x], [a]).operator("ATAN2", [a, a], [b]).operator("TANH", [b], [y])
    return write(graph.between([x], [y]))


def test_litert_runs_all_operators_where_it_refuses_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    make_litert_partition, counts = Session._make_litert_partition, list[int]()

    def refuse(session: Session, graph: Any, part: Any) -> Any:
        counts.append(len(part.operators))
        if len(part.operators) < len(graph.operators):
            raise RuntimeError("tensor 7 has no shape")
        return make_litert_partition(session, graph, part)

    monkeypatch.setattr(Session, "_make_litert_partition", refuse)
    pair = both(with_atan2(), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    assert counts[-1] > counts[0]
    assert "LiteRT runs all operators, as it refuses a partition: tensor 7 has no shape" in pair[1].explain()


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
    assert "part 3" in pair[1].explain()


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
