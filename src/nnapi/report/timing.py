"""Time calls."""

import math
import time
from collections.abc import Callable, Iterator

from nnapi.runtime.executors.stopwatch import time_call

Call = Callable[[], object]


def time_calls(call: Call, seconds: float, least: int = 1, most: float = math.inf) -> Iterator[float]:
    """Yield the seconds of consecutive calls: for ``seconds`` in total, but from ``least`` to ``most`` calls."""
    count, end = 0, time.perf_counter() + seconds
    while count < least or (count < most and time.perf_counter() < end):
        yield time_call(call)
        count += 1
