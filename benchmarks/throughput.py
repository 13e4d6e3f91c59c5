"""Compare the throughput of ``Compilation.run_many`` with other engines: inputs per second, several in flight.

    python benchmarks/throughput.py FOLDER [--only TEXT] [--requests N] [--rounds N] [--seconds S] [--json FILE]

LiteRT runs with an interpreter for each thread and with a single interpreter; OpenVINO runs in its throughput mode with
a request for each thread and with its own queue of requests. The better variant of each engine counts. All run in
turns in one process. The program prints the best rounds in inputs per second ("wall") and in inputs per second of
processor time ("processor"), which other load disturbs less.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import nnapi
from nnapi.cli.inputs import read_arrays
from nnapi.report.benchmark import measure_rate
from nnapi.report.engines import LiteRT, OpenVINO, UnsuitableError

Measure = Callable[[float], float]
"""A function that measures for a number of seconds, and returns inputs per second."""
KINDS = "wall", "processor"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="run only models whose name contains one of these texts"
    )
    parser.add_argument("--requests", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="measuring time of each engine variant in each round"
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def measure_ours(file: Path, inputs: Sequence[Any], requests: int) -> Measure:
    sustained = nnapi.PreferenceCode.PREFER_SUSTAINED_SPEED
    with nnapi.settings(tuning=True):
        compilation = nnapi.compile(nnapi.load(file), preference=sustained)

    def measure(seconds: float) -> float:
        start = time.perf_counter()
        count = sum(1 for _ in compilation.run_many(repeat_until(start + seconds, inputs), requests=requests))
        return count / (time.perf_counter() - start)

    return measure


def repeat_until(end: float, inputs: Sequence[Any]) -> Iterator[Sequence[Any]]:
    while time.perf_counter() < end:
        yield inputs


def measure_runs(engine: Any, file: Path, inputs: Sequence[Any], requests: int) -> Measure:
    """Return a measurement with a thread for each request; each thread has its own run of the engine."""
    runs = engine.open(file, 1).prepare(requests)
    return partial(measure_rate, runs, inputs)


def measure_queue(file: Path, inputs: Sequence[Any]) -> Measure:
    """Return a measurement with OpenVINO's own queue and its default number of requests; results are copied, as by all
    engines."""
    from nnapi.report.engines import _openvino_core

    model = OpenVINO().open(file, 1)._model  # type: ignore[attr-defined]  # reads the file as measure_runs does
    options = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = _openvino_core().compile_model(model, "CPU", options)
    queue = sys.modules["openvino"].AsyncInferQueue(compiled)
    shaped = [array.reshape(tuple(source.shape)) for array, source in zip(inputs, compiled.inputs, strict=True)]
    queue.set_callback(lambda request, _: [tensor.data.copy() for tensor in request.output_tensors])

    def measure(seconds: float) -> float:
        start, count = time.perf_counter(), 0
        while time.perf_counter() < start + seconds:
            queue.start_async(dict(enumerate(shaped)))
            count += 1
        queue.wait_all()
        return count / (time.perf_counter() - start)

    return measure


def list_ways(file: Path, requests: int) -> dict[str, Measure]:
    inputs = read_arrays(nnapi.load(file), [])
    ways: dict[str, Callable[[], Measure]] = {
        "nnapi": partial(measure_ours, file, inputs, requests),
        "litert": partial(measure_runs, LiteRT(), file, inputs, requests),
        "litert alone": partial(measure_runs, LiteRT(), file, inputs, 1),
        "openvino": partial(measure_runs, OpenVINO(), file, inputs, requests),
        "openvino queue": partial(measure_queue, file, inputs),
    }
    found = {}
    for name, make in ways.items():
        try:
            measure = make()
            measure(0.02)
        except (UnsuitableError, RuntimeError, ValueError, ModuleNotFoundError, nnapi.NnapiError) as error:
            print(f"{file.stem}: no {name}: {str(error).splitlines()[0]:.100}", file=sys.stderr)
        else:
            found[name] = measure
    return found


def measure_model(file: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the best round of each engine variant, in inputs per second of each kind of time."""
    ways = list_ways(file, options.requests)
    best = {kind: dict.fromkeys(ways, 0.0) for kind in KINDS}
    for number in range(options.rounds):
        names = list(ways)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start, used = time.perf_counter(), time.process_time()
            wall = ways[name](options.seconds)
            count = wall * (time.perf_counter() - start)
            best["wall"][name] = max(best["wall"][name], wall)
            best["processor"][name] = max(best["processor"][name], count / (time.process_time() - used))
    return best


def compare(best: dict[str, float]) -> dict[str, float]:
    """Return nnapi's rate divided by each engine's best rate and by the best rate of all other engines.

    The result is empty if no other engine runs the model.
    """
    rates: dict[str, float] = {}
    for name, value in best.items():
        engine = name.split()[0]
        rates[engine] = max(rates.get(engine, 0.0), value)
    ours = rates.pop("nnapi")
    ratios = {name: ours / value for name, value in rates.items()}
    return ratios | {"fastest": min(ratios.values())} if ratios else {}


def show(kind: str, ratios: list[dict[str, float]]) -> None:
    for name in ("litert", "openvino", "fastest"):
        values = [one[name] for one in ratios if name in one]
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"{kind} time, × {name}: geometric mean {mean:.3f} of {len(values)}, minimum {min(values):.2f}")


def main() -> None:
    options = parse()
    results: dict[str, Any] = {}
    for file in sorted(options.folder.glob("*.tflite")):
        if not any(part in file.stem for part in options.only):
            continue
        best = measure_model(file, options)
        if "nnapi" not in best["wall"]:
            continue
        results[file.stem] = {kind: {"rates": best[kind], "ratios": compare(best[kind])} for kind in KINDS}
        for kind in KINDS:
            rates = "  ".join(f"{name} {value:.5g}" for name, value in best[kind].items())
            ratios = "  ".join(f"× {name} {value:.2f}" for name, value in results[file.stem][kind]["ratios"].items())
            print(f"{file.stem}, {kind}: {rates}; {ratios}", flush=True)
    for kind in KINDS:
        show(kind, [one[kind]["ratios"] for one in results.values()])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
