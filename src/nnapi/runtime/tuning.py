"""Choice by measurement: the best candidate plans of a model, run for a moment, and the winner remembered.

Predictions are rarely better than by a fifth. Where several plans are possible, a short comparison on inputs of zeros
decides: at most :data:`BUDGET` in all and :data:`RUNS` runs of each, taking turns. The outcome is kept by the
model's content, the devices, their versions and the options, so that it is paid for once per machine.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.drivers.base import Prepared, PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.device import Device
from nnapi.runtime.digest import content_hash, digest
from nnapi.runtime.measured import default_directory, write_json
from nnapi.runtime.plan import Alternative, Plan
from nnapi.trace import Layer, Phase, muted, span

log = logging.getLogger("nnapi.ExecutionPlan")

BUDGET = 0.1
"""Seconds for the comparison of all plans together."""
RUNS = 10
CANDIDATES = 4
"""Plans at most that are made ready for it."""
HOPELESS = 5.0
"""A plan that is predicted to take this many times the best one's time is not tried, but for the runner-up."""
REMEMBERED = 500
"""Models whose outcomes are kept."""


@dataclass(frozen=True)
class Candidate:
    """A plan that was made ready."""

    plan: Plan
    prepared: Prepared


def is_worthwhile(model: Model, plans: Sequence[Plan]) -> bool:
    """Whether there is something to compare, and inputs to compare it on can be made up."""
    return len(plans) > 1 and all(model.operands[index].type.is_known for index in model.inputs)


def fastest(
    model: Model,
    plans: Sequence[Plan],
    devices: Sequence[Device],
    options: PrepareOptions,
    ready: Callable[[Plan], Prepared],
) -> Candidate:
    """The plan that ran fastest, made ready, with the times of all in its alternatives.

    ``plans`` begin with the one that is predicted to be fastest; they are compared anew where that was not among those
    that were. One that cannot be made ready or run is left out; the error is raised where that leaves none.
    """
    memory = Memory(default_directory() / "plans.json")
    key = _key(model, devices, options)
    times = memory.times(key) or {}
    if plans[0].identity not in times:
        return _compared(model, plans, ready, lambda found: memory.keep(key, found))
    best = min((plan for plan in plans if plan.identity in times), key=lambda plan: times[plan.identity])
    return Candidate(_with_times(best, plans, times), ready(best))


def _compared(
    model: Model, plans: Sequence[Plan], ready: Callable[[Plan], Prepared], keep: Callable[[dict[str, float]], None]
) -> Candidate:
    candidates: list[Candidate] = []
    times: dict[str, float] = {}
    failure: NnapiError | None = None
    for place, plan in enumerate(plans[:CANDIDATES]):
        is_cheap = place < 2 and 3 * plan.predicted < BUDGET / 2  # so little time that people may as well be told
        if plan.predicted > HOPELESS * plans[0].predicted and not is_cheap:
            continue
        try:
            candidates.append(Candidate(plan, ready(plan)))
        except NnapiError as error:
            log.info("%s: %s is left out: %s", model.name, plan.name, error)
            failure, times[plan.identity] = error, math.inf
    if not candidates:
        assert failure is not None
        raise failure
    with span(Layer.RUNTIME, Phase.COMPILATION, "comparePlans", plans=len(candidates)), muted():
        times |= _times(candidates, [_zeros(model, index) for index in model.inputs])
    best = min(candidates, key=lambda candidate: times.get(candidate.plan.identity, math.inf))
    for candidate in candidates:
        if candidate is not best:
            candidate.prepared.close()
    if times.get(best.plan.identity, math.inf) == math.inf:
        return best
    keep(times)
    return Candidate(_with_times(best.plan, plans, times), best.prepared)


def _zeros(model: Model, index: int) -> Array:
    type = model.operands[index].type
    return np.zeros(type.dimensions, type.dtype)


def _times(candidates: Sequence[Candidate], inputs: Sequence[Array]) -> dict[str, float]:
    """The best seconds of each plan by its identity: infinite for one that fails, none where the time did not do.

    After a first run that does not count they take turns, each twice in a row: other engines' threads may still be
    waiting for work, and so keeping the processors, when the first begins.
    """
    times: dict[str, float] = {}
    end = time.perf_counter() + BUDGET
    for turn in range(1 + RUNS // 2):
        for candidate in candidates:
            name = candidate.plan.identity
            for _ in range(2 if turn else 1):
                needed = candidate is candidates[0] and turn < 2 and times.get(name) is None
                if times.get(name) == math.inf or (time.perf_counter() > end and not needed):
                    break
                start = time.perf_counter()
                try:
                    candidate.prepared.execute(Request(inputs))
                except NnapiError as error:
                    log.info("%s failed while plans were compared: %s", candidate.plan.name, error)
                    times[name] = math.inf
                    break
                if turn:
                    times[name] = min(times.get(name, math.inf), time.perf_counter() - start)
    return times


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
    others = repr((versions, int(options.preference), options.threads, cpus)).encode()
    return digest(content_hash(model), others).hex()


class Memory:
    """Outcomes in a file of JSON, the latest last. What cannot be read counts as nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def times(self, key: str) -> dict[str, float] | None:
        """Seconds by the name of the plan; None for a model that was not measured."""
        found = self._read().get(key)
        legal = isinstance(found, dict) and all(isinstance(seconds, float) for seconds in found.values())
        return found if legal else None

    def keep(self, key: str, times: dict[str, float]) -> None:
        everything = self._read()
        everything.pop(key, None)
        everything[key] = times
        latest = dict(list(everything.items())[-REMEMBERED:])
        try:
            write_json(self._path, latest)
        except OSError as error:
            log.info("measurements are not kept in %s: %s", self._path, error)

    def _read(self) -> dict[str, Any]:
        try:
            everything = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return everything if isinstance(everything, dict) else {}
