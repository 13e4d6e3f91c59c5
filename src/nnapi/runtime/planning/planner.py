"""Planning: from verdicts and predicted costs to the cheapest assignment and its steps."""

from collections.abc import Sequence
from functools import partial

from nnapi.codes import CONTROL_FLOW, DeviceTypeCode, OperationCode
from nnapi.contract.driver import Verdict
from nnapi.errors import need_value
from nnapi.model.model import Model, OperationCall
from nnapi.model.nesting import depths, list_call_references
from nnapi.operation_codes import COMPOSITE_CODES
from nnapi.runtime.device import REFERENCE, Device
from nnapi.runtime.planning.candidates import list_candidates
from nnapi.runtime.planning.device_answers import DeviceAnswers
from nnapi.runtime.planning.grouping import group_by_owner
from nnapi.runtime.planning.partition import Assignment, Problem, partition
from nnapi.runtime.planning.plan import If, Plan, Run, Step, While, run_everything_on
from nnapi.runtime.settings import may_try
from nnapi.runtime.verdicts.composites import DriverAdapter
from nnapi.runtime.verdicts.submodel import count_reads, make_submodel
from nnapi.runtime.verdicts.verdicts import has_dynamic_control_flow
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

EXACT, INEXACT = 1e-12, 0.02
"""Relative savings that a better assignment must make: if costs are declared, and if they are measured."""
UNSURE = 2.0
"""An engine that starts slowly must be predicted to be this many times faster to get the first plan. Predictions are
mostly right within this factor, and the start costs more than thousands of runs gain."""
MISPREDICTED = 1.1
"""The ratio of the cost with decomposed composites to that without, from which all plans are compared."""
LONG = 0.1
"""Seconds of a run beyond which the fastest prediction counts: an engine's start is short, a trial takes minutes."""
DIVIDED = 8
"""Control flow nested deeper than this runs undivided."""


@Section(Layer.RUNTIME, Phase.COMPILATION, "ModelBuilder::partitionTheWork")
def make_plans(answers: DeviceAnswers, *, compared: bool = True) -> list[Plan]:
    """Return a list with the best plan. If ``compared``, return the first plan to run, then the others, the fastest
    first, each followed by its device's other variants. BadDataError, with reasons, if no device supports an operation.
    """
    answers = _expand_untaken(answers)
    answers.need_taken()
    if len(answers.devices) == 1:
        return [_plan_whole(answers, 0)]
    best = _assign(answers, answers.problem)
    wanted = list_candidates(answers.problem, best) if compared else [best]
    _log_choice(answers, wanted[0])
    plans = [_make_plan(answers, _make_steps(answers, assignment), assignment) for assignment in wanted]
    return [variant for plan in plans for variant in _list_variants(answers, plan)] if compared else plans


def _expand_untaken(answers: DeviceAnswers) -> DeviceAnswers:
    """Return the answers on the model in which the composites that no engine takes are replaced, so that their parts
    are divided among the devices. The reference takes all; it is not an engine."""
    composites = [(i, call) for i, call in enumerate(answers.model.operations) if call.code in COMPOSITE_CODES]
    engines = [i for i, device in enumerate(answers.devices) if device.name != REFERENCE]
    if not composites or not engines:
        return answers
    verdicts = [answers.verdicts(index) for index in engines]
    untaken = [call.number for i, call in composites if not any(each[i].supported for each in verdicts)]
    if not untaken:
        return answers
    from nnapi.lowering.expansion import expand  # on demand: few models need it

    return answers.about(expand(answers.model, frozenset(untaken)).model)


@Section(Layer.RUNTIME, Phase.COMPILATION, "ModelBuilder::partitionTheWork")
def make_first_plan(answers: DeviceAnswers, *, slower: bool = True) -> Plan | None:
    """Return the plan on the device predicted to be fastest, if it supports the whole model; with ``slower``, on the
    fastest that does. The other devices are not asked for verdicts. Return None if decomposed operations make it
    slower than predicted."""
    devices, count = answers.devices, len(answers.model.operations)
    whole = [[Verdict(True)] * count] * len(devices)
    problem = answers.price(whole)
    costs = {d: problem.cost((d,) * count) for d in problem.devices}
    unsure = UNSURE if min(costs.values()) < LONG else 1.0
    order = sorted(costs, key=lambda d: costs[d] * (unsure if devices[d].starts_slowly else 1.0))
    for index in order if slower else order[:1]:
        verdicts = answers.verdicts(index)
        pairs = zip(answers.model.operations, verdicts, strict=True)
        if any(verdict.parts and call.code not in COMPOSITE_CODES for call, verdict in pairs):
            return None  # decomposed operations are slower than predicted
        if any(verdict.parts for verdict in verdicts):
            known = answers.price([verdicts if d == index else whole[d] for d in range(len(devices))])
            if known.cost((index,) * count) > MISPREDICTED * costs[index]:
                return None
        if all(verdict.supported for verdict in verdicts):
            return _plan_whole(answers, index)
    return None


@Section(Layer.RUNTIME, Phase.COMPILATION, "ModelBuilder::partitionTheWork")
def make_sure_plan(answers: DeviceAnswers) -> Plan | None:
    """Return the plan on one device if it would be the cheapest even if the others supported everything; they are not
    asked for verdicts."""
    devices, operations = answers.devices, answers.model.operations
    index, *others = set(_assign(answers, answers.price([[Verdict(True)] * len(operations)] * len(devices))))
    if others or any(call.code in CONTROL_FLOW for call in operations):
        return None
    if devices[index].name == REFERENCE and any(call.code in COMPOSITE_CODES for call in operations):
        return None  # composites may be replaced for the engines
    is_divided = bool(answers.tables) and any(verdict.parts for verdict in answers.verdicts(index))
    is_sure = not is_divided and all(verdict.supported for verdict in answers.verdicts(index))
    return _plan_whole(answers, index) if is_sure else None


def _plan_whole(answers: DeviceAnswers, index: int) -> Plan:
    """Return the plan on one device that supports the whole model; costs are predicted on demand."""
    assignment = [index] * len(answers.model.operations)
    _log_choice(answers, assignment)
    run = run_everything_on(answers.model, answers.devices[index].name)
    return _make_plan(answers, [run], assignment)


def _make_plan(answers: DeviceAnswers, steps: Sequence[Step], assignment: Sequence[int]) -> Plan:
    plan = Plan(answers.model, tuple(steps), partial(answers.explain, assignment), answers.notes)
    return plan.on_threads(answers.threads)


def _list_variants(answers: DeviceAnswers, plan: Plan) -> list[Plan]:
    """Return the plan and its copies for other variants of its device, as far as settings permit them."""
    if not plan.is_simple:
        return [plan]
    driver = _find_driver(answers, plan)
    saved = driver.predict_savings(plan.model)
    variants = filter(may_try, driver.list_variants(plan.model))
    return [plan, *(plan.with_variant(each, saved.get(each, 0.0)) for each in variants)]


def predict_variant(answers: DeviceAnswers, plan: Plan) -> Plan:
    """Return a plan on one device with the variant that the device predicts to be fastest."""
    return plan.with_variant(_find_driver(answers, plan).predict_variant(plan.model))


def _find_driver(answers: DeviceAnswers, plan: Plan) -> DriverAdapter:
    return next(device.adapter for device in answers.devices if device.name == plan.devices[0])


def _assign(answers: DeviceAnswers, problem: Problem) -> Assignment:
    """Return each operation's device. Among equal costs, the CPU is preferred, then the first device."""
    devices = answers.devices
    order = sorted(problem.devices, key=lambda d: devices[d].type != DeviceTypeCode.DEVICE_CPU)
    found = partition(problem._replace(order=order), INEXACT if answers.tables else EXACT)
    return need_value(found, "no single device supports all operations that the others refuse")


def _make_steps(answers: DeviceAnswers, assignment: Sequence[int]) -> list[Step]:
    """Return the steps in order. Control flow on the CPU is divided, so that other devices can run its models."""
    model, steps = answers.model, list[Step]()
    owners = {call.number: answers.devices[d] for call, d in zip(model.operations, assignment, strict=True)}
    split = {call.number: object() for call in model.operations if _is_divisible(model, call, owners[call.number])}
    if not split and len(set(assignment)) == 1:
        return [run_everything_on(model, answers.devices[assignment[0]].name)]
    reads = count_reads(model.operations)
    for owner, calls in group_by_owner(model, owners | split):
        if isinstance(owner, Device):
            part, inputs, outputs = make_submodel(model, calls, reads)
            steps.append(Run(owner.name, part, tuple(call.number for call in calls), inputs, outputs))
        else:
            steps += [_divide_control_flow(answers, call) for call in calls]
    return steps


def _is_divisible(model: Model, call: OperationCall, owner: Device) -> bool:
    return (
        call.code in CONTROL_FLOW
        and owner.type == DeviceTypeCode.DEVICE_CPU
        and not has_dynamic_control_flow(model, call)
        and max(depths(inner)[inner] for inner in list_call_references(model, call)) < DIVIDED
    )


def _divide_control_flow(answers: DeviceAnswers, call: OperationCall) -> Step:
    operands = answers.model.operands
    plans = [
        make_plans(answers.about(operands[i].value), compared=False)[0]
        for i in call.inputs
        if isinstance(operands[i].value, Model)
    ]
    rest = tuple(index for index in call.inputs if not isinstance(operands[index].value, Model))
    if call.code == OperationCode.IF:
        return If(call.number, rest[0], plans[0], plans[1], rest[1:], call.outputs)
    return While(call.number, plans[0], plans[1], rest, call.outputs)


def _log_choice(answers: DeviceAnswers, assignment: Sequence[int]) -> None:
    """Log the messages that the NNAPI guide documents."""
    if len(set(assignment)) == 1:
        log.info("ModelBuilder::partitionTheWork: only one best device: %s", answers.devices[assignment[0]].name)
    if log.is_verbose:
        for call, device in zip(answers.model.operations, assignment, strict=True):
            log.info("ModelBuilder::findBestDeviceForEachOperation(%s): = %d", call.name, device)
