"""Compare nnapi's delegate in LiteRT with LiteRT alone and with nnapi alone: claimed nodes, results, latency.

    python benchmarks/delegate.py FOLDER [--devices NAME …] [--threads N] [--only TEXT] [--seconds S]

All three run in this process, in turns. A time covers setting the inputs, running, and reading the outputs in Python;
it is the minimum of the turns, in processor time with one thread and in wall time with more. "÷ LiteRT" and "÷ nnapi"
are the times of LiteRT and of nnapi divided by the delegate's: above 1, the delegate is faster. The last line has the
geometric means and the number of models with unsigned inputs whose "÷ LiteRT" is at least 1.5. Variables are reset
before every run, as nnapi does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate

import nnapi
from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import File
from nnapi.importers.tflite.convert import list_variables
from nnapi.litert import delegate_path

Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
TURN = 0.03
"""Seconds of a turn."""


class Row(NamedTuple):
    name: str
    claimed: str
    difference: str
    seconds: float
    litert_ratio: float
    nnapi_ratio: float
    is_unsigned: bool


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", nargs="+", default=[], help="default: trials choose")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="run only models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=0.6, help="measuring time of each of the three")
    return parser.parse_args(arguments)


def open_interpreter(path: Path, threads: int, delegates: Sequence[Any] = ()) -> tuple[Any, Run]:
    """Return an interpreter, and a function that sets its inputs, invokes it and reads its outputs."""
    interpreter = Interpreter(str(path), num_threads=threads, experimental_delegates=list(delegates))
    interpreter.allocate_tensors()
    inputs = [detail["index"] for detail in interpreter.get_input_details()]
    outputs = [detail["index"] for detail in interpreter.get_output_details()]

    has_state = bool(list_variables(File(memoryview(path.read_bytes())).subgraph(0)))

    def run(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if has_state:
            interpreter.reset_all_variables()
        for index, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return interpreter, run


def make_inputs(interpreter: Any) -> list[np.ndarray]:
    """Return random integers, or floats between 0 and 1."""
    rng = np.random.default_rng(1)
    made = []
    for detail in interpreter.get_input_details():
        shape, dtype = detail["shape"], np.dtype(detail["dtype"])
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        if limits is None:
            made.append(rng.random(shape).astype(dtype))
        else:
            small = dtype.itemsize > 1  # indices, for embeddings
            made.append(rng.integers(0 if small else limits.min, 20 if small else limits.max, shape).astype(dtype))
    return made


def describe_difference(expected: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> str:
    """Return the largest difference: of floats relative to the largest value, else in LSB (quantization steps)."""
    texts = []
    for a, b in zip(expected, found, strict=True):
        difference = float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))
        is_float = a.dtype.kind == "f"
        texts.append(
            f"{difference / max(float(np.abs(a).max(initial=0)), 1e-9):.1g}" if is_float else f"{difference:.0f} LSB"
        )
    return max(texts)


def find_shortest(runs: Sequence[Run], inputs: Sequence[np.ndarray], options: argparse.Namespace) -> list[float]:
    """Return the seconds of a run in the best turn of each."""
    clock = time.process_time if options.threads == 1 else time.perf_counter
    best = [float("inf")] * len(runs)
    for _ in range(max(3, round(options.seconds / TURN))):
        for number, run in enumerate(runs):
            count, end, begin = 0, time.perf_counter() + TURN, clock()
            while not count or time.perf_counter() < end:
                run(inputs)
                count += 1
            best[number] = min(best[number], (clock() - begin) / count)
    return best


def measure(path: Path, options: argparse.Namespace) -> Row:
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as explanation:
        delegate_options = {"devices": ",".join(options.devices), "explain": explanation.name}
        delegate = load_delegate(delegate_path(), delegate_options)
        alone, run_alone = open_interpreter(path, options.threads)
        _, run_delegated = open_interpreter(path, options.threads, [delegate])
        claimed = explanation.readline().partition(" operators")[0]
    inputs = make_inputs(alone)
    difference = describe_difference(run_alone(inputs), run_delegated(inputs))
    runs = [run_delegated, run_alone]
    compilation = nnapi.compile(nnapi.load(str(path)), options.devices or None, threads=options.threads)
    with compilation, compilation.burst() as burst:
        runs.append(lambda arrays: burst.run(*arrays))
        delegated, litert, whole = find_shortest(runs, inputs, options)
    is_unsigned = any(array.dtype == np.uint8 for array in inputs)
    return Row(path.stem, claimed, difference, delegated, litert / delegated, whole / delegated, is_unsigned)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    for path in sorted(options.folder.glob("*.tflite")):
        if options.only in path.stem:
            try:
                yield measure(path, options)
            except (NnapiError, RuntimeError, ValueError) as error:
                print(f"{path.stem}: {error}", file=sys.stderr)


def main() -> None:
    os.environ["NNAPI_TUNING"] = "1"  # measure the plans that later processes use
    print(f"{'model':44} {'nodes':>12} {'differs by':>11} {'ms':>9} {'÷ LiteRT':>9} {'÷ nnapi':>8}")
    measured = []
    for row in rows(parse()):
        measured.append(row)
        figures = f"{row.seconds * 1e3:9.4f} {row.litert_ratio:9.2f} {row.nnapi_ratio:8.2f}"
        print(f"{row.name:44} {row.claimed:>12} {row.difference:>11} {figures}", flush=True)
    with suppress(ValueError):  # no model was measured
        unsigned = [row for row in measured if row.is_unsigned]
        fast = sum(row.litert_ratio >= 1.5 for row in unsigned)
        print(f"mean {geometric_mean(row.litert_ratio for row in measured):.2f} ÷ LiteRT, ", end="")
        print(f"{geometric_mean(row.nnapi_ratio for row in measured):.2f} ÷ nnapi; ", end="")
        print(f"unsigned inputs: {fast} of {len(unsigned)} models are at least 1.5 times as fast as LiteRT")


if __name__ == "__main__":
    main()
