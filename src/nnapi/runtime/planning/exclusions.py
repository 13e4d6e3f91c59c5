"""Operations that ended the process of a device's driver twice: the device is not asked for them again.

They are known again by their content, and kept by the device and its driver's version, so that they spare later
processes too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nnapi.drivers.base import Driver, DriverDiedError, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import Array, OperandType
from nnapi.runtime.planning.plan import make_submodel
from nnapi.runtime.store.digest import hash_content
from nnapi.runtime.store.directories import RecordKind, directory_of
from nnapi.runtime.store.records import keep_record, recall_record
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
    return hash_content(make_submodel(model, [call])[0]).hex()


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
    calls: Sequence[OperationCall] = model.operations
    if len(calls) > 1:
        calls = [call for call in calls if _is_deadly(driver, model, call)] or (calls if error.was_alone else [])
    for call in calls:
        known.add(driver, model, call, "it ran", error)
    return bool(calls)


def _is_deadly(driver: Driver, model: Model, call: OperationCall) -> bool:
    """Whether an operation ends the process also where it is alone."""
    part, _, _ = make_submodel(model, [call])
    try:
        prepared = driver.prepare(part, PrepareOptions())
        prepared.execute(Request([_zeros(part.operands[index].type) for index in part.inputs]))
        prepared.close()
    except DriverDiedError as error:
        return error.by_itself
    except NnapiError:
        pass
    return False


def _zeros(type: OperandType) -> Array:
    return np.zeros([dimension or 1 for dimension in type.dimensions], type.dtype)
