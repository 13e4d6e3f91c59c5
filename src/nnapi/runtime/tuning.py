"""Choice by measurement: the best candidate plans of a model, run for a moment, and the winner remembered.

Predictions are only as good as the declared figures. Where several plans are possible, a short comparison on inputs
of zeros decides: at most :data:`BUDGET` in all and :data:`RUNS` runs of each, alternating. The outcome is kept by the
model's content, the devices, their versions and the options, so that it is paid for once per machine.
"""

from __future__ import annotations

import hashlib
import json
import logging
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
from nnapi.runtime.cache import content_hash
from nnapi.runtime.device import Device
from nnapi.runtime.plan import Alternative, Plan

log = logging.getLogger("nnapi.ExecutionPlan")

BUDGET = 0.1
"""Seconds for the comparison of all plans together."""
RUNS = 10
HOPELESS = 20.0
"""A plan that is predicted to take this many times the best one's time is not tried."""
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

    ``plans`` are in the order of their predicted times. One that cannot be made ready or run is left out; the error is
    raised where that leaves none.
    """
    memory = Memory(default_directory() / "plans.json")
    key = _key(model, devices, options)
    times = memory.times(key)
    if times is None or not times.keys() & {plan.name for plan in plans}:
        return _compared(model, plans, ready, lambda found: memory.keep(key, found))
    known = sorted((plan for plan in plans if plan.name in times), key=lambda plan: times[plan.name])
    return Candidate(_with_times(known[0], plans, times), ready(known[0]))


def _compared(
    model: Model, plans: Sequence[Plan], ready: Callable[[Plan], Prepared], keep: Callable[[dict[str, float]], None]
) -> Candidate:
    candidates: list[Candidate] = []
    failure: NnapiError | None = None
    for plan in plans:
        if plan.predicted > HOPELESS * plans[0].predicted:
            continue
        try:
            candidates.append(Candidate(plan, ready(plan)))
        except NnapiError as error:
            log.info("%s: %s is left out: %s", model.name, plan.name, error)
            failure = error
    if not candidates:
        assert failure is not None
        raise failure
    times = _times(candidates, [_zeros(model, index) for index in model.inputs])
    if not times:
        return candidates[0]
    best = min((c for c in candidates if c.plan.name in times), key=lambda c: times[c.plan.name])
    for candidate in candidates:
        if candidate is not best:
            candidate.prepared.close()
    keep(times)
    return Candidate(_with_times(best.plan, plans, times), best.prepared)


def _zeros(model: Model, index: int) -> Array:
    type = model.operands[index].type
    return np.zeros(type.dimensions, type.dtype)


def _times(candidates: Sequence[Candidate], inputs: Sequence[Array]) -> dict[str, float]:
    """The best seconds of each plan by name; one that fails has none."""
    times: dict[str, float] = {}
    failed: set[str] = set()
    end = time.perf_counter() + BUDGET
    for turn in range(RUNS + 1):  # the first turn warms up
        for candidate in candidates:
            name = candidate.plan.name
            if name in failed or (turn > 1 and time.perf_counter() > end):
                continue
            start = time.perf_counter()
            try:
                candidate.prepared.execute(Request(inputs))
            except NnapiError as error:
                log.info("%s failed while plans were compared: %s", name, error)
                failed.add(name)
                times.pop(name, None)
                continue
            if turn:
                times[name] = min(times.get(name, float("inf")), time.perf_counter() - start)
    return times


def _with_times(plan: Plan, plans: Sequence[Plan], times: dict[str, float]) -> Plan:
    """The plan that says what it and its rivals took."""
    rivals = [Alternative(rival.name, rival.predicted, times.get(rival.name)) for rival in plans if rival is not plan]
    return replace(plan, measured=times[plan.name], alternatives=tuple(rivals))


def _key(model: Model, devices: Sequence[Device], options: PrepareOptions) -> str:
    digest = hashlib.sha256(content_hash(model))
    versions = [(device.name, device.version) for device in devices]
    cpus = len(os.sched_getaffinity(0))
    digest.update(repr((versions, int(options.preference), options.threads, cpus)).encode())
    return digest.hexdigest()


def default_directory() -> Path:
    """Where this machine's measurements are kept: NNAPI_CACHE_DIR, or nnapi in the user's cache directory."""
    if chosen := os.environ.get("NNAPI_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nnapi"


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
        import tempfile  # with what it needs, 4 ms

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False) as file:
                json.dump(latest, file)
            os.replace(file.name, self._path)
        except OSError as error:
            log.info("measurements are not kept in %s: %s", self._path, error)

    def _read(self) -> dict[str, Any]:
        try:
            everything = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return everything if isinstance(everything, dict) else {}
