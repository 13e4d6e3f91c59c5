"""Plans that are kept in the compilation cache: for models that one device has whole, beside what its driver prepared.

A kept plan is taken as it was found, measurements and all, by a compilation for the same devices, with the same options
and as many processors, that would compare plans if that one did. Nobody is asked for verdicts then.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, overload

from nnapi.drivers.base import Prepared, PrepareOptions, Verdict
from nnapi.model.model import Model
from nnapi.runtime.device import Device
from nnapi.runtime.planning.plan import Alternative, Decision, Plan, Run
from nnapi.runtime.store.compilation_cache import Cache

log = logging.getLogger("nnapi.CompilationCache")


def conditions(devices: Sequence[Device], options: PrepareOptions, compares: bool) -> list[Any]:
    """What a kept plan depends on besides the model and what the names of files tell."""
    versions = [[device.name, device.version] for device in devices]
    return [versions, options.threads, len(os.sched_getaffinity(0)), compares]


def text(plan: Plan, conditions: Sequence[Any]) -> bytes:
    """A simple plan as it is kept: a line that every compilation reads, and one for who asks for the decisions."""
    columns = [
        [decision.chosen, [list(verdict) for _, verdict in decision.verdicts], [cost for _, cost in decision.costs]]
        for decision in plan.decisions
    ]
    found = {
        "conditions": conditions,
        "device": plan.devices[0],
        "operations": len(columns),
        "predicted": plan.predicted,
        "alternatives": [alternative._asdict() for alternative in plan.alternatives],
        "notes": plan.notes,
        "measured": plan.measured,
        "threads": plan.threads,
    }
    return b"\n".join([json.dumps(found).encode(), json.dumps(columns).encode()])


def recalled(
    cache: Cache, model: Model, devices: Sequence[Device], options: PrepareOptions, conditions: list[Any]
) -> tuple[Plan, Device, Prepared] | None:
    """The plan that was kept for the model under those conditions, its device, and what that prepared; None where there
    is none."""
    for device in devices:
        if device.is_out:
            continue
        kept, _, columns = cache.plan(device, options).partition(b"\n")
        if not kept:
            continue
        try:
            found = json.loads(kept)
            if found["conditions"] != conditions or found["device"] != device.name:
                continue
            plan = _plan(model, found, Decisions(model, [device.name for device in devices], columns))
        except (KeyError, TypeError, ValueError) as error:
            log.debug("the plan kept for %s does not fit %s: %r", device, model.name, error)
            continue
        prepared = cache.restore(device, model, options._replace(threads=plan.threads))
        if prepared is not None:
            return plan, device, prepared
    return None


class Decisions(Sequence[Decision]):
    """Decisions that are read when somebody asks for one."""

    def __init__(self, model: Model, devices: Sequence[str], columns: bytes) -> None:
        self._model, self._devices, self._columns = model, devices, columns

    @overload
    def __getitem__(self, position: int) -> Decision: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, position: int | slice) -> Decision | tuple[Decision, ...]:
        return self._read[position]

    def __len__(self) -> int:
        return len(self._read)

    @cached_property
    def _read(self) -> tuple[Decision, ...]:
        return tuple(
            Decision(
                call.number,
                call.name,
                chosen,
                tuple((name, Verdict(*verdict)) for name, verdict in zip(self._devices, verdicts, strict=True)),
                tuple(zip(self._devices, costs, strict=True)),
            )
            for call, (chosen, verdicts, costs) in zip(self._model.operations, json.loads(self._columns), strict=True)
        )


def _plan(model: Model, found: dict[str, Any], decisions: Decisions) -> Plan:
    run = Run(found["device"], model, tuple(range(found["operations"])), model.inputs, model.outputs)
    alternatives = tuple(Alternative(**alternative) for alternative in found["alternatives"])
    return Plan(
        model,
        (run,),
        decisions,
        found["predicted"],
        alternatives,
        tuple(found["notes"]),
        found["measured"],
        found["threads"],
    )
