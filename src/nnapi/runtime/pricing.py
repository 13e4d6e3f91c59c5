"""Which measured costs a compilation plans with, and on how many threads it runs.

Only devices that were found on this machine are measured, and only where there are several to choose from.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nnapi.codes import DeviceTypeCode, PreferenceCode
from nnapi.drivers.base import PrepareOptions
from nnapi.model.model import Model
from nnapi.model.nesting import nested
from nnapi.runtime.calibration import BUDGET, Class, calibrate
from nnapi.runtime.device import Device
from nnapi.runtime.device import devices as all_devices
from nnapi.runtime.measured import Table, known_costs
from nnapi.runtime.tuning import has_known_ranks
from nnapi.runtime.work import Work, work_of

WORTH_SHARING = 3e-4
"""Seconds of a run on one thread below which waking others costs more than they help, unless runs follow closely."""
HINDRANCE = 1.25
"""How much slower all threads are predicted to be than one where one is taken: a busy machine must not decide it."""

_measuring = threading.Lock()
"""Compilations at the same time would disturb each other's measurements, and repeat them."""


@dataclass(frozen=True)
class Pricing:
    """Tables by the names of the devices, and the number of threads they are for; None leaves it to the drivers."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    threads: int | None = None


def priced(model: Model, devices: Sequence[Device], options: PrepareOptions) -> Pricing:
    """What is known of the devices, after measuring what is not and may be, on the threads that suit the model.

    The number of threads is the one asked for; without one it is 1, and for a single fast answer that takes long
    enough as many as there are processors, unless that is predicted to be slower.
    """
    found = all_devices()
    measurable = [device for device in devices if device in found]
    may_measure = len(measurable) > 1 and has_known_ranks(model)
    works = _works(model) if may_measure else {}
    budgets = {device.name: BUDGET for device in measurable}

    def tables(threads: int) -> dict[str, Table]:
        costs = known_costs()
        for device in measurable if may_measure else ():
            with _measuring:
                start = time.perf_counter()
                calibrate(costs, device, threads_of(device, threads), works, budgets[device.name])
                budgets[device.name] -= time.perf_counter() - start
        return {device.name: costs.table(device, threads_of(device, threads)) for device in measurable}

    single = tables(options.threads or 1)
    if options.threads is not None:
        return Pricing(single, options.threads)
    if not any(table.costs for table in single.values()):
        return Pricing(single)
    works = works or _works(model)
    processors = len(os.sched_getaffinity(0))
    fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    seconds = _least_seconds(works, single)
    if not seconds:
        return Pricing(single)
    if not fast or processors == 1 or seconds < WORTH_SHARING:
        return Pricing(single, 1)
    shared = tables(processors)
    both = {each: work for each, work in works.items() if each in _measured(single) & _measured(shared)}
    if not both:
        return Pricing(single)
    hinders = _least_seconds(both, shared) > HINDRANCE * _least_seconds(both, single)
    return Pricing(single, 1) if hinders else Pricing(shared, processors)


def threads_of(device: Device, threads: int) -> int:
    """Threads that a device's table is kept for: the CPU reference does not heed the number."""
    return 1 if device.type == DeviceTypeCode.DEVICE_CPU else threads


def _works(model: Model) -> dict[Class, Work]:
    """What the operations of each class have to do together, those inside control flow included."""
    works: dict[Class, Work] = {}
    for each in reversed(nested(model)):
        for call in each.operations:
            _add(works, work_of(each, call))
    return works


def _add(works: dict[Class, Work], work: Work) -> None:
    kind, element, products, nbytes, steps = work
    if before := works.get((kind, element)):
        works[kind, element] = Work(kind, element, products + before[2], nbytes + before[3], steps + before[4])
    else:
        works[kind, element] = work


def _measured(tables: Mapping[str, Table]) -> set[Class]:
    """The classes that some device's table has figures for."""
    return {each for table in tables.values() for each, cost in table.costs.items() if cost is not None}


def _least_seconds(works: Mapping[Class, Work], tables: Mapping[str, Table]) -> float:
    """Seconds of all classes, each on the device that is fastest; those that were measured nowhere count nothing."""
    total = 0.0
    for each, work in works.items():
        costs = [cost for table in tables.values() if (cost := table.costs.get(each)) is not None]
        total += min((cost.seconds(work) for cost in costs), default=0.0)
    return total
