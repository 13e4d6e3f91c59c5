"""Measure resident memory, descriptors and threads after thousands of executions, for every fault and kind of run.

Each line is one kind of run with one fault of the device, on an automatic compilation (the CPU is the fallback) or on
an explicit one (the caller gets the error). The growth is counted over ``--executions``, after some to warm up.
"""

import os

os.environ["NNAPI_TUNING"] = "0"  # so that the plan uses the faulty device, which declares a high speed

import argparse
import gc
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nnapi.runtime.compilation
from nnapi import Compilation, NnapiError, compile
from nnapi.drivers.faulty import Fault, Phase
from tests.runtime.device_cases import GIVEN, REFERENCE, limited
from tests.runtime.fault_cases import MODEL, WAYS, faulty

ALLOWED_BYTES = 1 << 20
ALLOWED_THREADS = 3


@dataclass(frozen=True)
class Growth:
    """The growth of bytes, file descriptors and threads over a number of executions."""

    way: str
    fault: str
    automatic: bool
    executions: int
    rss: int
    descriptors: int
    threads: int
    seconds: float

    @property
    def leaks(self) -> bool:
        return self.rss > ALLOWED_BYTES or self.descriptors > 0 or self.threads > ALLOWED_THREADS


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_usage() -> tuple[int, int, int]:
    gc.collect()
    return resident(), len(os.listdir("/proc/self/fd")), threading.active_count()


def compile_with_fault(fault: Fault | None, automatic: bool) -> Compilation:
    device = limited() if fault is None else faulty(fault, Phase.EXECUTE, seconds=0.0)
    if not automatic:
        return compile(MODEL, device)
    nnapi.runtime.device.devices = lambda: [device, REFERENCE]  # type: ignore[attr-defined]
    return compile(MODEL)


def measure(count: int, faults: Sequence[Fault | None]) -> Iterator[Growth]:
    for fault in faults:
        for automatic in (False, True):
            for way in WAYS:
                work = partial(attempt, way, compile_with_fault(fault, automatic))
                yield measure_growth(way.__name__, fault.name if fault else "none", automatic, work, count)


def attempt(way: Callable[[Compilation], object], compilation: Compilation) -> None:
    with suppress(NnapiError):
        way(compilation)


def measure_growth(way: str, fault: str, automatic: bool, work: Callable[[], object], count: int) -> Growth:
    """Return the growth over ``count`` repetitions. If they leak, repeat once: an allocator may grow once."""
    for _ in range(max(20, count // 10)):
        work()
    for _ in range(2):
        before, start = read_usage(), time.perf_counter()
        for _ in range(count):
            work()
        seconds = time.perf_counter() - start
        more = [now - then for now, then in zip(read_usage(), before, strict=True)]
        growth = Growth(way, fault, automatic, count, more[0], more[1], more[2], seconds)
        if not growth.leaks:
            break
    return growth


def compile_and_run() -> None:
    compile(MODEL).run(GIVEN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=10_000)
    parser.add_argument("--faults", nargs="*", default=["none", *Fault.__members__], help='names of faults, or "none"')
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    faults = [None if name == "none" else Fault[name] for name in options.faults]
    compilations = max(10, options.executions // 10)
    found = [
        *measure(options.executions, faults),
        measure_growth("compile and run", "none", True, compile_and_run, compilations),
    ]
    leaking = [growth for growth in found if growth.leaks]
    if options.json:
        print(json.dumps({"measured": [asdict(growth) for growth in found], "leaks": len(leaking)}))
        return len(leaking) > 0
    out = Console(width=110)
    rows = Table("run", "fault", "devices", "executions", "RSS KiB", "descriptors", "threads", "µs each")
    for g in found:
        kind = "automatic" if g.automatic else "explicit"
        grown_by = (f"{g.rss / 1024:+.0f}", f"{g.descriptors:+d}", f"{g.threads:+d}")
        rows.add_row(g.way, g.fault, kind, str(g.executions), *grown_by, f"{1e6 * g.seconds / g.executions:.1f}")
    out.print(rows)
    out.print(f"{len(leaking)} of {len(found)} leak" if leaking else "nothing leaks")
    return len(leaking) > 0


if __name__ == "__main__":
    sys.exit(main())
