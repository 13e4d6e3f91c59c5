"""The processes of drivers, and the thread that starts them."""

import mmap
import threading
from pathlib import Path
from typing import Any

import numpy as np

from nnapi import Device, compile
from nnapi.drivers.base import PrepareOptions
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated.process import Background
from tests.drivers.isolated.isolated_cases import Misbehaving, model

X = np.array([1, -2, 3, -4], np.float32)


def test_one_thread_starts_all_processes() -> None:
    def count() -> int:
        return sum(thread.name == "nnapi-drivers" for thread in threading.enumerate())

    background, before = Background(), count()
    assert len({background.call(threading.get_ident) for _ in range(3)}) == 1
    assert count() == before + 1


def test_memory_that_preparing_frees_goes_back() -> None:
    def resident(pid: int | None) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * mmap.PAGESIZE

    driver = Isolated(Misbehaving("fragment", "prepare"))
    with Device(driver) as found:
        driver.verdicts(model())
        before = resident(driver.pid)
        compiled = compile(model(), found)
        assert resident(driver.pid) < before + (32 << 20)
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]


def test_outputs_are_the_caller_s_own_unless_a_burst_borrows_them() -> None:
    with Device(Isolated("nnapi-reference")) as found:
        prepared: Any = found.driver.prepare(model(), PrepareOptions())
        infer = prepared.direct([X.shape], True)
        first = infer([X])[0]
        expected = first.copy()
        infer([X + 1])
        assert (first == expected).all()
