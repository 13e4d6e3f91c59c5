"""Chrome's trace-event format in JSON, which Perfetto and chrome://tracing open."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from nnapi.errors import BadDataError
from nnapi.trace.labels import NNAPI_NAME, Layer
from nnapi.trace.marks import Mark, Trace
from nnapi.trace.nesting import begin_and_end_marks
from nnapi.trace.recorder import Span

RECORDER = "nnapi"
Intervals = defaultdict[tuple[int, int], list[tuple[float, float, str]]]
"""(start, end, name) of the sections of each process and thread."""


def to_chrome(spans: Iterable[Span]) -> dict[str, Any]:
    """Return the spans as an object of this format; times are microseconds of the monotonic clock."""
    spans = list(spans)
    threads = {(span.process, span.thread): span.thread_name for span in spans}
    events = [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}}
        for (process, thread), name in threads.items()
    ]
    for span in spans:
        events += _events(span)
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"recorder": RECORDER}}


def to_json(spans: Iterable[Span]) -> str:
    """Return the text of :func:`to_chrome`, one event per line."""
    trace = to_chrome(spans)
    events = ",\n".join(json.dumps(event, ensure_ascii=False) for event in trace.pop("traceEvents"))
    return f'{{"traceEvents": [\n{events}\n], {json.dumps(trace)[1:]}\n'


def _events(span: Span) -> list[dict[str, Any]]:
    label = span.label
    is_plain = label.layer is not Layer.IGNORED and not label.is_switch and not label.is_subtracted
    common = {
        "name": label.name if is_plain else str(label),
        "cat": f"{label.layer}_{label.phase}",
        "pid": span.process,
        "tid": span.thread,
        "args": dict(span.args) if span.is_complete else {**span.args, "incomplete": True},
    }
    if span.cookie is None:
        return [{"ph": "X", **common, "ts": span.start / 1000, "dur": (span.end - span.start) / 1000}]
    common["id"] = f"{label.name}:{span.cookie}"
    return [{"ph": "b", **common, "ts": span.start / 1000}, {"ph": "e", **common, "ts": span.end / 1000}]


def from_chrome(text: str) -> Trace:
    """Read the marks of a file in this format, from any recorder. Raises BadDataError for other text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadDataError(f"this is not a trace: the JSON cannot be read: {error}") from None
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise BadDataError("this is not a trace: JSON without traceEvents")
    other = data.get("otherData") if isinstance(data, dict) else None
    is_ours = isinstance(other, dict) and other.get("recorder") == RECORDER
    threads: Intervals = defaultdict(list)
    loose: list[Mark] = []
    unread = 0
    for event in events:
        try:
            _read(event, threads, loose)
        except (KeyError, TypeError, ValueError, OverflowError):
            unread += 1
    marks = loose + [mark for (process, thread), found in threads.items() for mark in _marks(process, thread, found)]
    notes = (f"{unread} events could not be read",) if unread else ()
    return Trace(tuple(sorted(marks, key=lambda mark: mark.seconds)), notes, is_ours)


def _read(event: Any, threads: Intervals, loose: list[Mark]) -> None:
    kind = event["ph"]
    if kind not in ("X", "B", "E"):
        return
    process, thread, start = int(event["pid"]), int(event["tid"]), float(event["ts"])
    duration = float(event.get("dur", 0.0))
    if not math.isfinite(start) or not math.isfinite(duration) or duration < 0:
        raise ValueError("no time")
    if kind == "X":
        threads[process, thread].append((start, start + duration, _name(event)))
    else:
        text = f"B|{process}|{_name(event)}" if kind == "B" else f"E|{process}"
        loose.append(Mark(thread, process, start / 1e6, text))


def _name(event: dict[str, Any]) -> str:
    name, category = str(event["name"]), str(event.get("cat", ""))
    marked = f"[NN_{category}]{name}"
    is_label = re.fullmatch(NNAPI_NAME, marked) and not category.startswith(Layer.IGNORED)
    return marked if is_label and "[NN_" not in name else name


def _marks(process: int, thread: int, intervals: list[tuple[float, float, str]]) -> list[Mark]:
    ordered = sorted(intervals, key=lambda one: (one[0], -one[1]))
    return [
        Mark(thread, process, time / 1e6, f"B|{process}|{name}" if begins else f"E|{process}")
        for time, name, begins in begin_and_end_marks(ordered)
    ]
