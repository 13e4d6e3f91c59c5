"""Operations that ended the process of a device's driver twice: the device is not asked for them again.

They are known again by their content, and kept by the device and its driver's version, so that they spare later
processes too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from nnapi.drivers.base import Driver, DriverDiedError, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import Array, OperandType
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record, recall_record
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

ENOUGH = 2
"""Times that something ends a driver's process until nobody tries it again."""


class Exclusions:
    """The excluded operations of one device: a digest of each, and what it did, in words."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.reasons: dict[str, str] = recall_record(RecordKind.EXCLUSIONS, key, _read) or {}
        self.deaths: Counter[bytes] = Counter()
        """How often a model, or a part of one, ended the process."""

    def reason(self, model: Model, call: OperationCall) -> str | None:
        """Why the device is not asked for an operation; None where it is."""
        if not self.reasons:
            return None
        found = self.reasons.get(_digest(model, call))
        return found and f"{call} {found}"

    def add(self, driver: Driver, model: Model, call: OperationCall, phase: str, error: DriverDiedError) -> None:
        """Ask the device no more for an operation, here and in later processes."""
        said = f"ended the driver's process twice, the last time when {phase}: {error}"
        self.reasons[_digest(model, call)] = said
        log.warning("%s is not asked for %s again: it %s", driver.info.name, call, said)
        info = driver.info
        keep_record(
            RecordKind.EXCLUSIONS, self._key, self.reasons, model=call.name, device=info.name, version=info.version
        )


def exclusions_of(driver: Driver) -> Exclusions:
    """Those of a device, as they are kept in the directory that the environment names now."""
    return _exclusions(directory_of(RecordKind.EXCLUSIONS), f"{driver.info.name}, {driver.info.version}")


@cache
def _exclusions(directory: str, key: str) -> Exclusions:
    return Exclusions(key)


def _read(data: Any) -> dict[str, str]:
    return {str(digest): str(reason) for digest, reason in data.items()}


def _digest(model: Model, call: OperationCall) -> str:
    return hash_content(_cut_out(model, [call])).hex()


def _cut_out(model: Model, calls: Sequence[OperationCall]) -> Model:
    """Some operations as a model of their own."""
    from nnapi.runtime.verdicts.submodel import make_submodel  # which known models do without

    return make_submodel(model, [*calls])[0]


def note_death(driver: Driver, model: Model, error: DriverDiedError) -> bool:
    """Take down that running a model, or a part of one, ended the driver's process; whether it is not to be run again.

    The second time each operation is tried alone, on zeros, and those that do it again are excluded. Where none does,
    all are, unless something else was under way then.
    """
    if not error.by_itself:
        return False
    known, digest = exclusions_of(driver), hash_content(model)
    known.deaths[digest] += 1
    if known.deaths[digest] < ENOUGH:
        return False
    calls = model.operations
    deaths = [(calls[0], error)] if len(calls) == 1 else _try_each(driver, model, calls, _run_on_zeros)
    if not deaths and error.was_alone:
        deaths = [(call, error) for call in calls]
    return _exclude(driver, model, deaths, "it ran")


def note_death_when_asked(driver: Driver, model: Model, calls: Sequence[OperationCall], error: DriverDiedError) -> bool:
    """Take down that a driver's process ended when it was asked what it takes of some operations; whether any is
    excluded now, so that it may be asked about the others.

    It is asked about each alone, and what ends the process again is excluded. Where nothing does, it is asked about all
    once more.
    """
    if not error.by_itself:
        return False
    deaths = _try_each(driver, model, calls, _ask)
    if not deaths and len(calls) > 1 and (again := _find_death(driver, model, calls, _ask)) and again.was_alone:
        deaths = [(call, again) for call in calls]
    return _exclude(driver, model, deaths, "it was asked about")


Attempt = Callable[[Driver, Model], object]
Deaths = list[tuple[OperationCall, DriverDiedError]]
"""Operations that ended the process, each with how it did."""


def _exclude(driver: Driver, model: Model, deaths: Deaths, phase: str) -> bool:
    for call, error in deaths:
        exclusions_of(driver).add(driver, model, call, phase, error)
    return bool(deaths)


def _try_each(driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt) -> Deaths:
    """Those that end the process also where they are alone. Of equal ones one is tried."""
    found: dict[str, DriverDiedError | None] = {}
    for call in calls:
        digest = _digest(model, call)
        if digest not in found:
            found[digest] = _find_death(driver, model, [call], attempt)
    deaths = ((call, found[_digest(model, call)]) for call in calls)
    return [(call, death) for call, death in deaths if death]


def _find_death(
    driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt
) -> DriverDiedError | None:
    """How an attempt at some operations ends the process; None where it does not."""
    try:
        attempt(driver, _cut_out(model, calls))
    except DriverDiedError as error:
        return error if error.by_itself else None
    except NnapiError:
        pass
    return None


def _ask(driver: Driver, part: Model) -> None:
    driver.verdicts(part)


def _run_on_zeros(driver: Driver, part: Model) -> None:
    prepared = driver.prepare(part, PrepareOptions())
    prepared.execute(Request([_zeros(part.operands[index].type) for index in part.inputs]))
    prepared.close()


def _zeros(type: OperandType) -> Array:
    return np.zeros([dimension or 1 for dimension in type.dimensions], type.dtype)
