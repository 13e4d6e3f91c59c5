"""Exclusions: operations that ended a driver's process twice. No process asks the device for them again."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nnapi.contract.driver import Driver, DriverDiedError, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model, OperationCall
from nnapi.runtime.inputs import make_zeros
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record, recall_record
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

ENOUGH = 2
"""Number of times that a model may end a driver's process before its operations are tried alone."""


class Exclusions:
    """The excluded operations of one device: the reason by each operation's digest."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.reasons: dict[str, str] = recall_record(RecordKind.EXCLUSIONS, key, _read) or {}
        self.deaths: Counter[bytes] = Counter()
        """Number of times that a run of a model ended the process, by the model's digest."""

    def reason(self, model: Model, call: OperationCall) -> str | None:
        """Return why an operation is excluded; None if it is not."""
        if not self.reasons:
            return None
        found = self.reasons.get(_digest(model, call))
        return found and f"{call} {found}"

    def add(self, driver: Driver, model: Model, call: OperationCall, phase: str, error: DriverDiedError) -> None:
        """Exclude an operation, in this process and later ones."""
        said = f"ended the driver's process twice, the last time when {phase}: {error}"
        self.reasons[_digest(model, call)] = said
        log.warning("%s is excluded from %s: it %s", driver.info.name, call, said)
        info = driver.info
        keep_record(
            RecordKind.EXCLUSIONS, self._key, self.reasons, model=call.name, device=info.name, version=info.version
        )


def exclusions_of(driver: Driver) -> Exclusions:
    """Return a driver's exclusions, from the directory that the environment names now."""
    return _exclusions(directory_of(RecordKind.EXCLUSIONS), f"{driver.info.name}, {driver.info.version}")


@cache
def _exclusions(directory: str, key: str) -> Exclusions:
    return Exclusions(key)


def _read(data: Any) -> dict[str, str]:
    return {str(digest): str(reason) for digest, reason in data.items()}


def _digest(model: Model, call: OperationCall) -> str:
    return hash_content(_cut_out(model, [call])).hex()


def _cut_out(model: Model, calls: Sequence[OperationCall]) -> Model:
    from nnapi.runtime.verdicts.submodel import make_submodel  # on demand: known models need none

    return make_submodel(model, [*calls])[0]


def note_death(driver: Driver, model: Model, error: DriverDiedError) -> bool:
    """Count a run that ended the driver's process. Return whether operations are excluded: the model must not run then.

    The second time, each operation runs alone, on zeros. Those that end the process again are excluded. If none does,
    all are, unless the process was busy with something else, too.
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
    """Handle a request for verdicts that ended the driver's process; return whether operations are excluded. Each that
    ends it again when asked for alone is; if none does, all are if together they end it again."""
    if not error.by_itself:
        return False
    deaths = _try_each(driver, model, calls, _ask)
    if not deaths and len(calls) > 1 and (again := _find_death(driver, model, calls, _ask)) and again.was_alone:
        deaths = [(call, again) for call in calls]
    return _exclude(driver, model, deaths, "it was asked about")


Attempt = Callable[[Driver, Model], object]
Deaths = list[tuple[OperationCall, DriverDiedError]]
"""Operations that ended the process, with the error of each."""


def _exclude(driver: Driver, model: Model, deaths: Deaths, phase: str) -> bool:
    for call, error in deaths:
        exclusions_of(driver).add(driver, model, call, phase, error)
    return bool(deaths)


def _try_each(driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt) -> Deaths:
    """Return the calls that end the process when tried alone. Only one of several equal calls is tried."""
    digests = [_digest(model, call) for call in calls]
    tried = dict(zip(digests, calls, strict=True)).items()
    deaths = {digest: _find_death(driver, model, [call], attempt) for digest, call in tried}
    return [(call, death) for call, digest in zip(calls, digests, strict=True) if (death := deaths[digest])]


def _find_death(
    driver: Driver, model: Model, calls: Sequence[OperationCall], attempt: Attempt
) -> DriverDiedError | None:
    """Return the error if an attempt ends the process, else None."""
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
