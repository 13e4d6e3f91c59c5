"""Compare the time of a detection in a spawned process, with LiteRT and with NNAPI_DROPIN=litert: MODEL…

As in video recorders, a child process loads the model through ``tflite_runtime`` or ``ai_edge_litert``, and processes
frames. After some seconds of warm-up, the two children run in turns. Times are milliseconds from a frame to its
outputs: the median and the minimum.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

WARM = 5.0
"""Seconds of detections before the measured ones."""
TURN = 10
"""Detections of one child in a turn."""


def serve(connection: Connection, path: str, threads: int) -> None:
    """Receive numbers of detections; send the seconds of each detection, and the module of the interpreter."""
    try:
        from tflite_runtime.interpreter import Interpreter  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        from ai_edge_litert.interpreter import Interpreter
    interpreter: Any = Interpreter(model_path=path, num_threads=threads)
    interpreter.allocate_tensors()
    entry, results = interpreter.get_input_details()[0], interpreter.get_output_details()
    frame = np.random.default_rng(1).integers(0, 256, entry["shape"]).astype(entry["dtype"])
    while count := connection.recv():
        taken = []
        for _ in range(count):
            begin = time.perf_counter()
            interpreter.set_tensor(entry["index"], frame)
            interpreter.invoke()
            for result in results:
                interpreter.tensor(result["index"])()[0].copy()
            taken.append(time.perf_counter() - begin)
        connection.send((taken, Interpreter.__mro__[1].__module__))


class Detector:
    """A child process; ``drop_in`` is the value of its variable NNAPI_DROPIN."""

    def __init__(self, path: str, threads: int, drop_in: str) -> None:
        self._connection, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=serve, args=(end, path, threads))
        os.environ["NNAPI_DROPIN"] = drop_in
        if not drop_in:
            del os.environ["NNAPI_DROPIN"]
        self._process.start()

    def detect(self, count: int) -> list[float]:
        self._connection.send(count)
        taken, self.module = self._connection.recv()
        return list(taken)

    def close(self) -> None:
        self._connection.send(0)
        self._process.join()


def measure(path: str, threads: int, turns: int, warm: float = WARM) -> list[tuple[list[float], str]]:
    """Return the seconds of each detection and the module of the interpreter, of LiteRT and of nnapi."""
    detectors = [Detector(path, threads, drop_in) for drop_in in ("", "litert")]
    taken: list[list[float]] = [[], []]
    for detector in detectors:
        end = time.monotonic() + warm
        while time.monotonic() < end:
            detector.detect(TURN)
    for _ in range(turns):
        for each, detector in zip(taken, detectors, strict=True):
            each += detector.detect(TURN)
    for detector in detectors:
        detector.close()
    return [(each, detector.module) for each, detector in zip(taken, detectors, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=20)
    options = parser.parse_args()
    shown = Table("model", "LiteRT: median, minimum", "nnapi: median, minimum", "LiteRT / nnapi", "interpreters")
    for path in options.models:
        (theirs, first), (ours, second) = measure(path, options.threads, options.turns)
        times = [f"{1e3 * median(each):.2f}  {1e3 * min(each):.2f}" for each in (theirs, ours)]
        ratio = f"{median(theirs) / median(ours):.2f}  {min(theirs) / min(ours):.2f}"
        shown.add_row(Path(path).name, *times, ratio, f"{first} {second}")
    Console(width=160).print(shown)


if __name__ == "__main__":
    main()
