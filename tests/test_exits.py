"""The end of a process in which a thread still computes."""

import ctypes
import subprocess
import sys
import threading
from ctypes.util import find_library

import pytest

from nnapi import exits
from nnapi.errors import OpFailedError
from nnapi.runtime.executors.workers import run_in_background
from tests.waiting import comes_true

CODE = """
import ctypes, sys, threading
from nnapi import exits
from nnapi.runtime.executors.workers import run_in_background

libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc._exit, 9, None)  # in the place of an engine's destructor
libc.printf(b"buffered")
exits.PATIENCE = {patience}
begun, ended = threading.Event(), threading.Event()

def compute():
    begun.set()
    ended.wait()

def rest():
    with exits.resting():
        compute()

run_in_background({work})
begun.wait()
timer = threading.Timer({seconds}, ended.set)
timer.daemon = True
timer.start()
sys.exit(5)
"""

needs_glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "on_exit"), reason="only glibc tells handlers the exit status"
)


def end(work: str, *, patience: float, seconds: float) -> tuple[int, str]:
    """Return the exit status and the output of a process that ends while ``work`` runs for some seconds."""
    code = CODE.format(work=work, patience=patience, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert not done.stderr
    return done.returncode, done.stdout


@needs_glibc
def test_no_destructor_runs_while_a_thread_computes() -> None:
    assert end("compute", patience=0.1, seconds=3600.0) == (5, "buffered")


@needs_glibc
def test_a_thread_that_cpp_would_terminate_does_not_abort_the_process() -> None:
    if find_library("stdc++") is None:
        pytest.skip("libstdc++ is not installed")
    code = """
import ctypes, sys, threading, time
from nnapi import exits

terminate = ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev
exits.skip_destructors()
threading.Thread(target=terminate, daemon=True).start()
time.sleep(0.2)
sys.exit(5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (5, "")


def test_destructors_run_after_a_computation() -> None:
    status, _ = end("compute", patience=3600.0, seconds=0.1)
    assert status == 9


def test_the_end_does_not_wait_for_threads_that_wait() -> None:
    status, _ = end("rest", patience=3600.0, seconds=3600.0)
    assert status == 9


def test_a_rest_ends_with_an_error_if_the_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exits, "PATIENCE", 0.0)
    monkeypatch.setattr(exits, "_is_ending", True)
    with pytest.raises(OpFailedError, match="the process is ending"), exits.resting():
        pass
    assert threading.get_ident() not in exits._busy


def test_preparations_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(exits, "_after_preparing", [])
    exits.call_after_preparing(lambda: calls.append("prepared"))
    exits.note_preparation()
    assert calls == ["prepared"]


def test_background_work_is_busy_until_it_has_ended() -> None:
    known = set(exits._busy)
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait()

    run_in_background(work)
    assert exits._busy - known
    begun.wait()
    assert exits._busy - known
    ended.set()
    assert comes_true(lambda: not exits._busy - known)


def test_background_work_is_busy_until_what_it_kept_is_freed() -> None:
    """Freeing an engine's objects may take time in which the thread does not hold the interpreter."""
    were_busy: list[bool] = []
    only_kept_there = threading.Event()

    class Kept:
        def __call__(self) -> None:
            only_kept_there.wait()

        def __del__(self) -> None:
            were_busy.append(threading.get_ident() in exits._busy)

    work, then = Kept(), Kept()
    run_in_background(work, then)
    del work, then
    only_kept_there.set()
    assert comes_true(lambda: len(were_busy) == 2)
    assert were_busy == [True, True]
