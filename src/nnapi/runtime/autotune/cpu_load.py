"""Whether other processes kept the processors busy while something was measured."""

from __future__ import annotations

import os
import time

SHARE = 0.25
"""Processors' time that others may have in each second of a measurement that counts."""
LEAST = 0.03
"""Seconds that others must have had at least: the system counts in hundredths of a second."""
BUSY = (0, 1, 2, 5, 6, 7)
"""Columns of /proc/stat that are no idle time: user, nice, system, irq, softirq, and what other machines stole."""


class Watch:
    """Begins to watch when it is made."""

    def __init__(self) -> None:
        self._begin, self._others = time.perf_counter(), count_others_seconds()

    def is_disturbed(self) -> bool:
        """Whether others had more than a share of the time since; never where the system does not tell."""
        wall, others = time.perf_counter() - self._begin, count_others_seconds() - self._others
        return others > max(LEAST, SHARE * wall)


def count_others_seconds() -> float:
    """Seconds that all processors have worked so far for others than this process; 0 where that cannot be known."""
    try:
        with open("/proc/stat") as lines:
            ticks = [int(word) for word in next(lines).split()[1:]]
        own = os.times()
        return sum(ticks[column] for column in BUSY) / os.sysconf("SC_CLK_TCK") - own.user - own.system
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0
