"""Reading marks."""

from pathlib import Path

import pytest

from nnapi.errors import BadDataError
from nnapi.trace.marks import ORIGIN, from_ftrace
from nnapi.trace.parse import read_trace
from tests.trace.trace_cases import HEADER, line, trace

LINES = [
    ("  NeuralNetworks-5143  ( 5143) [005] ...1   142.924145: tracing_mark_write: B|5143|[NN_LR_PP]x", 5143, 5143),
    ("<...>-5149 ( 774) [000] ...1   143.103773: tracing_mark_write: B|774|[NN_LD_PC]x", 5149, 774),
    ("           <...>-5149  (-----) [001] ...1   143.149856: tracing_mark_write: B|756|[NN_LC_PE]x", 5149, 756),
    ("  HwBinder:784_1-5236  (  784) [001] ...1   397.528915: tracing_mark_write: B|784|HIDL::x", 5236, 784),
    ("     GLThread 35-1739  ( 1500) [001] ...1   277.001798: tracing_mark_write: B|1500|HIDL::x", 1739, 1500),
    ("           <...>-4762  [007] .... 407453.701225: tracing_mark_write: B|4762|HIDL::x", 4762, 4762),
]


@pytest.mark.parametrize(("text", "thread", "process"), LINES)
def test_lines(text: str, thread: int, process: int) -> None:
    (mark,) = from_ftrace(HEADER + text + "\n").marks
    assert (mark.thread, mark.process) == (thread, process)
    assert mark.is_begin
    assert mark.name == text.rpartition("|")[2]
    assert mark.seconds == float(text.split(": tracing")[0].rsplit(None, 1)[1])


def test_ends_belong_to_the_process_seen_before() -> None:
    old = "<...>-9  [007] .... 1.5: tracing_mark_write: "
    marks = from_ftrace(f"{old}B|7|x\n{old}E\n{old}E|7\n").marks
    assert [(mark.process, mark.is_begin, mark.name) for mark in marks] == [
        (7, True, "x"),
        (7, False, ""),
        (7, False, ""),
    ]


def test_names_may_hold_bars() -> None:
    (mark,) = from_ftrace(line(1, 2, "B|1|a|b")).marks
    assert mark.name == "a|b"


def test_page() -> None:
    page = (
        f"<html>\n{line(1, 2, 'B|1|before')}<script>\n{HEADER}{line(1, 2, 'B|1|x')}  </script>\n{line(2, 2, 'B|1|y')}"
    )
    assert [mark.name for mark in from_ftrace(page).marks] == ["x"]


def test_other_lines_are_passed_over() -> None:
    text = HEADER + "".join(
        line(1, 2, what) for what in ("trace_event_clock_sync: parent_ts=1.5", "S|1|x|3", "F|1|x|3", "C|1|n|3")
    )
    found = from_ftrace(text + "    sh-1 [000] d..2 1.0: sched_switch: prev_comm=sh\n")
    assert found.marks == ()
    assert found.notes == ()


def test_damaged_lines_are_told() -> None:
    text = HEADER + line(1, 2, "B|1|x") + line(1, 2, "B|1|[NN_LR_PP]y").replace("1.000000", "1,0") + line(1, 2, "B|")
    found = from_ftrace(text)
    assert len(found.marks) == 1
    assert found.notes == ("line 3 and 1 more could not be read",)


@pytest.mark.parametrize("text", ["", "hello", "<html></html>", "\x00\x01"])
def test_no_trace(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(BadDataError, match="this is not a trace"):
        read_trace(tmp_path / "file")


def test_an_empty_trace_is_one() -> None:
    assert from_ftrace(HEADER).marks == ()


def test_ours_is_known() -> None:
    assert from_ftrace(f"{ORIGIN}\n{HEADER}").is_ours is False, "a line before the trace is not of the trace"
    assert not from_ftrace(trace("1 1 B x")).is_ours
    assert from_ftrace(HEADER + ORIGIN + "\n").is_ours
