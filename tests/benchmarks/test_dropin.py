"""The benchmark of the interpreter in LiteRT's place: what it measures, not how long that takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from benchmarks import dropin  # LiteRT may be missing
from nnapi.litert import CompiledModel, Interpreter
from tests.litert.model_cases import dense

pytestmark = pytest.mark.engine


def test_each_call_is_measured_on_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense())
    called: list[str] = []

    class Counting(Interpreter):
        def __init__(self, path: str, **named: Any) -> None:
            super().__init__(path, **named | {"devices": "nnapi-reference"})

        def invoke(self) -> None:
            called.append("invoke")
            super().invoke()

    class CountingModel(CompiledModel):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named | {"devices": "nnapi-reference"})

        def run_by_index(self, *arguments: Any) -> None:
            called.append("run_by_index")
            super().run_by_index(*arguments)

    monkeypatch.setattr(dropin, "Interpreter", Counting)
    monkeypatch.setattr(dropin, "CompiledModel", CountingModel)
    theirs, ours = dropin.measure(str(path), number=2, series=1)
    assert len(theirs) == len(ours) == len(dropin.CALLS)
    assert np.isfinite([*theirs, *ours]).all()
    assert called.count("invoke") == called.count("run_by_index") == 4, "twice alone, twice with the others"
