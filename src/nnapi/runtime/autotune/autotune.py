"""Choice by measurement: the best candidate plans of a model, run for a moment, and the winner remembered.

Predictions are rarely better than by a fifth. Where several plans are possible, a short comparison on inputs of zeros
decides, extents that are open being 1. The outcome is kept by the model's content, the devices, their versions and the
options, so that it is paid for once per machine; on a busy one, which engines with several threads suffer from most,
up to :data:`ATTEMPTS` times, the best of all counting.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nnapi.drivers.base import Prepared, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array
from nnapi.runtime.autotune.cpu_load import Watch
from nnapi.runtime.autotune.plan_timing import BUDGET, MARGIN, Trial, compare, ranking
from nnapi.runtime.costs.cost_tables import default_directory
from nnapi.runtime.device import Device
from nnapi.runtime.planning.plan import Alternative, Plan
from nnapi.runtime.store.digest import content_hash, digest
from nnapi.runtime.store.files import write_json
from nnapi.trace import Layer, Phase, muted, span

log = logging.getLogger("nnapi.ExecutionPlan")

CANDIDATES = 4
"""Plans at most that are made ready for it."""
HOPELESS = 2.0
"""A plan that is predicted to take this many times what another was measured to take is not tried, but for the
runner-up of a small model, where that takes next to no time and memory. Predictions are mostly within that."""
SMALL = 1 << 19
"""Bytes of constants of such a model: the reference makes others of them, several times as large."""
ASSUMED_EXTENT = 1
"""What an extent counts as that is known at the run only, mostly a batch; the drivers assume the same."""
FORMAT = 3
"""Raised whenever what is kept, or how it is measured, is no longer the same."""
ATTEMPTS = 3
"""Comparisons of a model, one in each compilation, while other processes disturb them."""
REMEMBERED = 500
"""Models whose outcomes are kept."""


class Candidate(NamedTuple):
    """A plan that was made ready."""

    plan: Plan
    prepared: Prepared


def is_worthwhile(model: Model, plans: Sequence[Plan]) -> bool:
    """Whether there is something to compare, and inputs to compare it on can be made up."""
    return len(plans) > 1 and has_known_ranks(model)


def has_known_ranks(model: Model) -> bool:
    """Whether every input has a rank, so that a value for it can be made up."""
    types = [model.operands[index].type for index in model.inputs]
    return all(type.is_scalar or type.rank for type in types)


def fastest(
    model: Model,
    plans: Sequence[Plan],
    devices: Sequence[Device],
    options: PrepareOptions,
    ready: Callable[[Plan], Prepared],
    patience: float = math.inf,
) -> Candidate:
    """The plan that ran fastest, made ready, with the times of all in its alternatives.

    ``plans`` begin with the one that is predicted to be fastest; they are compared anew where that was not among those
    that were, for at most ``patience`` seconds where runs are short. One that cannot be made ready or run is left out;
    the error is raised where that leaves none.
    """
    memory = Memory(os.path.join(default_directory(), "plans.json"))
    key = _key(model, devices, options)
    known = memory.outcome(key) or Outcome({}, 0)
    times = known.times
    if plans[0].identity not in times or 0 < known.disturbed < ATTEMPTS:
        return _compared(model, plans, ready, known, lambda outcome: memory.keep(key, outcome), patience)
    order = list(times)
    best = min((plan for plan in plans if plan.identity in times), key=lambda plan: order.index(plan.identity))
    return Candidate(_with_times(best, plans, times), ready(best))


def _compared(
    model: Model,
    plans: Sequence[Plan],
    ready: Callable[[Plan], Prepared],
    known: Outcome,
    keep: Callable[[Outcome], None],
    patience: float,
) -> Candidate:
    watch = Watch()
    with span(Layer.RUNTIME, Phase.COMPILATION, "comparePlans", plans=len(plans)):
        trials, failure = _tried(model, _in_order(plans), ready, patience)
        with muted():
            compare([trial for trial in trials if trial.prepared is not None], min(BUDGET, patience))
    disturbed = known.disturbed + 1 if watch.is_disturbed() else 0
    for trial in trials:
        if disturbed and trial.seconds < math.inf:
            trial.seconds = min(trial.seconds, known.times.get(trial.plan.identity, math.inf))
    ranked = ranking(trials)
    best = ranked[0]
    if best.prepared is None:
        assert failure is not None
        raise failure
    for trial in trials:
        if trial is not best and trial.prepared is not None:
            trial.prepared.close()
    times = {trial.plan.identity: trial.seconds for trial in ranked}
    times |= {plan.identity: math.inf for plan in plans if plan.identity not in times}
    if best.seconds == math.inf:
        return Candidate(best.plan, best.prepared)
    keep(Outcome(times, disturbed))
    return Candidate(_with_times(best.plan, plans, times), best.prepared)


def _in_order(plans: Sequence[Plan]) -> list[Plan]:
    """The plans to try: those of one device first, unless a divided one is predicted to be several times as fast."""
    near = HOPELESS * min(plan.predicted for plan in plans)
    return sorted(plans, key=lambda plan: (plan.predicted > near, len(plan.devices) > 1, plan.predicted))[:CANDIDATES]


def _tried(
    model: Model, plans: Sequence[Plan], ready: Callable[[Plan], Prepared], patience: float
) -> tuple[list[Trial], NnapiError | None]:
    """Each plan made ready and run, but for those that have no chance against what was measured before; and why
    the last one failed that did. Once one runs, none is begun after ``patience`` seconds."""
    request = Request([_zeros(model, index) for index in model.inputs])
    trials: list[Trial] = []
    failure: NnapiError | None = None
    is_small = sum(o.value.nbytes for o in model.operands if o.lifetime is Lifetime.CONSTANT) <= SMALL
    end = math.inf
    for place, plan in enumerate(plans):
        trial = Trial(plan, request)
        trials.append(trial)
        if time.perf_counter() > end or not _has_a_chance(plan, trials, is_small and place < 2):
            continue
        try:
            trial.prepared = ready(plan)
        except NnapiError as error:
            log.info("%s: %s is left out: %s", model.name, plan.name, error)
            failure = error
            continue
        with muted():
            trial.run()
            if trial.seconds < BUDGET:
                trial.run()  # the first sets up what later ones find
        if trial.seconds < math.inf:
            end = min(end, time.perf_counter() + patience)
    return trials, failure


def _has_a_chance(plan: Plan, trials: Sequence[Trial], is_of_interest: bool) -> bool:
    """Whether a plan is worth a run: it is not predicted to take several times what another was measured to take, or
    it is of interest to people and takes little; a divided one is predicted to be faster than any."""
    measured = [trial for trial in trials if trial.seconds < math.inf]
    if not measured:
        return True
    best = min(measured, key=lambda trial: trial.seconds)
    if len(plan.devices) > 1:
        return plan.predicted * MARGIN < best.seconds
    return plan.predicted <= HOPELESS * best.seconds or (is_of_interest and 3 * plan.predicted < BUDGET / 2)


def _zeros(model: Model, index: int) -> Array:
    type = model.operands[index].type
    return np.zeros([extent or ASSUMED_EXTENT for extent in type.dimensions], type.dtype)


def _with_times(plan: Plan, plans: Sequence[Plan], times: dict[str, float]) -> Plan:
    """The plan that says what it and its rivals took, the runner-up first."""

    def measured(each: Plan) -> float | None:
        seconds = times.get(each.identity, math.inf)
        return seconds if seconds < math.inf else None

    others = [Alternative(rival.name, rival.predicted, measured(rival)) for rival in plans if rival is not plan]
    others.sort(key=lambda other: (other.measured is None, other.measured or other.seconds))
    return replace(plan, measured=measured(plan), alternatives=tuple(others))


def _key(model: Model, devices: Sequence[Device], options: PrepareOptions) -> str:
    versions = [(device.name, device.version) for device in devices]
    cpus = len(os.sched_getaffinity(0))
    others = repr((FORMAT, versions, int(options.preference), options.threads, cpus)).encode()
    return digest(content_hash(model), others).hex()


class Outcome(NamedTuple):
    """Seconds by the identity of the plan, the one chosen first, infinite for one that failed or had no chance; and how
    many comparisons were disturbed, 0 where the last was not."""

    times: dict[str, float]
    disturbed: int


class Memory:
    """Outcomes in a file of JSON, the latest last. What cannot be read counts as nothing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def outcome(self, key: str) -> Outcome | None:
        """What is known of a model; None where nothing is."""
        found = self._read().get(key)
        if not isinstance(found, dict):
            return None
        times, disturbed = found.get("times"), found.get("disturbed")
        if not isinstance(times, dict) or not isinstance(disturbed, int):
            return None
        return Outcome(times, disturbed) if all(isinstance(each, float) for each in times.values()) else None

    def keep(self, key: str, outcome: Outcome) -> None:
        everything = self._read()
        everything.pop(key, None)
        everything[key] = outcome._asdict()
        latest = dict(list(everything.items())[-REMEMBERED:])
        try:
            write_json(self._path, latest)
        except OSError as error:
            log.info("measurements are not kept in %s: %s", self._path, error)

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, encoding="utf-8") as file:
                everything = json.load(file)
        except (OSError, ValueError):
            return {}
        return everything if isinstance(everything, dict) else {}
