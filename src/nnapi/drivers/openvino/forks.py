"""The engine after a fork: the child has its memory, and none of its threads.

Every call of the engine would wait for them for ever, so the child makes none.
"""

import os

from nnapi.errors import OpFailedError

LOST = "OpenVINO was in use when this process was forked, and its threads stayed behind: start processes by spawn"


class EngineThreads:
    """Whether the engine has started threads, here or in the process that this one was forked from."""

    def __init__(self) -> None:
        self.started = self.are_lost = False

    def fork(self) -> None:
        self.are_lost = self.started

    def outage(self) -> str:
        """Return why the engine cannot be used here; "" where it can."""
        return LOST if self.are_lost else ""

    def need(self) -> None:
        """Raise OpFailedError where the threads are lost."""
        if self.are_lost:
            raise OpFailedError(LOST)


engine_threads = EngineThreads()
os.register_at_fork(after_in_child=engine_threads.fork)
