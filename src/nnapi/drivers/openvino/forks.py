"""What a process that was forked has left of the engine: its memory, and none of its threads.

Whatever is asked of the engine there waits for ever for them. So it is asked nothing.
"""

from __future__ import annotations

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
        """Why the engine cannot be used here; nothing where it can."""
        return LOST if self.are_lost else ""

    def need(self) -> None:
        """OpFailedError where they are lost."""
        if self.are_lost:
            raise OpFailedError(LOST)


engine_threads = EngineThreads()
os.register_at_fork(after_in_child=engine_threads.fork)
