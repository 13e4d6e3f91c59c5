"""The end of the process. A thread that computes then would not survive the destructors of its engine."""

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from nnapi.errors import OpFailedError

PATIENCE = 1.0
"""Seconds that the end of the process waits for all background threads together."""
TICK = 0.002

_busy: set[object] = set()
"""Background work that may compute. Adding and removing are atomic."""
_after_preparing: list[Callable[[], None]] = []
_is_ending = _is_hurried = _must_skip = False
_deadline: float | None = None


def begin_work(work: object) -> None:
    """Make the end of the process wait for ``work``, any hashable object."""
    _busy.add(work)


def end_work(work: object) -> None:
    _busy.discard(work)


@contextmanager
def resting() -> Iterator[None]:
    """Let the end of the process not wait for this thread of background work, as it only waits for others. It cannot go
    on at the end: OpFailedError."""
    thread = threading.get_ident()
    _busy.discard(thread)
    try:
        yield
    finally:
        _busy.add(thread)
        if _is_ending:
            _busy.discard(thread)
            time.sleep(PATIENCE)  # usually longer than the process lives
            raise OpFailedError("the process is ending")


def call_after_preparing(call: Callable[[], None]) -> None:
    """Call ``call`` whenever an engine may have registered destructors."""
    _after_preparing.append(call)


def note_preparation() -> None:
    """Report that an engine was loaded or has prepared a model, and may have registered destructors."""
    for call in _after_preparing:
        call()


def is_patient() -> bool:
    """Return whether the end of the process still waits for threads. The first call starts the time."""
    global _deadline
    now = time.monotonic()
    if _deadline is None:
        _deadline = now + PATIENCE
    return now < _deadline


def hurry() -> None:
    """End a C program, which does not finalize Python: :func:`may_join` becomes false after PATIENCE."""
    global _is_hurried
    _is_hurried = True


def may_join() -> bool:
    """Return whether to wait for a thread that an engine keeps. Python waits: at its end, it would unwind the thread
    when the engine returns."""
    return not _is_hurried or is_patient()


def skip_destructors() -> None:
    """Make exit() end the process, with its status and its output, before the handlers and destructors that are
    registered now. Only glibc permits this. A thread that wants the interpreter until then hangs: Python before 3.14
    unwinds it, and C++ would abort the process where its engine forbids that."""
    import ctypes  # on demand: few processes end while they compute

    global _must_skip
    _must_skip = True
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit") and hasattr(libc, "fcloseall"):
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fcloseall, None, None)  # runs before _exit
    with suppress(OSError, AttributeError):  # no engine has loaded the library of C++
        ctypes.CDLL("libstdc++.so.6", os.RTLD_NOLOAD)._ZSt13set_terminatePFvvE(libc.pause)


def must_skip_destructors() -> bool:
    """Return whether a thread still computed when the exit handlers of Python ran."""
    return _must_skip


def _end() -> None:
    global _is_ending
    _is_ending = True
    while _busy and is_patient():
        time.sleep(TICK)
    if _busy:
        skip_destructors()


atexit.register(_end)
os.register_at_fork(after_in_child=_busy.clear)  # threads do not survive a fork
