"""State of the C library that several threads share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi.capi import installation
from nnapi.capi.strace import Begin, CallReporter

if installation.library_problem() is not None:
    pytest.skip(str(installation.library_problem()), allow_module_level=True)

from nnapi.capi import library


class Slow(dict[int, int]):
    """A dictionary that lets other threads run between a read and what follows."""

    def get(self, *words: Any) -> Any:
        found = super().get(*words)
        time.sleep(0.05)
        return found

    def pop(self, *words: Any) -> Any:
        found = super().pop(*words)
        time.sleep(0.05)
        return found


def run_at_once(work: Callable[[], Any], threads: int = 2) -> None:
    started = [threading.Thread(target=work) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def test_threads_that_ask_at_once_get_the_same_c_string(monkeypatch: pytest.MonkeyPatch) -> None:
    """The string of the loser would be freed, although C has its address."""
    found: list[Any] = []

    def make(*words: Any) -> Any:
        if not found:  # another thread asks in this moment
            found.append(None)
            found[0] = library.keep_text("a device of several threads")
        return new(*words)

    new = library.ffi.new  # type: ignore[attr-defined]  # cffi has no types
    monkeypatch.setattr(library, "ffi", SimpleNamespace(new=make))
    found.append(library.keep_text("a device of several threads"))
    assert found[0] is found[1]


def test_references_of_several_threads_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    handles = library.HANDLES_OF["HardwareBuffer"]
    handle = handles.add(object())
    monkeypatch.setattr(library, "_holders", Slow())
    run_at_once(lambda: library.hold(handle, 1))
    for _ in range(2):
        library.hold(handle, -1)
    assert handles.find(handle) is not None
    library.hold(handle, -1)
    assert handles.find(handle) is None


def test_a_call_survives_a_listener_that_another_thread_has_lost() -> None:
    listener = SimpleNamespace(send=lambda *_: None)

    class Losing(CallReporter):
        def __init__(self) -> None:
            self.found = [listener]

        @property
        def _socket(self) -> Any:  # type: ignore[override]
            return self.found.pop() if self.found else None

    Losing()._send(Begin(1, 2, "a function", ""))
