"""Recording."""

import inspect
import os
import threading
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nnapi.errors import BadStateError
from nnapi.trace import recorder as recorder_module
from nnapi.trace import spans as spans_module
from nnapi.trace.labels import Layer, Phase
from nnapi.trace.recorder import Span
from nnapi.trace.spans import (
    Section,
    begin_async_section,
    begin_section,
    end_async_section,
    end_section,
    is_enabled,
    recording,
    section,
    span,
    start,
    stop,
)

COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "compute")


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    assert not is_enabled()


def test_nesting_and_order() -> None:
    with recording() as recorder:
        with section("[NN_LA_PE]outer"), span(Layer.CPU, Phase.COMPUTATION, "ADD", operation=3):
            pass
        with COMPUTE:
            pass
    found = recorder.spans()
    assert [str(s.label) for s in found] == ["[NN_LA_PE]outer", "[NN_LC_PCO]ADD", "[NN_LR_PE]compute"]
    assert [s.depth for s in found] == [0, 1, 0]
    outer, inner, _ = found
    assert outer.start <= inner.start <= inner.end <= outer.end
    assert inner.args == {"operation": 3}
    assert {(s.process, s.thread, s.is_complete) for s in found} == {(os.getpid(), threading.get_native_id(), True)}


def test_durations(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000)
    monkeypatch.setattr(recorder_module, "time", SimpleNamespace(monotonic_ns=lambda: clock.now))
    with recording() as recorder, COMPUTE:
        clock.now += 2_500_000
    (found,) = recorder.spans()
    assert (found.start, found.end, found.seconds) == (1000, 2_501_000, 0.0025)


def test_nothing_is_recorded_when_off() -> None:
    with COMPUTE, span(Layer.CPU, Phase.COMPUTATION, "ADD"), section("x"):
        begin_section("y")
        end_section()
    with recording() as recorder:
        pass
    with COMPUTE:
        pass
    assert recorder.spans() == []


def test_decorator() -> None:
    @section("[NN_LA_PE]run")
    def run(x: int, *, y: int) -> int:
        """Doc."""
        return x + y

    assert (run(1, y=2), run.__doc__, run.__name__) == (3, "Doc.", "run")
    with recording() as recorder:
        run(1, y=2)
        run(2, y=2)
    assert [s.label.name for s in recorder.spans()] == ["run", "run"]


def test_recursion_of_one_section() -> None:
    def fall(depth: int) -> None:
        with COMPUTE:
            if depth:
                fall(depth - 1)

    with recording() as recorder:
        fall(3)
    assert [s.depth for s in recorder.spans()] == [0, 1, 2, 3]


def test_errors_pass_and_end_the_section() -> None:
    with recording() as recorder, pytest.raises(KeyError), COMPUTE:
        raise KeyError
    assert [s.is_complete for s in recorder.spans()] == [True]
    with pytest.raises(KeyError), COMPUTE:
        raise KeyError


def test_threads_are_told_apart() -> None:
    barrier = threading.Barrier(3)

    def work() -> None:
        with COMPUTE:
            barrier.wait()

    with recording() as recorder:
        threads = [threading.Thread(target=work, name=f"worker {number}") for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = recorder.spans()
    assert {s.thread_name for s in found} == {"worker 0", "worker 1", "worker 2"}
    assert len({s.thread for s in found}) == 3
    assert [s.depth for s in found] == [0, 0, 0]
    assert max(s.start for s in found) <= min(s.end for s in found)


def test_asynchronous_sections_end_on_another_thread() -> None:
    with recording() as recorder:
        begin_async_section("[NN_LR_PE]execution", 1)
        begin_async_section("[NN_LR_PE]execution", 2)
        thread = threading.Thread(target=end_async_section, args=("[NN_LR_PE]execution", 2))
        thread.start()
        thread.join()
        end_async_section("[NN_LR_PE]execution", 7)
    found = {s.cookie: s for s in recorder.spans()}
    assert set(found) == {1, 2}
    assert (found[1].is_complete, found[2].is_complete) == (False, True)
    assert found[2].label.phase is Phase.EXECUTION


def test_sections_without_a_block() -> None:
    with recording() as recorder:
        begin_section("[NN_LA_PP]a")
        begin_section("b")
        end_section()
        end_section()
        end_section()
    assert [(s.label.name, s.depth) for s in recorder.spans()] == [("a", 0), ("b", 1)]


def test_starting_and_stopping_in_the_middle() -> None:
    with COMPUTE:
        start()
        with section("[NN_LA_PP]whole"):
            pass
    with section("[NN_LA_PC]cut"):
        found = stop()
    assert [(s.label.name, s.is_complete) for s in found] == [("whole", True), ("cut", False)]


def test_coroutines_that_take_turns() -> None:
    first, second = section("first"), section("second")
    with recording() as recorder:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
    found = {s.label.name: s for s in recorder.spans()}
    assert found["first"].start <= found["second"].start <= found["first"].end <= found["second"].end


def test_one_recorder_at_a_time() -> None:
    with recording(), pytest.raises(BadStateError, match="already"):
        start()
    with pytest.raises(BadStateError, match="no trace"):
        stop()


def test_a_forked_process_records_for_itself() -> None:
    with recording() as recorder:
        with COMPUTE:
            pass
        spans_module._after_fork()
        with section("child"):
            pass
        child = stop()
    assert [s.label.name for s in child] == ["child"]
    assert [s.label.name for s in recorder.spans()] == ["compute"]
    recorder.add(child)
    assert [s.label.name for s in recorder.spans()] == ["compute", "child"]


def test_operations_of_a_part_get_the_numbers_of_the_whole() -> None:
    with recording() as recorder:
        with span(Layer.RUNTIME, Phase.EXECUTION, "step", model="part", operations=[4, 9]):
            with span(Layer.CPU, Phase.COMPUTATION, "ADD", model="part", operation=1):
                pass
            with span(Layer.CPU, Phase.COMPUTATION, "MUL", model="a branch", operation=1):
                pass
        with span(Layer.CPU, Phase.COMPUTATION, "SUB", model="part", operation=1):
            pass
    numbers = {s.label.name: s.args.get("operation") for s in recorder.spans()}
    assert numbers == {"step": None, "ADD": 9, "MUL": 1, "SUB": 1}


def test_nothing_is_done_when_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """No section is made, no clock is read, no function of Python is called; benchmarks/tracing.py says the cost."""
    monkeypatch.setattr(recorder_module, "time", None)
    monkeypatch.setattr(Section, "__init__", None)
    assert span(Layer.CPU, Phase.COMPUTATION, "CONV_2D", operation=3) is spans_module.NOTHING
    assert inspect.isbuiltin(Section.__enter__)
    assert inspect.isbuiltin(Section.__exit__)
    with COMPUTE, span(Layer.CPU, Phase.COMPUTATION, "ADD"):
        begin_section("y")
        end_section()


def test_seconds() -> None:
    label = COMPUTE.label
    assert Span(label, 1_000, 2_001_000, 1, 1, "main").seconds == 0.002


def test_operations_that_an_engine_holds_are_numbered_as_in_the_whole() -> None:
    with recording() as recorder:
        step = Section(Layer.DRIVER, Phase.EXECUTION, "device", model="m", operations=[5, 6, 9])
        with step, span(Layer.DRIVER, Phase.COMPUTATION, "engine", model="m", holds=[0, 2]):
            pass
    assert recorder.spans()[1].args["holds"] == [5, 9]


def test_a_long_recording_takes_little_memory() -> None:
    outer, inner = (Section(Layer.CPU, Phase.COMPUTATION, name, operation=0) for name in ("outer", "inner"))
    count = 10_000
    with recording() as recorder:
        tracemalloc.start()
        for _ in range(count):
            with outer, inner:
                pass
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert taken < 2 * count * 48
    spans = recorder.spans()
    assert len(spans) == 2 * count
    assert [span.label.name for span in spans[:3]] == ["outer", "inner", "outer"]
    assert len({id(span.args) for span in spans}) == 2


def test_what_is_numbered_anew_is_kept_once() -> None:
    step = Section(Layer.DRIVER, Phase.EXECUTION, "device", model="m", operations=[4, 7])
    operation = Section(Layer.DRIVER, Phase.COMPUTATION, "ADD", model="m", operation=1)
    with recording() as recorder:
        for _ in range(10):
            with step, operation:
                pass
    found = [span.args for span in recorder.spans() if span.label.name == "ADD"]
    assert [args["operation"] for args in found] == [7] * 10
    assert len({id(args) for args in found}) == 1
