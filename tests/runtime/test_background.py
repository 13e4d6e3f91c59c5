"""Work on threads of their own."""

import threading
import time

import pytest

from nnapi.runtime import background
from nnapi.runtime.background import Background


def test_work_is_stopped_and_waited_for() -> None:
    begun = threading.Event()

    def work(own: Background) -> None:
        begun.set()
        own.sleep(60)
        raise AssertionError("it went on")

    task = Background(work, "some-work")
    assert begun.wait(60)
    task.stop()
    assert task.wait(60)
    assert task.is_stopped


def test_a_busy_process_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor's time is what counts: half a moment, then a whole one, then none."""
    spent = iter([0.0, 0.125, 0.2, 0.7, 1.0, 1.01])
    slept: list[float] = []
    monkeypatch.setattr(time, "process_time", lambda: next(spent))
    monkeypatch.setattr(Background, "sleep", lambda self, seconds: slept.append(seconds))
    Background(Background.sleep_until_idle, "some-work").wait(60)
    assert slept == [background.LOOK, 2 * background.LOOK, 4 * background.LOOK]


def test_work_that_never_looks_is_interrupted() -> None:
    """As a driver that handles whatever its operators raise, and takes long."""
    begun, cleaned = threading.Event(), threading.Event()

    def work(own: Background) -> None:
        try:
            while True:
                begun.set()
                try:
                    sum(range(1000))
                except Exception:
                    continue
        finally:
            cleaned.set()

    task = Background(work, "some-work")
    assert begun.wait(60)
    task.interrupt()
    assert not task.is_alive
    assert cleaned.is_set()
