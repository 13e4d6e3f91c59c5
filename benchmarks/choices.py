"""Compare the plan that is active after some seconds of runs with every other plan.

    python benchmarks/choices.py MODEL.tflite … [--seconds 5] [--busy 0] [--threads 1] [--pretend 0] [--processor avx2]

Each model runs in a process of its own with an empty cache folder, without a pause, beside ``--busy`` processes that
only use the processor. It runs for ``--seconds``, or until its trial is over; with ``--threads 1`` these are seconds of
processor time. Then all plans run in the same process, in turns of random order. The program prints for each model:

- the median time of a run in the last second
- the speed of the active plan relative to the fastest other plan, as the median of the ratios of the turns
- "again": the same relative to the active plan prepared a second time, which shows the noise of the measurement
- the number of times that the active plan changed
- the time of measurements after runs, since the last change, as a share of the time of runs
- the active plan and, if that is more than 5 % slower, the fastest plan

``--pretend SEED`` predicts for a processor that nobody measured: with the bounds of an unknown one, times a random
factor from 1/8 to 8 for each device and kind of operation. ``--processor`` names the instruction sets that nnapi sees
instead of this processor's, ``--cores`` the number of cores. Engines still use all instructions.

The end lists the time of the first 20 runs, with the measurements after them, relative to 20 runs of the fastest plan:
in the median, and at most. With ``--threads 1`` it is processor time.
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
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.contract.driver import PrepareOptions, Request, Variants
from nnapi.contract.timings import Processor, find_processor, scale_timings
from nnapi.contract.winograd import find_float_width
from nnapi.host import instruction_sets
from nnapi.importers import load
from nnapi.model.facts import Kind
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.costs import prices
from nnapi.runtime.device import devices
from nnapi.runtime.inputs import make_zeros

Runs = dict[str, Callable[[], object]]
ACTIVE = "the active plan"
LEAST_TURNS, HOPELESS = 5, 5
"""The least number of turns; a plan whose first run takes this many times as long as the fastest one's has none."""
WARM, TIMED = 5, 5
"""Runs of a turn: untimed ones that warm caches, and then timed ones, of which the mean counts."""
PAUSE = 2e-3
"""Seconds before each turn, in which the threads of other engines stop spinning."""
ENGINES = {"nnapi-reference": "reference", "xnnpack-cpu": "xnnpack", "openvino-cpu": "openvino"}
"""Devices with timings, and the packages of their drivers."""
WRONG = 8.0
"""The factor by which pretended timings are wrong at most."""
PROCESSORS = {
    "avx512": ("avx512f", "avx2", "fma"),
    "avx2": ("avx2", "fma"),
    "asimddp": ("asimd", "asimddp"),
    "asimd": ("asimd",),
    "other": (),
}
"""Instruction sets of pretended processors: none has VNNI."""
FIRST = 20
"""Runs at the beginning whose time is compared."""
LEAST_SPEED = 0.95
"""A choice is right if its speed is at least this share of the fastest plan's."""


class Result(NamedTuple):
    """The values that the module's docstring lists, for one model; times in seconds."""

    last: float
    ratio: float
    again: float
    changes: int
    share: float
    plan: str
    fastest: str
    first: float
    """Time of the first runs, relative to runs of the fastest plan."""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of the runs without a pause")
    parser.add_argument("--leisure", type=float, default=4.0, help="seconds of the comparison afterwards")
    parser.add_argument("--busy", type=int, default=0, help="number of processes that only use the processor")
    parser.add_argument("--threads", type=int, help="threads of a run; by default nnapi chooses the number")
    parser.add_argument("--pretend", type=int, metavar="SEED", help="predict with wrong timings")
    parser.add_argument("--processor", choices=PROCESSORS, help="predict for these instruction sets")
    parser.add_argument("--cores", type=int, help="use this number of cores")
    parser.add_argument("--one", action="store_true", help="run one model in this process, and print JSON")
    return parser.parse_args(arguments)


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run processes that only use the processor."""
    loops = [multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()


def pretend_processor(name: str) -> None:
    """Replace the instruction sets of this processor."""
    instruction_sets.read_line = lambda line: frozenset(PROCESSORS[name])
    for cached in (instruction_sets.find_instruction_sets, find_processor, find_float_width):
        cached.cache_clear()


def pretend(seed: int, processor: Processor = Processor.OTHER) -> None:
    """Replace the timings of all devices by wrong ones of a processor."""
    vars(prices)["find_processor"] = lambda: processor
    draw = random.Random(seed)
    for name, engine in ENGINES.items():
        found = import_module(f"nnapi.drivers.{engine}.timings").for_processor(processor)
        factors = {kind: WRONG ** draw.uniform(-1.0, 1.0) for kind in Kind}
        wrong = scale_timings(found, {each: factors[each[0]] for each in found.costs})
        for each in devices():
            if each.name == name:
                each.driver.timings = lambda wrong=wrong: wrong  # type: ignore[attr-defined]


def make_inputs(model: nnapi.Model) -> list[Any]:
    """Return random inputs."""
    rng = np.random.default_rng(0)
    return [
        array if array is None else rng.integers(0, 100, array.shape).astype(array.dtype) for array in make_zeros(model)
    ]


def prepare_all(model: nnapi.Model, inputs: Sequence[Any], threads: int | None) -> Runs:
    """Prepare the whole model on each device, in each variant."""
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
    """Return the seconds of a run in each turn, by plan; omit plans that take five times as long as the fastest."""
    first = {name: run_timed(run, clock, 1, 1) for name, run in runs.items()}
    names = [name for name in runs if name == ACTIVE or first[name] <= HOPELESS * min(first.values())]
    times = {name: list[float]() for name in names}
    turns, end = 0, time.perf_counter() + seconds
    while turns < LEAST_TURNS or time.perf_counter() < end:
        for name in random.sample(names, len(names)):
            time.sleep(PAUSE)
            times[name].append(run_timed(runs[name], clock, WARM, TIMED))
        turns += 1
    return times


def run_timed(run: Callable[[], object], clock: Callable[[], float], warm: int, timed: int) -> float:
    """Return the mean seconds of the timed runs, which follow the warm ones without a pause."""
    for _ in range(warm):
        run()
    start = clock()
    for _ in range(timed):
        run()
    return (clock() - start) / timed


def compare(times: dict[str, list[float]]) -> dict[str, float]:
    """Return the active plan's speed relative to each other plan: the median of the ratios of turns."""
    active = times[ACTIVE]
    return {
        name: float(np.median([other / own for other, own in zip(each, active, strict=False)]))
        for name, each in times.items()
        if name != ACTIVE
    }


def is_trying(compilation: nnapi.Compilation) -> bool:
    """Return whether a trial may still change the plan."""
    return compilation._trial is not None and compilation._trial.stage in (Stage.WAITING, Stage.COMPARING)


def run_one(options: argparse.Namespace, path: Path) -> Result:
    """Run a model without a pause, then compare its active plan with all plans."""
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    if options.processor:
        pretend_processor(options.processor)
    if options.pretend is not None:
        pretend(options.pretend, find_processor() if options.processor else Processor.OTHER)
    model = load(path)
    inputs = make_inputs(model)
    compilation = nnapi.compile(model, threads=options.threads)
    plans, times = [compilation.plan], list[tuple[float, float]]()
    spent, clock = [0.0], time.thread_time if options.threads == 1 else time.perf_counter
    start = now = clock()
    end = start + options.seconds
    while now < end and (len(spent) <= FIRST or is_trying(compilation)):
        begin = now
        compilation.run(*inputs)
        now = clock()
        if len(spent) <= FIRST:
            spent.append(now - start)
        times.append((begin, now - begin))
        if compilation.plan is not plans[-1]:
            plans.append(compilation.plan)
    schedule = compilation._trial.schedule if compilation._trial else None
    compilation.pin()
    names = [f"everything on {plan.devices[0]}{plan.variant and f', {plan.variant}'}" for plan in plans]
    runs = prepare_all(model, inputs, compilation.plan.threads)
    runs[ACTIVE] = lambda: compilation.run(*inputs)
    clock = time.process_time if compilation.plan.threads == 1 else time.perf_counter  # excludes other processes
    measured = time_alternating(runs, options.leisure, clock)
    found = compare(measured)
    least = min(float(np.median(each)) for each in measured.values())
    last = float(np.median([seconds for begin, seconds in times if begin > end - 1] or [times[-1][1]]))
    share = 0.0 if schedule is None else schedule.cost / max(schedule.runs.spent, 1e-9)
    changes = sum(before != after for before, after in pairwise(names))
    plan = names[-1] if compilation.plan.is_simple else compilation.plan.name
    again = found.pop(plan, 1.0)
    fastest = min(found, key=found.__getitem__, default=plan)
    first = spent[-1] / ((len(spent) - 1) * least)
    return Result(last, min(found.get(fastest, 1.0), 1.0), again, changes, share, plan, fastest, first)


def run_apart(options: argparse.Namespace, path: Path) -> Result:
    """Run a model in a process of its own with an empty cache folder."""
    command = [sys.executable, "-m", "benchmarks.choices", str(path), "--one", "--seconds", str(options.seconds)]
    command += ["--leisure", str(options.leisure)]
    if options.pretend is not None:
        command += ["--pretend", str(options.pretend)]
    for name in ("threads", "processor", "cores"):
        if value := getattr(options, name):
            command += [f"--{name}", str(value)]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NNAPI_CACHE_DIR": cache}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
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
            mark = "" if result.ratio >= LEAST_SPEED else f"  faster: {result.fastest}"
            print(
                f"{path.stem:40} {result.last * 1e3:9.3f} ms  {result.ratio:5.2f}  again {result.again:.2f}"
                f"  {result.changes} changes"
                f"  {100 * result.share:4.1f} %  first {result.first:.2f}  {result.plan}{mark}",
                flush=True,
            )
    if not found:
        return 1
    right = sum(each.ratio >= LEAST_SPEED for each in found)
    slowest = min(each.ratio for each in found)
    print(f"{right} of {len(found)} active plans are within 5 % of the fastest; lowest relative speed {slowest:.2f}")
    firsts = [each.first for each in found]
    print(f"first {FIRST} runs: {np.median(firsts):.2f} times runs of the fastest plan, at most {max(firsts):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
