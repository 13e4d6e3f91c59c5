"""Which measured costs a compilation plans with, and on how many threads it runs.

Only devices that were found on this machine are measured, and only where there are several to choose from.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

from nnapi.codes import DeviceTypeCode, PreferenceCode
from nnapi.drivers.base import PrepareOptions
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.costs.calibration import BUDGET, Class, calibrate
from nnapi.runtime.costs.cost_tables import Table, open_costs
from nnapi.runtime.costs.expectations import expect
from nnapi.runtime.costs.prices import NOMINAL
from nnapi.runtime.costs.workload import Work, find_work
from nnapi.runtime.device import Device
from nnapi.runtime.device import devices as all_devices
from nnapi.runtime.inputs import has_known_ranks

WORTH_SHARING = 3e-4
"""Seconds of a run on one thread below which waking others costs more than they help, unless runs follow closely."""
HINDRANCE = 1.25
"""How much slower all threads are predicted to be than one where one is taken: a busy machine must not decide it."""

PATIENCE = 1000
"""Runs of a model that a compilation may take the time of to find out what suits it."""
TINY = 2e-5
"""Seconds of a run on the nominal processor below which there is nothing to be gained by finding out: asking one more
engine takes longer than that many runs."""

_measuring = make_lock()
"""Compilations at the same time would disturb each other's measurements, and repeat them."""


@dataclass(frozen=True)
class Pricing:
    """Tables by the names of the devices, and the number of threads they are for; None leaves it to the drivers.

    ``patience`` is how many seconds may be spent on finding out what suits the model.
    """

    tables: Mapping[str, Table] = field(default_factory=dict)
    threads: int | None = None
    patience: float = math.inf
    is_measured: bool = True
    """Whether what was not known was measured."""

    @property
    def is_tiny(self) -> bool:
        """Whether the model is too small for finding out to be worth anything."""
        return self.patience < PATIENCE * TINY


def predict_nominal_seconds(model: Model) -> float:
    """Seconds of a run on the nominal processor, which no measurement changes."""
    return sum(NOMINAL.seconds(find_work(each, call)) for each in list_nested(model) for call in each.operations)


def is_tiny(model: Model) -> bool:
    """Whether finding out what suits a model cannot pay."""
    return predict_nominal_seconds(model) < TINY


def price(model: Model, devices: Sequence[Device], options: PrepareOptions, measures: bool = True) -> Pricing:
    """What is known of the devices, after measuring what is not and may be, on the threads that suit the model.

    The number of threads is the one asked for; without one it is 1, and for a single fast answer that takes long
    enough as many as there are processors, unless that is predicted to be slower.
    """
    found = all_devices()
    devices = [device for device in devices if not device.is_out]
    measurable = [device for device in devices if device in found]
    is_measurable = len(measurable) == len(devices) > 1
    patience = PATIENCE * predict_nominal_seconds(model) if is_measurable else math.inf
    if patience < PATIENCE * TINY:  # others than one thread would not be worth waking for it
        threads = options.threads or 1
        return Pricing(find_tables(measurable, threads, measures=False), threads, patience, is_measured=False)
    may_measure = measures and len(measurable) > 1 and has_known_ranks(model)
    works = _sum_works(model)
    budgets = {device.name: min(BUDGET, patience / len(measurable)) for device in measurable}

    def tables(threads: int) -> dict[str, Table]:
        for device in measurable if may_measure else ():
            with _measuring:
                start = time.perf_counter()
                own, share = count_threads(device, threads), patience / len(measurable)
                calibrate(open_costs(), device, own, works, budgets[device.name], share)
                budgets[device.name] -= time.perf_counter() - start
        return find_tables(measurable, threads)

    return Pricing(*_choose_threads(works, tables, options), patience, measures)


def _choose_threads(
    works: Mapping[Class, Work], tables: Callable[[int], Mapping[str, Table]], options: PrepareOptions
) -> tuple[Mapping[str, Table], int | None]:
    """The number of threads, and the tables for it."""
    single = tables(options.threads or 1)
    if options.threads is not None:
        return single, options.threads
    seconds = _predict_least(works, single)
    if not seconds:
        return single, None
    processors = len(os.sched_getaffinity(0))
    fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    if not fast or processors == 1 or seconds < WORTH_SHARING:
        return single, 1
    shared = tables(processors)
    both = {each: work for each, work in works.items() if each in _list_measured(single) & _list_measured(shared)}
    if not both:
        return single, None
    hinders = _predict_least(both, shared) > HINDRANCE * _predict_least(both, single)
    return (single, 1) if hinders else (shared, processors)


def find_tables(devices: Sequence[Device], threads: int, measures: bool = True) -> dict[str, Table]:
    """What was measured of the devices so far, on so many threads, by their names, and what is expected of the rest,
    after taking samples where none are kept, or by those kept."""
    return {device.name: expect(device, count_threads(device, threads), measures) for device in devices}


def count_threads(device: Device, threads: int) -> int:
    """Threads that a device's table is kept for: the CPU reference does not heed the number."""
    return 1 if device.type == DeviceTypeCode.DEVICE_CPU else threads


def _sum_works(model: Model) -> dict[Class, Work]:
    """What the operations of each class have to do together, those inside control flow included."""
    works: dict[Class, Work] = {}
    for each in reversed(list_nested(model)):
        for call in each.operations:
            _add(works, find_work(each, call))
    return works


def _add(works: dict[Class, Work], work: Work) -> None:
    kind, element, *amounts = work
    before = works.get((kind, element))
    works[kind, element] = Work(kind, element, *map(add, amounts, before[2:])) if before else work


def _list_measured(tables: Mapping[str, Table]) -> set[Class]:
    """The classes that some device's table has figures for."""
    return {each for table in tables.values() for each, cost in table.costs.items() if cost is not None}


def _predict_least(works: Mapping[Class, Work], tables: Mapping[str, Table]) -> float:
    """Seconds of all classes, each on the device that is fastest; those that were measured nowhere count nothing."""
    total = 0.0
    for each, work in works.items():
        costs = [cost for table in tables.values() if (cost := table.costs.get(each)) is not None]
        total += min((cost.seconds(work) for cost in costs), default=0.0)
    return total
