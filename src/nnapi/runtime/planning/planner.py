"""Making a plan: ask the devices what they take, predict what it costs, choose, and put the choice in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from nnapi.codes import CONTROL_FLOW, DeviceTypeCode, OperationCode, PreferenceCode
from nnapi.drivers.base import Driver, Verdict
from nnapi.errors import BadDataError, need_value
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import depths, list_called
from nnapi.runtime.costs.prices import NOMINAL, Tables, list_prices
from nnapi.runtime.costs.workload import find_work
from nnapi.runtime.device import Device
from nnapi.runtime.planning.candidates import candidates
from nnapi.runtime.planning.forms import add_forms
from nnapi.runtime.planning.grouping import count_reads, group_by_owner, make_submodel
from nnapi.runtime.planning.partition import FORBIDDEN, Flow, Problem, partition
from nnapi.runtime.planning.plan import (
    Alternative,
    Decision,
    Explanation,
    If,
    OnlyPlan,
    Plan,
    Run,
    Step,
    While,
    run_everything_on,
)
from nnapi.runtime.planning.verdicts import find_verdicts, has_open_control_flow, need_verdicts
from nnapi.trace import Layer, Phase, Section, span
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

EXACT, INEXACT = 1e-12, 0.02
"""Shares of a plan's cost that a better one must save: declared costs are taken at their word, measured ones not."""

CUT = 2e-5
"""Seconds that a network loses where a tensor goes from one engine to another, beside what was measured of both: they
no longer fuse its two sides, and bring the tensor into the host's layout and back."""

UNSURE = 2.0
"""How much faster an engine that starts slowly must be predicted to be to give a first answer: predictions are mostly
within that, and it takes longer to start than thousands of runs gain."""

DIVIDED = 8
"""Control flow that holds control flow deeper than this is not taken apart: whoever runs it runs all of it."""

Exclusions = Mapping[tuple[str, Model, int], str]
"""(device name, model, number of one of its operations) to the reason why the device is not to be asked again."""


def make_plan(
    model: Model,
    devices: Sequence[Device],
    preference: PreferenceCode,
    exclusions: Exclusions | None = None,
    tables: Tables | None = None,
) -> Plan:
    """The plan for a finished model. Raises BadDataError, with each device's reason, for operations nobody takes."""
    (best,) = make_plans(model, devices, preference, exclusions, tables, compared=False)
    return best


@Section(Layer.RUNTIME, Phase.COMPILATION, "ModelBuilder::partitionTheWork")
def make_plans(
    model: Model,
    devices: Sequence[Device],
    preference: PreferenceCode,
    exclusions: Exclusions | None = None,
    tables: Tables | None = None,
    *,
    compared: bool = True,
) -> list[Plan]:
    """The best plan; where it is to be ``compared``, the one to begin with and other candidates, the fastest first."""
    excluded, measured = exclusions or {}, tables or {}
    ask = find_verdicts if len(devices) > 1 else need_verdicts  # a device that fails is planned around
    verdicts = [_ask_for_verdicts(model, device, excluded, ask) for device in devices]
    _need_taken(model, devices, verdicts)
    if len(devices) == 1:
        return [_make_only_plan(model, devices[0], verdicts, preference, excluded, measured)]
    problem = _make_problem(model, devices, verdicts, preference, measured)
    best = _assign(problem, devices, INEXACT if measured else EXACT)
    wanted = candidates(problem, best) if compared else [best]
    best = wanted[0]
    alternatives = tuple(_list_alternatives(problem, devices, best))
    notes = tuple(dict.fromkeys(excluded.values()))

    def plan(assignment: Sequence[int]) -> Plan:
        owners: dict[int, object] = {
            call.number: devices[d] for call, d in zip(model.operations, assignment, strict=True)
        }
        steps = _make_steps(model, devices, owners, preference, excluded, measured)
        decisions = _make_decisions(model, devices, verdicts, problem, assignment)
        return Plan(model, tuple(steps), tuple(decisions), problem.cost(assignment), alternatives, notes)

    _log_choice(model, devices, best)
    plans = [plan(assignment) for assignment in wanted]
    return add_forms(plans, devices) if compared else plans


def _make_only_plan(
    model: Model,
    device: Device,
    verdicts: Sequence[Sequence[Verdict]],
    preference: PreferenceCode,
    exclusions: Exclusions,
    tables: Tables,
) -> Plan:
    """The plan where there is one device, which takes everything: nothing is predicted before somebody asks."""
    assignment = [0] * len(model.operations)

    def explain() -> Explanation:
        problem = _make_problem(model, [device], verdicts, preference, tables)
        return tuple(_make_decisions(model, [device], verdicts, problem, assignment)), problem.cost(assignment), ()

    _log_choice(model, [device], assignment)
    return OnlyPlan(model, run_everything_on(model, device.name), explain, tuple(dict.fromkeys(exclusions.values())))


@Section(Layer.RUNTIME, Phase.COMPILATION, "ModelBuilder::partitionTheWork")
def make_first_plan(
    model: Model,
    devices: Sequence[Device],
    preference: PreferenceCode,
    tables: Tables | None = None,
    *,
    slower: bool = True,
) -> Plan | None:
    """The plan of the device that is predicted to be fastest and takes the whole model, or of the next that does, if
    ``slower`` ones will do; None where there is none. The others are not asked before somebody wants to know. One that
    starts slowly must be faster by far."""
    measured, count = tables or {}, len(model.operations)
    taken = [[Verdict(True)] * count for _ in devices]
    problem = _make_problem(model, devices, taken, preference, measured)
    handicaps = [UNSURE if device.starts_slowly else 1.0 for device in devices]
    places = sorted(problem.devices, key=lambda d: handicaps[d] * problem.cost((d,) * count))
    for place in places if slower else places[:1]:
        verdicts = _ask_for_verdicts(model, devices[place], {})
        if all(verdict.supported for verdict in verdicts):
            _log_choice(model, devices, [place] * count)
            explain = partial(explain_choice, model, devices, place, preference, measured, known=verdicts)
            return OnlyPlan(model, run_everything_on(model, devices[place].name), explain, ())
    return None


def explain_choice(
    model: Model,
    devices: Sequence[Device],
    place: int,
    preference: PreferenceCode,
    tables: Tables,
    *,
    known: Sequence[Verdict] | None = None,
) -> Explanation:
    """Why each operation of a model is where it is, all of them on the device at ``place``, whose verdicts may be
    ``known``, and what else was possible."""
    assignment = [place] * len(model.operations)
    verdicts = [
        known if known is not None and d == place else _ask_for_verdicts(model, device, {})
        for d, device in enumerate(devices)
    ]
    problem = _make_problem(model, devices, verdicts, preference, tables)
    decisions = _make_decisions(model, devices, verdicts, problem, assignment)
    return tuple(decisions), problem.cost(assignment), tuple(_list_alternatives(problem, devices, assignment))


def plan_whole(model: Model, device: Device) -> Plan:
    """The plan that gives the whole model to one device without asking about costs."""
    verdicts = [_ask_for_verdicts(model, device, {}, need_verdicts)]
    _need_taken(model, [device], verdicts)
    decisions = tuple(
        Decision(call.number, call.name, device.name, ((device.name, verdict),), ())
        for call, verdict in zip(model.operations, verdicts[0], strict=True)
    )
    return Plan(model, (run_everything_on(model, device.name),), decisions, 0.0)


def _ask_for_verdicts(
    model: Model, device: Device, exclusions: Exclusions, ask: Callable[[Driver, Model], list[Verdict]] = find_verdicts
) -> Sequence[Verdict]:
    with span(device.layer, Phase.COMPILATION, "getSupportedOperations", device=device.name):
        verdicts = ask(device.driver, model)
    if not exclusions:
        return verdicts
    return [
        Verdict(False, exclusions[device.name, model, call.number])
        if (device.name, model, call.number) in exclusions
        else verdict
        for call, verdict in zip(model.operations, verdicts, strict=True)
    ]


def _assign(problem: Problem, devices: Sequence[Device], slack: float) -> Sequence[int]:
    """The device of each operation. Of what costs the same the CPU has the preference, then the earlier device."""
    order = sorted(problem.devices, key=lambda d: devices[d].type != DeviceTypeCode.DEVICE_CPU)
    found = need_value(partition(problem.with_devices(order), slack), "no device takes all that the others refuse")
    return [order[place] for place in found]


def _need_taken(model: Model, devices: Sequence[Device], verdicts: Sequence[Sequence[Verdict]]) -> None:
    if any(all(verdict.supported for verdict in answers) for answers in verdicts):
        return
    for position, call in enumerate(model.operations):
        if any(answers[position].supported for answers in verdicts):
            continue
        refusals = [
            f"{device.name}: {answers[position].reason}" for device, answers in zip(devices, verdicts, strict=True)
        ]
        raise BadDataError(f"no device takes {call}; " + "; ".join(refusals))


def _make_problem(
    model: Model,
    devices: Sequence[Device],
    verdicts: Sequence[Sequence[Verdict]],
    preference: PreferenceCode,
    tables: Tables,
) -> Problem:
    prices = list_prices(devices, tables)
    compute = []
    for position, call in enumerate(model.operations):
        work = find_work(model, call)
        compute.append(
            [
                price.seconds(model, call, preference, work) if answers[position].supported else FORBIDDEN
                for price, answers in zip(prices, verdicts, strict=True)
            ]
        )
    cut, cut_byte = (CUT, NOMINAL.byte) if tables else (0.0, 0.0)
    launches, bytes_ = [price.launch for price in prices], [price.byte for price in prices]
    return Problem(compute, _find_flows(model), launches, bytes_, cut, cut_byte)


def _find_flows(model: Model) -> list[Flow]:
    producers = {index: position for position, call in enumerate(model.operations) for index in call.outputs}
    consumers: dict[int, list[int]] = {}
    for position, call in enumerate(model.operations):
        for index in dict.fromkeys(call.inputs):
            consumers.setdefault(index, []).append(position)
    moving = (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)
    return [
        Flow(producers.get(o.index), tuple(consumers.get(o.index, ())), o.type.nbytes, o.index in model.outputs)
        for o in model.operands
        if o.lifetime in moving
    ]


def _list_alternatives(problem: Problem, devices: Sequence[Device], best: Sequence[int]) -> list[Alternative]:
    """The devices that could have the whole model and do not."""
    singles = [
        Alternative(f"everything on {device.name}", problem.cost((d,) * len(problem.compute)))
        for d, device in enumerate(devices)
        if set(best) != {d}
    ]
    return sorted((a for a in singles if a.seconds < FORBIDDEN), key=lambda alternative: alternative.seconds)


def _make_decisions(
    model: Model,
    devices: Sequence[Device],
    verdicts: Sequence[Sequence[Verdict]],
    problem: Problem,
    assignment: Sequence[int],
) -> list[Decision]:
    names = [device.name for device in devices]
    operations = {call.code: call.name for call in model.operations}
    return [
        Decision(
            call.number,
            operations[call.code],
            names[assignment[position]],
            tuple((name, answers[position]) for name, answers in zip(names, verdicts, strict=True)),
            tuple(zip(names, problem.compute[position], strict=True)),
        )
        for position, call in enumerate(model.operations)
    ]


def _make_steps(
    model: Model,
    devices: Sequence[Device],
    owners: dict[int, object],
    preference: PreferenceCode,
    exclusions: Exclusions,
    tables: Tables,
) -> list[Step]:
    """The steps in order. Control flow that the CPU is best at is taken apart, so that other devices can have what
    is inside."""
    split = {call.number: object() for call in model.operations if _is_divisible(model, call, owners[call.number])}
    if not split and len(set(map(id, owners.values()))) == 1:
        device = next(iter(owners.values()))
        assert isinstance(device, Device)
        return [run_everything_on(model, device.name)]
    steps: list[Step] = []
    reads = count_reads(model.operations)
    for owner, calls in group_by_owner(model, owners | split):
        if isinstance(owner, Device):
            part, inputs, outputs = make_submodel(model, calls, reads)
            steps.append(Run(owner.name, part, tuple(call.number for call in calls), inputs, outputs))
        else:
            steps += [_divide_control_flow(model, call, devices, preference, exclusions, tables) for call in calls]
    return steps


def _is_divisible(model: Model, call: OperationCall, owner: object) -> bool:
    return (
        call.code in CONTROL_FLOW
        and isinstance(owner, Device)
        and owner.type == DeviceTypeCode.DEVICE_CPU
        and not has_open_control_flow(model, call)
        and max(depths(inner)[inner] for inner in list_called(model, call)) < DIVIDED
    )


def _divide_control_flow(
    model: Model,
    call: OperationCall,
    devices: Sequence[Device],
    preference: PreferenceCode,
    exclusions: Exclusions,
    tables: Tables,
) -> Step:
    operands = model.operands
    plans = [
        make_plan(operands[i].value, devices, preference, exclusions, tables)
        for i in call.inputs
        if isinstance(operands[i].value, Model)
    ]
    rest = tuple(index for index in call.inputs if not isinstance(operands[index].value, Model))
    if call.code == OperationCode.IF:
        return If(call.number, rest[0], plans[0], plans[1], rest[1:], call.outputs)
    return While(call.number, plans[0], plans[1], rest, call.outputs)


def _log_choice(model: Model, devices: Sequence[Device], assignment: Sequence[int]) -> None:
    """The messages that the NNAPI guide tells people to look for."""
    if len(set(assignment)) == 1:
        log.info("ModelBuilder::partitionTheWork: only one best device: %s", devices[assignment[0]].name)
    if log.is_verbose:
        for call, device in zip(model.operations, assignment, strict=True):
            log.info("ModelBuilder::findBestDeviceForEachOperation(%s): = %d", call.name, device)
