"""Measuring what operations cost on a device: small models of each kind, run for a moment.

A model's seconds are a launch, the copies of its input and output, and for its operations so much each, for each
MAC, byte, pixel and place of a filter. The samples of a kind differ in these, and the figures are those that fit them
best.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial

import numpy as np

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions, Request
from nnapi.errors import OpFailedError, need
from nnapi.model.model import Model
from nnapi.runtime.autotune.timing import time_call, time_calls
from nnapi.runtime.costs.cost_tables import Cost, Costs, Table, name_table
from nnapi.runtime.costs.fitting import fit
from nnapi.runtime.costs.microbenchmarks import RECIPES, samples
from nnapi.runtime.costs.workload import Element, Kind, Work, find_work
from nnapi.runtime.device import Device
from nnapi.runtime.planning.verdicts import find_verdicts
from nnapi.trace import Layer, Phase, Section, mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

BUDGET = 0.12
"""Seconds for what one compilation measures of a device; the next goes on where it ended."""
LEAST = 0.015
"""Seconds without which nothing is begun with a device that nothing is known of."""
SECONDS = 0.0012
"""How long a sample is run, after a first run that does not count."""
RUNS = 4
"""Least runs of a sample, however long they take."""
TOO_LONG = 0.05
"""Seconds of a first run, and of a second, after which a device is too slow to be measured so."""

BASE = Kind.ELEMENTWISE, Element.FLOAT32
"""Measured first: launch and copies come from these."""

Class = tuple[Kind, Element]

SECTION = Section(Layer.RUNTIME, Phase.COMPILATION, "calibrate")


def calibrate(
    costs: Costs,
    device: Device,
    threads: int,
    wanted: Iterable[Class],
    budget: float = BUDGET,
    patience: float = math.inf,
) -> None:
    """Measure the wanted classes that the device's table lacks, as far as the seconds of the budget go.

    What all of them need is measured whatever the budget is, but in no more than ``patience`` seconds, if it can be.
    """
    table = costs.table(device, threads)
    missing = [each for each in dict.fromkeys(wanted) if each not in table.costs]
    if not missing or budget <= (0 if BASE in table.costs else LEAST):
        return
    with SECTION, mute():
        _measure(costs, device, threads, table, missing, budget, patience)


def _measure(
    costs: Costs,
    device: Device,
    threads: int,
    table: Table,
    missing: Sequence[Class],
    budget: float,
    patience: float,
) -> None:
    options = PrepareOptions(PreferenceCode.PREFER_FAST_SINGLE_ANSWER, threads=threads)
    name, start = name_table(device, threads), time.perf_counter()
    watch = _Watch(costs.paces, name, start + budget)
    if BASE not in table.costs:
        found = _measure_base(device, options, _Watch(costs.paces, name, start + patience))
        if found is None:
            return
        table = found
    figures = dict(table.costs)
    for each in missing:
        if table.launch is None:
            figures[each] = None
        elif each != BASE and watch.has_time(len(RECIPES.get(each[0], ()))):
            figures[each] = _measure_class(device, options, table, watch, *each)
    costs.keep(device, threads, Table(table.launch, table.byte, figures))


class _Watch:
    """Says for how many more samples of a device there is time. What the first took, which loads the engine, says
    nothing of the others."""

    def __init__(self, paces: dict[str, float], name: str, end: float) -> None:
        self._paces, self._name, self._end = paces, name, end

    def has_time(self, count: int) -> bool:
        """Whether there is time for so many samples at the pace that is known."""
        return time.perf_counter() + count * self._paces.get(self._name, 0.0) < self._end

    @contextmanager
    def sample(self) -> Iterator[None]:
        """Take the time of one."""
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        if self._name not in self._paces:
            self._end, seconds = self._end + seconds, 0.0
        self._paces[self._name] = seconds


def measure_all(costs: Costs, device: Device, threads: int) -> None:
    """Measure every class of a device anew, however long that takes."""
    costs.keep(device, threads, Table())
    calibrate(costs, device, threads, itertools.product(Kind, Element), math.inf)


def _measure_base(device: Device, options: PrepareOptions, watch: _Watch) -> Table | None:
    """Launch, copies and sums of float32, from short and long rows of small and large ones; None where that would take
    longer than there is time."""
    models = samples(*BASE)
    try:
        with ExitStack() as opened:
            made, first = [], []
            for place, model in enumerate(models):
                if not watch.has_time(len(models) - place):
                    return None
                with watch.sample():
                    made.append(opened.enter_context(closing(_prepare(device, model, options))))
                    first.append(_time_shortest(made[-1], model))
            one, row, large_one, large_row = (
                min(s, _time_shortest(prepared, model)) for s, prepared, model in zip(first, made, models, strict=True)
            )
    except Exception as error:
        log.info("nothing is measured of %s: %s: %s", device.name, type(error).__name__, error)
        return Table(None, None, {BASE: None})
    more = len(models[1].operations) - 1
    (work,) = _list_works(models[2])
    operation = max(row - one, 0.0) / more
    launch = max(one - operation, 0.0)
    byte = max((large_row - large_one) / more - operation, 0.0) / work.nbytes
    copied = max(large_one - launch - operation - byte * work.nbytes, 0.0) / _count_moved_bytes(models[2])
    return Table(launch, copied, {BASE: Cost(operation, 0.0, byte)})


def _measure_class(
    device: Device, options: PrepareOptions, table: Table, watch: _Watch, kind: Kind, element: Element
) -> Cost | None:
    """The figures of one class; None where it has no samples or the device cannot run them."""
    works: list[list[Work]] = []
    seconds: list[float] = []
    base: list[float] = []
    try:
        for model in samples(kind, element):
            with watch.sample(), closing(_prepare(device, model, options)) as prepared:
                seconds.append(_time_shortest(prepared, model))
            works.append([work for work in _list_works(model) if work.kind is kind])
            base.append((table.launch or 0.0) + (table.byte or 0.0) * _count_moved_bytes(model))
    except Exception as error:
        log.info("%s of %s is not measured on %s: %s: %s", kind, element, device.name, type(error).__name__, error)
        return None
    return fit(works, seconds, base) if works else None


def _list_works(model: Model) -> list[Work]:
    return [find_work(model, call) for call in model.operations]


def _prepare(device: Device, model: Model, options: PrepareOptions) -> Prepared:
    """A sample made ready; an NnapiError where the device does not run it."""
    refusals = [verdict.reason for verdict in find_verdicts(device.driver, model) if not verdict.supported]
    need(not refusals, "; ".join(refusals), OpFailedError)
    return device.driver.prepare(model, options)


def _time_shortest(prepared: Prepared, model: Model) -> float:
    """The shortest of several runs on an input of zeros."""
    types = [model.operands[index].type for index in model.inputs]
    request = Request([np.full(type.dimensions, type.zero_point, type.dtype) for type in types])
    run = partial(prepared.execute, request)
    is_quick = time_call(run) < TOO_LONG or time_call(run) < TOO_LONG  # the machine may just have been busy
    need(is_quick, "it is too slow", OpFailedError)
    return min(time_calls(run, SECONDS, RUNS))


def _count_moved_bytes(model: Model) -> int:
    return sum(model.operands[index].type.nbytes for index in (*model.inputs, *model.outputs))
