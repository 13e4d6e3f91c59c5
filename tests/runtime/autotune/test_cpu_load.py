"""Who kept the processors busy."""

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from nnapi.runtime.autotune import cpu_load
from nnapi.runtime.autotune.cpu_load import (
    LEAST,
    SHARE,
    Watch,
    count_others_seconds,
    count_waited_seconds,
    time_undisturbed,
)


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


@pytest.mark.parametrize(
    ("waited", "worked", "counted"),
    [(0.0, 1.0, 3.0), (0.5, 1.0, 2.5), (9.0, 1.0, 1.0), (9.0, 4.0, 3.0)],
    ids=["alone", "beside others", "others came before the call", "clocks differ"],
)
def test_a_call_counts_without_what_others_had(
    monkeypatch: pytest.MonkeyPatch, waited: float, worked: float, counted: float
) -> None:
    monkeypatch.setattr(cpu_load, "time_call", lambda call: 3.0)
    monkeypatch.setattr(cpu_load, "time", SimpleNamespace(thread_time=iter([5.0, 5.0 + worked]).__next__))
    monkeypatch.setattr(cpu_load, "count_waited_seconds", iter([7.0, 7.0 + waited]).__next__)
    assert time_undisturbed(lambda: None) == pytest.approx(counted)


@pytest.mark.parametrize(("text", "seconds"), [("900 2500000000 7\n", 2.5), ("", 0.0), ("9 no number", 0.0)])
def test_the_system_tells_what_a_thread_waited(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setattr(cpu_load, "open", lambda path: io.StringIO(text), raising=False)
    assert count_waited_seconds() == seconds


def test_where_the_system_does_not_tell_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(cpu_load, "open", refuse, raising=False)
    assert count_waited_seconds() == 0
