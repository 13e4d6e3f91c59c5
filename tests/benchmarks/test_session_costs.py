"""Sessions are measured in processes of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")

from benchmarks import session_costs
from benchmarks.session_costs import OURS, Costs, compare, measure, summarize
from tests.onnx.session_cases import dense

ROWS = [np.ones((1, 3), np.float32)]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "is_dynamic"), [("batch", True), (1, False)])
def test_a_process_runs_a_file(tmp_path: Path, rows: Any, is_dynamic: bool) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(dense(rows))
    found = measure(OURS, path, ROWS)
    assert found.first > 0
    assert found.memory > 1 << 20
    assert (found.new_shape is not None) == (found.further_shape is not None) == is_dynamic


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"there is no file .*model\.onnx"):
        measure(OURS, tmp_path / "model.onnx", ROWS)


def test_medians_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = [(2, 60, 1, 4), (9, 60, 3, 2), (3, 90, 2, 3)], [(1, 40, 1, 1), (1, 40, 1, 1), (1, 60, 1, 2)]
    costs = (Costs(*each) for turn in zip(ours, theirs, strict=True) for each in turn)
    asked: list[Any] = []
    monkeypatch.setattr(session_costs, "measure", lambda *what: asked.append(what) or next(costs))
    assert compare(Path("m"), ROWS, 2) == {"first": 3.0, "memory": 1.5, "new_shape": 2.0, "further_shape": 3.0}
    assert [engine for engine, *_ in asked] == ["nnapi.onnx", "onnxruntime"] * 3
    monkeypatch.setattr(
        session_costs, "measure", lambda engine, *what: Costs(1, 2, None, None if engine == OURS else 1)
    )
    assert compare(Path("m"), ROWS) == {"first": 1.0, "memory": 1.0}


def test_a_summary_has_medians_and_the_worst() -> None:
    found: list[dict[str, Any]] = [{"first": 2.0, "memory": 1.0}, {"first": 5.0}, {"first": 1.0, "name": "x"}]
    assert summarize(found) == "first: median 2.00, worst 5.00 of 3\nmemory: median 1.00, worst 1.00 of 1"
