"""Marks: the lines of a trace file at which sections begin and end."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nnapi.errors import BadDataError


@dataclass(frozen=True, slots=True)
class Mark:
    """One line, ``B|process|name``, ``E`` or ``E|process``; ``seconds`` is the time of the trace's clock."""

    thread: int
    process: int
    seconds: float
    text: str

    @property
    def is_begin(self) -> bool:
        return self.text.startswith("B")

    @property
    def name(self) -> str:
        """Return the name of the section that begins; "" for an end."""
        return self.text.split("|", 2)[2] if self.text.count("|") >= 2 else ""


@dataclass(frozen=True)
class Trace:
    """The marks of a file in order, and notes on lines that could not be read."""

    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()
    is_ours: bool = False
    """Whether nnapi recorded the trace, so that layers need not be guessed from processes."""


ORIGIN = "# recorded by nnapi"

LINE = re.compile(
    r"\s*\S.{0,15}?-(?P<thread>\d{1,18})\s+(?:\(\s*(?P<process>\d{1,18}|-+)\)\s+)?\[\d+\]\s+(?:\S+\s+)?"
    r"(?P<seconds>\d{1,18}\.\d{1,18}): tracing_mark_write: (?P<text>[BE].*)"
)
HEADER = re.compile(r"#\s+TASK-PID\s.*TIMESTAMP\s+FUNCTION")
DAMAGED = re.compile(r"tracing_mark_write: (?:[BE](?:\||\s*$)|(?![SFCI]\|).*(?:\[NN_|HIDL::IDevice))")
"""A line that looks like a mark but cannot be read."""
BEGIN = re.compile(r"B\|(\d{1,18})\|")


def from_ftrace(text: str) -> Trace:
    """Read the marks of a systrace's HTML or of ftrace's text."""
    lines = text.splitlines()
    start, end = _trace_part(lines)
    processes: dict[int, int] = {}
    marks, unread = [], []
    for number, line in enumerate(lines[start:end], start + 1):
        if "tracing_mark_write: " not in line:
            continue
        mark = _mark(line, processes)
        if mark is not None:
            marks.append(mark)
        elif DAMAGED.search(line):
            unread.append(number)
    if not marks and not unread and not any(HEADER.match(line) for line in lines):
        raise BadDataError("this is not a trace: neither a systrace, nor ftrace's text, nor Chrome's JSON")
    notes = (f"{_lines(unread)} could not be read",) if unread else ()
    return Trace(tuple(marks), notes, any(line.startswith(ORIGIN) for line in lines[start:end]))


def _trace_part(lines: list[str]) -> tuple[int, int]:
    """Return the range of lines with the trace; a page also has other data, and a text may lack the header."""
    start = next((number for number, line in enumerate(lines) if HEADER.match(line)), None)
    if start is None:
        return 0, len(lines)
    return start, next((n for n in range(start, len(lines)) if lines[n].lstrip().startswith("</script>")), len(lines))


def _mark(line: str, processes: dict[int, int]) -> Mark | None:
    match = LINE.fullmatch(line.rstrip())
    if match is None:
        return None
    text, thread = match["text"], int(match["thread"])
    if text[0] == "B" and not BEGIN.match(text):
        return None
    if match["process"] and match["process"].isdigit():
        process = int(match["process"])
    else:  # old kernels omit the process, new ones sometimes
        named = BEGIN.match(text)
        process = int(named[1]) if named else processes.get(thread, thread)
    processes[thread] = process
    return Mark(thread, process, float(match["seconds"]), text)


def _lines(numbers: Iterable[int]) -> str:
    first, *others = numbers
    return f"line {first}" + (f" and {len(others)} more" if others else "")
