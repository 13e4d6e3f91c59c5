"""What a compilation did not wait for, done in the background: measure the devices, compare the plans of its model, and
keep what is fastest for later compilations.

One model at a time, each while the process is idle, so that neither its runs nor the measurements are disturbed.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from nnapi.drivers.base import PrepareOptions
from nnapi.locks import make_lock
from nnapi.model.borrowed import hold
from nnapi.model.model import Model
from nnapi.runtime.autotune.measurements import ATTEMPTS, recall_measurements
from nnapi.runtime.background import Background
from nnapi.runtime.device import Device
from nnapi.runtime.settings import settings
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")


class _Task(NamedTuple):
    """A choice that is to be made, unless the model is gone by then."""

    model: weakref.ref[Model]
    devices: Sequence[Device]
    options: PrepareOptions
    key: str


_tasks: deque[_Task] = deque()
_begun: set[str] = set()
"""The keys of all that were ever waiting: what was tried in vain is not tried again and again."""
_lock = make_lock()
_background: Background | None = None


def choose_later(model: Model, devices: Sequence[Device], options: PrepareOptions, key: str) -> None:
    """Have the choice made that is kept under the ``key``."""
    global _background
    with _lock:
        if key not in _begun:
            _begun.add(key)
            _tasks.append(_Task(weakref.ref(model), devices, options, key))
            if _background is None or not _background.is_alive:
                _background = Background(_work, "nnapi-tuning")


def _work(background: Background) -> None:
    global _background
    while True:
        background.sleep_until_idle()
        with _lock:
            if not _tasks:
                _background = None
                return
            task = _tasks.popleft()
        try:
            _choose(background, task)
        except Exception as error:
            log.warning("what is fastest was not found out in the background: %s", error)


def _choose(background: Background, task: _Task) -> None:
    """Compare until nothing disturbs it, as often as compilations would."""
    from nnapi.runtime.choice import choose_and_prepare  # which most processes end before

    for attempt in range(ATTEMPTS):
        if attempt:
            background.sleep_until_idle()
        model = task.model()
        model = model and hold(model)
        if model is None:
            return
        with settings(tuning=True):
            ready = choose_and_prepare(
                model, task.devices, task.options, None, background.guard, task.key, compares=True
            )
        ready.prepared.close()
        if recall_measurements(task.key).is_settled:
            return
