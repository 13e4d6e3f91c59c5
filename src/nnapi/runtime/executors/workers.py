"""Threads for background work, reused. Work may wait for other work, so none is queued behind a busy thread."""

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
"""The maximum number of idle threads."""

_idle: list[SimpleQueue[tuple[Work, Work | None]]] = []
"""The mailboxes of threads that wait for work; appending and popping are atomic."""


def run_in_background(work: Work, then: Work | None = None) -> None:
    """Run ``work``, which must not raise, on an idle thread or a new one; then ``then``, when the thread is idle again.
    OpFailedError where the system gives no new thread, OutOfMemoryError where no memory is left for one."""
    try:
        mailbox = _idle.pop()
    except IndexError:
        mailbox = _start_thread()
    mailbox.put((work, then))


def _start_thread() -> SimpleQueue[tuple[Work, Work | None]]:
    with translate_errors("no thread for work in the background"):
        from queue import SimpleQueue  # on demand: programs that run a model once need none

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
