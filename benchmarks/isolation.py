"""Measure a driver in its own process: time of a call, memory, and the effect on other applications of a service.

Each kind of run alternates with the same run in this process, so that other load affects both. Times are the median of
many calls, in microseconds. The limits hold for an idle machine with two processors:

- a call: at most 30 µs longer than in this process, for inputs of up to 256 KB
- a run in a burst, which spins: at most 5 µs longer
- memory: at most 40 MB more than the engine needs
- constants: not copied
- a stream of runs with high priority: at most 1.5 times as long while another application of the same service computes
  without pauses at low priority
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
"""The limits above: µs, µs, MB, and the ratio of the times of a stream."""
SIZES = (1024, 65_536, 262_144)
"""Bytes of the input."""
KINDS = ("call", "burst", "bound")
"""Kinds of runs; "bound" is a burst whose inputs are written directly to the device's memory."""
PERCENTILE = 5
"""The percentile of the times that is printed beside the median, for a machine that is not idle."""
CONSTANTS = 64 << 20
"""Bytes of constants in the model that tests whether they are copied."""
SIDE = 1024
"""Rows and columns of the matrix in the models of the two applications."""


def make_maximum(size: int) -> Model:
    """Return a model that computes the maximum of ``size`` bytes of floats: little work, an output of four bytes."""
    b = Builder(f"{size} bytes")
    x = b.input(tensor("float32", (1, size // 4)))
    b.output(b.reduce_max(x, np.array([1], np.int32), True))
    return b.finish()


def time_in_turns(ways: list[Callable[[], Any]], number: int) -> list[dict[str, float]]:
    """Return the median microseconds of each function, and a low percentile of them."""
    series: list[list[int]] = [[] for _ in ways]
    for way in ways:
        way()
    for _ in range(number):
        for way, times in zip(ways, series, strict=True):
            way()  # so that the timed call follows another one directly, as in a series
            begin = time.perf_counter_ns()
            way()
            times.append(time.perf_counter_ns() - begin)
    return [
        {"median": statistics.median(times) / 1e3, "low": float(np.percentile(times, PERCENTILE)) / 1e3}
        for times in series
    ]


def measure_calls(name: str, number: int) -> list[dict[str, Any]]:
    """Return the added time of calls and of bursts on a device, by the size of the input."""
    found = []
    with Device(Isolated(name)) as apart:
        for size in SIZES:
            model, given = make_maximum(size), np.ones((1, size // 4), np.float32)
            compiled: list[Compilation] = [nnapi.compile(model, each) for each in (name, apart)]
            bursts = [each.burst() for each in compiled]
            here, there = time_in_turns([partial(each.run, given) for each in compiled], number)
            burst_here, burst_there = time_in_turns([partial(each.run, given) for each in bursts], number)
            bound_here, bound_there = time_in_turns([each.bind(given.shape).run for each in bursts], number)
            found.append({"device": name, "bytes": size, "here": here["median"]})
            pairs = zip(KINDS, (here, burst_here, bound_here), (there, burst_there, bound_there), strict=True)
            for kind, one, other in pairs:
                found[-1] |= {kind: other["median"] - one["median"], f"{kind}_low": other["low"] - one["low"]}
            for burst in bursts:
                burst.close()
    return found


def measure_memory(name: str) -> dict[str, Any]:
    """Return the private megabytes of a driver's process before its engine is loaded, and those that it adds."""
    driver = Isolated(name)
    with Device(driver) as apart:
        before = private_megabytes(driver.connect().pid)
        nnapi.compile(make_maximum(64), apart).run(np.ones((1, 16), np.float32))
        return {"device": name, "process": before, "engine": private_megabytes(driver.connect().pid) - before}


def measure_constants() -> float:
    """Return the private megabytes that a file with 64 MB of constants adds to a driver's process.

    The device is the reference, because engines may pack constants. A small model runs first, so that the code that
    the first model loads does not count.
    """
    driver = Isolated("nnapi-reference")
    with Device(driver) as apart:
        small = nnapi.compile(with_constants(64), apart)
        before = private_megabytes(driver.connect().pid)
        large = nnapi.compile(with_constants(CONSTANTS), apart)
        return private_megabytes(driver.connect().pid) - before if small.is_ready and large.is_ready else float("nan")


def with_constants(size: int) -> Model:
    """Return a model with a constant of ``size`` bytes in a file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(np.ones(size // 4, np.float32).tobytes())
        file.flush()
        values = Memory.from_file(file.name).view().view(np.float32)
    b = Builder("constants")
    constant = b.constant(values, tensor("float32", values.shape))
    b.output(b.reduce_max(b.maximum(b.input(tensor("float32", (1,))), constant), np.array([0], np.int32), True))
    return b.finish()


def make_layer(batch: int) -> Model:
    """Return one fully connected layer."""
    rng = np.random.default_rng(0)
    b = Builder("layer")
    x = b.input(tensor("float32", (batch, SIDE)))
    b.output(b.fully_connected(x, rng.random((SIDE, SIDE), np.float32), np.zeros(SIDE, np.float32), 0))
    return b.finish()


def saturate(name: str, path: str) -> None:
    """Compute with low priority on all processors until stdin is closed."""
    compiled = nnapi.compile(make_layer(256), Device(Isolated(name, service=path)), priority=PriorityCode.PRIORITY_LOW)
    given = np.ones((256, SIDE), np.float32)

    def work() -> None:
        while True:
            compiled.run(given)

    for _ in range(os.cpu_count() or 1):
        threading.Thread(target=work, daemon=True).start()
    print("saturating", flush=True)
    sys.stdin.read()


@contextmanager
def running(*command: str) -> Iterator[None]:
    """Run a process during the block, which begins when the process has printed its first line."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


def measure_delay(name: str, number: int) -> dict[str, Any]:
    """Return the times of a stream of high priority alone and beside an application of low priority, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with running(sys.executable, "-m", "nnapi", "serve", path, "-d", name):
            compiled = nnapi.compile(
                make_layer(32), Device(Isolated(name, service=path)), priority=PriorityCode.PRIORITY_HIGH
            )
            given = np.ones((32, SIDE), np.float32)
            alone: list[float] = []
            beside: list[float] = []
            for _ in range(3):
                alone += time_stream(compiled, given, number)
                with running(sys.executable, __file__, "--saturate", name, path):
                    time.sleep(1.0)
                    beside += time_stream(compiled, given, number)
    return {
        "device": name,
        "alone": statistics.median(alone),
        "beside": statistics.median(beside),
        "times": statistics.median(beside) / statistics.median(alone),
    }


def time_stream(compiled: Compilation, given: Any, number: int) -> list[float]:
    """Return the microseconds of each run, with a pause after each as between two images."""
    compiled.run(given)
    found = []
    for _ in range(number):
        begin = time.perf_counter_ns()
        compiled.run(given)
        found.append((time.perf_counter_ns() - begin) / 1e3)
        time.sleep(0.01)
    return found


def private_megabytes(pid: int) -> float:
    """Return the private megabytes of a process."""
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
    calls = [row for name in names for row in measure_calls(name, options.number)]
    sizes = [measure_memory(name) for name in names]
    copied = measure_constants()
    delays = [measure_delay(name, options.number // 10) for name in names]
    if options.json:
        print(json.dumps({"calls": calls, "memory": sizes, "constants": copied, "delays": delays}))
    else:
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        print(f"{load}; in brackets the same for the {PERCENTILE}th percentile instead of the median")
        headings = f"call: added µs (≤ {CALL:g})", f"burst: added µs (≤ {BURST:g})", "bound inputs: added µs"
        shown = Table("device", "bytes", "in this process µs", *headings)
        for row in calls:
            figures = [f"{row[key]:.1f} ({row[key + '_low']:.1f})" for key in KINDS]
            shown.add_row(row["device"], str(row["bytes"]), f"{row['here']:.1f}", *figures)
        Console().print(shown)
        for row in sizes:
            print(f"{row['device']}: {row['process']:.1f} MB (≤ {MEMORY:g}), and {row['engine']:.1f} MB for the engine")
        share = f"{copied:.1f} MB of {CONSTANTS >> 20} MB are private (≤ 1)"
        print(f"constants: {'copied' if copied > 1 else 'not copied'}, {share}")
        for row in delays:
            figures = f"{row['alone']:.0f} µs alone, {row['beside']:.0f} µs beside an application of low priority"
            print(f"{row['device']}, high priority: {figures}, {row['times']:.2f} times as long (≤ {DELAY:g})")
    broken = [row for row in calls if row["call"] > CALL or row["burst"] > BURST]
    broken += [row for row in sizes if row["process"] > MEMORY] + [row for row in delays if row["times"] > DELAY]
    return bool(broken or copied > 1)


if __name__ == "__main__":
    sys.exit(main())
