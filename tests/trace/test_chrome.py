"""Chrome's trace-event format, written and read."""

import json
from typing import Any

import pytest

from nnapi.errors import BadDataError
from nnapi.trace.chrome import from_chrome, to_chrome, to_json
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import parse
from nnapi.trace.systrace import to_ftrace
from tests.trace.span_cases import recorded

COMMON = {"name": str, "ph": str, "pid": int, "tid": int}
"""Keys of every event."""

FIELDS: dict[str, dict[str, Any]] = {
    "M": {"args": dict},
    "X": {"cat": str, "ts": (int, float), "dur": (int, float), "args": dict},
    "b": {"cat": str, "ts": (int, float), "id": str, "args": dict},
    "e": {"cat": str, "ts": (int, float), "id": str, "args": dict},
}
"""Keys that the format requires of each kind of event."""


def test_schema() -> None:
    trace = json.loads(to_json(recorded()))
    assert set(trace) <= {"traceEvents", "displayTimeUnit", "otherData", "metadata", "systemTraceEvents"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert {event["ph"] for event in trace["traceEvents"]} == set(FIELDS)
    for event in trace["traceEvents"]:
        fields = COMMON | FIELDS[event["ph"]]
        assert set(event) == set(fields)
        for field, kind in fields.items():
            assert isinstance(event[field], kind), (field, event)
            assert not isinstance(event[field], bool)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0


def test_asynchronous_events_pair_up() -> None:
    events = to_chrome(recorded())["traceEvents"]
    begins = [(e["id"], e["cat"], e["name"]) for e in events if e["ph"] == "b"]
    ends = [(e["id"], e["cat"], e["name"]) for e in events if e["ph"] == "e"]
    assert begins == ends
    assert len(set(begins)) == 2


def test_events_of_a_thread_nest() -> None:
    events = [e for e in to_chrome(recorded())["traceEvents"] if e["ph"] == "X"]
    for one in events:
        for other in events:
            if one["tid"] == other["tid"] and one["ts"] < other["ts"] < one["ts"] + one["dur"]:
                assert other["ts"] + other["dur"] <= one["ts"] + one["dur"] + 0.001


def test_threads_have_names_and_operations_arguments() -> None:
    events = to_chrome(recorded())["traceEvents"]
    assert "a worker with a long | name" in [e["args"]["name"] for e in events if e["ph"] == "M"]
    adds = [e for e in events if e["name"] == "ADD"]
    assert {"operation": 2, "outputs": ["sum 2"]} in [e["args"] for e in adds]
    assert {e["cat"] for e in adds} == {"LC_PCO"}


def test_reads_back_as_systrace_does() -> None:
    spans = recorded()
    ours, android = parse(from_chrome(to_json(spans))), parse(from_ftrace(to_ftrace(spans)))
    assert len(ours.runs) == len(android.runs) == 2
    assert ours.notes == android.notes == ()
    for one, other in zip(ours.runs, android.runs, strict=True):
        assert one.mark == other.mark
        assert one.statistics.executions == other.statistics.executions
        for phase, layers in one.statistics.times.items():
            assert layers == pytest.approx(dict(other.statistics.times[phase]), abs=0.02, nan_ok=True)


def test_reads_what_others_write() -> None:
    events: list[dict[str, Any]] = [
        {"ph": "B", "ts": 1e6, "pid": 1, "tid": 2, "name": "[NN_LR_PP]x"},
        {"ph": "E", "ts": 3e6, "pid": 1, "tid": 2},
        {"ph": "C", "ts": 3e6, "pid": 1, "name": "counter"},
        {"ph": "X", "ts": "soon", "pid": 1, "tid": 2, "name": "y"},
        {"ph": "X", "ts": 4e6, "dur": -1, "pid": 1, "tid": 2, "name": "y"},
    ]
    trace = from_chrome(json.dumps(events))
    assert [(mark.seconds, mark.name) for mark in trace.marks] == [(1.0, "[NN_LR_PP]x"), (3.0, "")]
    assert trace.notes == ("2 events could not be read",)
    assert not trace.is_ours


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000, '{"traceEvents": 3}', "3"])
def test_no_trace(text: str) -> None:
    with pytest.raises(BadDataError, match="this is not a trace"):
        from_chrome(text)
