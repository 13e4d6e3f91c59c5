"""Count the correct results and the runs per second of threads that share one compilation, for each kind of run."""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi import Builder, Compilation, Execution

Run = Callable[[Compilation, Any], Any]


def execute(compilation: Compilation, given: Any) -> Any:
    execution, result = Execution(compilation), np.empty_like(given)
    execution.set_input(0, given)
    execution.set_output(0, result)
    execution.compute()
    return result


def start_and_wait(compilation: Compilation, given: Any) -> Any:
    return compilation.start(given).result()[0]


def run(compilation: Compilation, given: Any) -> Any:
    return compilation.run(given)[0]


def measure(way: Run, threads: int, executions: int) -> dict[str, Any]:
    b = Builder("line")
    x = b.input(nnapi.tensor("float32", (2,)))
    b.output(b.add(b.mul(x, 2.0), 1.0))
    compilation = nnapi.compile(b.finish(), "nnapi-reference")
    right: list[int] = []

    def work(thread: int) -> None:
        answers = (way(compilation, np.float32([thread, i])).tolist() for i in range(executions))
        right.append(sum(answer == [2 * thread + 1, 2 * i + 1] for i, answer in enumerate(answers)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    return {"way": way.__name__, "asked": threads * executions, "right": sum(right), "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--executions", type=int, default=1000, help="runs of each thread")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [measure(way, options.threads, options.executions) for way in (run, execute, start_and_wait)]
    if options.json:
        print(json.dumps(found))
    else:
        rows = Table("run", "executions", "correct", "per second")
        for row in found:
            rows.add_row(row["way"], str(row["asked"]), str(row["right"]), f"{row['asked'] / row['seconds']:.0f}")
        Console().print(rows)
    return any(row["right"] != row["asked"] for row in found)


if __name__ == "__main__":
    sys.exit(main())
