"""Reused threads for background work. Work may wait for other work, so none is queued behind a busy thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from nnapi.errors import OpFailedError, translate_errors
from nnapi.exits import begin_work, end_work

if TYPE_CHECKING:
    from queue import SimpleQueue

Work = Callable[[], None]


class Item:
    """Background work, and what to call once its thread is idle."""

    def __init__(self, work: Work, then: Work | None) -> None:
        self.work, self.then = work, then


MOST_IDLE = 8
"""Maximum number of idle threads."""

_idle: list[SimpleQueue[Item]] = []
"""Queues of idle threads. Appending and popping are atomic."""


def run_in_background(work: Work, then: Work | None = None) -> None:
    """Run ``work``, which must not raise, on an idle or new thread; then ``then``, once the thread is idle.
    OpFailedError or OutOfMemoryError if no thread can be started."""
    try:
        mailbox = _idle.pop()
    except IndexError:
        mailbox = _start_thread()
    item = Item(work, then)
    begin_work(item)
    mailbox.put(item)


def _start_thread() -> SimpleQueue[Item]:
    with translate_errors("no thread for work in the background"):
        from queue import SimpleQueue  # on demand: programs that run a model once need none

        mailbox: SimpleQueue[Item] = SimpleQueue()
        try:
            threading.Thread(target=_serve, args=(mailbox,), name="nnapi-worker", daemon=True).start()
        except RuntimeError as error:
            raise OpFailedError(f"no thread for work in the background: {error}") from error
        return mailbox


def _serve(mailbox: SimpleQueue[Item]) -> None:
    thread = threading.get_ident()
    while True:
        item = mailbox.get()
        begin_work(thread)
        end_work(item)
        item.work()
        stays, then = len(_idle) < MOST_IDLE, item.then
        del item  # what it keeps alive is freed before the work ends, as an engine may compute to free it
        if stays:
            _idle.append(mailbox)
        if then is not None:
            then()
            del then
        end_work(thread)
        if not stays:
            return


os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork
