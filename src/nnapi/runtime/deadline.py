"""Time limits as moments: nanoseconds of the monotonic clock, None for no limit."""

from __future__ import annotations

import time

UNLIMITED = 2**64 - 1
"""A duration that the C API uses for no limit, as 0."""


def deadline_after(duration: int) -> int | None:
    """The moment ``duration`` nanoseconds from now; None for 0 and for the largest number that fits."""
    return time.monotonic_ns() + duration if 0 < duration < UNLIMITED else None


def earlier(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else min(a, b)
