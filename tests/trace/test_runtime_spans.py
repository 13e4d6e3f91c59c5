"""Spans that the runtime and the reference record."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nnapi
from nnapi import settings, trace
from nnapi.contract.driver import Capabilities, Performance
from nnapi.drivers.limited import Limited
from nnapi.trace import Layer, Phase, Span
from nnapi.trace import recorder as recorder_module
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import parse
from nnapi.trace.systrace import to_ftrace

X = np.full((64, 64), 2, np.float32)


@pytest.fixture(name="compilation", scope="module")
def _compilation() -> nnapi.Compilation:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", X.shape), name="x")
    builder.output(builder.mul(builder.add(x, X), X))
    return nnapi.compile(builder.finish(), "nnapi-reference")


def names(spans: list[Span]) -> list[str]:
    return [str(span.label) for span in spans]


def inside(spans: list[Span]) -> Iterator[tuple[str, str]]:
    """(outer, inner) of spans that follow each other one level deeper."""
    stack: list[Span] = []
    for span in spans:
        del stack[span.depth :]
        if stack:
            yield str(stack[-1].label), str(span.label)
        stack.append(span)


def test_preparation_and_compilation() -> None:
    with trace.recording() as recorder:
        builder = nnapi.Builder()
        x = builder.input(nnapi.tensor("float32", (2,)))
        builder.output(builder.relu(x))
        nnapi.compile(builder.finish(), "nnapi-reference")
    spans = recorder.spans()
    assert "[NN_LR_PP]ANeuralNetworksModel_finish" in names(spans)
    pairs = set(inside(spans))
    assert ("[NN_LR_PC]ANeuralNetworksCompilation_finish", "[NN_LR_PC]ModelBuilder::partitionTheWork") in pairs
    assert ("[NN_LR_PC]ModelBuilder::partitionTheWork", "[NN_LC_PC]getSupportedOperations") in pairs
    assert ("[NN_LR_PC]ANeuralNetworksCompilation_finish", "[NN_LC_PC]prepareModel") in pairs


def test_loading(tmp_path: Path) -> None:
    with trace.recording() as recorder, pytest.raises(FileNotFoundError):
        nnapi.load(tmp_path / "no.tflite")
    assert names(recorder.spans()) == ["[NN_LA_PP]load"]


@pytest.mark.parametrize("is_burst", [False, True])
def test_runs(compilation: nnapi.Compilation, is_burst: bool) -> None:
    run = compilation.burst().run if is_burst else compilation.run
    with trace.recording() as recorder:
        (y,) = run(X)
    np.testing.assert_array_equal(y, (X + X) * X)
    function = "burstCompute" if is_burst else "compute"
    assert names(recorder.spans()) == [
        f"[NN_LR_PE]ANeuralNetworksExecution_{function}",
        "[NN_LC_PE]nnapi-reference",
        "[NN_LC_PCO]ADD",
        "[NN_LC_PCO]MUL",
    ]
    assert [span.depth for span in recorder.spans()] == [0, 1, 2, 2]
    _, step, add, mul = recorder.spans()
    assert (add.args["operation"], mul.args["operation"]) == (0, 1)
    assert add.args["inputs"][0] == "x"
    assert mul.args["inputs"][0] == add.args["outputs"][0]
    assert step.args["operations"] == [0, 1]


def test_executions(compilation: nnapi.Compilation, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(0, 1_000_000)  # a clock that goes on by a millisecond whenever it is read
    monkeypatch.setattr(recorder_module, "time", SimpleNamespace(monotonic_ns=ticks.__next__))
    with trace.recording() as recorder:
        execution = nnapi.Execution(compilation)
        execution.set_input(0, X)
        execution.set_output(0, np.empty_like(X))
        with execution.start_compute() as event:
            event.wait()
    spans = recorder.spans()
    found = [span.label.name.removeprefix("ANeuralNetworks") for span in spans if span.label.layer is Layer.RUNTIME]
    assert found == [
        "Execution_create",
        "Execution_setInput",
        "Execution_setOutput",
        "Execution_startCompute",
        "Event_wait",
    ]
    assert len({span.thread for span in spans}) == 2
    (run,) = parse(from_ftrace(to_ftrace(spans))).runs
    times, step = run.statistics.times, next(span for span in spans if "operations" in span.args)
    assert times[Phase.EXECUTION][Layer.RUNTIME] >= times[Phase.EXECUTION][Layer.CPU] > 0
    assert times[Phase.EXECUTION][Layer.CPU] == pytest.approx(step.seconds * 1000, abs=0.01)
    assert run.statistics.executions[Phase.OVERALL] == 1


def test_burst_of_an_execution_counts_once(compilation: nnapi.Compilation) -> None:
    with trace.recording() as recorder:
        execution = nnapi.Execution(compilation)
        execution.set_input(0, X)
        execution.set_output(0, np.empty_like(X))
        execution.burst_compute(compilation.burst())
    found = [span.label.name for span in recorder.spans() if "ompute" in span.label.name]
    assert found == ["ANeuralNetworksExecution_burstCompute"]


def test_operations_follow_one_another_in_their_step() -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", X.shape))
    for _ in range(3):
        x = builder.tanh(x)
    builder.output(x)
    compilation = nnapi.compile(builder.finish(), "nnapi-reference")
    with trace.recording() as recorder:
        compilation.run(X)
    spans = recorder.spans()
    (step,) = [span for span in spans if "operations" in span.args]
    operations = [span for span in spans if step.depth < span.depth]
    assert [span.args["operation"] for span in operations] == [0, 1, 2]
    assert {span.depth for span in operations} == {step.depth + 1}
    moments = [step.start, *(moment for span in operations for moment in (span.start, span.end)), step.end]
    assert moments == sorted(moments)


def test_failures_end_their_sections(compilation: nnapi.Compilation) -> None:
    with trace.recording() as recorder, pytest.raises(nnapi.NnapiError):
        compilation.run(X, X)
    assert [(span.label.name, span.is_complete) for span in recorder.spans()] == [
        ("ANeuralNetworksExecution_compute", True)
    ]


def test_runs_that_compare_plans_are_nobody_s_executions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    reference = nnapi.device("nnapi-reference")
    rival = nnapi.Device(Limited(reference.driver, "rival", declared=Capabilities(Performance(0.5, 0.5))))
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", X.shape))
    builder.output(builder.mul(builder.add(x, X), X))
    with trace.recording() as recorder, settings(tuning=True):
        compilation = nnapi.compile(builder.finish(), [rival, reference])
    assert compilation.plan.measured is not None
    spans = recorder.spans()
    assert "[NN_LR_PC]comparePlans" in names(spans)
    assert {span.label.phase for span in spans} == {Phase.PREPARATION, Phase.COMPILATION}


def test_a_divided_plan_is_traced_by_the_rules_of_nesting() -> None:
    """The models of the parts are made while another is compiled: nobody's preparation."""
    reference = nnapi.device("nnapi-reference").driver

    def half(name: str, remainder: int) -> nnapi.Device:
        return nnapi.Device(Limited(reference, name, lambda _, call: None if call.number % 2 == remainder else "no"))

    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", X.shape))
    builder.output(builder.mul(builder.add(x, X), X))
    model = builder.finish()
    with trace.recording() as recorder:
        compilation = nnapi.compile(model, [half("even", 0), half("odd", 1)])
    assert compilation.plan.devices == ("even", "odd")
    report = parse(from_ftrace(to_ftrace(recorder.spans())))
    assert [note for run in report.runs for note in run.notes] == []
