"""Run ten honest applications of a service alone, then beside three hostile ones.

    python -m benchmarks.service_soak MODEL --minutes 10

The program starts a service and ten applications that run the model at a steady rate, and measures them in three
phases: alone, beside three processes that only use the processor, and beside three hostile clients. The second phase
shows how much of the latency is due to the processor load. The hostile clients do the following:

- mutate: send mutated messages
- hog: take as many channels, as many models and as much memory as possible
- churn: connect and disconnect as fast as possible

The exit code is 1 if a result is wrong or missing, the median latency of the honest applications more than doubles, or
the service's memory grows by more than 8 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

import nnapi
from nnapi import Device
from nnapi.drivers.isolated import Isolated

HONEST = 10
SLOWDOWN = 2.0
"""The largest ratio of the median latency beside hostile clients to that alone."""
GROWTH = 8.0
"""Megabytes that the service may grow by."""
PAUSE = 0.1
"""Seconds between two runs of an honest application."""
HOSTILE = ("mutate", "hog", "churn")


def be_honest(path: str, model_file: str, device: str, pause: float) -> None:
    """Run a model until the parent closes stdin; print a line of JSON each second."""
    model = nnapi.load(model_file)
    rng = np.random.default_rng(0)
    types = [model.operands[index].type for index in model.inputs]
    given = [rng.integers(0, 100, type.dimensions).astype(type.dtype) for type in types]
    with Device(Isolated(device, service=path)) as served:
        compiled = nnapi.compile(model, served)
        expected = compiled.run(*given)
        print("ready", flush=True)
        os.set_blocking(0, False)
        while sys.stdin.read(1) == "":
            times, wrong, failed, end = [], 0, 0, time.monotonic() + 1
            while time.monotonic() < end:
                begin = time.perf_counter()
                try:
                    found = compiled.run(*given)
                    wrong += not all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
                except nnapi.NnapiError:
                    failed += 1
                times.append(time.perf_counter() - begin)
                time.sleep(pause)
            print(json.dumps({"times": times, "wrong": wrong, "failed": failed}), flush=True)


def be_hostile(path: str, kind: str, device: str) -> None:
    """Attack the service until the process is killed."""
    from tests.drivers.isolated.service_cases import RawClient
    from tools.fuzz_service import Fuzzer, make_model

    fuzzer = Fuzzer(Path(path), os.getpid(), device)
    while True:
        with suppress(Exception):
            if kind == "mutate":
                fuzzer.send_one()
                continue
            client = RawClient(Path(path), device)
            if kind == "hog":
                hog(client, make_model())
            client.close()


def hog(client: Any, model: Any) -> None:
    """Take as many channels and models as possible, ask for much memory, and leave runs unfinished."""
    channels = [client.channel() for _ in range(70)]
    file = os.memfd_create("hog")
    os.ftruncate(file, 1 << 33)
    for channel in channels[:60]:
        prepared = channel.prepare(model)
        for _ in range(8):
            channel.ask({"kind": "session", "prepared": prepared})
        channel.ask({"kind": "model", "model": {}, "layout": {"sizes": [1 << 33], "locations": []}}, [file])
        channel.ring(1)
    os.close(file)


class Reader:
    """Reads the lines that one honest application prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.set_blocking(process.stdout.fileno(), False)
        self._rest = ""

    def read(self) -> list[dict[str, Any]]:
        """Return the lines since the last call."""
        assert self._process.stdout is not None
        with suppress(BlockingIOError, TypeError):
            self._rest += os.read(self._process.stdout.fileno(), 1 << 24).decode()
        *lines, self._rest = self._rest.split("\n")
        return [json.loads(line) for line in lines]


def watch(readers: list[Reader], seconds: float, service: int) -> dict[str, float]:
    """Return the results of the honest applications over ``seconds``, and the service's memory at the end."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(5.0, seconds))
        found += [row for reader in readers for row in reader.read()]
    times = [each for row in found for each in row["times"]]
    return {
        "runs": len(times),
        "median_ms": 1e3 * statistics.median(times),
        "p95_ms": 1e3 * float(np.percentile(times, 95)),
        "wrong": sum(row["wrong"] for row in found),
        "failed": sum(row["failed"] for row in found),
        "service_mb": resident(service),
        "descriptors": len(os.listdir(f"/proc/{service}/fd")),
    }


def resident(pid: int) -> float:
    """Return the megabytes of memory of a process."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("VmRSS"))) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--alone", type=float, default=0.5, help="minutes of each other phase")
    parser.add_argument("--device", default="xnnpack-cpu")
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds between two honest runs")
    parser.add_argument("--role", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        path, role = options.role
        if role == "honest":
            be_honest(path, options.model, options.device, options.pause)
        else:
            be_hostile(path, role, options.device)
        return 0
    own = [sys.executable, "-m", "benchmarks.service_soak", options.model, "--device", options.device]
    own += ["--pause", str(options.pause)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as started:

        def start(*command: str, **more: Any) -> subprocess.Popen[str]:
            process = started.enter_context(subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **more))
            started.callback(process.kill)
            return process

        path = os.path.join(folder, "socket")
        limits = ("--models", "256", "--memory", "512", "--timeout", "20")
        service = start(sys.executable, "-m", "nnapi", "serve", path, "-d", options.device, *limits)
        assert service.stdout is not None
        service.stdout.readline()
        readers = [Reader(start(*own, "--role", path, "honest", stdin=subprocess.PIPE)) for _ in range(HONEST)]
        watch(readers, 5, service.pid)
        alone = watch(readers, 60 * options.alone, service.pid)
        computing = [start(sys.executable, "-c", "while True: pass") for _ in HOSTILE]
        busy = watch(readers, 60 * options.alone, service.pid)
        for process in computing:
            process.kill()
        hostile = [start(*own, "--role", path, kind) for kind in HOSTILE]
        warm = watch(readers, 10, service.pid)
        beside = watch(readers, 60 * options.minutes, service.pid)
        for process in hostile:
            process.kill()
        after = watch(readers, 60 * options.alone, service.pid)
    grown = beside["service_mb"] - warm["service_mb"]
    print(json.dumps({"alone": alone, "busy": busy, "beside": beside, "after": after, "grown_mb": grown}, indent=1))
    slowdown = beside["median_ms"] / alone["median_ms"]
    percentile = beside["p95_ms"] / alone["p95_ms"]
    print(
        f"beside hostile clients: median {slowdown:.2f} times that alone (≤ {SLOWDOWN:g}), 95% {percentile:.2f} times"
    )
    print(f"median {beside['median_ms'] / busy['median_ms']:.2f} times that beside processes that only compute")
    print(f"the service grew by {grown:.1f} MB (≤ {GROWTH:g})")
    return bool(beside["wrong"] or beside["failed"] or slowdown > SLOWDOWN or grown > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
