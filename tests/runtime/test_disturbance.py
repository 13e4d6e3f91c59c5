"""Who kept the processors busy."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from nnapi.runtime import disturbance
from nnapi.runtime.disturbance import LEAST, SHARE, Watch, others_seconds


def test_another_process_is_seen_and_this_one_is_not() -> None:
    before, own = others_seconds(), time.process_time()
    subprocess.run([sys.executable, "-c", "sum(range(8_000_000))"], check=True)
    assert others_seconds() - before > 0.04
    assert time.process_time() - own < 0.04


@pytest.mark.parametrize(
    ("wall", "others", "is_disturbed"),
    [(1.0, SHARE + 0.01, True), (1.0, SHARE - 0.01, False), (0.01, LEAST - 0.01, False), (0.01, LEAST + 0.01, True)],
)
def test_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch, wall: float, others: float, is_disturbed: bool) -> None:
    monkeypatch.setattr(disturbance, "others_seconds", iter([5.0, 5.0 + others]).__next__)
    monkeypatch.setattr(disturbance, "time", SimpleNamespace(perf_counter=iter([3.0, 3.0 + wall]).__next__))
    assert Watch().is_disturbed() == is_disturbed


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "BUSY", (99,))
    assert others_seconds() == 0
    assert not Watch().is_disturbed()
