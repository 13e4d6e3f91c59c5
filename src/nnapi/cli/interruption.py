"""Ctrl-C and SIGTERM: the command ends within a second, even inside an engine, and leaves no temporary folder."""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from nnapi.store.files import remove_unfinished
from nnapi.store.temporary import remove_temporary_folders

try:
    from nnapi.cli._signals import set_fatal, watch
except ImportError:  # pip found no C compiler
    set_fatal = watch = None

PATIENCE = 0.5
"""Seconds from a signal until the process ends, whatever its main thread does."""
LONGEST = 0.75
"""The same if an engine holds the GIL, so that nothing can be removed."""
FINISHING = 1.0
"""Seconds that writing results may take after PATIENCE; without results, nothing waits."""
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
SHOW_CURSOR = "\x1b[?25h"

Handler = Callable[[int, FrameType | None], Any]


class Interruption:
    """The state of the process: ``number`` is the first of SIGNALS that it got, 0 if none; ``handled`` are those that
    interrupt the command. ``is_too_late`` if its work is done and its message is printed."""

    number = 0
    handled: frozenset[int] = frozenset()
    is_too_late = False
    last_work: Callable[[], object] | None = None
    """Done before a process ends that is inside an engine."""
    written = threading.Event()
    """Unset while the main thread writes results."""


def handle_signals() -> None:
    """From now on, a signal raises KeyboardInterrupt in the main thread. A thread ends the process if the main thread
    does not end it in time. Signals that the parent process ignores stay ignored."""
    Interruption.written.set()
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    reader, writer = os.pipe()
    if watch is not None:
        outer, inner = os.pipe()
        watch(outer, writer, LONGEST)
        writer = inner
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    for number in numbers:
        signal.signal(number, _interrupt)
    _set_handled(frozenset(numbers))
    sys.unraisablehook = _report_unraisable
    threading.Thread(target=_watch, args=(reader,), name="nnapi-signals", daemon=True).start()


@contextmanager
def before_end(work: Callable[[], object]) -> Iterator[None]:
    """If the process ends within this block because an engine does not return, do this brief work first."""
    Interruption.last_work = work
    try:
        yield
    finally:
        Interruption.last_work = None


@contextmanager
def writing() -> Iterator[None]:
    """Let the main thread finish this block, which writes results, before the process ends."""
    Interruption.written.clear()
    try:
        yield
    finally:
        Interruption.written.set()


@contextmanager
def handlers(own: Mapping[int, Handler]) -> Iterator[None]:
    """In this block, signals call these functions instead of interrupting the command."""
    interrupting = Interruption.handled
    _set_handled(interrupting - own.keys())
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _set_handled(interrupting)


def _set_handled(numbers: frozenset[int]) -> None:
    Interruption.handled = numbers
    if set_fatal is not None:
        set_fatal(sum(1 << number for number in numbers))


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not Interruption.number and not Interruption.is_too_late:
        Interruption.number = number
        raise KeyboardInterrupt


def _watch(reader: int) -> None:
    """Wait for a signal that interrupts the command; then end the process after PATIENCE."""
    while (number := os.read(reader, 1)[0]) not in Interruption.handled:
        pass
    time.sleep(PATIENCE)
    end(number)


def leave(code: int) -> NoReturn:
    """End the process after its exit handlers. The end of the interpreter would wait for threads inside engines."""
    atexit._run_exitfuncs()
    kill_descendants()
    _flush()
    os._exit(code)


def end(number: int) -> None:
    """End the process at once as after a signal: other threads may be inside an engine."""
    _set_handled(frozenset())  # the thread of _signals need not do it
    finishing = threading.Thread(target=_finish, daemon=True)
    finishing.start()
    kill_descendants()
    remove_temporary_folders()
    finishing.join(FINISHING)
    Interruption.written.wait(FINISHING)
    remove_unfinished()
    if not Interruption.is_too_late:
        cursor = SHOW_CURSOR if os.isatty(2) else ""
        with suppress(OSError):
            os.write(2, f"{cursor}nnapi: stopped\n".encode())
    os._exit(128 + number)


def kill_descendants() -> None:
    """Kill the processes that this process started, such as those of a Ray cluster, and the processes they started."""
    family = [os.getpid()]
    for pid in family:  # which grows
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):  # the thread has ended
                family += map(int, children.read_text().split())
    for pid in family[1:]:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _finish() -> None:
    with suppress(Exception):
        if Interruption.last_work is not None:
            Interruption.last_work()
    _flush()


def _flush() -> None:
    with suppress(Exception):  # the reader is gone, or the main thread is writing
        sys.stdout.flush()


def _report_unraisable(unraisable: "sys.UnraisableHookArgs", /) -> None:
    """Report an error in a finalizer, unless it is the interruption."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _forget() -> None:
    """In a forked child, write no signals into the parent's pipe."""
    with suppress(ValueError):  # not the main thread
        signal.set_wakeup_fd(-1)
