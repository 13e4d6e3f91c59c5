"""Record sections on every thread, and return them as spans."""

import os
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

from nnapi.locks import make_lock
from nnapi.notebook_display import NotebookDisplay
from nnapi.trace.labels import Label


class Recorded(Protocol):
    """A section: its label, its arguments, and a function that returns the parts within it."""

    @property
    def label(self) -> Label: ...
    @property
    def args(self) -> Mapping[str, Any]: ...
    @property
    def parts(self) -> "Callable[[], Sequence[Part]] | None": ...


class Span(NamedTuple):
    """One recorded execution of a section. Times are nanoseconds of the monotonic clock."""

    label: Label
    start: int
    end: int
    process: int
    thread: int
    thread_name: str
    args: Mapping[str, Any] = {}  # shared, because no code changes it
    depth: int = 0
    """The number of sections of the same thread that enclose it."""
    cookie: int | None = None
    """Distinguishes asynchronous sections of the same name; None for sections of a thread."""
    is_complete: bool = True

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


class Part(NamedTuple):
    """A section within another; ``start`` and ``end`` are fractions of the outer section's time."""

    section: Recorded
    start: float
    end: float


class EndedSections:
    """The ended sections of a thread, stored as integers; tuples would take six times the memory."""

    __slots__ = ("_indices", "_numbers", "_sections")

    def __init__(self) -> None:
        self._sections: list[Recorded] = []
        self._indices: dict[int, int] = {}
        self._numbers = array("q")

    def add(self, section: Recorded, start: int, end: int, depth: int) -> None:
        index = self._indices.get(id(section))
        if index is None:
            index = self._indices[id(section)] = len(self._sections)
            self._sections.append(section)
        self._numbers.extend((index, start, end, depth))

    def __iter__(self) -> Iterator[tuple[Recorded, int, int, int]]:
        """Yield section, start, end and depth of each; the thread may add more at the same time."""
        numbers = self._numbers[:]
        for at in range(0, len(numbers) - 3, 4):
            index, start, end, depth = numbers[at : at + 4]
            yield self._sections[index], start, end, depth


class Thread(threading.local):
    def __init__(self) -> None:
        self.muted = False
        self.recorder: Recorder | None = None
        self.open: list[tuple[Recorded, int]] = []
        self.ended = EndedSections()


THIS_THREAD = Thread()


class Recorder(NotebookDisplay):
    """Collect the sections of all threads of this process."""

    def __init__(self) -> None:
        self._lock = make_lock()
        self._threads: list[tuple[int, str, list[tuple[Recorded, int]], EndedSections]] = []
        self._asynchronous: dict[tuple[str, int], tuple[Recorded, int, int, str]] = {}
        self._more: list[Span] = []
        self.sources: list[Callable[[], Iterable[Span]]] = []
        """Functions that return the spans of other processes so far."""

    def begin(self, section: Recorded) -> None:
        if THIS_THREAD.muted:
            return
        if THIS_THREAD.recorder is not self:
            self._enlist()
        THIS_THREAD.open.append((section, time.monotonic_ns()))

    def end(self, section: Recorded) -> None:
        end = time.monotonic_ns()
        if THIS_THREAD.recorder is not self or THIS_THREAD.muted:
            return
        stack = THIS_THREAD.open
        for depth in range(len(stack) - 1, -1, -1):  # the last section, unless coroutines take turns on the thread
            if stack[depth][0] is section:
                THIS_THREAD.ended.add(section, stack.pop(depth)[1], end, depth)
                return

    def end_last(self) -> None:
        if THIS_THREAD.recorder is self and THIS_THREAD.open:
            self.end(THIS_THREAD.open[-1][0])

    @property
    def is_muted(self) -> bool:
        return THIS_THREAD.muted

    def find_open(self) -> Recorded | None:
        stack = THIS_THREAD.open if THIS_THREAD.recorder is self else []
        return stack[-1][0] if stack else None

    def begin_asynchronous(self, section: Recorded, cookie: int) -> None:
        with self._lock:
            key = str(section.label), cookie
            self._asynchronous[key] = section, time.monotonic_ns(), threading.get_native_id(), _name()

    def end_asynchronous(self, mark: str, cookie: int) -> None:
        end = time.monotonic_ns()
        with self._lock:
            begun = self._asynchronous.pop((mark, cookie), None)
            if begun is not None:
                self._more.append(_asynchronous_span(begun, end, cookie))

    def add(self, spans: Iterable[Span]) -> None:
        with self._lock:
            self._more += spans

    def spans(self) -> list[Span]:
        """Return all spans so far, ordered by their beginnings. Open sections are cut off and marked incomplete.

        To divide calls of engines into operations, the first call profiles each engine for about a tenth of a second.
        """
        elsewhere = [span for source in self.sources for span in source()]
        now, process = time.monotonic_ns(), os.getpid()
        divided: list[tuple[int, Callable[[], Sequence[Part]]]] = []
        with self._lock:
            found = [*self._more, *elsewhere]
            for (_, cookie), begun in self._asynchronous.items():
                found.append(_asynchronous_span(begun, now, cookie)._replace(is_complete=False))
            for thread, name, stack, ended in self._threads:
                complete_ones = ((*one, True) for one in ended)
                unfinished = [(section, start, now, depth, False) for depth, (section, start) in enumerate(stack)]
                for section, start, end, depth, complete in chain(complete_ones, unfinished):
                    whole = Span(section.label, start, end, process, thread, name, section.args, depth, None, complete)
                    found.append(whole)
                    if section.parts and complete:
                        divided.append((len(found) - 1, section.parts))
        shared: dict[int, Mapping[str, Any]] = {}
        for index, parts in divided:
            found[index], *inner = _divide(found[index], parts(), shared)
            found += inner
        return _number(found)

    def _enlist(self) -> None:
        THIS_THREAD.recorder, THIS_THREAD.open, THIS_THREAD.ended = self, [], EndedSections()
        with self._lock:
            self._threads.append((threading.get_native_id(), _name(), THIS_THREAD.open, THIS_THREAD.ended))


def _name() -> str:
    return threading.current_thread().name


def _asynchronous_span(begun: tuple[Recorded, int, int, str], end: int, cookie: int) -> Span:
    section, start, thread, name = begun
    return Span(section.label, start, end, os.getpid(), thread, name, section.args, cookie=cookie)


def _divide(whole: Span, parts: Sequence[Part], shared: dict[int, Mapping[str, Any]]) -> list[Span]:
    """Return a span without its argument ``holds``, then its parts as spans. ``shared`` caches the arguments."""
    if not parts:
        return [whole]
    length, depth = whole.end - whole.start, whole.depth + 1
    if id(whole.args) not in shared:
        shared[id(whole.args)] = {name: whole.args[name] for name in whole.args if name not in ("holds", "kinds")}
    found = [whole._replace(args=shared[id(whole.args)])]
    for part in parts:
        start, end = (whole.start + round(at * length) for at in (part.start, part.end))
        section = part.section
        found.append(whole._replace(label=section.label, start=start, end=end, args=section.args, depth=depth))
    return found


def _number(spans: list[Span]) -> list[Span]:
    """Return the spans by beginning; operations get their numbers in the whole model from the step around them."""
    ordered = sorted(spans, key=lambda span: (span.start, span.depth))
    renumbered: dict[tuple[int, int], Mapping[str, Any]] = {}  # the spans of a section share their arguments
    steps: dict[tuple[int, int], Span] = {}
    for index, span in enumerate(ordered):
        thread = span.process, span.thread
        step = steps.get(thread)
        if "operations" in span.args:
            steps[thread] = span
        elif step and step.end >= span.end and step.args.get("model") == span.args.get("model"):
            which = id(span.args), id(step.args)
            if which not in renumbered:
                renumbered[which] = _renumber(span.args, step.args["operations"])
            if renumbered[which] is not span.args:
                ordered[index] = span._replace(args=renumbered[which])
    return ordered


def _renumber(args: Mapping[str, Any], numbers: Sequence[int]) -> Mapping[str, Any]:
    """Return the arguments with operation numbers of the whole model."""
    if "operation" in args and args["operation"] < len(numbers):
        return {**args, "operation": numbers[args["operation"]]}
    if "holds" in args and max(args["holds"], default=0) < len(numbers):
        return {**args, "holds": [numbers[number] for number in args["holds"]]}
    return args
