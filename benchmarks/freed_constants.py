"""Free LiteRT's interpreters while nnapi's delegate compares plans, and count the processes that crash.

    python -m benchmarks.freed_constants MODEL.tflite...

LiteRT maps a model's file and unmaps it with the interpreter, so a thread that still reads constants crashes. For each
model and each two devices, a process makes the first device the active plan and the second one the challenger. Ten
times, it runs the model for a while and frees the interpreter. The exit code is 1 if any process crashes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from nnapi import devices

MOMENTS = 0.0, 0.2, 0.26, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0, 1.5
"""Seconds from the first run to the end of the interpreter; trials begin after a quarter of a second."""
AFTER = 0.3
"""Seconds in which a thread would read what was freed."""


def force_plans(active: str, challenger: str) -> None:
    """Make one device the active plan of all compilations, and another one the only challenger."""
    from nnapi.runtime.choice import predict
    from nnapi.runtime.choice.question import Question
    from nnapi.runtime.choice.record import PREDICTED, Record
    from nnapi.runtime.planning.plan import Plan

    def plan_for(question: Question, device: str) -> Plan:
        count, threads = len(question.model.operations), question.options.threads
        plan = Record(PREDICTED, device, "", "", count, threads, 0.0).make_plan(question)
        assert plan is not None
        return plan

    def predict_active(question: Question, claims: Sequence[Any]) -> predict.Prediction:
        return predict.Prediction(plan_for(question, active), is_tiny=False, is_whole=not claims)

    predict.predict_plan = predict_active
    predict.list_challengers = lambda question, *_: [plan_for(question, challenger)]


def run_until(path: str, pair: Sequence[str], moment: float) -> None:
    """Run a model with the delegate until a moment, then free the interpreter."""
    from ai_edge_litert.interpreter import Interpreter, load_delegate

    from nnapi.litert import delegate_path

    delegate = load_delegate(delegate_path(), {"devices": ",".join(pair), "threads": "1"})
    interpreter = Interpreter(path, experimental_delegates=[delegate], num_threads=1)
    interpreter.allocate_tensors()
    inputs: list[Any] = interpreter.get_input_details()
    for each in inputs:
        interpreter.set_tensor(each["index"], np.ones(each["shape"], each["dtype"]))
    end = None
    while end is None or time.monotonic() < end:
        interpreter.invoke()
        end = end or time.monotonic() + moment


def run_all(path: str, active: str, challenger: str) -> None:
    force_plans(active, challenger)
    for moment in MOMENTS:
        with tempfile.TemporaryDirectory(prefix="nnapi-freed-") as cache:
            os.environ["NNAPI_CACHE_DIR"] = cache  # no record of an earlier trial
            run_until(path, (active, challenger), moment)
            time.sleep(AFTER)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--device", action="append", help="by default all devices")
    parser.add_argument("--pair", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pair:
        run_all(str(given.models[0]), *given.pair)
        return 0
    crashes = 0
    for model in given.models:
        for pair in permutations(given.device or [device.name for device in devices()], 2):
            words = [sys.executable, "-m", "benchmarks.freed_constants", str(model), "--pair", *pair]
            status = subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode
            crashes += status != 0
            print(f"{model.stem}: {pair[0]} active, {pair[1]} challenges: {status or 'ok'}", flush=True)
    print(f"{crashes} crashes")
    return int(crashes > 0)


if __name__ == "__main__":
    sys.exit(main())
