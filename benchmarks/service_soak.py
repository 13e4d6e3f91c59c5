"""Run ten honest applications of a service alone, then beside three hostile ones.

``python -m benchmarks.service_soak MODEL --minutes 10`` starts a service and ten applications that run the model at a
steady rate, and measures them alone; then three hostile clients join: one sends mutated messages, one hogs channels,
models and memory, one connects and leaves as fast as it can. The promises: all answers are right, the honest latency is
at most twice what it was alone, and the service's memory stays what it was. Exits with 1 where one is broken. Beside as
many processes that compute and never use the service, the latency shows what the processors' time alone costs.
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
TIMES = 2.0
GROWTH = 8.0
"""Megabytes that the service may grow by."""
PAUSE = 0.1
"""Seconds between two runs of an honest application."""
HOSTILE = ("mutate", "hog", "churn")


def be_honest(path: str, model_file: str, device: str, pause: float) -> None:
    """Run a model until the parent closes stdin; a line of JSON for each second."""
    model = nnapi.load(model_file)
    random = np.random.default_rng(0)
    types = [model.operands[index].type for index in model.inputs]
    given = [random.integers(0, 100, type.dimensions).astype(type.dtype) for type in types]
    with Device(Isolated(device, service=path)) as served:
        compiled = nnapi.compile(model, served)
        wanted = compiled.run(*given)
        print("ready", flush=True)
        os.set_blocking(0, False)
        while sys.stdin.read(1) == "":
            times, wrong, failed, end = [], 0, 0, time.monotonic() + 1
            while time.monotonic() < end:
                begin = time.perf_counter()
                try:
                    found = compiled.run(*given)
                    wrong += not all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
                except nnapi.NnapiError:
                    failed += 1
                times.append(time.perf_counter() - begin)
                time.sleep(pause)
            print(json.dumps({"times": times, "wrong": wrong, "failed": failed}), flush=True)


def be_hostile(path: str, kind: str, device: str) -> None:
    """Do harm until this is ended."""
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
    """Take all channels and models that there are, ask for large memory, and leave runs behind."""
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
    """The lines of one honest application."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.set_blocking(process.stdout.fileno(), False)
        self._rest = ""

    def read(self) -> list[dict[str, Any]]:
        """Return what it has said since the last time."""
        assert self._process.stdout is not None
        with suppress(BlockingIOError, TypeError):
            self._rest += os.read(self._process.stdout.fileno(), 1 << 24).decode()
        *lines, self._rest = self._rest.split("\n")
        return [json.loads(line) for line in lines]


def watch(readers: list[Reader], seconds: float, service: int) -> dict[str, float]:
    """Return what the honest applications met in that time, and the service's memory at the end."""
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
    parser.add_argument("--alone", type=float, default=0.5, help="minutes of the honest ones alone")
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
        limits = ("--models", "256", "--memory", "512", "--seconds", "20")
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
        settled = watch(readers, 10, service.pid)
        beside = watch(readers, 60 * options.minutes, service.pid)
        for process in hostile:
            process.kill()
        after = watch(readers, 60 * options.alone, service.pid)
    grown = beside["service_mb"] - settled["service_mb"]
    print(json.dumps({"alone": alone, "busy": busy, "beside": beside, "after": after, "grown_mb": grown}, indent=1))
    times = beside["median_ms"] / alone["median_ms"]
    print(f"median {times:.2f} times (≤ {TIMES:g}), 95% {beside['p95_ms'] / alone['p95_ms']:.2f} times")
    print(f"median {beside['median_ms'] / busy['median_ms']:.2f} times that beside processes that only compute")
    print(f"the service grew by {grown:.1f} MB (≤ {GROWTH:g})")
    return bool(beside["wrong"] or beside["failed"] or times > TIMES or grown > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
