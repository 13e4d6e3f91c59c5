"""Measure a driver in its own process: time of a call, memory, and the effect on other processes.

Each way is timed in turns with the same in this process, so that what else the machine does strikes both; times are
microseconds, the median of many calls. The promises are about a quiet machine with two processors: at most 30 µs a call
more for inputs of up to 256 KB, at most 5 µs in a burst that spins, at most 40 MB beyond what the engine takes, no copy
of constants; and a stream of high priority that takes at most half as long again where another application of the same
service computes all the time with low priority.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi import Builder, Compilation, Device, Memory, Model, PriorityCode, tensor
from nnapi.drivers.isolated import Isolated

CALL, BURST, MEMORY, DELAY = 30.0, 5.0, 40.0, 1.5
SIZES = (1024, 65_536, 262_144)
"""Bytes of the input."""
KINDS = ("call", "burst", "bound")
"""Ways to run; the last is a burst whose inputs are written into the device's memory."""
LEAST = 5
"""Percent of the calls that are as fast as the figure for a machine that is not quiet."""
CONSTANTS = 64 << 20
SIDE = 1024
"""Of the matrix in the models of the two applications."""


def small_output(size: int) -> Model:
    """A sum of so many bytes of floats: what is computed is little, and what comes back four bytes."""
    b = Builder(f"{size} bytes")
    x = b.input(tensor("float32", (1, size // 4)))
    b.output(b.reduce_max(x, np.array([1], np.int32), True))
    return b.finish()


def in_turns(ways: list[Callable[[], Any]], number: int) -> list[dict[str, float]]:
    """The median microseconds of each way, and what the fastest calls took."""
    series: list[list[int]] = [[] for _ in ways]
    for way in ways:
        way()
    for _ in range(number):
        for way, times in zip(ways, series, strict=True):
            way()  # back to back with the one that counts, as in a series
            begin = time.perf_counter_ns()
            way()
            times.append(time.perf_counter_ns() - begin)
    return [
        {"median": statistics.median(times) / 1e3, "low": float(np.percentile(times, LEAST)) / 1e3} for times in series
    ]


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
            bound_here, bound_there = in_turns([each.bind(given.shape).run for each in bursts], number)
            found.append({"device": name, "bytes": size, "here": here["median"]})
            pairs = zip(KINDS, (here, burst_here, bound_here), (there, burst_there, bound_there), strict=True)
            for kind, one, other in pairs:
                found[-1] |= {kind: other["median"] - one["median"], f"{kind}_low": other["low"] - one["low"]}
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


def constants() -> float:
    """Megabytes that the process has to itself of constants in a file of 64: the reference computes with them as they
    are, where engines may arrange them anew. A small model comes first: what the first one needs is code."""
    driver = Isolated("nnapi-reference")
    with Device(driver) as apart:
        small = nnapi.compile(with_constants(64), apart)
        before = private(driver.connect().pid)
        large = nnapi.compile(with_constants(CONSTANTS), apart)
        return private(driver.connect().pid) - before if small.is_ready and large.is_ready else float("nan")


def with_constants(size: int) -> Model:
    """A model with a constant of so many bytes in a file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(np.ones(size // 4, np.float32).tobytes())
        file.flush()
        values = Memory.from_file(file.name).view().view(np.float32)
    b = Builder("constants")
    constant = b.constant(values, tensor("float32", values.shape))
    b.output(b.reduce_max(b.maximum(b.input(tensor("float32", (1,))), constant), np.array([0], np.int32), True))
    return b.finish()


def layer(batch: int) -> Model:
    """One fully connected layer."""
    chance = np.random.default_rng(0)
    b = Builder("layer")
    x = b.input(tensor("float32", (batch, SIDE)))
    b.output(b.fully_connected(x, chance.random((SIDE, SIDE), np.float32), np.zeros(SIDE, np.float32), 0))
    return b.finish()


def saturate(name: str, path: str) -> None:
    """Compute with low priority for as long as somebody reads what this says."""
    compiled = nnapi.compile(layer(256), Device(Isolated(name, service=path)), priority=PriorityCode.PRIORITY_LOW)
    given = np.ones((256, SIDE), np.float32)

    def work() -> None:
        while True:
            compiled.run(given)

    for _ in range(os.cpu_count() or 1):
        threading.Thread(target=work, daemon=True).start()
    print("saturating", flush=True)
    sys.stdin.read()


@contextmanager
def started(*command: str) -> Iterator[None]:
    """A process that has said that it is ready."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


def delay(name: str, number: int) -> dict[str, Any]:
    """How a stream of high priority fares alone, and beside another application of low priority; in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with started(sys.executable, "-m", "nnapi", "serve", path, "-d", name):
            compiled = nnapi.compile(
                layer(32), Device(Isolated(name, service=path)), priority=PriorityCode.PRIORITY_HIGH
            )
            given = np.ones((32, SIDE), np.float32)
            alone: list[float] = []
            beside: list[float] = []
            for _ in range(3):
                alone += stream(compiled, given, number)
                with started(sys.executable, __file__, "--saturate", name, path):
                    time.sleep(1.0)
                    beside += stream(compiled, given, number)
    return {
        "device": name,
        "alone": statistics.median(alone),
        "beside": statistics.median(beside),
        "times": statistics.median(beside) / statistics.median(alone),
    }


def stream(compiled: Compilation, given: Any, number: int) -> list[float]:
    """The microseconds of each run, with a pause after each as between two images."""
    compiled.run(given)
    found = []
    for _ in range(number):
        begin = time.perf_counter_ns()
        compiled.run(given)
        found.append((time.perf_counter_ns() - begin) / 1e3)
        time.sleep(0.01)
    return found


def private(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="devices to measure")
    parser.add_argument("--number", type=int, default=2000, help="calls of each kind")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--saturate", nargs=2, metavar=("DEVICE", "SOCKET"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.saturate:
        saturate(*options.saturate)
        return 0
    names = options.device or ["nnapi-reference", "xnnpack-cpu"]
    calls = [row for name in names for row in times(name, options.number)]
    sizes = [memory(name) for name in names]
    copied = constants()
    delays = [delay(name, options.number // 10) for name in names]
    if options.json:
        print(json.dumps({"calls": calls, "memory": sizes, "constants": copied, "delays": delays}))
    else:
        print(
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; in brackets the fastest {LEAST}% of calls"
        )
        headings = f"a call more µs (≤ {CALL:g})", f"in a burst more µs (≤ {BURST:g})", "in its memory more µs"
        shown = Table("device", "bytes", "here µs", *headings)
        for row in calls:
            figures = [f"{row[key]:.1f} ({row[key + '_low']:.1f})" for key in KINDS]
            shown.add_row(row["device"], str(row["bytes"]), f"{row['here']:.1f}", *figures)
        Console().print(shown)
        for row in sizes:
            print(f"{row['device']}: {row['process']:.1f} MB (≤ {MEMORY:g}), and {row['engine']:.1f} for the engine")
        share = f"{copied:.1f} MB of {CONSTANTS >> 20} MB are the process's own (≤ 1)"
        print(f"constants: {'copied' if copied > 1 else 'not copied'}, {share}")
        for row in delays:
            figures = f"{row['alone']:.0f} µs alone, {row['beside']:.0f} µs beside one of low priority"
            print(f"{row['device']}, high priority: {figures}, {row['times']:.2f} times (≤ {DELAY:g})")
    broken = [row for row in calls if row["call"] > CALL or row["burst"] > BURST]
    broken += [row for row in sizes if row["process"] > MEMORY] + [row for row in delays if row["times"] > DELAY]
    return bool(broken or copied > 1)


if __name__ == "__main__":
    sys.exit(main())
