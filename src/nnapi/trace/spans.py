"""Recording what happens when: sections with a beginning and an end, on every thread.

    COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_compute")

    with COMPUTE:                                     # made once, used often: the cheapest form
    with span(Layer.CPU, Phase.COMPUTATION, "CONV_2D", operation=3):
    with section("[NN_LA_PE]runInference"):           # what applications write; also a decorator

All of them do nothing until :func:`start`. One recorder exists in a process at a time; the clock is the machine's
monotonic one, so that spans of several processes can be put together.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple, ParamSpec, TypeVar

from nnapi.errors import BadStateError
from nnapi.notebook_display import NotebookDisplay
from nnapi.trace.ended_sections import EndedSections
from nnapi.trace.labels import Label, Layer, Phase, parse_label

P = ParamSpec("P")
T = TypeVar("T")


class Span(NamedTuple):
    """A section that happened. Times are nanoseconds of the monotonic clock."""

    label: Label
    start: int
    end: int
    process: int
    thread: int
    thread_name: str
    args: Mapping[str, Any] = {}  # nobody changes it
    depth: int = 0
    """How many sections of its thread are open around it."""
    cookie: int | None = None
    """Tells apart the asynchronous sections of one name; None for sections of a thread."""
    is_complete: bool = True
    """Whether the section had ended when the recording did."""

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


class Section:
    """What is to be recorded whenever a ``with`` block, or a function it decorates, runs. It may be used again.

    ``parts`` gives what fills it, for what cannot be seen from here (:class:`Part`). It is asked when the recording is
    read, so that it may take its time.
    """

    __slots__ = ("args", "label", "parts")

    def __init__(self, layer: Layer, phase: Phase, name: str, **args: Any) -> None:
        self.label = Label(layer, phase, name)
        self.args = args
        self.parts: Callable[[], Sequence[Part]] | None = None

    @classmethod
    def of(cls, label: Label) -> Section:
        made = cls(label.layer, label.phase, label.name)
        made.label = label
        return made

    def __enter__(self) -> Any:
        if _recorder is not None:
            _recorder.begin(self)

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        if _recorder is not None:
            _recorder.end(self)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call_within(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return call_within

    def __repr__(self) -> str:
        return f"<nnapi.trace.Section {self.label}>"


class Part(NamedTuple):
    """A section within another, from ``start`` to ``end`` as fractions of that one's time."""

    section: Section
    start: float
    end: float


class _Thread(threading.local):
    """The open sections of a thread: for each recorder its own."""

    def __init__(self) -> None:
        self.muted = False
        self.recorder: Recorder | None = None
        self.open: list[tuple[Section, int]] = []
        self.ended = EndedSections[Section]()


_thread = _Thread()


class Recorder(NotebookDisplay):
    """Collects what all threads of this process do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[tuple[int, str, list[tuple[Section, int]], EndedSections[Section]]] = []
        self._asynchronous: dict[tuple[str, int], tuple[Section, int, int, str]] = {}
        self._more: list[Span] = []
        self.sources: list[Callable[[], Iterable[Span]]] = []
        """What gives the spans of other processes so far, whenever the recording is read."""

    def begin(self, section: Section) -> None:
        if _thread.muted:
            return
        if _thread.recorder is not self:
            self._enlist()
        _thread.open.append((section, time.monotonic_ns()))

    def end(self, section: Section) -> None:
        end = time.monotonic_ns()
        if _thread.recorder is not self or _thread.muted:
            return
        stack = _thread.open
        for depth in range(len(stack) - 1, -1, -1):  # the last one, unless coroutines take turns on the thread
            if stack[depth][0] is section:
                _thread.ended.add(section, stack.pop(depth)[1], end, depth)
                return

    def end_last(self) -> None:
        """End whatever this thread began last."""
        if _thread.recorder is self and _thread.open:
            self.end(_thread.open[-1][0])

    def begin_asynchronous(self, section: Section, cookie: int) -> None:
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
        """Take in what another process recorded."""
        with self._lock:
            self._more += spans

    def spans(self) -> list[Span]:
        """Everything so far, in the order of beginning. What has not ended is cut off now and marked incomplete.

        Engines whose calls are to be divided are profiled now, each for a tenth of a second or so, the first time.
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
        told: dict[int, Mapping[str, Any]] = {}
        for place, parts in divided:
            found[place], *inner = _divide(found[place], parts(), told)
            found += inner
        return _number(found)

    def _enlist(self) -> None:
        _thread.recorder, _thread.open, _thread.ended = self, [], EndedSections[Section]()
        with self._lock:
            self._threads.append((threading.get_native_id(), _name(), _thread.open, _thread.ended))


def _name() -> str:
    return threading.current_thread().name


def _asynchronous_span(begun: tuple[Section, int, int, str], end: int, cookie: int) -> Span:
    section, start, thread, name = begun
    return Span(section.label, start, end, os.getpid(), thread, name, section.args, cookie=cookie)


def _divide(whole: Span, parts: Sequence[Part], told: dict[int, Mapping[str, Any]]) -> list[Span]:
    """A section and its parts, which say themselves what it ``holds``; ``told`` keeps what is left for it to say."""
    if not parts:
        return [whole]
    length, depth = whole.end - whole.start, whole.depth + 1
    if id(whole.args) not in told:
        told[id(whole.args)] = {name: whole.args[name] for name in whole.args if name not in ("holds", "kinds")}
    found = [whole._replace(args=told[id(whole.args)])]
    for part in parts:
        start, end = (whole.start + round(at * length) for at in (part.start, part.end))
        section = part.section
        found.append(whole._replace(label=section.label, start=start, end=end, args=section.args, depth=depth))
    return found


def _number(spans: list[Span]) -> list[Span]:
    """The spans in the order of beginning, with operations of a part of a model numbered as in the whole.

    A driver knows the numbers within the part that it was given; the span of the step around it knows the others.
    """
    ordered = sorted(spans, key=lambda span: (span.start, span.depth))
    renumbered: dict[tuple[int, int], Mapping[str, Any]] = {}  # the spans of a section share what is said of them
    steps: dict[tuple[int, int], Span] = {}
    for place, span in enumerate(ordered):
        thread = span.process, span.thread
        step = steps.get(thread)
        if "operations" in span.args:
            steps[thread] = span
        elif step and step.end >= span.end and step.args.get("model") == span.args.get("model"):
            which = id(span.args), id(step.args)
            if which not in renumbered:
                renumbered[which] = _renumber(span.args, step.args["operations"])
            if renumbered[which] is not span.args:
                ordered[place] = span._replace(args=renumbered[which])
    return ordered


def _renumber(args: Mapping[str, Any], numbers: Sequence[int]) -> Mapping[str, Any]:
    """With the number of an operation, or of those that an engine ``holds`` and does not tell apart, in the whole."""
    if "operation" in args and args["operation"] < len(numbers):
        return {**args, "operation": numbers[args["operation"]]}
    if "holds" in args and max(args["holds"], default=0) < len(numbers):
        return {**args, "holds": [numbers[number] for number in args["holds"]]}
    return args


_recorder: Recorder | None = None

active = False
"""Whether sections are recorded now, for code so short that even a section that does nothing would show."""

_RECORDING = Section.__enter__, Section.__exit__
_IDLE: Any = "".format
"""Stands for both methods while nothing is recorded: takes any arguments, gives something false, and costs a third of a
function in Python. Nobody else knows of it."""


def _switch(recorder: Recorder | None) -> None:
    """Make every section record to that recorder, or do nothing at the least cost."""
    global _recorder, active
    _recorder, active = recorder, recorder is not None
    Section.__enter__, Section.__exit__ = _RECORDING if recorder else (_IDLE, _IDLE)  # type: ignore[method-assign]


_switch(None)

NOTHING = Section(Layer.IGNORED, Phase.UNSPECIFIED, "")


def span(layer: Layer, phase: Phase, name: str, /, *, operation: int | None = None, **args: Any) -> Section:
    """A section made on the spot, for ``with``; ``operation`` and ``args`` are kept with it (JSON values).

    It costs under 100 ns while nothing is recorded, if layer and phase are at hand: before Python 3.12 looking up a
    member of an enumeration takes longer than all the rest.
    """
    if _recorder is None:
        return NOTHING
    return Section(layer, phase, name, **(args if operation is None else {"operation": operation, **args}))


@functools.lru_cache(maxsize=4096)
def section(mark: str) -> Section:
    """A section of the application, for ``with`` or as a decorator: ``[NN_LA_PE]runInference``.

    The prefixes of the NNAPI guide are ``[NN_LA_PI]`` (initialisation), ``[NN_LA_PP]`` (preparation), ``[NN_LA_PC]``
    (compilation) and ``[NN_LA_PE]`` (execution). A name without one shows in traces but not in the statistics.
    """
    return Section.of(parse_label(mark))


def begin_section(mark: str) -> None:
    """Begin a section on this thread, as ``ATrace_beginSection``."""
    if _recorder is not None:
        _recorder.begin(section(mark))


def end_section() -> None:
    """End the section that this thread began last, as ``ATrace_endSection``."""
    if _recorder is not None:
        _recorder.end_last()


def begin_async_section(mark: str, cookie: int) -> None:
    """Begin a section that may end on another thread, as ``ATrace_beginAsyncSection``."""
    if _recorder is not None:
        _recorder.begin_asynchronous(section(mark), cookie)


def end_async_section(mark: str, cookie: int) -> None:
    """End the asynchronous section of that name and cookie, as ``ATrace_endAsyncSection``."""
    if _recorder is not None:
        _recorder.end_asynchronous(str(section(mark).label), cookie)


def is_enabled() -> bool:
    """Whether sections are recorded now (``ATrace_isEnabled``)."""
    return _recorder is not None


def here() -> tuple[Recorder, Section | None] | None:
    """What records this thread now, and the section that is open on it; None where nothing does."""
    if _recorder is None or _thread.muted:
        return None
    stack = _thread.open if _thread.recorder is _recorder else []
    return _recorder, stack[-1][0] if stack else None


def current() -> Recorder | None:
    """What records now."""
    return _recorder


def start() -> Recorder:
    """Record from now on. Raises BadStateError if that is so already."""
    if _recorder is not None:
        raise BadStateError("a trace is being recorded already")
    recorder = Recorder()
    _switch(recorder)
    return recorder


def stop() -> list[Span]:
    """Stop recording; what was recorded. Raises BadStateError if nothing is being recorded."""
    recorder = _recorder
    if recorder is None:
        raise BadStateError("no trace is being recorded")
    _switch(None)
    return recorder.spans()


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record during a ``with`` block; ``spans()`` of what it gives are the spans, also afterwards."""
    recorder = start()
    try:
        yield recorder
    finally:
        if _recorder is recorder:
            _switch(None)


@contextmanager
def mute() -> Iterator[None]:
    """Record nothing of what this thread does within a ``with`` block: trial runs, which are nobody's executions."""
    before, _thread.muted = _thread.muted, True
    try:
        yield
    finally:
        _thread.muted = before


def _after_fork() -> None:
    """A child process records for itself, without what its parent did."""
    if _recorder is not None:
        _switch(Recorder())


os.register_at_fork(after_in_child=_after_fork)
