"""Compare the peak memory of nnapi with that of LiteRT, in processes that load, prepare and run a model once.

    python benchmarks/memory.py MODEL.tflite … [--devices NAME …]

*first* is the first compilation of a model on a machine, which also compares plans; *later* ones use the cached plan.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import nnapi
from nnapi.cli.inputs import random_input
from nnapi.report.benchmark import peak_memory
from nnapi.report.engines import LiteRT, Nnapi, save


@dataclass(frozen=True)
class Peaks:
    """Peak bytes of the first compilation of the model, of a later one, and of LiteRT."""

    first: int
    later: int
    litert: int

    @property
    def ratios(self) -> tuple[float, float]:
        return self.first / self.litert, self.later / self.litert


def measured(path: Path, devices: tuple[str, ...] | None) -> Peaks:
    """Return the peaks of the three processes; raise RuntimeError with the reason if one fails."""
    model = nnapi.load(path)
    ours = Nnapi(devices)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NNAPI_CACHE_DIR"] = folder  # empty at first; the second process finds the plan of the first
        inputs = Path(folder) / "inputs.npy"
        save(inputs, [random_input(model.operands[index], seed=0).array for index in model.inputs])
        found = []
        for engine in (ours, ours, LiteRT()):
            peak, reason = peak_memory(engine, path, inputs, 1)
            if peak is None:
                raise RuntimeError(f"{engine.name}: {reason}")
            found.append(peak)
    return Peaks(*found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--devices", nargs="+", help="default: trials choose among all")
    options = parser.parse_args()
    table = Table("model", "first MB", "later MB", "LiteRT MB", "first ÷ LiteRT", "later ÷ LiteRT")
    ratios = []
    for path in options.models:
        try:
            peaks = measured(path, tuple(options.devices) if options.devices else None)
        except RuntimeError as error:
            table.add_row(path.stem, str(error))
            continue
        ratios.append(peaks.ratios)
        megabytes = (f"{peak / 1e6:.0f}" for peak in (peaks.first, peaks.later, peaks.litert))
        table.add_row(path.stem, *megabytes, *(f"{ratio:.2f}" for ratio in peaks.ratios))
    out = Console(width=None if sys.stdout.isatty() else 120)
    out.print(table)
    for name, column in zip(("first", "later"), zip(*ratios, strict=True), strict=False):
        out.print(f"{name}: geometric mean {statistics.geometric_mean(column):.2f}, largest {max(column):.2f}")
    return not ratios


if __name__ == "__main__":
    sys.exit(main())
