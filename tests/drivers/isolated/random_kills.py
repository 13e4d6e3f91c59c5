"""A driver's process is ended at random moments under eight threads of runs: ``python -m
tests.drivers.isolated.random_kills 500`` for longer than a test may take."""

import gc
import random
import sys
import threading
import time

import numpy as np

from nnapi import Compilation, Device, compile
from nnapi.drivers.isolated import Isolated
from nnapi.errors import DeadObjectError
from tests.drivers.isolated.isolated_cases import is_running, kill, model
from tests.waiting import comes_true, count_descriptors

THREADS = 8
SIZE = 1000
LONGEST = 0.05
"""Seconds between two kills, from when there is a process again."""
PATIENCE = 300
"""Seconds after which a run hangs."""


class Stream:
    """Runs of one thread, each of which gives a right answer or says that the driver has died."""

    def __init__(self, compiled: Compilation, number: int) -> None:
        self._compiled, self._number = compiled, number
        self.right = self.dead = 0
        self.wrong: list[object] = []
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        given = np.full(SIZE, -self._number, np.float32)
        while not self._stop.is_set():
            try:
                runs = self._compiled if self._number % 2 else self._compiled.burst()
                result = runs.run(given)[0]
                self.right += 1
                if not (result == self._number).all():
                    self.wrong.append(result)
            except DeadObjectError:
                self.dead += 1
            except Exception as error:
                self.wrong.append(error)
                return


def kill_at_random(kills: int) -> list[Stream]:
    """Return the threads' outcomes while the driver's process is killed that many times; AssertionError if a run hangs,
    a process stays, or a thread has no right run after the last kill."""
    driver = Isolated("nnapi-reference")
    chance, killed = random.Random(7), list[int]()
    with Device(driver) as found:
        compiled = compile(model("abs", size=SIZE), found)
        streams = [Stream(compiled, number) for number in range(THREADS)]
        while len(killed) < kills:
            time.sleep(chance.random() * LONGEST)
            pid = driver.pid
            if pid is not None and pid not in killed[-1:]:
                kill(pid)
                killed.append(pid)
        before = [stream.right for stream in streams]

        def go_on() -> bool:
            return all(stream.wrong or stream.right > b for stream, b in zip(streams, before, strict=True))

        assert comes_true(go_on), "a thread has no right run any more"
        for stream in streams:
            stream.stop()
        for stream in streams:
            stream.thread.join(PATIENCE)
            assert not stream.thread.is_alive(), "a run hangs"
        assert compiled.run(np.full(SIZE, -9, np.float32))[0][0] == 9
    assert comes_true(lambda: not any(map(is_running, killed))), "a process stays"
    return streams


def main() -> None:
    before = count_descriptors()
    kills = int(sys.argv[1])
    streams = kill_at_random(kills)
    wrong = [each for stream in streams for each in stream.wrong]
    right, dead = (sum(counts) for counts in zip(*((stream.right, stream.dead) for stream in streams), strict=True))
    print(f"{kills} kills: {right} right, {dead} dead, {len(wrong)} wrong: {wrong[:1]}")
    del streams
    gc.collect()  # errors and the runs in their traces hold each other
    print(f"{before} descriptors before, {count_descriptors()} after, {threading.active_count()} threads")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
