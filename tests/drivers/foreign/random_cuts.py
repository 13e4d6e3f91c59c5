"""The connection to an agent is cut at random moments under four threads of runs: ``python -m
tests.drivers.foreign.random_cuts 100`` for longer than a test may take."""

import random
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from nnapi import Compilation, Device, compile
from nnapi.drivers.foreign.driver import list_devices
from nnapi.errors import DeadObjectError
from tests.drivers.foreign.agent_cases import Relay, add_constant, serve
from tests.drivers.foreign.library_cases import build_adder

THREADS = 4
LONGEST = 0.05
"""Seconds between two cuts, from when there is a process again."""
PATIENCE = 60
"""Seconds after which a run hangs."""


class Stream:
    """Runs of one thread, each of which gives a right answer or says that the device has died."""

    def __init__(self, compiled: Compilation, number: int) -> None:
        self._compiled, self._given = compiled, np.full(64, number, np.float32)
        self.right = self.dead = 0
        self.wrong: list[object] = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.stop.is_set():
            try:
                result = self._compiled.run(self._given)[0]
                self.right += 1
                if not (result == self._given + 1).all():
                    self.wrong.append(result)
            except DeadObjectError:
                self.dead += 1
            except Exception as error:
                self.wrong.append(error)
                return


def cut_at_random(folder: Path, cuts: int) -> int:
    """Return the number of right runs. AssertionError if a run hangs, fails otherwise than by DEAD_OBJECT, or if a
    thread has no right run after the last cut."""
    chance = random.Random(7)
    with serve(folder, build_adder(folder)) as address, closing(Relay(folder, address)) as relay:
        (driver,) = list_devices("phone", relay.address)
        with Device(driver) as device, compile(add_constant(), [device]) as compiled:
            streams = [Stream(compiled, number) for number in range(THREADS)]
            for _ in range(cuts):
                await_runs(streams)
                time.sleep(chance.random() * LONGEST)
                relay.cut()
            await_runs(streams)
            for stream in streams:
                stream.stop.set()
            for stream in streams:
                stream.thread.join(PATIENCE)
                assert not stream.thread.is_alive(), "a run hangs"
                assert not stream.wrong, stream.wrong[0]
            return sum(stream.right for stream in streams)


def await_runs(streams: list[Stream]) -> None:
    """Return once each thread has another right run."""
    before, end = [stream.right for stream in streams], time.monotonic() + PATIENCE
    while any(stream.right == right for stream, right in zip(streams, before, strict=True)):
        assert time.monotonic() < end, "a run hangs"
        assert not any(stream.wrong for stream in streams), [stream.wrong for stream in streams]
        time.sleep(0.001)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(f"{cut_at_random(Path(scratch), int(sys.argv[1]))} right runs")
