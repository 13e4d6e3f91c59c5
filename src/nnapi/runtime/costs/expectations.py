"""What is expected of devices before they were measured: from samples of their engines, or in relation to another's.

No engine is started for that but one which starts at once; what comes of it holds until the devices are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from nnapi.drivers.samples import Related, Relations, Sample, Sampled, Samples
from nnapi.model.operand import DTYPES
from nnapi.runtime.costs.cost_tables import Cost, Estimate, Fastest, Table, open_costs
from nnapi.runtime.costs.figures import find_figures
from nnapi.runtime.costs.workload import ELEMENTS, Element, Kind, Work
from nnapi.runtime.device import Device, devices

Ways = dict[tuple[Kind, Element], Fastest]


def expect(device: Device, threads: int, measures: bool = True) -> Table:
    """The table of a device, and what is expected of what that lacks: samples are taken where none are kept, or only
    what is kept counts."""
    return replace(open_costs().table(device, threads), estimate=_estimate(device, threads, measures))


def _estimate(device: Device, threads: int, measures: bool) -> Estimate | None:
    driver = device.driver
    if isinstance(driver, Related):
        relations = driver.relate()
        other = next((each for each in devices() if each.name == relations.other), None)
        found = _estimate(other, threads, measures) if other else None
        return relate(found, relations) if found else None
    figures = find_figures(driver, measures) if isinstance(driver, Sampled) else None
    samples = driver.read_samples(figures) if isinstance(driver, Sampled) and figures is not None else None
    return fit_samples(samples, threads) if samples else None


def fit_samples(samples: Samples, threads: int) -> Estimate:
    """What samples say, where so many threads share what operations have to do, but for what they take anyway."""
    ways: Ways = {}
    for each, costs in _fit(tuple(samples.operations)).items():
        shared = (Cost(cost[0], *(figure / threads for figure in cost[1:])) for cost in costs)
        ways[each] = Fastest(tuple(shared))
    return Estimate(samples.launch, samples.byte, ways)


@lru_cache
def _fit(samples: Sequence[Sample]) -> dict[tuple[Kind, Element], list[Cost]]:
    """The costs of each class that was sampled, one for each kernel."""
    from nnapi.runtime.costs.fitting import fit  # for who has something to predict

    kernels: dict[tuple[Kind, Element, str], list[Sample]] = {}
    for sample in samples:
        kernels.setdefault((sample.kind, ELEMENTS[sample.code], sample.kernel), []).append(sample)
    found: dict[tuple[Kind, Element], list[Cost]] = {}
    costs: dict[tuple[Any, ...], Cost] = {}
    for (kind, element, _), members in kernels.items():
        alike = tuple(sample[2:] for sample in members)
        if alike not in costs:
            works = [[Work(kind, element, s.macs, s.nbytes, 1, s.pixels, s.places)] for s in members]
            costs[alike] = fit(works, [sample.seconds for sample in members], [0.0] * len(members))
        found.setdefault((kind, element), []).append(costs[alike])
    return found


def relate(estimate: Estimate, relations: Relations) -> Estimate:
    """What follows for an engine from what is expected of another."""
    ways: Ways = {}
    for (kind, code), (factor, alike) in relations.kinds.items():
        source = code if alike is None else alike
        other = estimate.costs.get((kind, ELEMENTS[source]))
        if other is not None:
            byte = factor * DTYPES[source].itemsize / DTYPES[code].itemsize
            factors = relations.operation, factor, byte, factor, factor
            costs = (Cost(*(f * figure for f, figure in zip(factors, cost, strict=True))) for cost in other.costs)
            ways[kind, ELEMENTS[code]] = Fastest(tuple(costs))
    return Estimate(relations.call * estimate.launch, estimate.byte, ways)
