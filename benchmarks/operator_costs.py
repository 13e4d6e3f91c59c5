"""Measure the timings that drivers ship (``contract/timings.txt``), on one thread of this machine's processor.

    python benchmarks/operator_costs.py [--device xnnpack-cpu] [--seconds 0.01]

Small models of each kind of operation run on a device. The model of their time is a sum: a launch, the copies of input
and output, and costs for each operation, MAC, byte, pixel and filter tap. The program prints the costs that fit best.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import numpy as np

import nnapi
from benchmarks.operator_samples import samples
from nnapi.contract.driver import Prepared, PrepareOptions, Request
from nnapi.contract.timings import Cost, Element, Timings, find_impossible_timing, find_processor
from nnapi.contract.workload import Work, find_work
from nnapi.errors import NnapiError
from nnapi.model.facts import Kind
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.report.timing import time_calls

BASE = Kind.ELEMENTWISE, Element.FLOAT32
"""The class that gives the costs of launch and copies: its samples are one and several operations, small and large."""
RUNS = 8
LEAST_GAIN, RIDGE = 1e-9, 1e-12
"""The decrease of the error that justifies another nonzero cost, and the regularization of the least squares."""


def time_model(device: nnapi.Device, model: Model, seconds: float) -> float:
    """Return the minimum seconds of a run on zeros."""
    if not all(device.supports(model)):
        raise NnapiError(f"{device} does not support {model}")
    types = [model.operands[index].type for index in model.inputs]
    request = Request([np.full(type.dimensions, type.zero_point, type.dtype) for type in types])
    with closing(_prepare(device, model)) as prepared:
        prepared.execute(request)
        return min(time_calls(partial(prepared.execute, request), seconds, RUNS))


def _prepare(device: nnapi.Device, model: Model) -> Prepared:
    return device.driver.prepare(model, PrepareOptions(threads=1))


def measure(device: nnapi.Device, seconds: float) -> Timings:
    """Measure all classes of operations that the device supports."""
    models = samples(*BASE)
    one, row, large_one, large_row = (time_model(device, model, seconds) for model in models)
    more = len(models[1].operations) - 1
    work = find_work(models[2], models[2].operations[0])
    operation = max((row - one) / more, 1e-9)
    launch = max(one - operation, 1e-9)
    byte = max((large_row - large_one) / more - operation, 0.0) / work.nbytes
    copied = max(large_one - launch - operation - byte * work.nbytes, 0.0) / _count_moved_bytes(models[2])
    costs = {BASE: Cost(operation, 0.0, byte)}
    for kind, element in itertools.product(Kind, Element):
        if (kind, element) == BASE or not (wanted := samples(kind, element)):
            continue
        try:
            taken = [time_model(device, model, seconds) for model in wanted]
        except NnapiError:
            continue
        works = [[w for call in model.operations if (w := find_work(model, call)).kind is kind] for model in wanted]
        base = [launch + copied * _count_moved_bytes(model) for model in wanted]
        costs[kind, element] = fit(works, taken, base)
    return Timings(launch, copied, costs)


def _count_moved_bytes(model: Model) -> int:
    return sum(model.operands[index].type.nbytes for index in (*model.inputs, *model.outputs))


def fit(works: Sequence[Sequence[Work]], seconds: Sequence[float], base: Sequence[float]) -> Cost:
    """Return the cost of the operations of a class by least squares of the relative errors.

    ``works`` has the operations of each sample, ``seconds`` its time, and ``base`` the modeled time without them.
    """
    rows = [[sum(column) for column in zip(*map(_list_columns, each), strict=True)] for each in works]
    taken = np.array(seconds)
    return Cost(*_solve(np.array(rows) / taken[:, None], 1 - np.array(base) / taken))


def _list_columns(work: Work) -> tuple[int, ...]:
    return work.steps, work.macs, work.nbytes, work.pixels, work.taps


def _solve(rows: Array, shares: Array) -> list[float]:
    """Return the nonnegative costs for which ``rows @ costs`` is closest to ``shares``."""
    scales = np.sqrt((rows**2).sum(0))
    present = np.flatnonzero(scales)
    rows = rows[:, present] / scales[present]
    best, least = np.zeros(len(present)), np.inf
    for number in range(1, min(rows.shape) + 1):
        for chosen in itertools.combinations(range(len(present)), number):
            columns = rows[:, chosen]
            costs = np.zeros(len(present))
            costs[list(chosen)] = np.linalg.solve(columns.T @ columns + RIDGE * np.eye(number), columns.T @ shares)
            error = ((rows @ costs - shares) ** 2).sum()
            if (costs >= 0).all() and error < least - LEAST_GAIN:
                best, least = costs, error
    found = np.zeros(len(scales))
    found[present] = best / scales[present]
    return [float(each) for each in found]


def show(timings: Timings) -> None:
    """Print a table in the format of ``contract/timings.txt``."""
    print(f"launch, {timings.launch:.2g}, {timings.byte:.2g}")
    for (kind, element), cost in sorted(timings.costs.items()):
        print(", ".join([kind, element, *(f"{seconds:.2g}" for seconds in cost)]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="default: all")
    parser.add_argument("--seconds", type=float, default=0.01, help="measuring time of each sample")
    options = parser.parse_args(arguments)
    for name in options.device or [device.name for device in nnapi.devices()]:
        timings = measure(nnapi.device(name), options.seconds)
        fault = find_impossible_timing(timings, find_processor())
        print(f"# {name} on {find_processor()}{f': {fault}' if fault else ''}")
        show(timings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
