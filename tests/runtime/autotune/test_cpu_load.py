"""Who kept the processors busy."""

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from nnapi.runtime.autotune import cpu_load
from nnapi.runtime.autotune.cpu_load import LEAST, SHARE, Watch, count_others_seconds


def test_others_are_what_the_processors_did_and_this_process_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle time and waiting, the fourth column and the fifth, are nobody's work; times of guests are within others."""
    stat = "cpu  100 20 30 9999 999 4 5 6 70 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
    monkeypatch.setattr(cpu_load, "open", lambda path: {"/proc/stat": io.StringIO(stat)}[path], raising=False)
    own = SimpleNamespace(user=0.25, system=0.5)
    monkeypatch.setattr(cpu_load, "os", SimpleNamespace(times=lambda: own, sysconf={"SC_CLK_TCK": 100}.__getitem__))
    assert count_others_seconds() == pytest.approx((100 + 20 + 30 + 4 + 5 + 6) / 100 - 0.75)


def test_the_system_tells_it() -> None:
    before = count_others_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(8_000_000))"], check=True)
    assert count_others_seconds() > before


@pytest.mark.parametrize(
    ("wall", "others", "is_disturbed"),
    [(1.0, SHARE + 0.01, True), (1.0, SHARE - 0.01, False), (0.01, LEAST - 0.01, False), (0.01, LEAST + 0.01, True)],
)
def test_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch, wall: float, others: float, is_disturbed: bool) -> None:
    monkeypatch.setattr(cpu_load, "count_others_seconds", iter([5.0, 5.0 + others]).__next__)
    monkeypatch.setattr(cpu_load, "time", SimpleNamespace(perf_counter=iter([3.0, 3.0 + wall]).__next__))
    assert Watch().is_disturbed() == is_disturbed


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_load, "BUSY", (99,))
    assert count_others_seconds() == 0
    assert not Watch().is_disturbed()
