"""Threads for work in the background, kept for the next work: starting one takes longer than a small computation.

There are always enough: work may wait for other work, so none is ever queued behind a thread that is busy. After a
rush only a few stay.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from nnapi.errors import OpFailedError, translate_errors

if TYPE_CHECKING:
    from queue import SimpleQueue

Work = Callable[[], None]

MOST_IDLE = 8
"""Threads that wait for work; one that ends its work and finds as many waiting ends too."""

_idle: list[SimpleQueue[tuple[Work, Work | None]]] = []
"""The mailboxes of threads that wait for work; appending and popping are atomic."""


def run_in_background(work: Work, then: Work | None = None) -> None:
    """Run ``work``, which must not raise, on a thread that is idle, or on a new one.

    ``then`` is run when the thread counts as idle again: who hears of the end from it finds the thread free. Raises
    OpFailedError where the system gives no new thread, OutOfMemoryError where no memory is left for one.
    """
    try:
        mailbox = _idle.pop()
    except IndexError:
        mailbox = _start_thread()
    mailbox.put((work, then))


def _start_thread() -> SimpleQueue[tuple[Work, Work | None]]:
    """The mailbox of a new thread."""
    with translate_errors("no thread for work in the background"):
        from queue import SimpleQueue  # which most programs that run a model once do without

        mailbox: SimpleQueue[tuple[Work, Work | None]] = SimpleQueue()
        try:
            threading.Thread(target=_serve, args=(mailbox,), name="nnapi-worker", daemon=True).start()
        except RuntimeError as error:
            raise OpFailedError(f"no thread for work in the background: {error}") from error
        return mailbox


def _serve(mailbox: SimpleQueue[tuple[Work, Work | None]]) -> None:
    while True:
        work, then = mailbox.get()
        work()
        stays = len(_idle) < MOST_IDLE
        if stays:
            _idle.append(mailbox)
        if then is not None:
            then()
        if not stays:
            return
        del work, then  # nothing is kept alive while the thread waits


os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork
