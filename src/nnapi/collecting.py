"""Python's search for cycles that nobody uses any more, while modules are imported: it takes a tenth of the time that
they do, again and again, and finds next to nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collecting() -> Iterator[None]:
    """Collect nothing within a ``with`` block, if that is what this process does at all."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
