"""Whether others kept the processors busy while something was measured, and what it would have taken without them."""

from __future__ import annotations

import os
import time

from nnapi.runtime.autotune.timing import Call, time_call

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


def time_undisturbed(call: Call) -> float:
    """Seconds of one call, but for those in which its thread was ready to go on and others had the processors."""
    waited, worked = count_waited_seconds(), time.thread_time()
    seconds = time_call(call)
    worked = time.thread_time() - worked
    return min(seconds, max(seconds - (count_waited_seconds() - waited), worked))


def count_waited_seconds() -> float:
    """Seconds that this thread has waited for a processor so far; 0 where the system does not tell."""
    try:
        with open("/proc/thread-self/schedstat") as line:
            return int(line.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
