"""The thread that starts the processes of drivers."""

import threading

from nnapi.drivers.isolated.process import Background


def test_one_thread_starts_all_processes() -> None:
    def count() -> int:
        return sum(thread.name == "nnapi-drivers" for thread in threading.enumerate())

    background, before = Background(), count()
    assert len({background.call(threading.get_ident) for _ in range(3)}) == 1
    assert count() == before + 1
