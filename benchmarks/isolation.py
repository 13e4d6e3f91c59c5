"""What it costs to have a driver in a process of its own: time a call, and memory.

Each way is timed in turns with the same in this process, so that what else the machine does strikes both; times are
microseconds, the median of many calls. The promises are about a quiet machine with two processors: at most 30 µs a call
more for inputs of up to 256 KB, at most 5 µs in a burst, at most 40 MB beyond what the engine takes.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi import Builder, Compilation, Device, Model, tensor
from nnapi.drivers.isolated import Isolated

CALL, BURST, MEMORY = 30.0, 5.0, 40.0
SIZES = (64, 4096, 65_536, 262_144)
"""Bytes of the input."""


def small_output(size: int) -> Model:
    """A sum of so many bytes of floats: what is computed is little, and what comes back four bytes."""
    b = Builder(f"{size} bytes")
    x = b.input(tensor("float32", (1, size // 4)))
    b.output(b.reduce_max(x, np.array([1], np.int32), True))
    return b.finish()


def in_turns(ways: list[Callable[[], Any]], number: int) -> list[float]:
    """The median microseconds of each way."""
    series: list[list[int]] = [[] for _ in ways]
    for way in ways:
        way()
    for _ in range(number):
        for way, times in zip(ways, series, strict=True):
            way()  # back to back with the one that counts, as in a series
            begin = time.perf_counter_ns()
            way()
            times.append(time.perf_counter_ns() - begin)
    return [statistics.median(times) / 1e3 for times in series]


def times(name: str, number: int) -> list[dict[str, Any]]:
    """The cost of calls and of bursts on a device, by the size of the input."""
    found = []
    with Device(Isolated(name)) as apart:
        for size in SIZES:
            model, given = small_output(size), np.ones((1, size // 4), np.float32)
            compiled: list[Compilation] = [nnapi.compile(model, each) for each in (name, apart)]
            bursts = [each.burst() for each in compiled]
            here, there = in_turns([partial(each.run, given) for each in compiled], number)
            burst_here, burst_there = in_turns([partial(each.run, given) for each in bursts], number)
            found.append(
                {"device": name, "bytes": size, "call": there - here, "burst": burst_there - burst_here, "here": here}
            )
            for burst in bursts:
                burst.close()
    return found


def memory(name: str) -> dict[str, Any]:
    """Megabytes that a driver's process has to itself before its engine is loaded, and that the engine adds."""
    driver = Isolated(name)
    with Device(driver) as apart:
        before = private(driver.connect().pid)
        nnapi.compile(small_output(64), apart).run(np.ones((1, 16), np.float32))
        return {"device": name, "process": before, "engine": private(driver.connect().pid) - before}


def private(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="devices to measure")
    parser.add_argument("--number", type=int, default=2000, help="calls of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.device or ["nnapi-reference", "xnnpack-cpu"]
    calls = [row for name in names for row in times(name, options.number)]
    sizes = [memory(name) for name in names]
    if options.json:
        print(json.dumps({"calls": calls, "memory": sizes}))
    else:
        shown = Table("device", "bytes", "here µs", f"a call more µs (≤ {CALL:g})", f"in a burst more µs (≤ {BURST:g})")
        for row in calls:
            figures = [f"{row[key]:.1f}" for key in ("here", "call", "burst")]
            shown.add_row(row["device"], str(row["bytes"]), *figures)
        Console().print(shown)
        for row in sizes:
            print(f"{row['device']}: {row['process']:.1f} MB (≤ {MEMORY:g}), and {row['engine']:.1f} for the engine")
    broken = [row for row in calls if row["call"] > CALL or row["burst"] > BURST]
    return bool(broken or [row for row in sizes if row["process"] > MEMORY])


if __name__ == "__main__":
    sys.exit(main())
