"""Loading an entry point of drivers. Some look for hardware first, which takes long: the answer is kept."""

from __future__ import annotations

import time
from typing import Any

from nnapi.drivers.base import Driver, Probed
from nnapi.errors import UnavailableDeviceError
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record

RETRY = 3600.0
"""Seconds after which hardware that could not be used is asked for again, though nothing has changed."""


def make_drivers(loaded: Any) -> Any:
    """The driver, or the list of them, behind an entry point."""
    if isinstance(loaded, Probed):
        return loaded.make(_find_answer(loaded))
    return loaded() if isinstance(loaded, type) or not isinstance(loaded, Driver) else loaded


def _find_answer(search: Probed) -> Any:
    """Return the answer that an earlier process kept, else ask now."""
    key = search.identify()
    kept = recall_record(RecordKind.PROBES, key, dict)
    if kept is not None and "answer" in kept:
        return kept["answer"]
    if kept is not None and time.time() - float(kept["time"]) < RETRY:
        raise UnavailableDeviceError(kept["reason"])
    try:
        answer = search.ask()
    except UnavailableDeviceError as error:
        keep_record(RecordKind.PROBES, key, {"reason": str(error), "time": time.time()})
        raise
    keep_record(RecordKind.PROBES, key, {"answer": answer})
    return answer
