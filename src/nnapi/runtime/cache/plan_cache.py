"""Plans that are kept in the compilation cache: for models that one device has whole, beside what its driver prepared.

A kept plan is taken as it was found, measurements and all, by a compilation for the same devices, with the same options
and as many processors, that would compare plans if that one did. Nobody is asked for verdicts then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions, Verdict
from nnapi.model.model import Model
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.device import Device
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.planning.exclusions import exclusions_of
from nnapi.runtime.planning.plan import Alternative, Decision, Decisions, Explanation, OnlyPlan, Plan, Run
from nnapi.runtime.settings import tunes
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")


class KeptPlans:
    """The cached plans of a model for these devices and options."""

    def __init__(
        self, cache: Cache, model: Model, devices: Sequence[Device], options: PrepareOptions, compares: bool
    ) -> None:
        self._cache, self._model, self._devices, self._options = cache, model, devices, options
        self.is_own = cache.is_own
        """Whether nobody asked for it: a plan that is to be chosen anew is not kept then."""
        versions = [[d.name, d.version, *sorted(exclusions_of(d.driver).reasons)] for d in devices]
        self.conditions = [versions, options.threads, len(os.sched_getaffinity(0)), compares]
        """The conditions of a cached plan besides the model and the name of the file."""
        self._is_for_all = not any(device.is_out for device in devices)
        """Else the plan is one for this process alone."""

    def recall(self) -> tuple[Plan, Device, Prepared] | None:
        """The plan that was kept, its device, and what that prepared; None where there is none for the conditions."""
        for device in self._devices:
            if device.is_out:
                continue
            kept, _, columns = self._cache.recall_plan(device, self._options).partition(b"\n")
            if not kept:
                continue
            try:
                found = json.loads(kept)
                if found["conditions"] != self.conditions or found["device"] != device.name:
                    continue
                names = [each.name for each in self._devices]
                if found["predicted"] is None:
                    plan = self._read_unexplained(found)
                else:
                    decisions = Decisions(partial(_read_decisions, self._model, names, columns))
                    plan = _read_plan(self._model, found, decisions)
            except (KeyError, TypeError, ValueError) as error:
                log.debug("the plan kept for %s does not fit %s: %r", device, self._model.name, error)
                continue
            prepared = self._cache.restore(
                device, self._model, self._options._replace(threads=plan.threads, form=plan.form)
            )
            if prepared is not None:
                return plan, device, prepared
        return None

    def _read_unexplained(self, found: dict[str, Any]) -> Plan:
        run = _read_run(self._model, found)
        explain = partial(explain_run, run, self._devices, self._options.preference, found["threads"])
        plan = OnlyPlan(self._model, run, explain, tuple(found["notes"]))
        plan = plan.on_threads(found["threads"]).with_form(found["form"])
        if found["compared"] is None:
            return plan
        return plan.with_times(found["measured"], tuple(Alternative(**each) for each in found["compared"]))

    def store(self, ready: ReadyPlan, options: PrepareOptions, with_plan: bool) -> None:
        """Keep the parts of a plan that were prepared, and with them the plan itself where one device has the whole
        model."""
        for part in ready.parts:
            is_whole = with_plan and part.model is self._model and self._is_for_all
            plan = write_plan(ready.plan, self.conditions) if is_whole else b""
            if not part.is_restored:
                self._cache.keep(part.device, part.model, options, part.prepared, part.places, plan)
            elif plan:
                self._cache.keep_plan(part.device, part.model, options, plan)  # it was prepared for a plan of others


def write_plan(plan: Plan, conditions: Sequence[Any]) -> bytes:
    """Write a simple plan: a line that every compilation reads, and one with the decisions, for ``explain``.

    If no other device was asked for verdicts, none is asked here: ``explain`` asks them on demand.
    """
    is_explained = not isinstance(plan, OnlyPlan)
    columns = [
        [decision.chosen, [list(verdict) for _, verdict in decision.verdicts], [cost for _, cost in decision.costs]]
        for decision in (plan.decisions if is_explained else ())
    ]
    found = {
        "conditions": conditions,
        "device": plan.devices[0],
        "operations": len(plan.only_run.operations),
        "predicted": plan.predicted if is_explained else None,
        "compared": plan.compared and [alternative._asdict() for alternative in plan.compared],
        "alternatives": [alternative._asdict() for alternative in plan.alternatives] if is_explained else [],
        "notes": plan.notes,
        "measured": plan.measured,
        "threads": plan.threads,
        "form": plan.form,
    }
    return b"\n".join([json.dumps(found).encode(), json.dumps(columns).encode()])


def _read_decisions(model: Model, devices: Sequence[str], columns: bytes) -> Sequence[Decision]:
    return [
        Decision(
            call.number,
            call.name,
            chosen,
            tuple((name, Verdict(*verdict)) for name, verdict in zip(devices, verdicts, strict=True)),
            tuple(zip(devices, costs, strict=True)),
        )
        for call, (chosen, verdicts, costs) in zip(model.operations, json.loads(columns), strict=True)
    ]


def explain_run(run: Run, devices: Sequence[Device], preference: PreferenceCode, threads: int | None) -> Explanation:
    """Explain why one of the devices runs a whole model: all are asked for verdicts, and the shipped timings count."""
    from nnapi.runtime.costs.prices import find_tables
    from nnapi.runtime.planning.planner import explain_choice

    place = [device.name for device in devices].index(run.device)
    tables = find_tables(devices, threads or 1) if tunes() and len(devices) > 1 else {}
    return explain_choice(run.model, devices, place, preference, tables)


def _read_run(model: Model, found: dict[str, Any]) -> Run:
    return Run(found["device"], model, tuple(range(found["operations"])), model.inputs, model.outputs)


def _read_plan(model: Model, found: dict[str, Any], decisions: Decisions) -> Plan:
    run = _read_run(model, found)
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
        found["form"],
    )
