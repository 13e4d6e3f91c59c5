"""Pause garbage collection during imports: it takes a tenth of their time and frees almost nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collecting() -> Iterator[None]:
    """Disable the collection of cycles within a ``with`` block."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
