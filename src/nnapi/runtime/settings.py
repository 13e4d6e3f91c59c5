"""Settings of the runtime for a ``with`` block: ``with nnapi.settings(tuning=False): …``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import NamedTuple


class Partitioning(IntEnum):
    """The values of Android's property ``debug.nn.partition``, for compilations without named devices."""

    NONE = 0
    WITH_FALLBACK = 1
    WITHOUT_FALLBACK = 2


class Settings(NamedTuple):
    """Settings that override environment variables; None does not override."""

    partitioning: Partitioning | None = None
    tuning: bool | None = None


NONE = Settings()
_current: ContextVar[Settings] = ContextVar("nnapi.settings", default=NONE)


@contextmanager
def settings(*, partitioning: Partitioning | None = None, tuning: bool | None = None) -> Iterator[Settings]:
    """Apply settings to the compilations that this thread, or this asyncio task, finishes inside the ``with`` block.

    ``partitioning`` overrides DEBUG_NN_PARTITION. ``tuning`` overrides NNAPI_TUNING: if True, compilations finish a
    trial of other plans first; if False, there are no trials. None keeps the setting of an outer block or of the
    environment.
    """
    outer = _current.get()
    chosen = Settings(
        outer.partitioning if partitioning is None else Partitioning(partitioning),
        outer.tuning if tuning is None else bool(tuning),
    )
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)


def partitioning() -> Partitioning:
    """Return the partitioning of compilations without named devices, by :func:`settings`, else by DEBUG_NN_PARTITION.

    Unknown numbers mean no fallback, as in Android's runtime.
    """
    chosen = _current.get().partitioning
    if chosen is not None:
        return chosen
    text = os.environ.get("DEBUG_NN_PARTITION", "1").strip()
    return Partitioning(int(text)) if text in ("0", "1", "2") else Partitioning.WITHOUT_FALLBACK


def is_tuning() -> bool:
    """Return whether trials take place: by :func:`settings`, else unless NNAPI_TUNING is 0."""
    chosen = _current.get().tuning
    return os.environ.get("NNAPI_TUNING", "") != "0" if chosen is None else chosen


def waits_for_trials() -> bool:
    """Return whether compilations wait for trials: by :func:`settings`, else if NNAPI_TUNING is set and not 0."""
    chosen = _current.get().tuning
    return os.environ.get("NNAPI_TUNING", "") not in ("", "0") if chosen is None else chosen
