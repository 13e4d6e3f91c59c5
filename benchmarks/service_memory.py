"""Measure the memory that each further application of a service takes.

    python -m benchmarks.service_memory MODEL… --device xnnpack-cpu

The program starts a service for each model and connects applications one after the other. It prints by how many
megabytes the service and its workers grow with the last application (PSS: the proportional share of shared pages), and
the megabytes of the model's constants. The growth may exceed the constants by at most 45 MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

import nnapi
from nnapi import Device
from nnapi.drivers.isolated import Isolated
from nnapi.model.graph import Lifetime

MOST = 45.0
RUNS = 5


def proportional(pid: int) -> float:
    """Return the megabytes of a process, with its proportional share of shared pages."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("Pss:"))) / 1024


def measure(model_file: str, device: str, applications: int) -> tuple[list[float], float]:
    """Return the megabytes that each application adds, and those of the model's constants."""
    model = nnapi.load(model_file)
    types = [model.operands[index].type for index in model.inputs]
    given = [np.zeros(type.dimensions, type.dtype) for type in types]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        command = [sys.executable, "-m", "nnapi", "serve", path, "-d", device]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as service:
            assert service.stdout is not None
            service.stdout.readline()
            kept, totals = [], []
            for _ in range(applications):
                served = Device(Isolated(device, service=path))
                compiled = nnapi.compile(model, served)
                for _ in range(RUNS):
                    compiled.run(*given)
                kept.append((served, compiled))
                children = Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split()
                totals.append(sum(map(proportional, [service.pid, *map(int, children)])))
            for served, _ in kept:
                served.close()
            service.terminate()
    constants = sum(operand.type.nbytes for operand in model.operands if operand.lifetime is Lifetime.CONSTANT)
    return [later - before for before, later in pairwise(totals)], constants / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--device", default="xnnpack-cpu")
    parser.add_argument("--applications", type=int, default=4)
    options = parser.parse_args()
    worst = 0.0
    for each in options.models:
        further, constants = measure(each, options.device, options.applications)
        worst = max(worst, further[-1] - constants)
        print(f"{options.device} {Path(each).stem}: {further[-1]:.1f} MB, {constants:.1f} MB of them constants")
    print(f"at most {worst:.1f} MB beyond the constants (≤ {MOST:g})")
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
