"""What compilations find out of a model and of the devices bit by bit, found out at once, anew, and kept for them."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.base import PrepareOptions
from nnapi.model.model import Model
from nnapi.runtime.autotune.measurements import ATTEMPTS, make_key, recall_measurements
from nnapi.runtime.cache.own_cache import open_own_cache
from nnapi.runtime.choice import choose_and_prepare
from nnapi.runtime.compilation import compile
from nnapi.runtime.costs.thread_choice import price
from nnapi.runtime.device import Device, Devices, list_named
from nnapi.runtime.device import devices as all_devices
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import settings
from nnapi.store.directories import RecordKind
from nnapi.store.records import forget_record

ROUNDS = 20
"""Times at most that the devices' costs are measured further, each for as long as one compilation may."""


def tune(model: Model, devices: Devices | None = None, *, threads: int | None = None) -> Plan:
    """Measure what the model's operations cost on the devices, compare its plans, and keep what was chosen for later
    compilations with the same devices and threads; gives their plan. What was kept before is forgotten.
    """
    candidates = [each for each in all_devices() if not each.is_by_name] if devices is None else list_named(devices)
    options = PrepareOptions(threads=threads)
    with settings(tuning=True):
        if len(usable := [device for device in candidates if not device.is_out]) > 1:
            _measure_costs(model, candidates, options)
            _choose_anew(model, candidates, options, make_key(model, usable, options))
        with compile(model, devices, threads=threads) as compilation:
            return compilation.plan


def _choose_anew(model: Model, devices: Sequence[Device], options: PrepareOptions, key: str) -> None:
    """Compare until nothing disturbs it, as often as compilations would."""
    forget_record(RecordKind.PLANS, key)
    cache = open_own_cache(model)
    if cache is not None:
        for device in devices:
            cache.forget(device, options)
    for _ in range(ATTEMPTS):
        ready = choose_and_prepare(model, devices, options, None, lambda run, prepared: prepared, key, compares=True)
        ready.prepared.close()
        if recall_measurements(key).is_settled:
            return


def _measure_costs(model: Model, devices: Sequence[Device], options: PrepareOptions) -> None:
    """Measure until there is nothing more to be known of the model's operations."""
    known = -1
    for _ in range(ROUNDS):
        tables = price(model, devices, options).tables
        if (count := sum(len(table.costs) for table in tables.values())) == known:
            return
        known = count
