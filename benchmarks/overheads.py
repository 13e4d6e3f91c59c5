"""Measure the runtime's overhead on one ADD of 3 × 4 floats on the reference, for every kind of run and by layer.

Times are in microseconds, minimum and median of many short series. The limits are for medians on an idle machine: 12
for a burst, 25 for compute on prepared buffers, 60 for start and wait.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from timeit import timeit
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi import Builder, Compilation, Execution
from nnapi.contract.driver import PrepareOptions, Request

SERIES = 31


@dataclass(frozen=True)
class Row:
    """One kind of run, in microseconds. ``limit`` is for the median."""

    name: str
    minimum: float
    median: float
    limit: float | None


def measured(name: str, work: Callable[[], Any], number: int, limit: float | None = None) -> Row:
    work()
    series = [1e6 * timeit(work, number=number) / number for _ in range(SERIES)]
    return Row(name, min(series), statistics.median(series), limit)


def sum_of_two() -> Compilation:
    b = Builder("sum")
    type = nnapi.tensor("float32", (3, 4))
    b.output(b.add(b.input(type), b.input(type)))
    return nnapi.compile(b.finish(), "nnapi-reference")


def bound(compilation: Compilation, given: Any, result: Any) -> Execution:
    execution = Execution(compilation)
    execution.set_input(0, given)
    execution.set_input(1, given)
    execution.set_output(0, result)
    return execution


def ways(number: int) -> list[Row]:
    """Measure each kind of run as a user calls it."""
    compilation = sum_of_two()
    given, result = np.ones((3, 4), np.float32), np.empty((3, 4), np.float32)
    reusable = Execution(compilation)
    reusable.set_reusable(True)
    reusable.set_input(0, given)
    reusable.set_input(1, given)
    reusable.set_output(0, result)
    burst = compilation.burst()

    def fenced() -> None:
        bound(compilation, given, result).start_compute_with_dependencies([]).wait()

    return [
        measured("burst.run", lambda: burst.run(given, given), number, 12),
        measured("compilation.run", lambda: compilation.run(given, given), number),
        measured("execution.compute, prepared buffers", reusable.compute, number, 25),
        measured("execution.burst_compute, prepared buffers", lambda: reusable.burst_compute(burst), number, 25),
        measured("execution.start_compute and wait", lambda: reusable.start_compute().wait(), number, 60),
        measured("compilation.start and result", lambda: compilation.start(given, given).result(), number, 60),
        measured("new execution, bind, compute", lambda: bound(compilation, given, result).compute(), number),
        measured("new execution, bind, fenced, wait", fenced, number),
    ]


def layers(number: int) -> list[Row]:
    """Measure the layers below a burst, from the innermost; each contains the one before it."""
    compilation = sum_of_two()
    given = np.ones((3, 4), np.float32)
    driver = nnapi.device("nnapi-reference").driver.prepare(compilation.model, PrepareOptions())
    burst, handle = compilation.burst(), compilation.need_active().handle
    return [
        measured("NumPy's addition", lambda: given + given, number),
        measured(
            "… with steps, checks and error state: the driver", lambda: driver.execute(Request([given, given])), number
        ),
        measured("… with the device's queue", lambda: handle.execute(Request([given, given])), number),
        measured("… with the inputs' checks and the burst's lock", lambda: burst.run(given, given), number),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=500, help="runs in each series")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {"ways": ways(options.number), "layers": layers(options.number)}
    broken = [row.name for row in found["ways"] if row.limit is not None and row.median > row.limit]
    if options.json:
        print(json.dumps({**{key: [vars(row) for row in rows] for key, rows in found.items()}, "broken": broken}))
        return bool(broken)
    out = Console()
    for key, rows in found.items():
        shown = Table(key, "minimum µs", "median µs", "limit µs")
        for row in rows:
            limit = "" if row.limit is None else f"{row.limit:.0f}"
            shown.add_row(row.name, f"{row.minimum:.2f}", f"{row.median:.2f}", limit)
        out.print(shown)
    print("all medians are within their limits" if not broken else f"too slow: {', '.join(broken)}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
