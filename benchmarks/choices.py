"""How good the choice of devices and forms is: fresh homes, beside a busy loop, and predictions beside measurements.

    python benchmarks/choices.py homes MODEL.tflite [--homes 20] [--compilations 0] [--busy 1]
    python benchmarks/choices.py predictions MODEL.tflite …

``homes`` tunes the model in so many fresh processes with nothing kept, beside so many busy loops; afterwards, every
plan that was chosen runs in one process, alternating, and each choice is compared with the best. ``predictions`` lists
for each device what is predicted of a model and what is measured, and the ratio; OFF marks what is off by more than 2.
Seconds are of the processor, on one thread.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

import nnapi
from nnapi.drivers.base import Forms, PrepareOptions, Request
from nnapi.importers import load
from nnapi.runtime.device import devices
from nnapi.runtime.inputs import make_zeros

Runs = dict[str, Callable[[], object]]

CHOOSE = """
import json, sys, nnapi
from nnapi.importers import load
model = load(sys.argv[1])
if count := int(sys.argv[2]):
    with nnapi.settings(tuning=True):
        plan = [nnapi.compile(model, threads=1).plan for _ in range(count)][-1]
else:
    plan = nnapi.tune(model, threads=1)
print(json.dumps([plan.devices[0] if plan.is_simple else plan.name, plan.form]))
"""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["homes", "predictions"])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--homes", type=int, default=20)
    parser.add_argument("--compilations", type=int, default=0, help="with NNAPI_TUNING=1, instead of nnapi.tune")
    parser.add_argument("--busy", type=int, default=1, help="busy loops beside the compilations")
    parser.add_argument("--seconds", type=float, default=4.0, help="of the comparison afterwards")
    return parser.parse_args(arguments)


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that do nothing but use a processor."""
    loops = [multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()


def choose_in_fresh_homes(path: Path, homes: int, compilations: int) -> list[tuple[str, str]]:
    """What each of so many homes has chosen in the end: the device, and the form."""
    chosen = []
    for _ in range(homes):
        with tempfile.TemporaryDirectory() as home:
            environment = os.environ | {"NNAPI_CACHE_DIR": home}
            words = [sys.executable, "-c", CHOOSE, str(path), str(compilations)]
            output = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout
            device, form = json.loads(output.splitlines()[-1])
            chosen.append((device, form))
    return chosen


def time_alternating(runs: Runs, seconds: float) -> dict[str, tuple[float, float]]:
    """For each the least and the median seconds of the processor, turn by turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, run in runs.items():
            run()
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: (float(np.min(each)), float(np.median(each))) for name, each in times.items()}


def prepare_all(model: nnapi.Model, choices: Sequence[tuple[str, str]]) -> Runs:
    """What runs each choice of one device, on one thread, with random codes or numbers."""
    random = np.random.default_rng(0)
    inputs = [
        random.integers(0, 100, array.shape).astype(array.dtype) if array is not None else None
        for array in make_zeros(model)
    ]
    runs: Runs = {}
    for name, form in choices:
        prepared = nnapi.device(name).driver.prepare(model, PrepareOptions(threads=1, form=form))
        request = Request(inputs)
        runs[f"{name} {form}".strip()] = partial(prepared.execute, request)
    return runs


def compare_homes(options: argparse.Namespace, path: Path) -> None:
    with busy_loops(options.busy):
        chosen = Counter(choose_in_fresh_homes(path, options.homes, options.compilations))
    model = load(path)
    candidates = {(each.name, "") for each in devices() if all(each.supports(model))} | {*chosen}
    for name, _ in list(candidates):
        driver = nnapi.device(name).driver
        candidates |= {(name, form) for form in (driver.list_forms(model) if isinstance(driver, Forms) else ())}
    with nnapi.settings(tuning=True):
        times = time_alternating(prepare_all(model, sorted(candidates)), options.seconds)
    best = min(least for least, _ in times.values())
    print(f"{path.stem}: {options.homes} fresh homes, {options.busy} busy loops")
    for name, (least, median) in sorted(times.items(), key=lambda item: item[1]):
        count = sum(number for choice, number in chosen.items() if " ".join(choice).strip() == name)
        figures = f"least {least * 1e3:8.3f} ms  median {median * 1e3:8.3f} ms  {least / best:5.2f}"
        print(f"  {name:60} chosen {count:3}  {figures}")


def compare_predictions(paths: Sequence[Path], seconds: float) -> None:
    for path in paths:
        model = load(path)
        plan = nnapi.compile(model, threads=1).plan
        predicted = {plan.name: plan.predicted} | {each.description: each.seconds for each in plan.alternatives}
        whole = [(each.name, "") for each in devices() if f"everything on {each.name}" in predicted]
        with nnapi.settings(tuning=True):
            times = time_alternating(prepare_all(model, whole), seconds)
        for name, (least, _) in times.items():
            ratio = predicted[f"everything on {name}"] / least
            mark = "" if 0.5 <= ratio <= 2 else "  OFF"
            print(
                f"{path.stem:40} {name:15} predicted {ratio * least * 1e3:9.3f}  measured {least * 1e3:9.3f} ms"
                f"  {ratio:5.2f}{mark}"
            )


def main() -> int:
    options = parse()
    if options.what == "predictions":
        compare_predictions(options.models, options.seconds)
    else:
        for path in options.models:
            compare_homes(options, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
