"""Recording sections, with a beginning and an end, on every thread.

    COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_compute")

    with COMPUTE:                                     # made once, used often: the cheapest way
    with span(Layer.CPU, Phase.COMPUTATION, "CONV_2D", operation=3):
    with section("[NN_LA_PE]runInference"):           # for applications; also a decorator

All of them do nothing until :func:`start`. One recorder exists in a process at a time; the clock is the machine's
monotonic one, so spans of several processes can be merged.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nnapi.errors import BadStateError
from nnapi.trace.labels import Label, Layer, Phase, parse_label

if TYPE_CHECKING:
    from nnapi.trace.recorder import Part, Recorded, Recorder, Span

P = ParamSpec("P")
T = TypeVar("T")


class Section:
    """A section that is recorded whenever a ``with`` block, or a function it decorates, runs.

    ``parts`` returns the parts of a section (:class:`Part`). It runs when the recording is read, so it may be slow.
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


_recorder: Recorder | None = None

active = False
"""Whether sections are recorded; read by code so short that an idle section would slow it."""

_RECORDING = Section.__enter__, Section.__exit__
_IDLE: Any = "".format
"""Replaces both methods while nothing is recorded; it costs a third of a Python function."""


def _switch(recorder: Recorder | None) -> None:
    """Make every section record to ``recorder``, or do nothing if it is None."""
    global _recorder, active
    _recorder, active = recorder, recorder is not None
    Section.__enter__, Section.__exit__ = _RECORDING if recorder else (_IDLE, _IDLE)  # type: ignore[method-assign]


_switch(None)

NOTHING = Section(Layer.IGNORED, Phase.UNSPECIFIED, "")


def span(layer: Layer, phase: Phase, name: str, /, *, operation: int | None = None, **args: Any) -> Section:
    """Make a section for one ``with`` block; ``operation`` and ``args`` (JSON values) are recorded with it.

    While nothing is recorded, this costs under 100 ns if layer and phase are local variables; before Python 3.12,
    enumeration members are slow to look up.
    """
    if _recorder is None:
        return NOTHING
    return Section(layer, phase, name, **(args if operation is None else {"operation": operation, **args}))


@functools.lru_cache(maxsize=4096)
def section(mark: str) -> Section:
    """Return a section of the application, for ``with`` or as a decorator; ``mark`` is like ``[NN_LA_PE]runInference``.

    The prefixes of the NNAPI guide are ``[NN_LA_PI]`` (initialization), ``[NN_LA_PP]`` (preparation), ``[NN_LA_PC]``
    (compilation) and ``[NN_LA_PE]`` (execution). Statistics ignore a name without a prefix.
    """
    return Section.of(parse_label(mark))


def begin_section(mark: str) -> None:
    """Begin a section on this thread, like ``ATrace_beginSection``."""
    if _recorder is not None:
        _recorder.begin(section(mark))


def end_section() -> None:
    """End the section that this thread began last, like ``ATrace_endSection``."""
    if _recorder is not None:
        _recorder.end_last()


def begin_async_section(mark: str, cookie: int) -> None:
    """Begin a section that may end on another thread, like ``ATrace_beginAsyncSection``."""
    if _recorder is not None:
        _recorder.begin_asynchronous(section(mark), cookie)


def end_async_section(mark: str, cookie: int) -> None:
    """End the asynchronous section with this name and cookie, like ``ATrace_endAsyncSection``."""
    if _recorder is not None:
        _recorder.end_asynchronous(str(section(mark).label), cookie)


def is_enabled() -> bool:
    """Return whether sections are being recorded (``ATrace_isEnabled``)."""
    return _recorder is not None


def find_open_section() -> tuple[Recorder, Recorded | None] | None:
    """Return the recorder and this thread's innermost open section; None if this thread is not recorded."""
    return None if _recorder is None or _recorder.is_muted else (_recorder, _recorder.find_open())


def current() -> Recorder | None:
    return _recorder


def start() -> Recorder:
    """Begin to record. Raises BadStateError if a recording is active."""
    if _recorder is not None:
        raise BadStateError("a trace is being recorded already")
    from nnapi.trace.recorder import Recorder  # on demand: few processes record

    recorder = Recorder()
    _switch(recorder)
    return recorder


def stop() -> list[Span]:
    """Stop recording and return the spans. Raises BadStateError if nothing is being recorded."""
    recorder = _recorder
    if recorder is None:
        raise BadStateError("no trace is being recorded")
    _switch(None)
    return recorder.spans()


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record during a ``with`` block; the recorder's ``spans()`` returns the spans, also after the block."""
    recorder = start()
    try:
        yield recorder
    finally:
        if _recorder is recorder:
            _switch(None)


@contextmanager
def mute() -> Iterator[None]:
    """Do not record this thread within a ``with`` block; used for trial runs."""
    from nnapi.trace.recorder import THIS_THREAD

    before, THIS_THREAD.muted = THIS_THREAD.muted, True
    try:
        yield
    finally:
        THIS_THREAD.muted = before


def _after_fork() -> None:
    """Start a new recorder in a child process, without its parent's sections."""
    if _recorder is not None:
        _switch(type(_recorder)())


os.register_at_fork(after_in_child=_after_fork)
