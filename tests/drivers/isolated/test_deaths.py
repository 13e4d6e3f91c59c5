"""Drivers that die, hang or send garbage: one error, a restart, a right answer elsewhere, and nothing left behind."""

import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Compilation, Device, Execution, OperationCode, compile, device
from nnapi.contract.driver import DriverDiedError, PrepareOptions, Request
from nnapi.drivers.isolated import Isolated
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    MissedDeadlinePersistentError,
    MissedDeadlineTransientError,
    NnapiError,
)
from nnapi.runtime.verdicts import exclusions
from tests.drivers.isolated.isolated_cases import Misbehaving, is_running, kill, model
from tests.drivers.isolated.random_kills import kill_at_random
from tests.waiting import comes_true, count_descriptors

pytestmark = pytest.mark.slow
X = np.array([1, -2, 3, -4], np.float32)
DEADLY = ["abort", "fault", "exit", "kill", "noise", "wrong", "deep"]
STUCK = ["hang", "stop"]
KILLS = 10
PHASES = ["verdicts", "prepare", "execute", "restore"]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of deaths, separate for each test."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nor what a test would keep of each line of a log: the error with all that led to it."""
    for name in ("nnapi.CompilationCache", "nnapi.ExecutionBuilder", "nnapi.CompilationBuilder", "nnapi.ModelBuilder"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)
    before = count_descriptors()
    yield
    gc.collect()
    assert comes_true(lambda: count_descriptors() <= before)


def once(tmp_path: Path, harm: str, phase: str, **options: Any) -> Device:
    """A device that does harm the first time."""
    return Device(Isolated(Misbehaving(harm, phase, once=str(tmp_path / "done")), **options))


def both(found: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let automatic compilations choose between that device and the reference."""
    chosen = [found, device("nnapi-reference")]
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: chosen)


def compute(compilation: Compilation, timeout: int = 0) -> list[float]:
    execution, out = Execution(compilation), np.zeros(4, np.float32)
    execution.set_input(0, X)
    execution.set_output(0, out)
    if timeout:
        execution.set_timeout(timeout)
    execution.compute()
    found: list[float] = out.tolist()
    return found


@pytest.mark.parametrize(
    ("harm", "phase"),
    [("abort", phase) for phase in PHASES] + [(harm, "execute") for harm in DEADLY[1:]] + [("noise", "prepare")],
)
def test_a_chosen_device_dies_once(tmp_path: Path, harm: str, phase: str) -> None:
    with once(tmp_path, harm, phase) as found:
        if phase == "verdicts":
            assert not any(found.supports(model()))
        elif phase == "prepare":
            with pytest.raises(DeadObjectError, match="misbehaving has died"):
                found.driver.prepare(model(), PrepareOptions())
        elif phase == "restore":
            compile(model(), found, cache=tmp_path / "cache")
            assert not (tmp_path / "done").exists()
        compiled = compile(model(), found, cache=tmp_path / "cache")
        if phase == "execute":
            with pytest.raises(DeadObjectError, match="misbehaving has died"):
                compiled.run(X)
        assert (tmp_path / "done").exists()
        for _ in range(3):
            assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]
            assert compiled.burst().run(X)[0].tolist() == [1, 2, 3, 4]
            assert compute(compiled) == [1, 2, 3, 4]


@pytest.mark.parametrize("phase", PHASES)
def test_automatic_choice_gives_the_right_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    """Whether the device dies once or always."""
    for mark in (str(tmp_path / "done"), ""):
        with Device(Isolated(Misbehaving("abort", phase, once=mark))) as found:
            both(found, monkeypatch)
            for _ in range(2):
                compiled = compile(model("abs", "neg"), cache=tmp_path / "cache")
                assert compiled.run(X)[0].tolist() == [-1, -2, -3, -4]
                with compiled.burst() as burst:
                    assert burst.run(X)[0].tolist() == [-1, -2, -3, -4]
                compiled.close()


@pytest.mark.parametrize("harm", STUCK)
@pytest.mark.parametrize("phase", ["prepare", "execute"])
def test_a_driver_that_does_not_answer_in_time(tmp_path: Path, harm: str, phase: str) -> None:
    """The caller hears of it at the time limit; a while later the process is ended, and the next call finds another."""
    with once(tmp_path, harm, phase, grace=0.2) as found:
        if phase == "prepare":
            pid, errors = miss(found, tmp_path / "done", lambda: compile(model(), found, timeout=1))
        else:
            compiled = compile(model(), found)
            pid, errors = miss(found, tmp_path / "done", lambda: compute(compiled, 500_000_000))
        assert "misbehaving did not answer within the time limit" in errors
        assert comes_true(lambda: found.driver.pid != pid)  # type: ignore[attr-defined]
        assert comes_true(lambda: not is_running(pid))
        if phase == "prepare":
            compiled = compile(model(), found)
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]


def miss(found: Device, done: Path, work: Callable[[], object]) -> tuple[int | None, list[str]]:
    """Do work with a time limit until it has come to the driver's harm, before which a busy machine may let the limit
    pass: the process in which it did, and what was raised."""
    errors: list[str] = []
    while not done.exists():
        found.wait()
        pid = found.driver.pid  # type: ignore[attr-defined]
        with suppress(MissedDeadlinePersistentError):  # too late to begin
            try:
                work()
            except MissedDeadlineTransientError as error:
                errors.append(str(error))
    return pid, errors


@pytest.mark.parametrize("harm", STUCK)
@pytest.mark.parametrize("phase", ["verdicts", "prepare", "execute"])
def test_patience_ends_where_there_is_no_time_limit(tmp_path: Path, harm: str, phase: str) -> None:
    done = tmp_path / "done"
    driver = Isolated(Misbehaving(harm, phase, once=str(done)), patience=300.0)
    with Device(driver) as found:
        while not done.exists():  # on a busy machine patience may end before it comes to that
            driver.connect()._patience = 0.3  # once it is there
            with pytest.raises(DeadObjectError, match=r"it did not answer for 0\.3 s"):
                compute(compile(model(), found))
        assert compute(compile(model(), found)) == [1, 2, 3, 4]


def test_all_in_flight_are_told_and_others_are_not() -> None:
    """Each run under way when the process ends gets one error; each later one is right."""
    with Device(Isolated(Misbehaving("hang", "execute", operation=OperationCode.NEG))) as found:
        stuck, fine = compile(model("neg"), found), compile(model(), found)
        errors: list[Exception] = []

        def wait() -> None:
            try:
                stuck.run(X)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        connection = found.driver._connections[0]  # type: ignore[attr-defined]
        assert comes_true(lambda: len(connection._active) == os.cpu_count() or len(connection._active) == 4)
        first = connection.pid
        assert comes_true(lambda: kill_all(found, first, threads))
        assert {type(error) for error in errors} == {DriverDiedError}
        assert len(errors) == 4
        assert fine.run(X)[0].tolist() == [1, 2, 3, 4]


def kill_all(found: Device, first: int, threads: list[threading.Thread]) -> bool:
    """End whatever process there is until nobody waits: runs that waited for their turn hang in the next one."""
    pid = found.driver.pid  # type: ignore[attr-defined]
    kill(pid)
    return not any(thread.is_alive() for thread in threads)


def test_what_kills_twice_is_excluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By name, with the reason, for later processes too, and whatever a cache says."""
    driver = Isolated(Misbehaving("abort", "execute", operation=OperationCode.NEG))
    with Device(driver) as found:
        both(found, monkeypatch)
        compiled = compile(model("abs", "neg"), cache=tmp_path / "cache")
        assert compiled.devices == [found]
        with caplog.at_level(logging.WARNING):
            for _ in range(4):
                assert compiled.run(X)[0].tolist() == [-1, -2, -3, -4]
        said = "misbehaving is excluded from NEG (#1): it ended the driver's process twice, the last time when it ran"
        assert [record.message for record in caplog.records if said in record.message] != []
        pid = driver.pid
        for _ in range(3):
            assert compiled.run(X)[0].tolist() == [-1, -2, -3, -4]
            assert compiled.burst().run(X)[0].tolist() == [-1, -2, -3, -4]
        assert driver.pid == pid, "nobody tries it again"
        for _ in range(2):
            again = compile(model("abs", "neg"), cache=tmp_path / "cache")
            assert "not misbehaving: NEG (#1) ended the driver's process twice" in again.explain()
            assert again.run(X)[0].tolist() == [-1, -2, -3, -4]
            assert found.supports(model("neg", "abs", "neg")) == [False, True, False]
            assert found.supports(model("neg", size=5)) == [True], "another one"
            pid = pid or driver.pid
            assert driver.pid == pid
            exclusions._exclusions.cache_clear()  # tomorrow
        with pytest.raises(BadDataError, match="no device supports NEG"):
            compile(model("abs", "neg"), found)


def test_what_kills_twice_when_it_is_prepared_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the others, once alone."""
    driver = Isolated(Misbehaving("fault", "prepare", operation=OperationCode.NEG))
    with Device(driver) as found:
        both(found, monkeypatch)
        compiled = compile(model("abs", "neg"))
        assert compiled.run(X)[0].tolist() == [-1, -2, -3, -4]
        assert "ended by SIGSEGV" in compiled.explain()
        pid = driver.pid
        again = compile(model("abs", "neg"))
        assert "NEG (#1) ended the driver's process twice, the last time when it was prepared" in again.explain()
        assert driver.pid == pid


def test_nothing_is_excluded_for_what_somebody_else_does(kept: Path) -> None:
    with Device(Isolated(Misbehaving("kill", "execute"))) as found:
        compiled = compile(model(), found)
        for _ in range(4):
            with pytest.raises(DeadObjectError, match="ended by SIGKILL"):
                compiled.run(X)
        assert compile(model(), found).is_ready
    assert not (kept / "exclusions").exists()


def test_nothing_is_excluded_for_an_abort_that_another_process_asks_for(
    kept: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An engine's own abort() ends the process by the same signal, and is the operation's fault."""
    with Device(Isolated(Misbehaving("hang", "execute"))) as found:
        compiled = compile(model(), found)
        for _ in range(exclusions.ENOUGH + 1):
            errors: list[str] = []

            def run(errors: list[str] = errors) -> None:
                with pytest.raises(DeadObjectError) as caught:
                    compiled.run(X)
                errors.append(str(caught.value))

            thread = threading.Thread(target=run)
            thread.start()
            assert comes_true(lambda: found.driver._connections[0]._active != [])  # type: ignore[attr-defined]
            os.kill(found.driver.pid, signal.SIGABRT)  # type: ignore[attr-defined]
            thread.join(60)
            assert len(errors) == 1
            assert "ended by SIGTERM" in errors[0]
            assert capfd.readouterr().err == f"SIGABRT came from process {os.getpid()}\n"
    assert not (kept / "exclusions").exists()


def test_a_death_that_no_operation_brings_alone() -> None:
    """All are to blame where nothing else was under way."""
    pair = Misbehaving("abort", "execute", operation=OperationCode.NEG)
    with Device(Isolated(pair)) as found:
        error = DriverDiedError("misbehaving has died")
        error.by_itself = True
        part = model("abs", "floor")
        assert not exclusions.note_death(found.driver, part, error)
        assert not exclusions.note_death(found.driver, part, error)
        assert found.supports(part) == [True, True]
        error.was_alone = True
        assert exclusions.note_death(found.driver, part, error)
        assert found.supports(part) == [False, False]


def test_killed_at_random_moments() -> None:
    """Under eight threads: each run gives a right answer or DEAD_OBJECT, and nothing hangs or stays."""
    streams = kill_at_random(KILLS)
    assert [stream.wrong for stream in streams] == [[]] * len(streams)
    assert sum(stream.dead for stream in streams) <= len(streams) * KILLS


def test_a_request_that_goes_wrong_in_the_driver_is_an_error_and_no_death() -> None:
    with Device(Isolated(Misbehaving("raise", "execute"))) as found:
        prepared = found.driver.prepare(model(), PrepareOptions())
        for _ in range(3):
            with pytest.raises(NnapiError, match="ZeroDivisionError"):
                prepared.execute(Request([X]))
        assert is_running(found.driver.pid)  # type: ignore[attr-defined]


def test_a_driver_that_reads_nothing_does_not_hold_up_who_releases_models() -> None:
    with Device(Isolated("nnapi-reference")) as found:
        compiled = compile(model(), found)
        connection = found.driver._connections[0]  # type: ignore[attr-defined]
        assert not connection._process.connection.getblocking()
        os.kill(connection.pid, signal.SIGSTOP)
        try:
            while not connection._released:  # until its messages fill the socket
                connection._released.append(1 << 40)
                connection._tell_released()
            assert list(connection._released) == [1 << 40]
        finally:
            os.kill(connection.pid, signal.SIGCONT)
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]
