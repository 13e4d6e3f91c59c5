"""Compare the time of calls of nnapi.litert's Interpreter and CompiledModel with LiteRT's: MODEL…

Both run in one process with one thread each, in turns; nnapi runs on ``xnnpack-cpu``. Times are in microseconds, the
minimum of many short series. The program fails if ``invoke`` takes over 1 µs longer than LiteRT's, or ``run_by_index``
over 5 µs longer.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from timeit import timeit
from typing import Any

import numpy as np
from ai_edge_litert import compiled_model
from ai_edge_litert import interpreter as litert
from rich.console import Console
from rich.table import Table

from nnapi.litert import CompiledModel, Interpreter

CALLS = "set_tensor", "invoke", "get_tensor", "all three", "run_by_index", "write, run_by_index, read"
SERIES = 60
LIMITS = {"invoke": 1.0, "run_by_index": 5.0}
"""The microseconds that a call may take longer than LiteRT's."""
OPTIONS = compiled_model.Options(cpu_options=compiled_model.CpuOptions(num_threads=1))


def list_calls(interpreter: Any, model: Any) -> list[Callable[[], Any]]:
    """Return functions for the :data:`CALLS`, on the first input and output."""
    interpreter.allocate_tensors()
    entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]["index"]
    index, value = entry["index"], np.zeros(entry["shape"], entry["dtype"])

    def all_three() -> Any:
        interpreter.set_tensor(index, value)
        interpreter.invoke()
        return interpreter.get_tensor(result)

    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    shape = outputs[0].get_tensor_details()

    def write_run_and_read() -> Any:
        inputs[0].write(value)
        model.run_by_index(0, inputs, outputs)
        return outputs[0].read(int(np.prod(shape["shape"])), np.dtype(shape["dtype"]))

    return [
        lambda: interpreter.set_tensor(index, value),
        interpreter.invoke,
        lambda: interpreter.get_tensor(result),
        all_three,
        lambda: model.run_by_index(0, inputs, outputs),
        write_run_and_read,
    ]


def measure(path: str, number: int, series: int = SERIES) -> tuple[list[float], list[float]]:
    """Return the microseconds of each call, of LiteRT and of nnapi."""
    sides = [
        list_calls(
            litert.Interpreter(path, num_threads=1),
            compiled_model.CompiledModel.from_file(path, options=OPTIONS),
        ),
        list_calls(
            Interpreter(path, num_threads=1, devices="xnnpack-cpu"),
            CompiledModel.from_file(path, options=OPTIONS, devices="xnnpack-cpu"),
        ),
    ]
    best = [[float("inf")] * len(CALLS) for _ in sides]
    for _ in range(series):
        for shortest, calls in zip(best, sides, strict=True):
            for index, call in enumerate(calls):
                shortest[index] = min(shortest[index], 1e6 * timeit(call, number=number) / number)
    return best[0], best[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--number", type=int, default=300, help="calls in each series")
    options = parser.parse_args()
    shown, is_within = Table("model", *(f"{call}: LiteRT, nnapi, difference" for call in CALLS)), True
    for path in options.models:
        theirs, ours = measure(path, options.number)
        pairs = list(zip(theirs, ours, strict=True))
        shown.add_row(os.path.basename(path), *(f"{a:.2f}  {b:.2f}  {b - a:+.2f}" for a, b in pairs))
        is_within &= all(b - a <= LIMITS.get(call, np.inf) for call, (a, b) in zip(CALLS, pairs, strict=True))
    Console(width=200).print(shown)
    return not is_within


if __name__ == "__main__":
    raise SystemExit(main())
