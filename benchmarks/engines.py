"""How fast models run here, beside engines that read the same files themselves.

    python benchmarks/engines.py FOLDER [--devices NAME …] [--threads 1 2] [--against litert openvino onnxruntime]
                                 [--seconds S] [--only TEXT] [--json FILE]

Without --devices the library chooses among all that are installed, by measurement, as it does for anybody. ONNX Runtime
reads FILE.onnx beside FILE.tflite. All engines have the same inputs in the same process and take turns: a turn waits
until the threads of the one before sleep, runs once to warm up, and times a few runs. Minimum and median are in
milliseconds. The ratios are an engine's minimum divided by ours (above 1: ours is faster): the fastest of the others,
and LiteRT alone. What cannot run is named below with its reason, and so are outputs that are far from LiteRT's.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from nnapi.codes import OperandCode
from nnapi.importers import load
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.report.engines import LONGEST, OTHERS, Array, Engine, Nnapi, Run

TURN = 0.01
"""Seconds of timed runs in one turn; at least one run."""
TURNS = 3  # of every engine, however slow it is
SETTLE = 0.003
"""Seconds after which no engine's idle threads spin any more: OpenVINO's do for one millisecond."""
FLOOR = 0.95
"""Models whose ratio is below are listed."""
FAR = 0.05
"""Outputs further than this share of their range from LiteRT's are named."""

Row = dict[str, Any]


def random_inputs(model: Model, rng: np.random.Generator) -> list[Array]:
    """Full-range codes, floats in [-1, 1), small indices; extents that are open are 1."""
    return [_random(model.operands[index].type, rng) for index in model.inputs]


def _random(type: OperandType, rng: np.random.Generator) -> Array:
    shape = [extent or 1 for extent in type.dimensions or ()]
    if type.dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(type.dtype)
    if type.code == OperandCode.TENSOR_BOOL8 or type.dtype.itemsize > 1:
        return rng.integers(0, 2 if type.dtype.itemsize == 1 else 100, shape).astype(type.dtype)
    limits = np.iinfo(type.dtype)
    return rng.integers(limits.min, limits.max, shape, type.dtype, endpoint=True)


def measure(runs: Mapping[str, Run], inputs: Sequence[Array], seconds: float) -> dict[str, list[float]]:
    """Seconds of every run by engine. The engines take turns, in another order each time."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    order, turns = list(runs), 0
    end = time.perf_counter() + seconds * len(runs)
    while runs and (turns < TURNS or time.perf_counter() < end):
        for name in order:
            time.sleep(SETTLE)
            runs[name](inputs)
            times[name] += _turn(runs[name], inputs)
        order, turns = order[1:] + order[:1], turns + 1
    return times


def _turn(run: Run, inputs: Sequence[Array]) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + TURN
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        run(inputs)
        times.append(time.perf_counter() - begin)
    return times


def apart(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """The largest difference of two engines' outputs, as a share of the range of theirs and 0; or infinite."""
    if [array.size for array in ours] != [array.size for array in theirs]:
        return math.inf
    pairs = [
        (np.ravel(a).astype(float), np.ravel(b).astype(float)) for a, b in zip(ours, theirs, strict=True) if a.size
    ]
    return max((float(np.abs(a - b).max() / max(np.ptp(np.append(b, 0)), 1e-6)) for a, b in pairs), default=0)


def row(path: Path, threads: int, ours: Engine, others: Iterable[Engine], seconds: float) -> Row:
    """What was measured of one model: times, how far outputs are from LiteRT's, devices, reasons, both ratios."""
    runs: dict[str, Run] = {}
    found: Row = {"model": path.stem, "threads": threads, "engines": {}, "reasons": {}, "devices": []}
    inputs: list[Array] = []
    outputs: dict[str, list[Array]] = {}
    for engine in (ours, *others):
        try:
            inputs = inputs or random_inputs(load(path), np.random.default_rng(0))
            opened = engine.open(path, threads)
            (run,) = opened.prepare(1)
            outputs[engine.name] = [np.array(array) for array in run(inputs)]
        except Exception as error:
            found["reasons"][engine.name] = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
            if inputs:
                continue
            break
        runs[engine.name] = run
        if engine is ours:
            found["devices"] = opened.devices()
    right = outputs.get("litert")
    for name, times in measure(runs, inputs, seconds).items():
        figures = {"minimum": min(times), "median": statistics.median(times), "runs": len(times)}
        found["engines"][name] = figures | {"apart": None if right is None else apart(outputs[name], right)}
    return found | _ratios({name: figures["minimum"] for name, figures in found["engines"].items()}, ours.name)


def _ratios(minimum: dict[str, float], ours: str) -> Row:
    """Empty where ours or all others are missing."""
    own = minimum.pop(ours, None)
    if own is None or not minimum:
        return {}
    best = min(minimum, key=lambda name: minimum[name])
    litert = {"ratio_litert": minimum["litert"] / own} if "litert" in minimum else {}
    return {"best": best, "ratio": minimum[best] / own} | litert


def mean(ratios: Sequence[float]) -> str:
    """The geometric mean, and of how many."""
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.3f} ({len(ratios)})" if ratios else ""


def table(rows: Sequence[Row], names: Sequence[str]) -> Table:
    """A line for each model with minimum/median of every engine, and one of means for each number of threads."""
    shown = Table("model", "threads", "on", *names, "best other", "ratio", "to litert")
    for threads in dict.fromkeys(found["threads"] for found in rows):
        part = [found for found in rows if found["threads"] == threads]
        for found in part:
            cells = [_times(found["engines"].get(name)) for name in names]
            ratios = [f"{found[key]:.2f}" if key in found else "" for key in ("ratio", "ratio_litert")]
            devices = " ".join(device.removesuffix("-cpu").removeprefix("nnapi-") for device in found["devices"])
            shown.add_row(found["model"], str(threads), devices, *cells, found.get("best", ""), *ratios)
        means = [mean([found[key] for found in part if key in found]) for key in ("ratio", "ratio_litert")]
        shown.add_row("[bold]geometric mean[/]", str(threads), "", *[""] * len(names), "", *means, end_section=True)
    return shown


def _times(figures: Row | None) -> str:
    return f"{figures['minimum'] * 1e3:.4g}/{figures['median'] * 1e3:.4g}" if figures else "—"


def remarks(rows: Sequence[Row]) -> Iterable[str]:
    """What the table does not say: what is slow, what is far from LiteRT, what could not run."""
    for found in rows:
        where = f"{found['model']}, {found['threads']} threads"
        if found.get("ratio", 1) < FLOOR:
            yield f"below {FLOOR}: {where}: {found['ratio']:.2f} of {found['best']}"
        for name, figures in found["engines"].items():
            if (figures["apart"] or 0) > FAR:
                yield f"far from LiteRT: {where}: {name} by {figures['apart']:.2g} of the range"
    reasons = {(found["model"], name): reason for found in rows for name, reason in found["reasons"].items()}
    for (model, name), reason in reasons.items():
        yield f"not run: {model} on {name}: {reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", nargs="+", help="default: all, chosen by measurement")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--against", nargs="+", choices=list(OTHERS), default=["litert"])
    parser.add_argument("--seconds", type=float, default=1.5, help="of each engine on each model")
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    options = parser.parse_args()
    ours = Nnapi("nnapi.importers:load", tuple(options.devices) if options.devices else None)
    others = [OTHERS[name] for name in options.against]
    versions = {engine.name: engine.version() for engine in (ours, *others)}
    paths = [path for path in sorted(options.folder.glob("*.tflite")) if options.only in path.stem]
    rows: list[Row] = []
    for threads in options.threads:
        for path in paths:
            rows.append(row(path, threads, ours, others, options.seconds))
            if options.json:
                options.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1) + "\n")
    out = Console(width=None if Console().is_terminal else 200, highlight=False)
    out.print(", ".join(f"{name} {version}" for name, version in versions.items()))
    out.print(table(rows, list(versions)))
    for remark in remarks(rows):
        out.print(remark, markup=False)


if __name__ == "__main__":
    main()
