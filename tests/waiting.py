"""Waiting for what other threads and processes bring about, however long a busy machine takes."""

import os
import time
from collections.abc import Callable


def comes_true(condition: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether a condition comes true in that time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def count_descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))
