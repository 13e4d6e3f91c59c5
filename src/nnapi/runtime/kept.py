"""Plans that are kept in the compilation cache: for models that one device has whole, beside what its driver prepared.

A kept plan is taken as it was found, measurements and all, by a compilation for the same devices, with the same options
and as many processors, that would compare plans if that one did. Nobody is asked for verdicts then.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from nnapi.drivers.base import Prepared, PrepareOptions, Verdict
from nnapi.model.model import Model
from nnapi.runtime.cache import Cache
from nnapi.runtime.device import Device
from nnapi.runtime.plan import Alternative, Decision, Plan, Run

log = logging.getLogger("nnapi.CompilationCache")


def conditions(devices: Sequence[Device], options: PrepareOptions, compares: bool) -> list[Any]:
    """What a kept plan depends on besides the model and what the names of files tell."""
    versions = [[device.name, device.version] for device in devices]
    return [versions, options.threads, len(os.sched_getaffinity(0)), compares]


def text(plan: Plan, conditions: Sequence[Any]) -> bytes:
    """A simple plan as it is kept."""
    columns = [
        [decision.chosen, [list(verdict) for _, verdict in decision.verdicts], [cost for _, cost in decision.costs]]
        for decision in plan.decisions
    ]
    found = {
        "conditions": conditions, "device": plan.devices[0], "decisions": columns, "predicted": plan.predicted,
        "alternatives": [asdict(alternative) for alternative in plan.alternatives], "notes": plan.notes,
        "measured": plan.measured, "threads": plan.threads,
    }  # fmt: skip
    return json.dumps(found).encode()


def recalled(
    cache: Cache, model: Model, devices: Sequence[Device], options: PrepareOptions, compares: bool
) -> tuple[Plan, Device, Prepared] | None:
    """The plan that was kept for the model, its device, and what that prepared; None where there is none."""
    wanted = conditions(devices, options, compares)
    for device in devices:
        kept = cache.plan(device, options)
        if not kept:
            continue
        try:
            found = json.loads(kept)
            if found["conditions"] != wanted or found["device"] != device.name:
                continue
            plan = _plan(model, devices, found)
        except (KeyError, TypeError, ValueError) as error:
            log.debug("the plan kept for %s does not fit %s: %r", device, model, error)
            continue
        prepared = cache.restore(device, model, replace(options, threads=plan.threads))
        if prepared is not None:
            return plan, device, prepared
    return None


def _plan(model: Model, devices: Sequence[Device], found: dict[str, Any]) -> Plan:
    names = [device.name for device in devices]
    operations = {call.code: call for call in model.operations}
    kinds = {code: call.name for code, call in operations.items()}
    decisions = tuple(
        Decision(
            call.number,
            kinds[call.code],
            chosen,
            tuple((name, Verdict(*verdict)) for name, verdict in zip(names, verdicts, strict=True)),
            tuple(zip(names, costs, strict=True)),
        )
        for call, (chosen, verdicts, costs) in zip(model.operations, found["decisions"], strict=True)
    )
    run = Run(found["device"], model, tuple(range(len(model.operations))), model.inputs, model.outputs)
    alternatives = tuple(Alternative(**alternative) for alternative in found["alternatives"])
    return Plan(
        model, (run,), decisions, found["predicted"], alternatives, tuple(found["notes"]), found["measured"],
        found["threads"],
    )  # fmt: skip
