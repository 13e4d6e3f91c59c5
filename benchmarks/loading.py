"""Measure loading and compiling of .tflite files on xnnpack-cpu, beside LiteRT's loading and allocating.

    python benchmarks/loading.py FOLDER [--runs 20] [--json FILE]

*Cold* is without a cache: nnapi imports, plans and lowers the file, and the engine prepares it. *Warm* is with a cache
that has the compilation. Trials of plans are off. nnapi and LiteRT alternate in one process, with one thread each.
Times are in milliseconds, the minimum of the runs.
"""

import os
import tempfile

os.environ["NNAPI_TUNING"] = "0"

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ai_edge_litert.interpreter import Interpreter
from rich.console import Console
from rich.table import Table

import nnapi

TOKEN = bytes(32)
COLD, WARM = 2.5, 1.5
"""The limits that the last line compares with, as multiples of LiteRT's time."""


@dataclass(frozen=True)
class Row:
    """Milliseconds of one file."""

    name: str
    litert: float
    load: float
    compile: float
    warm: float

    @property
    def ratios(self) -> tuple[float, float]:
        return (self.load + self.compile) / self.litert, self.warm / self.litert


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1e3, result


def litert(path: Path) -> Interpreter:
    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    return interpreter


def compiled(model: nnapi.Model, directory: Path | None = None) -> nnapi.Compilation:
    return nnapi.compile(model, "xnnpack-cpu", threads=1, cache=directory and (directory, TOKEN))


def measured(path: Path, runs: int, folder: Path) -> Row:
    """Return the minimum times; LiteRT runs before each run of nnapi. Cold and warm runs use separate cache folders."""
    cold_home, warm_home, cache = (folder / name for name in ("cold", "warm", "cache"))
    cache.mkdir(exist_ok=True)
    times: list[tuple[float, ...]] = []
    for _ in range(runs + 1):
        first, _ = milliseconds(lambda: litert(path))
        os.environ["NNAPI_CACHE_DIR"] = str(cold_home)
        load, model = milliseconds(lambda: nnapi.load(path))
        cold, _ = milliseconds(lambda model=model: compiled(model))
        second, _ = milliseconds(lambda: litert(path))
        os.environ["NNAPI_CACHE_DIR"] = str(warm_home)
        warm, _ = milliseconds(lambda: compiled(nnapi.load(path), cache))
        times.append((min(first, second), load, cold, warm))
    return Row(path.stem, *map(min, zip(*times[1:], strict=True)))


def table(rows: list[Row]) -> Table:
    shown = Table("model", *("LiteRT", "load", "compile", "warm", "cold ÷ LiteRT", "warm ÷ LiteRT"), box=None)
    for row in rows:
        numbers = (row.litert, row.load, row.compile, row.warm)
        shown.add_row(row.name, *(f"{number:.3g}" for number in numbers), *(f"{ratio:.2f}" for ratio in row.ratios))
    if rows:
        means = (math.exp(sum(math.log(row.ratios[i]) for row in rows) / len(rows)) for i in (0, 1))
        shown.add_row("geometric mean", "", "", "", "", *(f"{mean:.2f}" for mean in means))
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    out, rows = Console(), []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(options.folder.glob("*.tflite")):
            try:
                rows.append(measured(path, options.runs, Path(folder)))
            except (ValueError, RuntimeError) as error:  # nnapi or LiteRT refuses the file
                out.print(f"{path.name} is omitted: {str(error)[:100]}", markup=False)
    out.print(table(rows))
    within = [sum(row.ratios[i] <= limit for row in rows) for i, limit in enumerate((COLD, WARM))]
    out.print(f"cold at most {COLD} times LiteRT: {within[0]} of {len(rows)}; warm at most {WARM}: {within[1]}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
