"""Processes that share the work of a check: they end with their parent, and Ctrl-C interrupts only the parent."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from nnapi.store.temporary import remove_temporary_folders


@contextmanager
def starting_children() -> Iterator[None]:
    """Start processes in this block: they never get SIGINT, not even before their code runs."""
    resource_tracker.ensure_running()  # the start of this process of multiprocessing unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_with(parent: Connection | int) -> None:
    """End this process, even inside an engine, when the other end of a connection or pipe is closed."""

    def leave() -> None:
        wait([parent])
        remove_temporary_folders()
        os._exit(0)

    threading.Thread(target=leave, name="nnapi-leave", daemon=True).start()
