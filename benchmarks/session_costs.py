"""Measure sessions in processes of their own that have imported NumPy only: the first result, memory, a new shape.

The processes of two engines run in turns; medians count. Trials are off, and nnapi's caches are empty.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

OURS, THEIRS = "nnapi.onnx", "onnxruntime"
TURNS, RUNS = 3, 10
"""Processes of each engine, and runs before the memory is measured."""
PROGRAM = f"""
import json, sys, time
import numpy as np
engine, path, arrays, threads = sys.argv[1], sys.argv[2], np.load(sys.argv[3]), int(sys.argv[4])
arrays = [arrays[name] for name in arrays.files]
begin = time.process_time()
module = __import__(engine, fromlist=["InferenceSession"])
options = module.SessionOptions()
options.intra_op_num_threads = threads
session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
names = [each.name for each in session.get_inputs()]
session.run(None, dict(zip(names, arrays)))
first = time.process_time() - begin
for _ in range({RUNS - 1}):
    session.run(None, dict(zip(names, arrays)))
with open("/proc/self/status") as lines:
    (resident,) = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")]
shapes = []
for times in (2, 3):
    feed = {{name: np.concatenate([each] * times) for name, each in zip(names, arrays)}}
    begin = time.process_time()
    try:
        session.run(None, feed)
        shapes.append(time.process_time() - begin)
    except Exception:
        shapes.append(None)
print(json.dumps([first, resident, *shapes]))
"""


class Costs(NamedTuple):
    """Processor seconds of the first result, resident bytes, and processor seconds of the first runs on two other
    shapes: twice and three times the batch, None if the file has no such shape."""

    first: float
    memory: float
    new_shape: float | None
    further_shape: float | None


def measure(engine: str, path: Path, arrays: Sequence[Any], threads: int = 1) -> Costs:
    """Run a process; a failure raises RuntimeError with the last line of stderr."""
    with tempfile.TemporaryDirectory(prefix="session-costs-") as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, *arrays)
        command = [sys.executable, "-c", PROGRAM, engine, str(path), str(inputs), str(threads)]
        environment = {**os.environ, "NNAPI_CACHE_DIR": folder, "NNAPI_TUNING": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode, compiling modules takes longest
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise RuntimeError((done.stderr.strip().splitlines() or ["the process printed nothing"])[-1])
    return Costs(*json.loads(lines[-1]))


def compare(
    path: Path, arrays: Sequence[Any], threads: int = 1, engines: tuple[str, str] = (OURS, THEIRS)
) -> dict[str, float]:
    """Return the medians of the first engine's costs divided by the second's, without costs that one of them lacks."""
    turns = [[measure(engine, path, arrays, threads) for engine in engines] for _ in range(TURNS)]
    ratios: dict[str, float] = {}
    for name in Costs._fields:
        values = [[getattr(costs, name) for costs in turn] for turn in turns]
        if all(None not in pair for pair in values):
            ours, theirs = (statistics.median(side) for side in zip(*values, strict=True))
            ratios[name] = round(ours / theirs, 2)
    return ratios


def summarize(found: Sequence[dict[str, Any]]) -> str:
    """Return the median and the largest ratio of each cost over several files."""
    lines = []
    for name in Costs._fields:
        ratios = [each[name] for each in found if name in each]
        if ratios:
            lines.append(f"{name}: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f} of {len(ratios)}")
    return "\n".join(lines)
