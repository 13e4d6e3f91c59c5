"""The engine after a fork: the child has its memory, but none of its threads.

Any call of the engine would wait for these threads forever, so the child makes none.
"""

import os

from nnapi.errors import OpFailedError

LOST = "OpenVINO was in use when this process was forked, and its threads stayed behind: start processes by spawn"


class EngineThreads:
    """Records whether the engine has started threads, in this process or before a fork."""

    def __init__(self) -> None:
        self.started = self.are_lost = False

    def fork(self) -> None:
        self.are_lost = self.started

    def outage(self) -> str:
        """Return why the engine cannot be used in this process; empty if it can."""
        return LOST if self.are_lost else ""

    def need(self) -> None:
        """Raise OpFailedError if the engine's threads were lost in a fork."""
        if self.are_lost:
            raise OpFailedError(LOST)


engine_threads = EngineThreads()
os.register_at_fork(after_in_child=engine_threads.fork)
