"""Prediction of the fastest plan, from the timings that drivers ship."""

import os
from collections.abc import Collection, Sequence
from typing import NamedTuple

from nnapi.codes import OperationCode, PreferenceCode
from nnapi.contract.winograd import may_use_both
from nnapi.errors import BadDataError
from nnapi.garbage_collection import pause_collecting
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.choice.question import Question
from nnapi.runtime.costs.prices import TURNS, predict_least
from nnapi.runtime.device import REFERENCE
from nnapi.runtime.executors.prepared_partitions import ClaimedError
from nnapi.runtime.planning.device_answers import DeviceAnswers
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_first_plan, make_plans, make_sure_plan, predict_variant
from nnapi.runtime.settings import find_set_variant

WORTH_SHARING = 3e-4
"""Seconds of a run on one thread; for shorter runs, waking other threads costs more than it saves."""
TINY = 2e-5
"""Seconds of a run on the nominal processor; below it, a preparation takes longer than thousands of runs."""
MOST_CHALLENGERS, SLOWEST = 5, 4.0
"""Maximum number of challengers; maximum ratio of their predicted time to the fastest plan's."""


class Prediction(NamedTuple):
    plan: Plan
    is_tiny: bool
    """Whether the model is too small for a trial to pay."""
    is_whole: bool
    """Whether no operation was excluded from a device."""


@pause_collecting()
def predict_plan(question: Question, claims: Sequence[ClaimedError]) -> Prediction:
    """Return the plan predicted to be fastest, without the operations in ``claims``. If the fastest device runs the
    whole model, no other is asked. BadDataError if no device supports an operation."""
    model, devices, preference = question.model, question.devices, question.options.preference
    threads, is_small = choose_threads(question)
    known = question.tables(threads), question.asked
    answers = DeviceAnswers(model, devices, preference, None, *known, threads=threads, is_no_choice=len(devices) == 1)
    answers = answers.without_greedy().without(list_exclusions(claims))
    try:
        plan = None
        if not claims:
            plan = make_first_plan(answers, slower=is_small) if question.has_rivals else make_sure_plan(answers)
        plan = plan or make_plans(answers, compared=False)[0]
    except BadDataError:
        if not claims:
            raise
        raise claims[-1].kind("; ".join(answers.notes)) from None
    if question.has_choice and plan.is_simple:
        plan = predict_variant(answers, plan)
    if variant := find_set_variant():
        plan = plan.with_variant(variant)
    return Prediction(plan, is_small, not claims)


def choose_threads(question: Question) -> tuple[int | None, bool]:
    """Return the number of threads to predict for, and whether the model is tiny. The number is the one in the options,
    else 1. A single fast answer that takes longer than WORTH_SHARING gets all processors. None leaves the number to the
    drivers."""
    model, (preference, _, _, threads, *_) = question.model, question.options
    tables, processors = question.tables(threads), len(os.sched_getaffinity(0))
    is_small = question.has_rivals and is_tiny(model)
    if threads is not None or not (tables or is_small):
        return threads, is_small
    is_fast = preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    is_long = not is_small and is_fast and predict_least(model, tables) >= WORTH_SHARING
    return processors if is_long else 1, is_small


def is_tiny(model: Model) -> bool:
    """Return whether a model is too small for a trial to pay."""
    has_loop = any(call.code == OperationCode.WHILE for each in list_nested(model) for call in each.operations)
    return predict_least(model, {}) * (TURNS if has_loop else 1) < TINY


def list_plans(question: Question, threads: int | None) -> list[Plan]:
    """Return the plans worth a trial: as much as possible on each device, other partitions, and variants."""
    model, preference, tables = question.model, question.options.preference, question.tables(threads)
    answers = DeviceAnswers(model, question.usable, preference, None, tables, question.asked, threads=threads)
    return make_plans(answers.without_greedy())


def list_challengers(question: Question, threads: int | None, excluded: Collection[str]) -> list[Plan]:
    """Return the plans predicted to be fastest, without those whose identity is in ``excluded``. Engines for which
    there is none get the whole model, however slow they are predicted to be: timings may be wrong. Engines differ more
    than variants, whose preparation takes longer, so these follow. The first variants are those that are compared with
    direct convolutions, which another variant may replace. Then comes the reference. Plans with several devices are
    last, as errors of the timings favor them."""
    plans = sorted(list_plans(question, threads), key=lambda plan: plan.predicted)
    limit = SLOWEST * plans[0].predicted
    fit = [plan for plan in plans if plan.identity not in excluded and plan.predicted < limit][:MOST_CHALLENGERS]
    tried = {plan.devices for plan in plans if plan.identity in excluded} | {plan.devices for plan in fit}
    for plan in plans:
        if plan.is_simple and plan.devices not in tried and plan.devices != (REFERENCE,):
            tried.add(plan.devices)
            fit.append(plan)

    def rank(plan: Plan) -> tuple[bool, ...]:
        variant = plan.variant
        return not plan.is_simple, plan.devices == (REFERENCE,), bool(variant), not may_use_both(variant)

    return sorted(fit, key=rank)


def list_exclusions(claims: Sequence[ClaimedError]) -> dict[tuple[str, Model, int], str]:
    """Return the operations that devices claimed but failed to prepare, with the reasons."""
    return {(claim.device, claim.model, number): str(claim) for claim in claims for number in claim.culprits}
