"""Events: the end of work on another thread or in another process (``ANeuralNetworksEvent``)."""

from __future__ import annotations

import copy
import errno
import os
import select
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nnapi.closeable import Closeable
from nnapi.codes import ResultCode
from nnapi.contract.driver import Request
from nnapi.errors import BadDataError, NnapiError, OpFailedError, need, need_value, translate_errors
from nnapi.model.operand import Array
from nnapi.notebook_display import NotebookDisplay
from nnapi.runtime.executors.workers import run_in_background
from nnapi.runtime.executors.wrappers import execute
from nnapi.runtime.inputs import check_inputs
from nnapi.trace import Layer, Phase, Section

if TYPE_CHECKING:
    from nnapi.runtime.burst import Runnable

COLLAPSED: dict[ResultCode, type[NnapiError]] = {
    ResultCode.UNEXPECTED_NULL: BadDataError,
    ResultCode.BAD_STATE: OpFailedError,
    ResultCode.INCOMPLETE: OpFailedError,
    ResultCode.OUT_OF_MEMORY: OpFailedError,
    ResultCode.UNMAPPABLE: OpFailedError,
    ResultCode.DEAD_OBJECT: OpFailedError,
}
"""The errors that an event raises, for result codes that it does not report."""


class Event(Closeable):
    """The end of an asynchronous computation. Any number of threads may wait for it or ``await`` it, repeatedly."""

    def __init__(
        self, work: Callable[[], None], *, fenced: bool = False, observed: Callable[[], None] | None = None
    ) -> None:
        """Start ``work`` in the background.

        A ``fenced`` event has a file descriptor that becomes readable at the end. ``observed`` is called once, after
        the first wait or :meth:`close`.
        """
        self._done = threading.Event()
        self._error: NnapiError | None = None
        self._listeners: list[Callable[[NnapiError | None], None]] = []
        self._observed = observed
        if observed is not None:
            self._observing = threading.Lock()
        self._fd: int | None = None
        if fenced:
            with translate_errors("no descriptor for the fence"):
                self._keep_fd(os.eventfd(0, os.EFD_CLOEXEC))
        run_in_background(partial(self._run, work), self._signal)

    @staticmethod
    def from_sync_fence_fd(fd: int) -> FenceEvent:
        """Return an event for ``fd``, any pollable descriptor (``ANeuralNetworksEvent_createFromSyncFenceFd``).

        The descriptor is duplicated. BadDataError if it is 0, negative or closed.
        """
        need(fd is not None and fd > 0, f"file descriptor {fd} must be above 0", BadDataError)
        return FenceEvent(fd)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except NnapiError as error:
            collapsed = COLLAPSED.get(error.code)
            self._error = collapsed(str(error)) if collapsed else error.with_traceback(None)
        except Exception as error:
            self._error = OpFailedError(f"{type(error).__name__}: {error}")

    def _signal(self) -> None:
        self._call_listeners()
        if self._fd is not None:
            os.eventfd_write(self._fd, 1)
        self._done.set()
        self._call_listeners()  # listeners added since

    def call_when_done(self, call: Callable[[NnapiError | None], None]) -> None:
        """Call ``call`` with the error or None at the end of the work, before waiters go on; now if it has ended."""
        self._listeners.append(call)
        if self.is_done:
            self._call_listeners()

    def _call_listeners(self) -> None:
        while True:
            try:
                call = self._listeners.pop(0)
            except IndexError:  # empty; a test beforehand could race with another thread
                return
            call(self._error)

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksEvent_wait")
    def wait(self) -> None:
        """Wait for the computation; raise its error, in every thread that waits (``ANeuralNetworksEvent_wait``)."""
        self.close()
        if self._error is not None:
            raise copy.copy(self._error)  # a copy for each thread: raising writes to the exception

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    @property
    def has_fence(self) -> bool:
        return self._fd is not None

    def sync_fence_fd(self) -> int:
        """Return a descriptor that is readable when the work is done (``ANeuralNetworksEvent_getSyncFenceFd``).

        The descriptor is new, and the caller closes it. BadDataError for an event without a fence.
        """
        fd = need_value(self._fd, "the event has no fence: start_compute_with_dependencies() gives one", BadDataError)
        with translate_errors("the fence's descriptor cannot be duplicated"):
            return os.dup(fd)

    def _keep_fd(self, fd: int) -> None:
        """Own a descriptor and close it with the event, except at exit, when threads may still signal."""
        self._fd = fd
        weakref.finalize(self, os.close, fd).atexit = False

    def close(self) -> None:
        """Wait for the end and ignore the outcome (``ANeuralNetworksEvent_free``)."""
        self._done.wait()
        if self._observed is not None:
            with self._observing:  # others that wait go on once it has been called
                if self._observed is not None:
                    self._observed()
                self._observed = None

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio  # on demand: its import takes 14 ms

        return asyncio.to_thread(self.wait).__await__()

    def __repr__(self) -> str:
        return f"<nnapi.{type(self).__name__}, {'done' if self.is_done else 'running'}>"


class FenceEvent(Event):
    """An event that code outside nnapi signals through a descriptor."""

    def __init__(self, fd: int) -> None:
        with translate_errors(what := f"file descriptor {fd} cannot be duplicated"):
            try:
                self._keep_fd(os.dup(fd))
            except (OSError, OverflowError) as error:
                if getattr(error, "errno", errno.EBADF) != errno.EBADF:
                    raise
                raise BadDataError(f"{what}: {error}") from None

    def _poll(self, milliseconds: int | None) -> int:
        poll = select.poll()
        assert self._fd is not None
        poll.register(self._fd, select.POLLIN)
        ready = poll.poll(milliseconds)
        return ready[0][1] if ready else 0

    def wait(self) -> None:
        """Wait until the descriptor is readable; raise OpFailedError if it reports an error."""
        state = self._poll(None)
        need(not state & (select.POLLERR | select.POLLNVAL), "the fence reports an error")

    @property
    def is_done(self) -> bool:
        return bool(self._poll(0))

    def close(self) -> None:
        self._poll(None)


class Result(Event, NotebookDisplay):
    """A run in the background, and its outputs: ``outputs = await compilation.start(x)``."""

    def __init__(self, compilation: Runnable, inputs: Sequence[Any]) -> None:
        handle, request = compilation.need_active().handle, Request(check_inputs(compilation.model, inputs))
        self.model = compilation.model
        self._outputs: list[Array] = []
        super().__init__(lambda: self._outputs.extend(execute(handle, request).outputs))

    def result(self) -> list[Array]:
        """Wait, and return the outputs in the order of ``model.outputs``; raise the run's error."""
        self.wait()
        return list(self._outputs)

    def __await__(self) -> Generator[Any, None, list[Array]]:
        import asyncio  # on demand: its import takes 14 ms

        return asyncio.to_thread(self.result).__await__()
