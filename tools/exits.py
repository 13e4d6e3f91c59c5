"""End C programs in each state of the library, on each device, and print how many ended as they should.

    python -m tools.exits --runs 200 --other-runs 20

The states are those of tests/clients/exits.c and tests/delegate/exits.c. ``--runs`` counts the runs of states in which
the library computes at the end, ``--other-runs`` those of the others. A run is right if the program ends with its own
status, does not hang, and has written what it had buffered. A program hangs if its threads all sleep for ``--seconds``,
or compute so long: time in which it waits for a processor does not count. Before the end, the programs wait between 0
and 40 ms, so that they end at different moments of a computation. The exit code is 1 if any run is wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from nnapi import devices
from nnapi.capi import installation

TESTS = Path(__file__).resolve().parents[1] / "tests"
DELAYS = 0, 1, 2, 5, 10, 20, 40
"""Milliseconds before the end."""
TICK = 0.1
"""Seconds between two looks at a process."""
BUFFERED = "unflushed"
UNFLUSHED = "_exit", "abort", "quick_exit", "SIGTERM", "exec", "streams closed"
"""Parts of the names of states in which the program itself discards its buffers."""


class State(NamedTuple):
    """A state of a program: its name, the status, and whether the library computes at the end."""

    program: Path
    name: str
    status: int
    is_inside: bool


def build(source: Path, folder: Path, compiler: str = "gcc") -> Path:
    """Compile one of the programs."""
    made, library = folder / f"{source.parent.name}-{source.stem}", installation.library().parent
    includes = [f"-I{folder}" for folder in (installation.include(), TESTS / "clients", TESTS.parent / "native")]
    options = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", *includes]
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--as-needed", "-lneuralnetworks", "-ldl", "-pthread"]
    subprocess.run([compiler, *options, source, "-o", made, *linked], check=True)
    return made


def list_states(program: Path) -> list[State]:
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = (line.split(" ", 2) for line in printed.splitlines())
    return [State(program, name, int(status), is_inside == "1") for status, is_inside, name in rows]


def end(state: State, device: str, delay: int, seconds: float) -> str:
    """Run a program to its end. Return "" if that is right, else the status or the reason."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(state.program), state.name, device, str(delay)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        watch = Watch(run.pid, seconds)
        while True:
            try:
                printed, _ = run.communicate(timeout=TICK)
                break
            except subprocess.TimeoutExpired:
                if watch.hangs():
                    run.kill()
                    return "hangs"
    if run.returncode != state.status:
        return str(run.returncode)
    loses = any(part in state.name for part in UNFLUSHED)
    return "" if loses or BUFFERED in printed else "output is lost"


class Watch:
    """Tells a process that hangs from one that waits for a processor, which other processes use."""

    def __init__(self, process: int, seconds: float) -> None:
        self._folder, self._seconds = Path("/proc", str(process)), seconds
        self._asleep = 0.0

    def hangs(self) -> bool:
        """Return whether all threads sleep at each call for ``seconds``, or have computed so long."""
        try:
            threads = [(each / "stat").read_text() for each in (self._folder / "task").iterdir()]
        except OSError:  # a thread or the process ends
            return False
        fields = [text.rpartition(")")[2].split() for text in threads]
        computed = sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
        sleeps = all(each[0] in ("S", "Z") for each in fields)  # Z: the main thread has ended
        self._asleep = self._asleep + TICK if sleeps else 0.0
        return max(self._asleep, computed) >= self._seconds


def count_ends(state: State, device: str, runs: int, seconds: float, pool: ThreadPoolExecutor) -> Counter[str]:
    """Return how many runs ended in which way."""
    delays = [DELAYS[index % len(DELAYS)] for index in range(runs)]
    return Counter(pool.map(lambda delay: end(state, device, delay, seconds), delays))


def describe(ends: Mapping[str, int]) -> str:
    """Return the number of right runs, and the others."""
    wrong = [f"{count} × {reason}" for reason, count in sorted(ends.items()) if reason]
    return ", ".join([f"{ends.get('', 0)} of {sum(ends.values())}", *wrong])


def make_rows(
    states: Iterable[State], chosen: Sequence[str], runs: int, others: int, seconds: float, jobs: int
) -> Iterator[tuple[str, list[Counter[str]]]]:
    """Yield the name of each state, and its ends on each device."""
    with ThreadPoolExecutor(jobs) as pool:
        for state in states:
            wanted = runs if state.is_inside else others
            yield state.name, [count_ends(state, device, wanted, seconds, pool) for device in chosen]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--other-runs", type=int, default=5)
    parser.add_argument("--device", action="append", help="a device, or default; by default all devices and default")
    parser.add_argument("--state", action="append", help="a part of the names of the states to run; by default all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args(words)
    chosen = given.device or [*(device.name for device in devices()), "default"]
    with tempfile.TemporaryDirectory(prefix="nnapi-exits-") as folder:
        programs = [build(source, Path(folder)) for source in sorted(TESTS.glob("*/exits.c"))]
        states = [state for program in programs for state in list_states(program)]
        picked = [state for state in states if not given.state or any(part in state.name for part in given.state)]
        print(f"| state | {' | '.join(chosen)} |\n|---|{'---|' * len(chosen)}")
        is_right = True
        for name, row in make_rows(picked, chosen, given.runs, given.other_runs, given.seconds, given.jobs):
            print(f"| {name} | {' | '.join(map(describe, row))} |", flush=True)
            is_right &= all(set(ends) <= {""} for ends in row)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
