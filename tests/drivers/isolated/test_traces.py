"""A trace of a run with an isolated driver shows both processes, and the guide's table has every layer."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from nnapi import Builder, Device, DurationCode, Execution, PriorityCode, compile, device, tensor, trace
from nnapi.drivers.isolated import Isolated
from nnapi.trace import Layer, Phase, spans
from nnapi.trace.chrome import from_chrome, to_json
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import parse
from nnapi.trace.systrace import to_ftrace
from nnapi.trace.timing_table import table, values
from tests.drivers.isolated.isolated_cases import Misbehaving, model
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)


@pytest.fixture
def found() -> Iterator[Device]:
    with Device(Isolated(Misbehaving("abort", "never"))) as made:
        yield made


def test_the_table_has_every_layer(found: Device) -> None:
    """The way there and back takes the time that is not the driver's."""
    with trace.recording() as recorder, trace.section("[NN_LA_PO]run"), trace.section("[NN_LA_PE]inference"):
        compiled = compile(model("abs", "neg"), found)
        for _ in range(3):
            compiled.run(X)
            compiled.burst().run(X)
    told = recorder.spans()
    pid = found.driver.pid  # type: ignore[attr-defined]
    assert {span.process for span in told} == {os.getpid(), pid}
    for trace_file in (from_ftrace(to_ftrace(told)), from_chrome(to_json(told))):
        (run,) = parse(trace_file).runs
        shown = values(run.statistics, total_times=True)
        ways = [shown[f"{layer}_{Phase.EXECUTION}"] for layer in (Layer.RUNTIME, Layer.IPC, Layer.DRIVER)]
        assert ways == sorted(ways, reverse=True)
        assert ways[2] > 0
        assert shown[f"{Layer.IPC}_{Phase.COMPILATION}"] > shown[f"{Layer.DRIVER}_{Phase.COMPILATION}"] > 0
        assert "IPC" in table(run)
    theirs = [span for span in told if span.process == pid]
    executions = [span for span in theirs if span.label.phase is Phase.EXECUTION]
    assert len(executions) == 6
    assert all(span.args["operations"] == [0, 1] for span in executions)
    ours = [span for span in told if span.label.layer is Layer.IPC and span.label.phase is Phase.EXECUTION]
    assert all(
        around.start <= inner.start and inner.end <= around.end
        for around, inner in zip(ours, sorted(executions, key=lambda span: span.start), strict=True)
    )


def test_operations_of_a_part_have_the_numbers_of_the_whole() -> None:
    """Those that the driver computes one by one: the reference tells of each."""
    with Device(Isolated("nnapi-reference")) as found:
        b = Builder("whole")
        x = b.input(tensor("float32", (4,)))
        b.output(b.neg(b.abs(x)))
        compiled = compile(b.finish(), found)
        with trace.recording() as recorder:
            compiled.run(X)
        operations = [span for span in recorder.spans() if span.label.phase is Phase.COMPUTATION]
        assert [(span.label.name, span.args["operation"]) for span in operations] == [("ABS", 0), ("NEG", 1)]
        assert {span.process for span in operations} == {found.driver.pid}  # type: ignore[attr-defined]
        assert {span.label.layer for span in operations} <= {Layer.CPU, Layer.DRIVER}


def test_recordings_do_not_mix(found: Device) -> None:
    compiled = compile(model(), found)
    pid = found.driver.pid  # type: ignore[attr-defined]
    with trace.recording() as first:
        compiled.run(X)
        assert executions(first, pid) == 1
        compiled.run(X)
    compiled.run(X)
    assert executions(first, pid) == 2
    with trace.recording() as second:
        compiled.run(X)
        with trace.mute():
            compiled.run(X)
    assert executions(second, pid) == 1


def executions(recorder: trace.Recorder, pid: int) -> int:
    return len([s for s in recorder.spans() if s.process == pid and s.label.phase is Phase.EXECUTION])


@pytest.mark.slow
def test_what_a_dead_process_recorded_is_lost(found: Device) -> None:
    compiled = compile(model(), found)
    with trace.recording() as recorder:
        compiled.run(X)
        found.close()
        assert {span.process for span in recorder.spans()} == {os.getpid()}
        compiled.run(X)
    assert comes_true(lambda: len({span.process for span in recorder.spans()}) == 2)


def test_who_records_a_thread() -> None:
    assert spans.find_open_section() is None
    with trace.recording() as recorder:
        assert spans.find_open_section() == (recorder, None)
        with trace.section("mine") as _:
            inner = spans.find_open_section()
            assert inner is not None
            assert inner[1] is trace.section("mine")
        with trace.mute():
            assert spans.find_open_section() is None


def test_durations_are_those_of_the_driver(found: Device) -> None:
    compiled = compile(model(), found, priority=PriorityCode.PRIORITY_HIGH)
    execution, out = Execution(compiled), np.zeros(4, np.float32)
    execution.set_measure_timing(True)
    execution.set_input(0, X)
    execution.set_output(0, out)
    execution.compute()
    in_driver = execution.duration(DurationCode.DURATION_IN_DRIVER)
    on_hardware = execution.duration(DurationCode.DURATION_ON_HARDWARE)
    assert in_driver is not None
    assert on_hardware == 5
    assert in_driver >= on_hardware


def test_a_part_of_a_plan_and_memory_of_the_device(found: Device) -> None:
    """Beside another device, and with a value that stays between two runs."""
    from nnapi import MemoryDesc

    compiled = compile(model(), found)
    desc = MemoryDesc()
    desc.add_output_role(compiled, 0)
    desc.add_input_role(compiled, 0)
    desc.finish()
    memory = desc.create_memory()
    first = Execution(compiled)
    first.set_input(0, X)
    first.set_output_from_memory(0, memory)
    first.start_compute_with_dependencies([]).wait()
    second, out = Execution(compiled), np.zeros(4, np.float32)
    second.set_input_from_memory(0, memory)
    second.set_output(0, out)
    second.compute()
    assert out.tolist() == [1, 2, 3, 4]
    assert device("nnapi-reference").layer is Layer.CPU
    assert found.layer is Layer.IPC
