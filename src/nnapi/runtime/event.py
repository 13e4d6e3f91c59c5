"""Events: waiting for work that another thread does (``ANeuralNetworksEvent``)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nnapi.codes import ResultCode
from nnapi.errors import BadDataError, NnapiError, OpFailedError

COLLAPSED: dict[ResultCode, type[NnapiError]] = {
    ResultCode.UNEXPECTED_NULL: BadDataError,
    ResultCode.BAD_STATE: OpFailedError,
    ResultCode.INCOMPLETE: OpFailedError,
    ResultCode.OUT_OF_MEMORY: OpFailedError,
    ResultCode.UNMAPPABLE: OpFailedError,
    ResultCode.DEAD_OBJECT: OpFailedError,
}
"""Results that reach an event through a smaller set of statuses, and what they become."""


class Event:
    """The end of an asynchronous computation. Any number of threads may wait for it, again and again."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Start ``work`` on a thread of its own."""
        self._done = threading.Event()
        self._error: NnapiError | None = None
        threading.Thread(target=self._run, args=(work,), name="nnapi-execution", daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except NnapiError as error:
            collapsed = COLLAPSED.get(error.code)
            self._error = collapsed(str(error)) if collapsed else error
        finally:
            self._done.set()

    def wait(self) -> None:
        """Wait for the computation; raises its error, the same for everybody (``ANeuralNetworksEvent_wait``)."""
        self._done.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def close(self) -> None:
        """Wait without asking for the result (``ANeuralNetworksEvent_free``)."""
        self._done.wait()

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<nnapi.Event, {'done' if self.is_done else 'running'}>"
