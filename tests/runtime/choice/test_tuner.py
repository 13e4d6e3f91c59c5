"""The thread of trials: it ends with the process, and is not in a child."""

import subprocess
import sys
import threading

import pytest

from nnapi import exits
from nnapi.model.borrowed_memory import BorrowedMemory
from nnapi.runtime.choice import trial, tuner
from nnapi.runtime.choice.challenger import open_inference
from nnapi.runtime.choice.schedule import Stage
from tests.runtime.choice.trial_cases import Machine, X, work_of

PROGRAM = """
import os, sys, threading, time
import numpy as np
from nnapi import Device, compile
from nnapi.runtime.choice import predict, reports, tuner
from tests.runtime.cache_cases import Slow, doubled

class Busy(Slow):
    def prepare(self, model, options):
        while threading.current_thread() is not threading.main_thread():
            begun.set()
            try:
                sum(range(1000))
            except Exception:
                pass
        return super().prepare(model, options)

del os.environ["NNAPI_TUNING"]
tuner.DELAY, reports.SHORT = DELAY, 0.0
predict.is_tiny = lambda model: False
begun = threading.Event()
compilation = compile(doubled(), [Device(Busy("one")), Device(Busy("two"))])
print(compilation.run(np.ones(2, np.float32))[0].tolist(), flush=True)
"""


def run(code: str, delay: float = 0.0) -> tuple[int, str, str]:
    program = f"import tests.conftest\nDELAY = {delay}\n{PROGRAM}{code}"
    words = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_process_ends_though_a_challenger_takes_for_ever_to_prepare() -> None:
    assert run("assert begun.wait(60)") == (0, "[2.0, 2.0]\n", "")


def test_destructors_do_not_run_if_an_engine_keeps_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped: list[str] = []
    monkeypatch.setattr(tuner, "skip_destructors", lambda: skipped.append("skipped"))
    engine, stopped = threading.Event(), tuner.Tuner()
    stopped._thread = threading.Thread(target=engine.wait)
    stopped._thread.start()
    stopped.stop(lambda: False)
    assert skipped == ["skipped"]
    engine.set()
    stopped._thread.join()
    stopped.stop()
    assert skipped == ["skipped"]


def test_only_a_c_program_limits_the_wait_for_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exits, "PATIENCE", 0.0)
    monkeypatch.setattr(exits, "_deadline", None)
    monkeypatch.setattr(exits, "_is_hurried", False)
    assert exits.may_join()
    exits.hurry()
    assert not exits.may_join()


@pytest.mark.slow
def test_a_process_that_ends_at_once_prepares_nothing() -> None:
    assert run("assert not begun.is_set()\n", delay=1e6) == (0, "[2.0, 2.0]\n", "")


@pytest.mark.slow
def test_a_child_has_no_thread() -> None:
    code = """
assert begun.wait(60)
child = os.fork()
if not child:
    assert tuner.TUNER._thread is None
    print(compilation.run(np.ones(2, np.float32))[0].tolist(), flush=True)
    os._exit(threading.active_count() - 1)
print(os.waitpid(child, 0)[1])
"""
    assert run(code) == (0, "[2.0, 2.0]\n[2.0, 2.0]\n0\n", "")


def test_constants_of_a_client_are_copied_before_the_thread_reads_them(machine: Machine) -> None:
    compilation = machine.compile()
    compilation.model.borrowed = BorrowedMemory()
    found = machine.begin(compilation)
    assert work_of(found).question.model is not compilation.model


def test_nothing_is_read_once_the_client_has_taken_its_memory_back(machine: Machine) -> None:
    compilation = machine.compile()
    compilation.model.borrowed = BorrowedMemory()
    compilation.run(X)
    compilation.model.borrowed.revoke()
    machine.clock.now += 1
    prepared = machine.second.prepared
    tuner.TUNER.step()
    assert machine.trial(compilation).stage is Stage.OVER
    assert machine.second.prepared == prepared
    compilation.run(X)


def test_a_trial_ends_quietly_when_the_client_takes_its_memory_back(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    """The active plan would read it."""
    compilation = machine.compile()
    compilation.model.borrowed = memory = BorrowedMemory()
    found = machine.begin(compilation)
    assert found.stage is Stage.COMPARING
    found.schedule.runs.spent = 1e6
    machine.clock.now += 10.0
    runs = machine.first.runs
    memory.revoke()
    tuner.TUNER.step()
    assert (found.stage, machine.first.runs) == (Stage.OVER, runs)
    assert not caplog.records


def test_the_active_plan_runs_while_the_client_cannot_take_its_memory_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = machine.compile()
    compilation.model.borrowed = memory = BorrowedMemory()
    held: list[bool] = []
    run = open_inference(machine.trial(compilation).active, [X])
    monkeypatch.setattr(
        trial, "open_inference", lambda *_: lambda given: held.append(memory.lock.locked()) or run(given)
    )
    found = machine.begin(compilation)
    count = len(held)
    assert held == [True] * count
    found.schedule.runs.spent = 1e6
    assert found.measure_pair()
    assert held[count:]
    assert all(held)
    assert not memory.lock.locked()
