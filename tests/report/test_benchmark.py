"""Measuring, on engines that only pretend."""

import math
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import tensor
from nnapi.model.operand import Array
from nnapi.report import benchmark, timing
from nnapi.report.benchmark import (
    BenchmarkSettings,
    Subject,
    count_steps,
    find_available,
    measure,
    measure_rate,
    peak_memory,
    start_courses,
)
from nnapi.report.engines import LiteRT, Nnapi, Run, UnsuitableError, save
from nnapi.runtime.executors import stopwatch

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
QUICK = BenchmarkSettings(
    rounds=3,
    requests=2,
    block=0.003,
    throughput_rounds=2,
    throughput_seconds=0.01,
    repeats=2,
    preparing=600,
    patience=600,
)
SUBJECT = Subject(Path("m"), [np.ones(2, np.float32)], [tensor("float32", (2,))], [np.array([2.0, 2.0])])


def twice(inputs: Sequence[Array]) -> list[Array]:
    return [inputs[0] * 2]


@dataclass(frozen=True)
class Pretended:
    """An engine whose runs are a function."""

    name: str
    run: Callable[[Sequence[Array]], list[Array]] = twice
    refuses: str = ""

    def version(self) -> str:
        return "7"

    def open(self, path: Path, threads: int) -> "Pretended":
        if self.refuses:
            raise UnsuitableError(self.refuses)
        return self

    def prepare(self, requests: int) -> list[Run]:
        return [self.run] * requests

    def devices(self) -> list[str]:
        return ["abacus"]


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "peak_memory", lambda *_: (12_000_000, ""))


def run(
    *engines: Pretended, settings: BenchmarkSettings = QUICK, subject: Subject = SUBJECT, step: Any = lambda _: None
) -> Any:
    courses = start_courses({engine: engine.version() for engine in engines})  # type: ignore[misc]
    interrupted = measure(courses, subject, settings, step)
    return [course.measurement for course in courses], interrupted


def test_everything_is_measured() -> None:
    told: list[str] = []
    (one, two), interrupted = run(Pretended("one"), Pretended("two"), step=told.append)
    assert not interrupted
    for found in (one, two):
        assert (len(found.latency), len(found.load), len(found.compile), len(found.throughput)) == (3, 2, 2, 2)
        assert (found.version, found.devices, found.requests, found.peak) == ("7", ("abacus",), 2, 12_000_000)
        assert found.agreement is not None
        assert found.agreement.largest == 0
        assert not found.failure
    assert len(told) == count_steps(2, QUICK)
    assert told[0] == "one: tuning"


def test_engines_take_turns_and_each_begins_a_round() -> None:
    order: list[str] = []

    def noting(name: str) -> Callable[[Sequence[Array]], list[Array]]:
        def run(inputs: Sequence[Array]) -> list[Array]:
            if not order or order[-1] != name:
                order.append(name)
            return twice(inputs)

        return run

    settings = replace(QUICK, throughput_rounds=0)
    run(*(Pretended(name, noting(name)) for name in "ab"), settings=settings)
    assert order[:2] == ["a", "b"]  # accuracy
    assert order[2:] == ["a", "b", "a", "b"]  # rounds ab, ba, ab, of which neighbors merge


def test_one_that_fails_does_not_harm_the_other() -> None:
    calls = iter(range(100))

    def third_fails(inputs: Sequence[Array]) -> list[Array]:
        if next(calls) > 5:
            raise RuntimeError("worn out")
        return twice(inputs)

    (bad, refused, good), _ = run(
        Pretended("bad", third_fails), Pretended("refused", refuses="no such operation"), Pretended("good")
    )
    assert bad.failure == "RuntimeError: worn out"
    assert bad.load
    assert (refused.failure, refused.latency) == ("no such operation", ())
    assert len(good.latency) == 3


def test_an_interruption_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, clock = iter(range(1000)), Clock()
    for module in (benchmark, timing, stopwatch):
        monkeypatch.setattr(module, "time", clock)

    def stopped(inputs: Sequence[Array]) -> list[Array]:
        if next(calls) > 8:
            os.kill(os.getpid(), signal.SIGINT)
        clock.now += 0.001
        return twice(inputs)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let commands in the background ignore it
    try:
        (found,), interrupted = run(Pretended("one", stopped))
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted
    assert found.load
    assert found.samples
    assert not found.throughput


class Clock:
    """A replacement for the module time: every call advances it."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1e-6
        return self.now

    def sleep(self, seconds: float) -> None:
        """Time that nobody runs in does not count here."""


def test_a_slow_engine_sits_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    for module in (benchmark, timing, stopwatch):
        monkeypatch.setattr(module, "time", clock)

    def slow(inputs: Sequence[Array]) -> list[Array]:
        clock.now += 0.02
        return twice(inputs)

    (found, quick), _ = run(
        Pretended("slow", slow), Pretended("quick"), settings=replace(QUICK, patience=0.03, throughput_patience=0.03)
    )
    assert len(found.latency) == 1
    assert not found.throughput
    assert len(quick.latency) == 3


def test_outputs_that_differ() -> None:
    (found,), _ = run(Pretended("wrong", lambda inputs: [inputs[0] * 3]))
    assert found.agreement is not None
    assert (found.agreement.largest, found.agreement.differing) == (1, 1)


def test_a_data_set_is_judged() -> None:
    subject = replace(SUBJECT, judge=lambda run: {"top-1": float(run([np.array([0.25])])[0][0])})
    (found,), _ = run(Pretended("one"), subject=subject)
    assert found.accuracy == {"top-1": 0.5}


def test_what_is_not_installed_is_named() -> None:
    class Missing(Pretended):
        def version(self) -> str:
            raise ImportError("No module named 'abacus'")

    class Broken(Pretended):
        def version(self) -> str:
            raise OSError("libabacus.so: cannot open")

    good = Pretended("good")
    found, absent = find_available([good, Missing("missing"), Broken("broken")])  # type: ignore[list-item]
    assert found == {good: "7"}
    assert absent == {
        "missing": "not installed: No module named 'abacus'",
        "broken": "OSError: libabacus.so: cannot open",
    }


def test_rate_counts_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads run at the same time, and each run of theirs takes an eighth of a second."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(benchmark, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def pass_time() -> None:
        clock.now += 0.125

    together = threading.Barrier(3, pass_time, timeout=300)

    def slow(inputs: Sequence[Array]) -> list[Array]:
        together.wait()
        return []

    assert measure_rate([slow] * 3, [], 1.0) == 24


def test_rate_raises_what_a_run_raises() -> None:
    def broken(_: Sequence[Array]) -> list[Array]:
        raise RuntimeError("worn out")

    with pytest.raises(RuntimeError, match="worn out"):
        measure_rate([twice, broken], [np.ones(1)], 0.01)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    save(tmp_path / "inputs.npy", [np.zeros((1, 8, 8, 1), np.int8)])
    return tmp_path / "inputs.npy"


def test_an_engine_that_takes_its_process_down(inputs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ai_edge_litert.py").write_text("import os\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    peak, reason = peak_memory(LiteRT(), DIGITS, inputs, 1)
    assert (peak, reason) == (None, "it takes its process down with SIGABRT")


@pytest.mark.engine
def test_peak_memory_of_another_engine(inputs: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    peak, reason = peak_memory(LiteRT(), DIGITS, inputs, 1)
    assert not reason
    assert peak is not None
    assert 15e6 < peak < 500e6


def test_tuning_comes_before_memory_and_compile_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is found once for a machine: neither the memory of a process nor its time to compile counts it."""
    events = []

    def open_nnapi(engine: Nnapi, path: Path, threads: int) -> Any:
        def prepare(requests: int) -> list[Run]:
            events.append("prepare")
            return [twice] * requests

        return SimpleNamespace(prepare=prepare, devices=list)

    def measure_memory(*_: object) -> tuple[int, str]:
        events.append("memory")
        return 7, ""

    monkeypatch.setattr(Nnapi, "open", open_nnapi)
    monkeypatch.setattr(benchmark, "peak_memory", measure_memory)
    (course,) = start_courses({Nnapi(): "1"})
    measure([course], SUBJECT, QUICK, lambda _: None)
    found = course.measurement
    assert events[:3] == ["prepare", "memory", "prepare"]
    assert len(found.compile) == QUICK.repeats


def test_a_number_of_runs_and_of_warm_up_runs() -> None:
    """Runs are divided among the rounds; slow runs do not shorten a warm-up of a chosen length."""
    calls: list[int] = []

    def count(inputs: Sequence[Array]) -> list[Array]:
        calls.append(1)
        return twice(inputs)

    settings = replace(QUICK, runs=7, block=math.inf, throughput_rounds=0, apart=False)
    (found,), _ = run(Pretended("a", count), settings=settings)
    assert [len(round) for round in found.latency] == [3, 2, 2]
    before = len(calls)
    run(Pretended("a", count), settings=replace(settings, warm_up=9, block=-1.0, is_warm_up_short=False, runs=3))
    assert len(calls) - before == 3 * 9 + 3 + 1  # one more run measures the agreement
