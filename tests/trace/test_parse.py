"""Whole traces: several runs, several processes, cut off, damaged."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.errors import BadDataError
from nnapi.trace.chrome import from_chrome
from nnapi.trace.labels import Layer, Phase
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import Report, parse, parse_file
from nnapi.trace.timing_table import detail, list_runs, table
from tests.trace.trace_cases import HEADER, line, report, trace

RUN = """
1 1 B [NN_LA_PO]first
2 1 B [NN_LA_PE]x
3 1 B [NN_LR_PE]ANeuralNetworksExecution_compute
5 1 E
6 1 E
9 1 E
"""


@pytest.mark.shared
def test_real_trace_to_the_last_digit(shared: Path) -> None:
    expected = json.loads((shared / "traces" / "omr1_incomplete.json").read_text())
    found = parse_file(shared / "traces" / "omr1_incomplete.html")
    assert list_runs(found, per_execution=True) == expected


@pytest.mark.shared
def test_real_trace_says_what_it_lacks(shared: Path) -> None:
    found = parse_file(shared / "traces" / "omr1_incomplete.html")
    assert [run.mark.rpartition("]")[2] for run in found.runs if not run.is_complete] == ["resnet_quantized"]
    assert "incomplete" in found.runs[-1].notes[0]
    assert len(found.runs) == 21
    assert any("no section of the NNAPI runtime" in note for note in found.notes)


def test_several_runs() -> None:
    found = report(RUN + RUN.replace("first", "second"))
    assert [run.mark for run in found.runs] == ["B|1|[NN_LA_PO]first", "B|1|[NN_LA_PO]second"]
    assert [run.statistics.times[Phase.EXECUTION][Layer.RUNTIME] for run in found.runs] == [2000, 2000]
    assert found.notes == ()
    assert [run.notes for run in found.runs] == [(), ()]


def test_what_comes_before_the_first_run_belongs_to_it() -> None:
    (run,) = report("0 1 B [NN_LR_PI]init\n1 1 E" + RUN).runs
    assert run.statistics.times[Phase.INITIALIZATION][Layer.RUNTIME] == 1000


def test_without_runs() -> None:
    (run,) = report("1 1 B [NN_LR_PE]ANeuralNetworksExecution_compute\n4 1 E").runs
    assert (run.mark, run.is_complete) == ("", True)
    assert run.statistics.times[Phase.EXECUTION][Layer.RUNTIME] == 3000


def test_begins_in_the_middle() -> None:
    (run,) = report("0.1 1 E\n0.2 1 E" + RUN).runs
    assert run.is_complete
    assert run.notes == ("left out: 2 ends of sections that began before the trace or the run",)
    assert run.statistics.times[Phase.EXECUTION][Layer.APPLICATION] == 4000


def test_ends_in_the_middle() -> None:
    (run,) = report(RUN.replace("6 1 E", "").replace("9 1 E", "7 3 B other")).runs
    assert not run.is_complete
    assert run.notes == (
        "incomplete: 2 sections ([NN_LA_PO]first and 1 more) without end, counted as far as the trace goes",
    )
    assert run.statistics.times[Phase.EXECUTION][Layer.APPLICATION] == 5000
    assert run.statistics.times[Phase.EXECUTION][Layer.RUNTIME] == 2000
    assert list_runs(Report((run,))) == []


def test_sections_of_others_around_runs_do_not_matter() -> None:
    found = report("0 1 B my test" + RUN + RUN + "20 1 E")
    assert [(run.is_complete, run.notes) for run in found.runs] == [(True, ()), (True, ())]


@pytest.mark.parametrize("text", ["", "1 1 B draw\n2 1 E"])
def test_nothing_of_nnapi(text: str) -> None:
    found = report(text)
    assert found.runs == ()
    assert found.notes == ("no section of the NNAPI runtime is in the trace: was NNAPI traced?",)


def test_processes_one_after_the_other() -> None:
    found = report(RUN + RUN.replace(" 1 ", " 7/7 "))
    assert [run.mark for run in found.runs] == ["B|1|[NN_LA_PO]first", "B|7|[NN_LA_PO]first"]
    assert found.notes == ()


def test_processes_at_the_same_time() -> None:
    other = RUN.replace(" 1 ", " 7/7 ").replace("first", "second")
    lines = [one for pair in zip(RUN.split("\n"), other.split("\n"), strict=True) for one in pair]
    found = report("\n".join(lines))
    assert [run.mark for run in found.runs] == ["B|1|[NN_LA_PO]first", "B|7|[NN_LA_PO]second"]
    assert [run.statistics.times[Phase.EXECUTION][Layer.APPLICATION] for run in found.runs] == [4000, 4000]
    assert all(run.is_complete for run in found.runs)
    assert "2 processes run at the same time" in found.notes[0]


def test_nesting_against_the_rules_is_told() -> None:
    (run,) = report("1 1 B [NN_LR_PP]outer\n2 1 B [NN_LA_PP]inner\n3 1 E\n4 1 E").runs
    assert run.notes == (
        "nested against the rules: [NN_LA_PP]inner is nested in [NN_LR_PP]outer, a layer that does not call its own",
    )


NAMES = [
    "[NN_LA_PO]run",
    "[NN_LA_PE]x",
    "[NN_LA_PP]p",
    "[NN_LA_PC]c",
    "[NN_LA_PWU]w",
    "[NN_LA_PBM]b",
    "[NN_LR_PI]init",
    "[NN_LR_PE]ANeuralNetworksExecution_startCompute",
    "[NN_LR_PE]ANeuralNetworksEvent_wait",
    "[NN_LR_PE]ANeuralNetworksExecution_create",
    "[SUB][NN_LR_PC]sub",
    "[SW][NN_LC_PCO]switch",
    "[NN_LU_PU]u",
    "[NN_LC_PCO]conv",
    "[NN_LI_PC]ipc",
    "[NN_LD_PE]driver",
    "HIDL::IDevice::prepareModel::server",
    "draw",
    "HIDL::IPreparedModel::execute::server",
    "HIDL::IExecutionCallback::notify::client",
    "[NN_LZ_PZ]?",
    "[NN_",
    "[SW][NN_LA_PU]",
]
EVENTS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 2), st.none() | st.sampled_from(NAMES), st.integers(0, 50)), max_size=40
)


@pytest.mark.slow
@given(EVENTS)
def test_any_order_of_marks_gives_something(events: list[tuple[int, int, str | None, int]]) -> None:
    lines = [
        line(time / 10, thread + 10 * process, "E" if name is None else f"B|{process}|{name}", process)
        for thread, process, name, time in events
    ]
    found = parse(from_ftrace(HEADER + "".join(lines)))
    for run in found.runs:
        assert "Total" in table(run, per_execution=True)
        assert list(detail(run)) == list(detail(run))
    assert json.dumps(list_runs(found, total_times=True), allow_nan=False)


@pytest.mark.slow
@given(st.data())
def test_damaged_text_gives_something_or_is_refused(data: st.DataObject) -> None:
    text = list(trace("0 5/5 B HIDL::IDevice::execute::server\n0.5 5 E" + RUN + "9 1 B [NN_LR_PP]x"))
    for _ in range(data.draw(st.integers(1, 12))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place] = data.draw(st.sampled_from(["", "\n", "|", "B|", "E", "[", "]", "9", "-", ".", " ", "\x00", "é"]))
    try:
        found = parse(from_ftrace("".join(text)))
    except BadDataError:
        return
    for run in found.runs:
        assert table(run)
    assert json.dumps(list_runs(found), allow_nan=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["X", "B", "E", "[NN_LA_PE]x", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["ph", "ts", "dur", "pid", "tid", "name", "cat", "traceEvents"]), inner)
    ),
    max_leaves=30,
)


@pytest.mark.slow
@given(JSON | st.builds(lambda events: {"traceEvents": events}, st.lists(JSON)) | st.text())
def test_any_json_gives_something_or_is_refused(data: object) -> None:
    try:
        found = parse(from_chrome(data if isinstance(data, str) else json.dumps(data)))
    except BadDataError:
        return
    assert json.dumps(list_runs(found), allow_nan=False)


def test_a_thread_that_changes_its_process() -> None:
    text = trace(RUN).replace("(    1) [000] ...1 9.0", "(    9) [000] ...1 9.0")
    assert [run.is_complete for run in parse(from_ftrace(text)).runs] == [True]
