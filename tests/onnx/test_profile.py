"""The trace that a session writes for enable_profiling."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
import nnapi.onnx as ours  # noqa: E402  # which needs it
from tests.onnx.session_cases import dense, session  # noqa: E402


def test_a_session_is_profiled(tmp_path: Path) -> None:
    options = ours.SessionOptions()
    options.use_per_session_threads = False
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    mine = session(dense(), sess_options=options)
    try:
        with pytest.raises(ours.Fail, match="enable_profiling: a trace is being recorded already"):
            session(dense(), sess_options=options)
        mine.run(None, {"x": np.ones((2, 3), np.float32)})
        assert mine.get_profiling_start_time_ns() > 0
    finally:
        path = mine.end_profiling()
    events = json.loads(Path(path).read_text())
    assert Path(path).parent == tmp_path
    assert all({"name", "ts", "dur", "pid", "tid", "args"} <= event.keys() for event in events)
    assert any(event["name"].endswith("compute") for event in events)
    assert (mine.end_profiling(), mine.get_profiling_start_time_ns()) == ("", 0)
