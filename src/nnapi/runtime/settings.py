"""Settings of the runtime for a ``with`` block: ``with nnapi.settings(tuning=False): …``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import NamedTuple

from nnapi.contract.winograd import FORCED, FORCED_IN_BOTH, PLAIN, is_winograd


class Partitioning(IntEnum):
    """The values of Android's property ``debug.nn.partition``, for compilations without named devices."""

    NONE = 0
    WITH_FALLBACK = 1
    WITHOUT_FALLBACK = 2


class Winograd(IntEnum):
    """The values of NNAPI_WINOGRAD, for convolutions with fewer multiplications."""

    NEVER = 0
    PREDICTED = 1
    FORCED = 2
    FORCED_IN_BOTH = 3


class Settings(NamedTuple):
    """Settings that override environment variables; None does not override."""

    partitioning: Partitioning | None = None
    tuning: bool | None = None
    winograd: Winograd | None = None


NONE = Settings()
_current: ContextVar[Settings] = ContextVar("nnapi.settings", default=NONE)


@contextmanager
def settings(
    *, partitioning: Partitioning | None = None, tuning: bool | None = None, winograd: Winograd | None = None
) -> Iterator[Settings]:
    """Apply settings to the compilations that this thread, or this asyncio task, finishes inside the ``with`` block.

    ``partitioning`` overrides DEBUG_NN_PARTITION. ``tuning`` overrides NNAPI_TUNING: if True, compilations finish a
    trial of other plans first; if False, there are no trials. ``winograd`` overrides NNAPI_WINOGRAD: NEVER forbids
    Winograd convolutions, PREDICTED uses them without a trial where they are predicted to be faster, and the other
    values use them wherever possible. None keeps the setting of an outer block or of the environment.
    """
    outer = _current.get()
    chosen = Settings(
        outer.partitioning if partitioning is None else Partitioning(partitioning),
        outer.tuning if tuning is None else bool(tuning),
        outer.winograd if winograd is None else Winograd(winograd),
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


def winograd() -> Winograd | None:
    """Return the setting of Winograd variants, by :func:`settings`, else by NNAPI_WINOGRAD; None if trials decide."""
    chosen = _current.get().winograd
    if chosen is not None:
        return chosen
    text = os.environ.get("NNAPI_WINOGRAD", "").strip()
    return Winograd(int(text)) if text in ("0", "1", "2", "3") else None


def find_set_variant() -> str:
    """Return the Winograd variant that is set; empty if none is."""
    return ("", PLAIN, FORCED, FORCED_IN_BOTH)[winograd() or Winograd.NEVER]


def may_try(variant: str) -> bool:
    """Return whether trials may try a variant."""
    return not is_winograd(variant) or winograd() is not Winograd.NEVER
