"""The machine that trials run on."""

from pathlib import Path

import pytest

from nnapi.runtime.choice import first_runs, pacing, trial, tune, tuner
from nnapi.runtime.executors import observed, stopwatch
from tests.runtime.choice.trial_cases import Clock, Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """Devices on a clock of their own, tuning by default, and a tuner without a thread."""
    monkeypatch.delenv("NNAPI_TUNING")
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "home"))
    monkeypatch.setattr("nnapi.runtime.choice.predict.is_tiny", lambda model: False)
    clock = Clock()
    for module in (first_runs, observed, pacing, stopwatch, trial, tune, tuner):
        monkeypatch.setattr(module, "time", clock)
    for module in (pacing, stopwatch):
        monkeypatch.setattr(module, "read_waited", lambda: 0.0)
    monkeypatch.setattr(first_runs, "do_behind_runs", lambda work: work())
    silent = tuner.Tuner()
    monkeypatch.setattr("threading.Thread.start", lambda thread: None)
    monkeypatch.setattr(tuner, "TUNER", silent)
    return Machine(clock)
