"""Choice by measurement: the best candidate plans of a model, run for a moment, and the winner remembered.

Predictions are rarely better than by a fifth. Where several plans are possible, a short comparison on inputs of zeros
decides, dimensions that are open being 1. What was measured is kept, so that it is paid for once per machine; on a busy
one, which engines with several threads suffer from most, until two comparisons in a row agree, the best of all
counting, or :data:`ATTEMPTS` times.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from nnapi.drivers.base import Request
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime, Model
from nnapi.runtime.autotune.cpu_load import Watch
from nnapi.runtime.autotune.measurements import ATTEMPTS, Measurements, keep_measurements, recall_measurements
from nnapi.runtime.autotune.plan_timing import BUDGET, MARGIN, PlanTiming, compare, rank
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.inputs import has_known_ranks, make_zeros
from nnapi.runtime.planning.plan import Alternative, Plan
from nnapi.runtime.settings import tunes_first
from nnapi.trace import Layer, Phase, mute, span
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

CANDIDATES = 4
"""Plans at most that are made ready for it."""
HOPELESS = 2.0
"""A plan that is predicted to take this many times what another was measured to take is not run, but for the
runner-up of a small model, where that takes next to no time and memory. Predictions are mostly within that."""
SMALL = 1 << 19
"""Bytes of constants of such a model: the reference makes others of them, several times as large."""

Prepare = Callable[[Plan], ReadyPlan]


def is_worthwhile(model: Model, plans: Sequence[Plan]) -> bool:
    """Whether there is something to compare, and inputs to compare it on can be made up."""
    return len(plans) > 1 and has_known_ranks(model)


def choose_fastest(
    model: Model,
    plans: Sequence[Plan],
    key: str,
    prepare: Prepare,
    patience: float = math.inf,
    slow: Collection[str] = (),
) -> ReadyPlan:
    """The plan that ran fastest, made ready, with the times of all in its alternatives.

    ``plans`` begin with the one that is predicted to be fastest; they are compared anew where that was not among those
    that were measured, by what is kept under the ``key``, for at most ``patience`` seconds where runs are short. One
    that cannot be made ready or run is left out; the error is raised where that leaves none. ``slow`` are devices that
    start slowly.
    """
    known = recall_measurements(key)
    times = known.times if known.threads == plans[0].threads else {}
    if plans[0].identity in times and (known.is_settled or not tunes_first()):
        order = list(times)
        chosen = min((plan for plan in plans if plan.identity in times), key=lambda plan: order.index(plan.identity))
        return prepare(chosen)._replace(plan=_add_times(chosen, plans, times))
    timings, disturbed, failure = _time_plans(model, _order(plans), prepare, known, patience, slow)
    best = timings[0]
    if disturbed and best.plan.identity == next(iter(known.times), None):
        disturbed = max(disturbed, ATTEMPTS)  # two agree, and that is that
    if best.ready is None:
        assert failure is not None
        raise failure
    for each in timings[1:]:
        if each.ready is not None:
            each.ready.prepared.close()
    if best.seconds == math.inf:
        return best.ready
    times = {each.plan.identity: each.seconds for each in timings}
    times |= {plan.identity: math.inf for plan in plans if plan.identity not in times}
    chosen = _add_times(best.plan, plans, times)
    keep_measurements(key, times, disturbed, chosen)
    return best.ready._replace(plan=chosen)


def _order(plans: Sequence[Plan]) -> list[Plan]:
    """The plans to run: those of one device first, unless a divided one is predicted to be several times as fast."""
    near = HOPELESS * min(plan.predicted for plan in plans)
    return sorted(plans, key=lambda plan: (plan.predicted > near, len(plan.devices) > 1, plan.predicted))[:CANDIDATES]


def _time_plans(
    model: Model, plans: Sequence[Plan], prepare: Prepare, known: Measurements, patience: float, slow: Collection[str]
) -> tuple[list[PlanTiming], int, NnapiError | None]:
    """The plans' times, the best one first, how many comparisons were disturbed, and why the last plan failed that
    could not be made ready. Disturbed times count where they are better than those known."""
    watch = Watch()
    with span(Layer.RUNTIME, Phase.COMPILATION, "comparePlans", plans=len(plans)):
        timings, failure = _prepare_candidates(model, plans, prepare, patience)
        with mute():
            compare([each for each in timings if each.ready is not None], min(BUDGET, patience))
    disturbed = known.disturbed + 1 if watch.is_disturbed() else 0
    for each in timings:
        if disturbed and each.seconds < math.inf:
            each.seconds = min(each.seconds, known.times.get(each.plan.identity, math.inf))
    return rank(timings, slow), disturbed, failure


def _prepare_candidates(
    model: Model, plans: Sequence[Plan], prepare: Prepare, patience: float
) -> tuple[list[PlanTiming], NnapiError | None]:
    """Each plan made ready and run, but for those that have no chance against what was measured before; and why
    the last one failed that did. Once one runs, none is begun after ``patience`` seconds."""
    request = Request(make_zeros(model))
    timings: list[PlanTiming] = []
    failure: NnapiError | None = None
    is_small = sum(o.value.nbytes for o in model.operands if o.lifetime is Lifetime.CONSTANT) <= SMALL
    end = math.inf
    for place, plan in enumerate(plans):
        timing = PlanTiming(plan, request)
        timings.append(timing)
        if time.perf_counter() > end or not _has_a_chance(plan, timings, is_small and place < 2):
            continue
        try:
            timing.ready = prepare(plan)
        except NnapiError as error:
            log.info("%s: %s is left out: %s", model.name, plan.name, error)
            failure = error
            continue
        with mute():
            timing.run()
            if timing.seconds < BUDGET:
                timing.run()  # the first sets up what later ones find
        if timing.seconds < math.inf:
            end = min(end, time.perf_counter() + patience)
    return timings, failure


def _has_a_chance(plan: Plan, timings: Sequence[PlanTiming], is_of_interest: bool) -> bool:
    """Whether a plan is worth a run: it is not predicted to take several times what another was measured to take, or
    it is of interest to people and takes little; a divided one is predicted to be faster than any."""
    measured = [each.seconds for each in timings if each.seconds < math.inf]
    if not measured:
        return True
    best = min(measured)
    if len(plan.devices) > 1:
        return plan.predicted * MARGIN < best
    return plan.predicted <= HOPELESS * best or (is_of_interest and 3 * plan.predicted < BUDGET / 2)


def _add_times(plan: Plan, plans: Sequence[Plan], times: Mapping[str, float]) -> Plan:
    """The plan that says what it and the other candidates took, the runner-up first."""

    def find(each: Plan) -> float | None:
        seconds = times.get(each.identity, math.inf)
        return seconds if seconds < math.inf else None

    others = [Alternative(other.name, other.predicted, find(other)) for other in plans if other is not plan]
    others.sort(key=lambda other: (other.measured is None, other.measured or other.seconds))
    return plan.with_times(find(plan), tuple(others))
