"""Operations that ended the process of a driver twice: its device is not asked for them again, now and later."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nnapi.drivers.base import Driver, DriverDiedError, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model, OperationCall
from nnapi.runtime.inputs import make_zeros
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record, recall_record
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

ENOUGH = 2
"""Deaths of a driver's process after which an operation is excluded."""


class Exclusions:
    """The excluded operations of one device: the reason by the digest of each."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.reasons: dict[str, str] = recall_record(RecordKind.EXCLUSIONS, key, _read) or {}
        self.deaths: Counter[bytes] = Counter()
        """Deaths of the process by the digest of the model that ran."""

    def reason(self, model: Model, call: OperationCall) -> str | None:
        """Return the reason of an exclusion, if the operation is excluded."""
        if not self.reasons:
            return None
        found = self.reasons.get(_digest(model, call))
        return found and f"{call} {found}"

    def add(self, driver: Driver, model: Model, call: OperationCall, phase: str, error: DriverDiedError) -> None:
        """Exclude an operation, here and in later processes."""
        said = f"ended the driver's process twice, the last time when {phase}: {error}"
        self.reasons[_digest(model, call)] = said
        log.warning("%s is not asked for %s again: it %s", driver.info.name, call, said)
        info = driver.info
        keep_record(
            RecordKind.EXCLUSIONS, self._key, self.reasons, model=call.name, device=info.name, version=info.version
        )


def exclusions_of(driver: Driver) -> Exclusions:
    """Return those of a device, from the directory that the environment names now."""
    return _exclusions(directory_of(RecordKind.EXCLUSIONS), f"{driver.info.name}, {driver.info.version}")


@cache
def _exclusions(directory: str, key: str) -> Exclusions:
    return Exclusions(key)


def _read(data: Any) -> dict[str, str]:
    return {str(digest): str(reason) for digest, reason in data.items()}


def _digest(model: Model, call: OperationCall) -> str:
    return hash_content(_cut_out(model, [call])).hex()


def _cut_out(model: Model, calls: Sequence[OperationCall]) -> Model:
    from nnapi.runtime.verdicts.submodel import make_submodel  # on demand: known models do without

    return make_submodel(model, [*calls])[0]


def note_death(driver: Driver, model: Model, error: DriverDiedError) -> bool:
    """Note that a run ended the driver's process. Returns whether operations are excluded, so that it is not to be run.

    The second time each operation is tried alone, on zeros, and those that end the process again are excluded. Where
    none does, all are, unless something else was under way then.
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
    """Note that a request for verdicts ended the driver's process. Returns whether any operation is excluded now: each
    that does it again alone, else all if they do it again together."""
    if not error.by_itself:
        return False
    deaths = _try_each(driver, model, calls, _ask)
    if not deaths and len(calls) > 1 and (again := _find_death(driver, model, calls, _ask)) and again.was_alone:
        deaths = [(call, again) for call in calls]
    return _exclude(driver, model, deaths, "it was asked about")


Attempt = Callable[[Driver, Model], object]
Deaths = list[tuple[OperationCall, DriverDiedError]]
"""Operations that ended the process, each with the error."""


def _exclude(driver: Driver, model: Model, deaths: Deaths, phase: str) -> bool:
    for call, error in deaths:
        exclusions_of(driver).add(driver, model, call, phase, error)
    return bool(deaths)


def _try_each(driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt) -> Deaths:
    """Return the calls that end the process alone. Of equal ones one is tried."""
    digests = [_digest(model, call) for call in calls]
    tried = dict(zip(digests, calls, strict=True)).items()
    deaths = {digest: _find_death(driver, model, [call], attempt) for digest, call in tried}
    return [(call, death) for call, digest in zip(calls, digests, strict=True) if (death := deaths[digest])]


def _find_death(
    driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt
) -> DriverDiedError | None:
    """Return the error of an attempt that ends the process; None where it does not."""
    try:
        attempt(driver, _cut_out(model, calls))
    except NnapiError as error:
        if isinstance(error, DriverDiedError) and error.by_itself:
            return error
    return None


def _ask(driver: Driver, part: Model) -> None:
    driver.verdicts(part)


def _run_on_zeros(driver: Driver, part: Model) -> None:
    prepared = driver.prepare(part, PrepareOptions())
    prepared.execute(Request(make_zeros(part)))
    prepared.close()
