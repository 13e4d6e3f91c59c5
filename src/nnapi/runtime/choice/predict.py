"""Prediction of the fastest plan, from the timings that drivers ship."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Variants
from nnapi.contract.timings import Timings
from nnapi.contract.workload import find_work
from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.choice.question import Question
from nnapi.runtime.costs.prices import NOMINAL, Tables, find_tables, predict
from nnapi.runtime.executors.prepared_partitions import ClaimedError
from nnapi.runtime.planning.device_answers import DeviceAnswers
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_first_plan, make_plan, make_plans

WORTH_SHARING = 3e-4
"""Seconds of a run on one thread; for shorter runs, waking other threads costs more than it saves."""
TINY = 2e-5
"""Seconds of a run on the nominal processor; below it, a preparation takes longer than thousands of runs."""
MOST_CHALLENGERS, SLOWEST = 5, 4.0
"""Maximum number of challengers; maximum ratio of their predicted time to the fastest plan's."""


class Prediction(NamedTuple):
    """Timings by device, and the number of threads they are for; None leaves the number to the drivers."""

    tables: Tables
    threads: int | None
    is_tiny: bool = False


def look_up(question: Question) -> Prediction:
    """Return timings and a number of threads: the one in the options, else 1. A single fast answer that takes longer
    than WORTH_SHARING gets all processors."""
    model, options = question.model, question.options
    if not question.has_choice or len(question.usable) < 2:
        return Prediction({}, options.threads)
    tables = find_tables(question.usable, options.threads or 1, model)
    if is_tiny(model):
        return Prediction(tables, options.threads or 1, is_tiny=True)
    processors = len(os.sched_getaffinity(0))
    is_fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    if options.threads is not None or not tables:
        return Prediction(tables, options.threads)
    if not is_fast or processors == 1 or _predict_least(model, tables) < WORTH_SHARING:
        return Prediction(tables, 1)
    return Prediction(find_tables(question.usable, processors, model), processors)


def is_tiny(model: Model) -> bool:
    """Return whether a model is too small for a trial to pay."""
    return _predict_least(model, {}) < TINY


def predict_plan(question: Question, found: Prediction, claims: Sequence[ClaimedError]) -> Plan:
    """Return the plan predicted to be fastest, without the operations in ``claims``. If the fastest device runs the
    whole model, no other is asked. BadDataError if no device supports an operation."""
    model, preference = question.model, question.options.preference
    try:
        plan = None
        if question.has_choice and len(question.usable) > 1 and not claims:
            answers = DeviceAnswers(model, question.devices, preference, None, found.tables)
            plan = make_first_plan(answers, slower=found.is_tiny)
        plan = plan or make_plan(model, question.devices, preference, list_exclusions(claims), found.tables)
    except BadDataError:
        if not claims:
            raise
        raise claims[-1].kind("; ".join(dict.fromkeys(list_exclusions(claims).values()))) from None
    if question.has_choice and plan.is_simple:
        driver = next(device.driver for device in question.devices if device.name == plan.only_run.device)
        plan = plan.with_variant(driver.predict_variant(model) if isinstance(driver, Variants) else "")
    return plan.on_threads(found.threads)


def list_plans(question: Question, threads: int | None) -> list[Plan]:
    """Return the plans worth a trial: as much as possible on each device, other partitions, and variants."""
    tables = find_tables(question.usable, threads or 1, question.model)
    answers = DeviceAnswers(question.model, question.usable, question.options.preference, None, tables)
    return [plan.on_threads(threads) for plan in make_plans(answers)]


def list_challengers(question: Question, threads: int | None, excluded: Collection[str]) -> list[Plan]:
    """Return the plans predicted to be fastest, without those whose identity is in ``excluded``."""
    plans = sorted(list_plans(question, threads), key=lambda plan: plan.predicted)
    limit = SLOWEST * plans[0].predicted
    return [plan for plan in plans if plan.identity not in excluded and plan.predicted < limit][:MOST_CHALLENGERS]


def list_exclusions(claims: Sequence[ClaimedError]) -> dict[tuple[str, Model, int], str]:
    """Return the operations that devices claimed but failed to prepare, with the reasons."""
    return {(claim.device, claim.model, number): str(claim) for claim in claims for number in claim.culprits}


def _predict_least(model: Model, tables: Mapping[str, Timings]) -> float:
    """Predict the seconds of a model with each operation on its fastest device, else on the nominal processor."""
    total = 0.0
    for each in list_nested(model):
        for call in each.operations:
            work = find_work(each, call)
            costs = [cost for timings in tables.values() if (cost := timings.costs.get(work[:2]))]
            total += min((predict(cost, work) for cost in costs), default=predict(NOMINAL, work))
    return total
