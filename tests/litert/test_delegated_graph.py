"""Subgraphs that LiteRT runs with this library's delegate."""

from __future__ import annotations

import pytest

pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert import delegated_graph  # LiteRT may be missing
from tests.litert.interpreter_cases import both, feed, run
from tests.litert.test_litert_interpreter import with_atan2

pytestmark = pytest.mark.engine


def test_litert_runs_all_operators_without_the_delegate(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise FileNotFoundError("the delegate has not been built")

    monkeypatch.setattr(delegated_graph, "delegate_path", refuse)
    pair = both(with_atan2(), fallback=True)
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    told = pair[1].explain()
    assert "LiteRT runs all operators, as it cannot use the delegate: the delegate has not been built" in told
    assert "inverse trigonometric" in told
