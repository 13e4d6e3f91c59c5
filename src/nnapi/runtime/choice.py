"""The choice of devices for a model of which nothing is known: price, plan, prepare, compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnapi.drivers.base import PrepareOptions
from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.runtime.autotune.autotune import choose_fastest, is_worthwhile
from nnapi.runtime.autotune.measurements import PREDICTED, keep_measurements, keep_prediction
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.costs.thread_choice import Pricing, is_tiny, price
from nnapi.runtime.device import Device
from nnapi.runtime.executors.parts import ClaimedError, Guard, ReadyPlan, prepare_plan
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_first_plan, make_plans
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")


def choose_and_prepare(
    model: Model,
    devices: Sequence[Device],
    options: PrepareOptions,
    cache: Cache | None,
    guard: Guard,
    key: str | None,
    compares: bool,
    waits: bool = True,
) -> ReadyPlan:
    """Price, plan, prepare and compare; what was chosen is kept under the ``key``, if there was a choice.

    Where nobody ``waits`` for that, the device has the model that is predicted to be fastest, by what is known.
    """
    pricing = price(model, devices, options, waits) if compares else Pricing()
    notes = () if waits or pricing.is_tiny else (PREDICTED,)
    compares = compares and pricing.is_measured
    options = options._replace(threads=pricing.threads or options.threads)
    make_ready = partial(prepare_plan, devices=devices, options=options, cache=cache, guard=guard)

    claims: list[ClaimedError] = []
    while True:
        plans = _make_plans(model, devices, options, pricing, claims, compares)
        try:
            if key and compares and is_worthwhile(model, plans):
                slow = [device.name for device in devices if device.starts_slowly]
                return choose_fastest(model, plans, key, make_ready, pricing.patience, slow)
            ready = make_ready(plans[0].with_notes((*plans[0].notes, *notes)))
        except ClaimedError as claim:
            log.warning("%s", claim)
            claims.append(claim)
            continue
        if key and compares and not claims:
            keep_measurements(key, {}, 0, ready.plan)
        elif key and not waits and not claims and (model.origin is not None or not is_tiny(model)):
            keep_prediction(key, ready.plan, spared=is_tiny(model))
        return ready


def _make_plans(
    model: Model,
    devices: Sequence[Device],
    options: PrepareOptions,
    pricing: Pricing,
    claims: Sequence[ClaimedError],
    compares: bool,
) -> list[Plan]:
    """The plans to choose from, without the operations that devices have claimed and could not prepare.

    Where nothing was measured for it, it is that of the device predicted to be fastest, if that takes the model, or of
    the first that does, if it is tiny.
    """
    excluded = {(claim.device, claim.model, number): str(claim) for claim in claims for number in claim.culprits}
    try:
        only = None
        if not pricing.is_measured and not claims:
            tables = pricing.tables
            only = make_first_plan(model, devices, options.preference, tables, slower=pricing.is_tiny)
        plans = (
            [only]
            if only
            else make_plans(model, devices, options.preference, excluded, pricing.tables, compared=compares)
        )
    except BadDataError:
        if not claims:
            raise
        raise claims[-1].kind("; ".join(dict.fromkeys(excluded.values()))) from None
    return [plan.on_threads(options.threads) for plan in plans]
