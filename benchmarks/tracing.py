"""Measure the cost of tracing, off and on, and the share of a step that it explains.

Each cost is the median over many pairs of short series, one with and one without, in turns, so that other load affects
both. The program fails if a value misses its limit:

| value | measured on | limit |
|---|---|---|
| a section or span while tracing is off | an empty block | below 100 ns |
| tracing off, compared with a runtime without sections | a burst of one ADD of 3 × 4 floats | below 1 % |
| tracing on, compared with off | models | below 5 % |
| covered: the sum of the operations' spans as a share of their step's span | models | at least 90 % |
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import __future__

import argparse
import inspect
import json
import statistics
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import product
from pathlib import Path
from timeit import timeit
from typing import Any

import numpy as np

import nnapi
from nnapi import Builder, trace
from nnapi.cli.inputs import read_arrays
from nnapi.drivers.reference.program import Program
from nnapi.runtime.executors.wrappers import OnDevice
from nnapi.trace import Layer, Span, spans

MOST_NANOSECONDS, MOST_OFF, MOST_ON, LEAST_COVERED = 100, 0.01, 0.05, 0.90
Setting = Callable[[], AbstractContextManager[Any]]


TRACED = ((nnapi.Burst, "run"), (OnDevice, "_queue_execute"), (Program, "compute"))
"""All functions in the path of a burst on the reference that test whether a trace is being recorded."""


@contextmanager
def without_sections() -> Iterator[None]:
    """Replace the functions in :data:`TRACED` by versions that do not test whether a trace is being recorded."""
    before = [(owner, name, getattr(owner, name)) for owner, name in TRACED]
    for owner, name, function in before:
        source = textwrap.dedent(inspect.getsource(function))
        assert "spans.active" in source, f"{owner.__name__}.{name} does not test whether a trace is recorded"
        made: dict[str, Any] = {}
        code = compile(source.replace("spans.active", "False"), name, "exec", __future__.annotations.compiler_flag)
        exec(code, function.__globals__, made)
        setattr(owner, name, made[name])
    try:
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def compare(
    open: Callable[[], Callable[[], Any]], plain: Setting, costly: Setting, number: int, pairs: int
) -> dict[str, float]:
    """Return the microseconds in both settings, and by what share the costly one is slower: the median of the pairs,
    and the ratio of the two minima. ``open`` returns the work; it is called in each setting."""
    open()()
    taken: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(pairs):
        for is_costly in (False, True) if pair % 2 else (True, False):
            with costly() if is_costly else plain():
                work = open()
                taken[is_costly].append(1e6 * timeit(work, number=number) / number)
    ratios = [slow / fast for fast, slow in zip(taken[False], taken[True], strict=True)]
    return {
        "plain": statistics.median(taken[False]),
        "costly": statistics.median(taken[True]),
        "by median": statistics.median(ratios) - 1,
        "by minimum": min(taken[True]) / min(taken[False]) - 1,
    }


def open_add() -> Callable[[], Any]:
    builder = Builder("sum")
    type = nnapi.tensor("float32", (3, 4))
    builder.output(builder.add(builder.input(type), builder.input(type)))
    burst, given = nnapi.compile(builder.finish(), "nnapi-reference").burst(), np.ones((3, 4), np.float32)
    return lambda: burst.run(given, given)


def open_burst(file: Path, device: str) -> Callable[[], Any]:
    model = nnapi.load(file)
    burst = nnapi.compile(model, device, threads=1).burst()
    inputs = read_arrays(model, [])
    return lambda: burst.run(*inputs)


def measure_coverage(work: Callable[[], Any], runs: int) -> float:
    """Return the median share of a step's span that the spans of its operations fill."""
    with trace.recording() as recorder:
        for _ in range(runs):
            work()
    found = recorder.spans()
    steps = [span for span in found if "operations" in span.args]
    return statistics.median(sum(span.seconds for span in operations(step, found)) / step.seconds for step in steps)


def operations(step: Span, found: list[Span]) -> Iterator[Span]:
    """Yield the outermost operations within a step."""
    for span in found:
        depth = span.depth - ("engine" in span.args)  # an engine's operators are within its call
        if step.start <= span.start and span.end <= step.end and depth == step.depth + 1 and "operation" in span.args:
            yield span


def measure_off(number: int = 200_000) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the nanoseconds of a section and of a span around an empty block while tracing is off, without the loop."""
    section = trace.Section(Layer.RUNTIME, trace.Phase.EXECUTION, "nothing")
    layer, phase = Layer.RUNTIME, trace.Phase.EXECUTION

    def empty() -> None:
        pass

    def entered() -> None:
        with section:
            pass

    def made() -> None:
        with trace.span(layer, phase, "nothing", operation=3):
            pass

    for name, work in (("section, off", entered), ("new span, off", made)):
        seconds = min(timeit(work, number=number) - timeit(empty, number=number) for _ in range(9))
        yield name, {"nanoseconds": 1e9 * seconds / number}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", help="model files to measure with tracing on")
    parser.add_argument("--pairs", type=int, default=101)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    assert not spans.active
    found: dict[str, Any] = dict(measure_off())
    found["off, one ADD"] = compare(open_add, without_sections, nullcontext, 500, options.pairs)
    broken = [name for name in found if found[name].get("nanoseconds", 0) > MOST_NANOSECONDS]
    broken += [name for name in ("off, one ADD",) if found[name]["by median"] > MOST_OFF]
    for file, device in product(options.models, nnapi.devices()):
        work, name = open_burst(file, device.name), f"on, {file.name} on {device.name}"
        found[name] = compare(lambda work=work: work, nullcontext, trace.recording, 5, max(11, options.pairs // 3))
        found[name]["covered"] = measure_coverage(work, 20)
        if found[name]["by median"] > MOST_ON or found[name]["covered"] < LEAST_COVERED:
            broken.append(name)
    if options.json:
        print(json.dumps({**found, "broken": broken}))
        return bool(broken)
    for name, values in found.items():
        print(f"{name}: " + ", ".join(_format(key, value) for key, value in values.items()))
    print("all values are within their limits" if not broken else f"beyond the limits: {', '.join(broken)}")
    return bool(broken)


def _format(key: str, value: float) -> str:
    if key == "nanoseconds":
        return f"{value:.0f} ns"
    return f"{key} {value:.2f} µs" if key in ("plain", "costly") else f"{key} {100 * value:.2f} %"


if __name__ == "__main__":
    sys.exit(main())
