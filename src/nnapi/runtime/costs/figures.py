"""The figures that drivers go by, measured once on this machine and kept with the other costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nnapi.drivers.base import Driver, Measures
from nnapi.locks import make_lock
from nnapi.runtime.costs.processor import name_processor
from nnapi.runtime.settings import tunes
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record, recall_record

_found: dict[tuple[str, str], Mapping[str, Any]] = {}
"""What is known in this process, by the folder of the records and the key."""
_measuring = make_lock()


def find_figures(driver: Driver, measures: bool = True) -> Mapping[str, Any] | None:
    """The figures of a driver on this processor: what is kept of them, or measured now; None where nothing may be, or
    nothing is kept."""
    if not tunes() or not isinstance(driver, Measures):
        return None
    key = f"{driver.info.name}, {driver.info.version}, {name_processor()}, figures and samples"
    place = directory_of(RecordKind.COSTS), key
    with _measuring:
        if place not in _found:
            known = recall_record(RecordKind.COSTS, key, dict)
            if known is None and not measures:
                return None
            if known is None:
                known = dict(driver.measure_figures())
                keep_record(RecordKind.COSTS, key, known, device=driver.info.name, version=driver.info.version)
            _found[place] = known
        return _found[place]
