"""Statistics of the runs in a trace file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nnapi.errors import BadDataError
from nnapi.notebook_display import NotebookDisplay
from nnapi.printable import pluralize
from nnapi.trace.chrome import from_chrome
from nnapi.trace.labels import Layer, Phase
from nnapi.trace.marks import Mark, Trace, from_ftrace
from nnapi.trace.statistics import Statistics, statistics
from nnapi.trace.threads import Thread

RUN = "[NN_LA_PO]"
"""The beginning of a run's name."""


@dataclass(frozen=True)
class Run:
    """One run of the application. If sections do not end, it is incomplete, and they count up to the last mark."""

    mark: str
    """The mark at the begin of the run, as in systrace: ``B|PROCESS|[NN_LA_PO]NAME``; "" if the run is not marked."""
    statistics: Statistics
    threads: tuple[Thread, ...]
    is_complete: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report(NotebookDisplay):
    """The runs in a trace, and notes on times that cannot be determined."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = field(default=())


def parse_file(file: str | Path) -> Report:
    """Read a trace (systrace's HTML, ftrace's text, Chrome's JSON). Raises BadDataError for any other file."""
    try:
        return parse(read_trace(file))
    except BadDataError as error:
        raise error.at(str(file)) from None


def read_trace(file: str | Path) -> Trace:
    """Read the marks of a systrace (HTML), of ftrace's text or of Chrome's JSON. Raises BadDataError, OSError."""
    data = Path(file).read_bytes()
    text = data.decode("utf-8", errors="replace")
    if text.lstrip()[:1] in ("{", "["):
        return from_chrome(text)
    return from_ftrace(text)


def parse(trace: Trace) -> Report:
    drivers = {mark.process for mark in trace.marks if _is_driver(mark)}
    swaps = {mark.thread: _swap(mark.process in drivers, trace.is_ours) for mark in trace.marks if _is_ours(mark)}
    tracked = [mark for mark in trace.marks if mark.thread in swaps]
    notes = list(trace.notes)
    if not any("[NN_LR_" in mark.text for mark in tracked):
        notes.append("no section of the NNAPI runtime is in the trace: was NNAPI traced?")
    groups, warnings = _by_process(tracked, drivers)
    end = max((mark.seconds for mark in trace.marks), default=0.0)
    runs = [run for marks in groups for run in _runs(marks, swaps, end)]
    return Report(tuple(runs), (*notes, *warnings))


def _is_ours(mark: Mark) -> bool:
    return mark.is_begin and ("[NN" in mark.text or _is_driver(mark))


def _is_driver(mark: Mark) -> bool:
    return "HIDL::IDevice" in mark.text and "::server" in mark.text


def _swap(is_driver: bool, is_ours: bool) -> dict[Layer, Layer]:
    """Return the layers to rename in a process: Android's CPU fallback and its sample drivers share code."""
    if is_ours:
        return {}
    return {Layer.CPU: Layer.DRIVER} if is_driver else {Layer.DRIVER: Layer.CPU}


def _by_process(marks: list[Mark], drivers: set[int]) -> tuple[list[list[Mark]], list[str]]:
    """Return all marks as one group, or one group per process if runs of several processes overlap; and notes."""
    if not _overlap(marks):
        return [marks], []
    clients = {mark.process: None for mark in marks if RUN in mark.text}
    notes = [
        f"{len(clients)} processes run at the same time: their own times are separate, those of the drivers are not"
    ]
    others = {mark.process for mark in marks} - set(clients) - drivers
    if others:
        notes.append(f"left out: {pluralize(len(others), 'process')} without a run")
    return [[mark for mark in marks if mark.process == client] for client in clients], notes


def _overlap(marks: list[Mark]) -> bool:
    open_sections: dict[int, list[int | None]] = {}
    running: dict[int, int] = {}
    for mark in marks:
        stack = open_sections.setdefault(mark.thread, [])
        if mark.is_begin:
            stack.append(mark.process if RUN in mark.text else None)
            if stack[-1] is not None:
                running[mark.process] = running.get(mark.process, 0) + 1
        elif stack and (process := stack.pop()) is not None:
            running[process] -= 1
        if sum(count > 0 for count in running.values()) > 1:
            return True
    return False


def _runs(marks: Sequence[Mark], swaps: Mapping[int, dict[Layer, Layer]], end: float) -> Iterator[Run]:
    """Yield consecutive runs. Marks before the first run count for it."""
    order = dict.fromkeys(mark.thread for mark in marks if _is_ours(mark))
    carried = dict.fromkeys(order, 0)

    def fresh() -> dict[int, Thread]:
        cases: list[Phase] = []
        return {n: Thread(n, cases, swaps[n], carried[n]) for n in order}

    threads, name, last = fresh(), "", 0.0
    for mark in marks:
        if mark.is_begin and RUN in mark.text:
            if name:
                carried = {n: thread.open_ignored for n, thread in threads.items()}
                yield _finish(name, list(threads.values()), last)
                threads = fresh()
            name = mark.text
        if mark.thread in threads:  # a damaged trace may move a thread from one process to another
            threads[mark.thread].read(mark)
        last = max(last, mark.seconds)
    if marks:
        yield _finish(name, list(threads.values()), end)


def _finish(name: str, threads: list[Thread], last: float) -> Run:
    unfinished = [mark for thread in threads for mark in thread.unfinished]
    notes = []
    if unfinished:
        sections = f"{pluralize(len(unfinished), 'section')} ({_first(unfinished)})"
        notes.append(f"incomplete: {sections} without end, counted as far as the trace goes")
    orphans = sum(thread.orphans for thread in threads)
    if orphans:
        notes.append(f"left out: {pluralize(orphans, 'end')} of sections that began before the trace or the run")
    violations = [message for thread in threads for message in thread.finish(last)]
    if violations:
        notes.append(f"nested against the rules: {_first(violations)}")
    return Run(name, statistics(threads), tuple(threads), not unfinished, tuple(notes))


def _first(things: list[str]) -> str:
    unique = list(dict.fromkeys(things))
    return unique[0] + (f" and {len(unique) - 1} more" if unique[1:] else "")
