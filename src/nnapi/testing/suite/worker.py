"""A process that performs tests one by one, so that a crash or a hang of a device costs one test."""

import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from nnapi.closeable import Closeable
from nnapi.errors import UnavailableDeviceError
from nnapi.runtime.executors.stopwatch import read_waited
from nnapi.store.temporary import temporary_folder
from nnapi.testing.child_processes import leave_with, starting_children
from nnapi.testing.suite.result import Status

Perform = Callable[[Any], Any]
PATIENCE = 60.0
"""Seconds that one test may take, without those in which its thread waits for a processor."""
START = 300.0
"""Seconds that the start of the process and of its devices may take."""


class WorkerEndedError(Exception):
    """The process ended during a test, or was ended because the test took too long."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class WorkerStoppedError(Exception):
    """The worker was stopped by another thread."""


class Worker(Closeable):
    """A process that performs tests. It starts at first use, and again after it ended."""

    def __init__(self, prepare: Callable[[], Perform], patience: float = PATIENCE) -> None:
        """``prepare`` is called in the process, so it must be picklable; it returns the function that performs a
        test."""
        self.prepare, self.patience = prepare, patience
        self._lock = threading.Lock()
        self._is_stopped = False
        self._files = ExitStack()
        self._process: Any = None
        self._pipe: Connection | None = None

    def do(self, task: Any) -> Any:
        """Return the process's answer to a task, or raise its exception; WorkerEndedError if the process ended."""
        if self._pipe is None or not self._process.is_alive():
            self._start()
            try:
                self._ask(None, START)
            except WorkerEndedError as ended:
                raise UnavailableDeviceError(f"the process for the devices did not start: {ended}") from None
        return self._ask(task, self.patience)

    def _ask(self, task: Any, patience: float) -> Any:
        pipe, begin = self._pipe, time.monotonic()
        assert pipe is not None
        try:
            pipe.send(task)
            answer = pipe.recv() if self._is_answered(pipe, patience) else None
            ended = WorkerEndedError(Status.TIMED_OUT, f"no answer within {patience:g} s")
        except (EOFError, ConnectionError):
            self._process.join(patience)
            how = f"{_describe_end(self._process.exitcode)}, after {time.monotonic() - begin:.1f} s"
            answer, ended = None, WorkerEndedError(Status.CRASHED, f"the process ended: {how}")
        if answer is None:
            self._end()
            raise ended
        is_answer, said = answer
        if not is_answer:
            raise said
        return said

    def _is_answered(self, pipe: Connection, patience: float) -> bool:
        """Wait for an answer until the process has had ``patience`` seconds. Others may occupy the processors."""
        end, waited = time.monotonic() + patience, read_waited(self._process.pid)
        while not pipe.poll(max(0.0, end - time.monotonic())):
            lately = read_waited(self._process.pid) - waited
            end, waited = end + lately, waited + lately
            if time.monotonic() >= end:
                return False
        return True

    def _start(self) -> None:
        self._end()
        context = get_context("spawn")
        with self._lock:
            if self._is_stopped:
                raise WorkerStoppedError
            self._pipe, other = context.Pipe()
            folder = self._files.enter_context(temporary_folder("check"))
            self._process = context.Process(target=_serve, args=(other, self.prepare, folder), daemon=True)
            with starting_children():
                self._process.start()
        other.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
        self._files.close()

    def stop(self) -> None:
        """End the process for good, while another thread may wait for its answer; this thread gets an exception."""
        with self._lock:
            self._is_stopped = True
            if (process := self._process) is not None:
                process.kill()

    def close(self) -> None:
        self.stop()
        self._end()


def _describe_end(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _serve(pipe: Connection, prepare: Callable[[], Perform], folder: str) -> None:
    """Answer each task until the pipe is closed; the first task is to prepare. Temporary files are in ``folder``, which
    the parent removes, because a crash leaves them."""
    tempfile.tempdir = folder
    parent = parent_process()
    assert parent is not None  # this runs in a child
    leave_with(parent.sentinel)
    perform: Perform | None = None
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            if perform is None:
                perform, answer = prepare(), (True, None)
            else:
                answer = True, perform(task)
        except Exception as error:
            answer = False, _picklable(error)
        with suppress(BrokenPipeError):
            pipe.send(answer)


def _picklable(error: Exception) -> Exception:
    """Return the error if the parent can receive it, else one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
