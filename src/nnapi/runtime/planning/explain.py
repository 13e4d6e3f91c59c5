"""Explanation of a plan as text and data: each operation's device, refusals and costs."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Predicts
from nnapi.contract.precision import refuse_precision
from nnapi.contract.winograd import has_byte_products
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.model.precision import Precision
from nnapi.runtime.device import Device, describe_substitutes
from nnapi.runtime.planning.plan import UNKNOWN, Alternative, Decision, If, Plan, Run, Step


def summary(plan: Plan) -> str:
    """Return one line: operations by device, partitions, why some are elsewhere, and times if measured. For example:

    ``xnnpack-cpu 64 of 65 operations in 1 partition; 1 on nnapi-reference: CAST (#3): …; predicted 2.1 ms, measured 2.0
    ms; next: everything on nnapi-reference: predicted 20.9 ms, measured 22.0 ms``
    """
    placed = plan.count_operations()
    parts = Counter(step.device for step in plan.steps if isinstance(step, Run))
    (main, count), *others = placed.most_common()
    text = f"{main} {count} of {_count(placed.total(), 'operation')} in {_count(parts[main] or 1, 'partition')}"
    for device, count in others:
        reasons = _find_reasons(plan, main, device)
        text += f"; {count} on {device}" + (f": {reasons[0]}" if reasons else "")
        text += f" (and {_count(len(reasons) - 1, 'more reason')})" if len(reasons) > 1 else ""
    text += f"; {plan.variant}" if plan.variant else ""
    return text if plan.measured is None else f"{text}; {_describe_times(plan)}"


def list_times(plan: Plan) -> list[str]:
    """Return a line with the plan's times, and one for each alternative."""
    times = f"{_describe_both(plan.predicted, plan.measured)}{_describe_threads(plan)}"
    return [f"chosen: {plan.identity}: {times}{_describe_why(plan)}", *_list_alternatives(plan)]


def _describe_why(plan: Plan) -> str:
    """Describe why the plan was chosen among its alternatives; empty without any."""
    others = [other for other in plan.alternatives if math.isfinite(other.seconds)]
    if not others:
        return ""
    if plan.measured is None:
        if UNKNOWN in (plan.predicted, *(other.seconds for other in others)):
            return ""
        is_first = plan.predicted <= min(other.seconds for other in others)
        return "; predicted to be fastest" if is_first else "; predicted to be nearly as fast, and sooner ready"
    measured = [other.measured for other in others if other.measured is not None]
    if not measured:
        return "; no other plan was measured"
    return "; measured to be fastest" if plan.measured <= min(measured) else "; no other plan is clearly faster"


def _list_alternatives(plan: Plan) -> list[str]:
    return [f"or {_describe_alternative(other)}" for other in plan.alternatives]


def _describe_times(plan: Plan) -> str:
    text = _describe_both(plan.predicted, plan.measured)
    if not plan.alternatives:
        return text
    return f"{text}; next: {_describe_alternative(plan.alternatives[0])}"


def _describe_alternative(other: Alternative) -> str:
    return f"{other.description}: {_describe_both(other.seconds, other.measured)}"


def _find_reasons(plan: Plan, refusing: str, chosen: str) -> list[str]:
    """Return why operations on the ``chosen`` device do not run on the ``refusing`` one, each reason once."""
    verdicts = [dict(decision.verdicts).get(refusing) for decision in plan.decisions if decision.chosen == chosen]
    return list(dict.fromkeys(verdict.reason for verdict in verdicts if verdict and not verdict.supported))


def as_text(plan: Plan) -> str:
    """Return the plan as text: summary, times, steps, each operation's verdicts and costs, notes."""
    chosen, *others = list_times(plan)
    lines = [summary(plan), "", chosen, *(f"  {line}" for line in others)]
    lines += ["", "steps"] + [f"  {number}. {_describe_step(step)}" for number, step in enumerate(plan.steps, 1)]
    lines += ["", "operations"]
    width = max((len(f"#{d.number} {d.operation}") for d in plan.decisions), default=0)
    lines += [line for decision in plan.decisions for line in _describe_decision(decision, width)]
    notes = list_notes(plan)
    if notes:
        lines += ["", "notes", *(f"  {note}" for note in notes)]
    return "\n".join(lines)


def list_notes(plan: Plan) -> list[str]:
    return [DYNAMIC_RANGE, *plan.notes] if plan.model.dynamic_range else list(plan.notes)


def add_notes(plan: Plan, devices: Sequence[Device], refusals: Mapping[str, str], trial: str | None = None) -> Plan:
    """Return the plan with notes on ``trial``, on convolutions that cannot have a Winograd variant, on substitutes
    and, if the model permits less than float32, on each device's precision.

    ``refusals`` maps a device to the reason why its engine refused that precision.
    """
    permitted, notes = plan.model.precision, list(filter(None, [trial, _explain_direct(plan, devices)]))
    notes += describe_substitutes(devices)
    for device in devices:
        notes += device.adapter.list_estimates(plan.model)
    for device in devices if permitted is not Precision.FLOAT32 else ():
        if offer := device.adapter.offer_precision(plan.model):
            refusal = refusals.get(device.name)
            found = (refuse_precision(refusal) if refusal else offer).describe(plan.variant)
        elif device.type == DeviceTypeCode.DEVICE_CPU:
            found = "computes float32 in float32: it has no other precision"
        else:
            found = f"computes float32 in {permitted} or better, as its driver decides"
        notes.append(f"{device.name} {found}")
    return plan.with_notes((*plan.notes, *notes)) if notes else plan


def _explain_direct(plan: Plan, devices: Sequence[Device]) -> str:
    """Return why a plan has no Winograd variant, although its devices have some; empty if it may have one."""
    model, offering = plan.model, {device.name for device in devices if isinstance(device.driver, Predicts)}
    is_static = all(model.operands[index].type.is_known for index in model.inputs)
    is_possible = plan.is_simple and is_static
    if plan.variant or is_possible or offering.isdisjoint(plan.devices):
        return ""
    from nnapi.lowering.tile_choice import is_candidate  # on demand: few explanations need it

    in_bytes = not has_byte_products()
    if not any(is_candidate(model, call, in_bytes=in_bytes) for call in model.operations):
        return ""
    reason = (
        "the model has dynamic dimensions (load it with shapes)"
        if plan.is_simple
        else "the plan has several partitions"
    )
    return f"convolutions are direct, without Winograd variants: {reason}"


def describe_wait(plan: Plan, seconds: float) -> str:
    chosen = f"{' and '.join(plan.devices)} {'was' if len(plan.devices) == 1 else 'were'} chosen"
    return f"ready after {_format_seconds(seconds)}: until {chosen} and had prepared it"


def as_data(plan: Plan) -> dict[str, Any]:
    """Return the plan as values for JSON; infinite and unknown costs are null."""
    return {
        "model": plan.model.name,
        "summary": summary(plan),
        "predicted_seconds": _drop_unknown(plan.predicted),
        "measured_seconds": plan.measured,
        "threads": plan.threads,
        "variant": plan.variant,
        "alternatives": [
            {"description": a.description, "seconds": _drop_unknown(a.seconds), "measured_seconds": a.measured}
            for a in plan.alternatives
        ],
        "steps": [_write_step(step) for step in plan.steps],
        "operations": [
            {
                "number": decision.number,
                "operation": decision.operation,
                "device": decision.chosen,
                "verdicts": {name: {"supported": v.supported, "reason": v.reason} for name, v in decision.verdicts},
                "seconds": {name: _drop_unknown(seconds) for name, seconds in decision.costs},
            }
            for decision in plan.decisions
        ],
        "notes": list_notes(plan),
    }


def _describe_step(step: Step) -> str:
    if isinstance(step, Run):
        return f"{step.device}: {_count(len(step.operations), 'operation')}"
    if isinstance(step, If):
        return f"IF #{step.operation}: {summary(step.then)} | {summary(step.otherwise)}"
    return f"WHILE #{step.operation}: {summary(step.condition)} | {summary(step.body)}"


def _write_step(step: Step) -> dict[str, Any]:
    if isinstance(step, Run):
        return {"run": step.device, "operations": list(step.operations)}
    if isinstance(step, If):
        return {"if": step.operation, "then": as_data(step.then), "else": as_data(step.otherwise)}
    return {"while": step.operation, "condition": as_data(step.condition), "body": as_data(step.body)}


def _describe_decision(decision: Decision, width: int) -> list[str]:
    costs, verdicts = dict(decision.costs), dict(decision.verdicts)
    how = verdicts[decision.chosen].reason if decision.chosen in verdicts else ""
    label = f"#{decision.number} {decision.operation}"
    cost = _describe_cost(costs.get(decision.chosen))
    lines = [f"  {label:<{width}}  → {decision.chosen}{cost}{how and f': {how}'}"]
    for name, verdict in decision.verdicts:
        if name != decision.chosen:
            why = _describe_cost(costs.get(name)) if verdict.supported else f": {verdict.reason}"
            lines.append(f"  {'':<{width}}    not {name}{why}")
    return lines


def _describe_threads(plan: Plan) -> str:
    return "" if plan.threads is None else f" on {_count(plan.threads, 'thread')}"


def _describe_both(predicted: float, measured: float | None) -> str:
    found = [] if predicted == UNKNOWN else [f"predicted {_format_seconds(predicted)}"]
    found += [] if measured is None else [f"measured {_format_seconds(measured)}"]
    return ", ".join(found) or "no time is predicted"


def _describe_cost(seconds: float | None) -> str:
    return "" if seconds is None else f" ({_format_seconds(seconds)})"


def _format_seconds(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "impossible"
    if seconds >= 1e-7:
        return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e9:.0f} ns" if seconds >= 1e-9 else "under 1 ns"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _drop_unknown(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and seconds != UNKNOWN else None
