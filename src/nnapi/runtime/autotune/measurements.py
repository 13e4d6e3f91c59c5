"""What comparisons of plans measured and chose, or predictions did until there is time to compare, kept for later
processes by the model's content, the devices, their versions and the options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nnapi.drivers.base import PrepareOptions
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.runtime.device import Device
from nnapi.runtime.planning.exclusions import exclusions_of
from nnapi.runtime.planning.plan import Alternative, Plan
from nnapi.store.digest import digest
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record, recall_record

ATTEMPTS = 5
"""Comparisons of a model, one in each compilation, while other processes disturb them and no two in a row agree."""
UNCOMPARED, SPARED = -1, -2
"""Stand for the number of them where a choice was only predicted: there was no time yet, or it cannot pay."""

PREDICTED = (
    "chosen by what is known and predicted: which device is fastest is measured later, in the background, for the next "
    "compilation (nnapi tune does it at once)"
)


class Choice(NamedTuple):
    """The device that was given a whole model, of how many operations, in which form, and what is said of it and of
    the other plans."""

    device: str
    predicted: float
    measured: float | None
    alternatives: tuple[Alternative, ...]
    form: str
    operations: int


class Measurements(NamedTuple):
    """Seconds by the identity of the plan, the one chosen first, infinite for one that failed or had no chance; the
    threads that they are for; how many comparisons were disturbed, 0 where the last was not, :data:`ATTEMPTS` where it
    agreed with the one before, :data:`UNCOMPARED` or :data:`SPARED` where there was none; and what was chosen, if that
    is one device."""

    times: Mapping[str, float]
    threads: int | None
    disturbed: int
    choice: Choice | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is to be compared again: it went undisturbed, or was tried often enough."""
        return self.disturbed in (0, SPARED) or self.disturbed >= ATTEMPTS

    @property
    def is_compared(self) -> bool:
        """Whether there was a comparison, or there will be none."""
        return self is not UNKNOWN and self.disturbed != UNCOMPARED

    @property
    def is_predicted(self) -> bool:
        return self.disturbed < 0


UNKNOWN = Measurements({}, None, 0)


def make_key(model: Model, devices: Sequence[Device], options: PrepareOptions) -> str:
    """What measurements are kept by."""
    versions = [(each.name, each.version, *sorted(exclusions_of(each.driver).reasons)) for each in devices]
    cpus = len(os.sched_getaffinity(0))
    others = repr((versions, int(options.preference), options.threads, cpus)).encode()
    return digest(hash_content(model), others).hex()


def recall_measurements(key: str) -> Measurements:
    """What is known; UNKNOWN where nothing is."""
    return recall_record(RecordKind.PLANS, key, parse_measurements) or UNKNOWN


def keep_measurements(key: str, times: Mapping[str, float], disturbed: int, plan: Plan) -> None:
    """Keep what was measured and chosen."""
    choice = None
    if plan.is_simple:
        run = plan.only_run
        figures = plan.predicted, plan.measured, plan.alternatives
        choice = Choice(run.device, *figures, plan.form, len(run.operations))
    _keep(key, Measurements(times, plan.threads, disturbed, choice), plan)


def recall_known(key: str) -> Measurements:
    """What is known, else what was chosen without a comparison, by what is known of the devices now."""
    known = recall_measurements(key)
    return recall_measurements(_name_prediction(key)) if known is UNKNOWN else known


def keep_prediction(key: str, plan: Plan, *, spared: bool) -> None:
    """Keep what was chosen, if that is one device, until a comparison says more, unless that is ``spared``; not what
    others would have taken, who are asked for that."""
    if plan.is_simple:
        run = plan.only_run
        choice = Choice(run.device, 0.0, None, (), plan.form, len(run.operations))
        _keep(_name_prediction(key), Measurements({}, plan.threads, SPARED if spared else UNCOMPARED, choice), plan)


def _keep(key: str, content: Measurements, plan: Plan) -> None:
    keep_record(RecordKind.PLANS, key, content._asdict(), model=plan.model.name, device=" ".join(plan.devices))


def _name_prediction(key: str) -> str:
    """What a prediction is kept by: it holds for as long as nothing more is measured of the devices."""
    try:
        changed = os.stat(directory_of(RecordKind.COSTS)).st_mtime_ns
    except OSError:
        changed = 0
    return f"{key}, predicted by the costs of {changed}"


def parse_measurements(data: Any) -> Measurements:
    """The opposite of what is kept; ValueError, KeyError, TypeError or AttributeError for anything else."""
    times, threads, disturbed, choice = (data[name] for name in Measurements._fields)
    counts = [disturbed] if threads is None else [disturbed, threads]
    if not all(isinstance(each, int) for each in counts) or not all(isinstance(s, float) for s in times.values()):
        raise ValueError(f"{data!r} is no measurement of plans")
    if choice is not None:
        device, predicted, measured, alternatives, form, count = choice
        others = tuple(Alternative(*each) for each in alternatives)
        choice = Choice(device, float(predicted), measured, others, str(form), int(count))
    return Measurements(times, threads, disturbed, choice)
