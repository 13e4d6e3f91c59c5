"""How often a process may connect to a service: a token bucket for each, so that one that comes and goes waits.

A worker costs some 15 ms of a processor, and a process that waits for its worker uses none.
"""

RATE = 4.0
"""New connections of one process in a second."""
BURST = 32
"""Connections that a process may open at once after a pause."""


class ConnectionRate:
    """The buckets of all processes."""

    def __init__(self, per_second: float) -> None:
        self._interval = 1 / per_second
        self._full: dict[int, float] = {}
        """When the bucket of a process will be full again."""

    def book(self, process: int, now: float) -> float:
        """Count a connection. Returns the time from which on it may be answered, ``now`` within the rate."""
        self._full = {each: full for each, full in self._full.items() if full > now}
        full = self._full[process] = self._full.get(process, now) + self._interval
        return max(now, full - BURST * self._interval)
