"""How fast models run on xnnpack-cpu, beside engines that read the same files themselves.

    python benchmarks/engines.py FOLDER [--threads 1 2] [--against litert openvino] [--rounds N] [--only TEXT]

Every engine has the same inputs in the same process; rounds alternate between them, and the minimum and the median of
each are shown in milliseconds, with the ratio of the fastest other engine's minimum to ours (above 1: ours is faster)
and its geometric mean. Operations that xnnpack-cpu does not take run on the reference. Models that a side cannot run
are named with the reason.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.importers import load
from nnapi.model.model import Model
from nnapi.report.engines import Array, Engine, LiteRT, OpenVINO, Run, UnsuitableError
from nnapi.runtime.compilation import compile
from nnapi.runtime.device import Device, device

OTHERS: dict[str, Engine] = {"litert": LiteRT(), "openvino": OpenVINO()}
SECONDS = 1.5
"""About how long each engine is measured on one model."""


def random_inputs(model: Model, rng: np.random.Generator) -> list[Array]:
    """Full-range codes, floats in [-1, 1), small indices; extents that are open are 1."""
    return [_random(model.operands[index].type, rng) for index in model.inputs]


def _random(type, rng):  # type: ignore[no-untyped-def]
    shape = [extent or 1 for extent in type.dimensions]
    if type.dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(type.dtype)
    low, high = (np.iinfo(type.dtype).min, np.iinfo(type.dtype).max + 1) if type.dtype.itemsize == 1 else (0, 100)
    return rng.integers(low, high, shape).astype(type.dtype)


def ours(model: Model, threads: int) -> Run:
    """A burst of the model on xnnpack-cpu, and on the reference what that does not take."""
    engine = Device(XnnpackDriver(threads))
    burst = compile(model, [engine] if all(engine.supports(model)) else [engine, device("nnapi-reference")]).burst()
    return lambda inputs: burst.run(*inputs)


def measure(runs: Sequence[Run], inputs: Sequence[Array], rounds: int) -> list[list[float]]:
    """Seconds of every run, the engines taking turns."""
    begin = time.perf_counter()
    for run in runs:
        run(inputs)
    once = (time.perf_counter() - begin) / len(runs)
    repeats = max(3, min(rounds, int(SECONDS / max(once, 1e-6))))
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for times, run in zip(seconds, runs, strict=True):
            begin = time.perf_counter()
            run(inputs)
            times.append(time.perf_counter() - begin)
    return seconds


def row(path: Path, threads: int, names: Sequence[str], rounds: int) -> tuple[list[str], float | None]:
    """The cells of one model, and the ratio where all engines ran it."""
    try:
        model = load(path)
        runs = [ours(model, threads), *(OTHERS[name].open(path, threads).prepare(1)[0] for name in names)]
    except (UnsuitableError, Exception) as error:  # a benchmark goes on with the next model
        return [path.stem, str(threads), f"[dim]{str(error)[:110]}[/dim]"], None
    seconds = measure(runs, random_inputs(model, np.random.default_rng(0)), rounds)
    cells = [f"{min(times) * 1e3:.3f}/{statistics.median(times) * 1e3:.3f}" for times in seconds]
    ratio = min(min(times) for times in seconds[1:]) / min(seconds[0])
    return [path.stem, str(threads), *cells, f"{ratio:.2f}"], ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--against", nargs="+", choices=list(OTHERS), default=["litert"])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    table = Table("model", "threads", "xnnpack-cpu", *options.against, "ratio")
    for threads in options.threads:
        ratios = []
        for path in sorted(options.folder.glob("*.tflite")):
            if options.only not in path.stem:
                continue
            cells, ratio = row(path, threads, options.against, options.rounds)
            table.add_row(*cells)
            if ratio is not None:
                ratios.append(ratio)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            table.add_row(
                f"[bold]geometric mean of {len(ratios)}[/bold]",
                str(threads),
                *[""] * (1 + len(options.against)),
                f"{mean:.2f}",
            )
        table.add_section()
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
