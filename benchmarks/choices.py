"""How good the choice of plans is after some seconds of runs: the plan that is active then beside every other plan.

    python benchmarks/choices.py MODEL.tflite … [--seconds 5] [--busy 0] [--threads 1]

Each model runs in a process of its own with an empty home, without a pause for so many seconds, beside so many busy
loops. After that all plans run in the same process, in turns of random order. For each model it prints the median of
the last second, the active plan's speed relative to the fastest other plan's (median of the turns' ratios) and to the
same plan prepared again, which shows the noise of the measurement, the number of plans that took over, and the share of
the time that trials took beyond 100 ms.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.drivers.base import PrepareOptions, Request, Variants
from nnapi.importers import load
from nnapi.runtime.device import devices
from nnapi.runtime.inputs import make_zeros

Runs = dict[str, Callable[[], object]]
ACTIVE = "the active plan"
TURNS, HOPELESS = 5, 5
"""Turns of a plan, at least; one that takes so many times as long as another at first has none."""
WARM, TIMED = 5, 5
"""Runs of a turn without a pause: first those that find cold caches, then those whose mean counts."""
PAUSE = 2e-3
"""Seconds before each measurement: the threads of engines spin for a millisecond after a run."""
FEWEST = 0.95
"""Share of the fastest plan's speed that counts as the right choice."""


class Result(NamedTuple):
    """Of one model: seconds of a run in the last second, speed relative to the fastest other plan and to the same plan
    prepared again, plans that took over, share of the time that trials took beyond 100 ms, the active plan and the
    fastest."""

    last: float
    ratio: float
    again: float
    changes: int
    share: float
    plan: str
    fastest: str


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=5.0, help="of runs without a pause")
    parser.add_argument("--leisure", type=float, default=4.0, help="seconds of the comparison afterwards")
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside the runs")
    parser.add_argument("--threads", type=int, help="of a run; by default that is chosen")
    parser.add_argument("--one", action="store_true", help="print the result of one model as JSON, in this process")
    return parser.parse_args(arguments)


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run processes that do nothing but use a processor."""
    loops = [multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()


def make_inputs(model: nnapi.Model) -> list[Any]:
    """Make up random inputs."""
    random = np.random.default_rng(0)
    return [
        array if array is None else random.integers(0, 100, array.shape).astype(array.dtype)
        for array in make_zeros(model)
    ]


def prepare_all(model: nnapi.Model, inputs: Sequence[Any], threads: int | None) -> Runs:
    """Prepare the model whole on each device, in each variant."""
    runs: Runs = {}
    for each in devices():
        if not all(each.supports(model)):
            continue
        variants = each.driver.list_variants(model) if isinstance(each.driver, Variants) else ()
        for variant in ("", *variants):
            prepared = each.driver.prepare(model, PrepareOptions(threads=threads, variant=variant))
            name = f"everything on {each.name}{variant and f', {variant}'}"
            runs[name] = partial(prepared.execute, Request(inputs))
    return runs


def time_alternating(
    runs: Runs, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of a run in each turn, without plans that take five times as long as another."""
    first = {name: run_timed(run, clock, 1, 1) for name, run in runs.items()}
    names = [name for name in runs if name == ACTIVE or first[name] <= HOPELESS * min(first.values())]
    times = {name: list[float]() for name in names}
    turns, end = 0, time.perf_counter() + seconds
    while turns < TURNS or time.perf_counter() < end:
        for name in random.sample(names, len(names)):
            time.sleep(PAUSE)
            times[name].append(run_timed(runs[name], clock, WARM, TIMED))
        turns += 1
    return times


def run_timed(run: Callable[[], object], clock: Callable[[], float], warm: int, timed: int) -> float:
    """Return the mean seconds of runs without a pause after warm ones."""
    for _ in range(warm):
        run()
    start = clock()
    for _ in range(timed):
        run()
    return (clock() - start) / timed


def compare(times: dict[str, list[float]]) -> dict[str, float]:
    """Return the active plan's speed relative to each: the median of the ratios of turns."""
    active = times[ACTIVE]
    return {
        name: float(np.median([other / own for other, own in zip(each, active, strict=False)]))
        for name, each in times.items()
        if name != ACTIVE
    }


def run_one(options: argparse.Namespace, path: Path) -> Result:
    """Run a model without a pause, then beside all plans."""
    model = load(path)
    inputs = make_inputs(model)
    compilation = nnapi.compile(model, threads=options.threads)
    plans, times = [compilation.plan], list[tuple[float, float]]()
    end = time.perf_counter() + options.seconds
    while (now := time.perf_counter()) < end:
        compilation.run(*inputs)
        times.append((now, time.perf_counter() - now))
        if compilation.plan is not plans[-1]:
            plans.append(compilation.plan)
    trial = compilation._trial
    compilation.pin()
    names = [f"everything on {plan.devices[0]}{plan.variant and f', {plan.variant}'}" for plan in plans]
    runs = prepare_all(model, inputs, compilation.plan.threads)
    runs[ACTIVE] = lambda: compilation.run(*inputs)
    clock = time.process_time if compilation.plan.threads == 1 else time.perf_counter  # other processes do not count
    found = compare(time_alternating(runs, options.leisure, clock))
    last = float(np.median([seconds for begin, seconds in times if begin > end - 1] or [times[-1][1]]))
    share = 0.0 if trial is None else max(trial.cost - 0.1, 0.0) / max(trial.spent, 1e-9)
    changes = sum(before != after for before, after in pairwise(names))
    plan = names[-1] if compilation.plan.is_simple else compilation.plan.name
    again = found.pop(plan, 1.0)
    fastest = min(found, key=found.__getitem__, default=plan)
    return Result(last, min(found.get(fastest, 1.0), 1.0), again, changes, share, plan, fastest)


def run_apart(options: argparse.Namespace, path: Path) -> Result:
    """Run a model in a process of its own with an empty home."""
    words = [sys.executable, "-m", "benchmarks.choices", str(path), "--one", "--seconds", str(options.seconds)]
    words += ["--leisure", str(options.leisure)]
    if options.threads:
        words += ["--threads", str(options.threads)]
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"NNAPI_CACHE_DIR": home}
        done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    return Result(*json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    options = parse()
    if options.one:
        print(json.dumps(run_one(options, options.models[0])))
        return 0
    found: list[Result] = []
    with busy_loops(options.busy):
        for path in options.models:
            try:
                result = run_apart(options, path)
            except subprocess.CalledProcessError as error:
                print(f"{path.stem:40} fails: {error.stderr.strip().splitlines()[-1:]}", flush=True)
                continue
            found.append(result)
            mark = "" if result.ratio >= FEWEST else f"  faster: {result.fastest}"
            print(
                f"{path.stem:40} {result.last * 1e3:9.3f} ms  {result.ratio:5.2f}  again {result.again:.2f}"
                f"  {result.changes} changes"
                f"  {100 * result.share:4.1f} %  {result.plan}{mark}",
                flush=True,
            )
    right = sum(each.ratio >= FEWEST for each in found)
    print(f"{right} of {len(found)} within 5 % of the fastest, the worst {min(each.ratio for each in found):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
