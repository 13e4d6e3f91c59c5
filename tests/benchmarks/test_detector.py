"""The benchmark of detectors in child processes: what runs in them, not how long that takes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from benchmarks import detector  # LiteRT may be missing
from tests.tflite_writer import T, single
from tools import size

pytestmark = pytest.mark.engine


@pytest.mark.slow
def test_each_child_has_its_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(single("RELU", [T("FLOAT32", (2, 2))], T("FLOAT32", (2, 2))))
    shutil.copy(size.REPOSITORY / "native" / "nnapi.pth", tmp_path)
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(tmp_path)!r})\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{size.REPOSITORY}")
    monkeypatch.setenv("NNAPI_DROPIN", "")
    (theirs, first), (ours, second) = detector.measure(str(path), threads=1, turns=2, warm=0)
    assert (first, second) == ("builtins", "nnapi.litert.interpreter")
    assert len(theirs) == len(ours) == 2 * detector.TURN
    assert np.isfinite([*theirs, *ours]).all()
