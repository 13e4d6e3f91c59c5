"""Processes that perform tests: they end, hang and raise, and the next test runs."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nnapi.errors import UnavailableDeviceError
from nnapi.testing.corpus import CorpusFileError
from nnapi.testing.suite.result import Status
from nnapi.testing.suite.worker import Perform, Worker, WorkerEndedError, WorkerStoppedError
from tests.waiting import comes_true


class LocalError(Exception):
    """An error whose copy the parent cannot make."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def perform(task: str | Path) -> Any:
    match task:
        case "process":
            return os.getpid()
        case "folder":
            return tempfile.mkdtemp()
        case "abort":
            os.abort()
        case "exit":
            os._exit(7)
        case "hang":
            time.sleep(600)
        case "nap":
            time.sleep(1)
            return "awake"
        case Path():
            task.touch()
            time.sleep(600)
        case "damaged":
            raise CorpusFileError("a.npz: damaged")
    raise LocalError("cannot", str(task))


def prepare() -> Perform:
    return perform


def fail_to_prepare(end: Callable[[], None]) -> Perform:
    end()
    return perform


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(prepare) as made:
        yield made


def ended(worker: Worker, task: str | Path) -> tuple[Status, str]:
    with pytest.raises(WorkerEndedError) as caught:
        worker.do(task)
    return caught.value.status, caught.value.reason


def test_a_crash_costs_one_test(worker: Worker) -> None:
    first = worker.do("process")
    assert first == worker.do("process") != os.getpid()
    folder = Path(worker.do("folder"))
    assert folder.is_dir()
    status, reason = ended(worker, "abort")
    assert not folder.exists()
    assert (status, reason.startswith("the process ended: SIGABRT, after ")) == (Status.CRASHED, True)
    assert worker.do("process") != first
    assert "the process ended: exit status 7, after " in ended(worker, "exit")[1]


def test_errors_are_those_of_the_test(worker: Worker) -> None:
    first = worker.do("process")
    with pytest.raises(CorpusFileError, match=r"^a\.npz: damaged$"):
        worker.do("damaged")
    with pytest.raises(RuntimeError, match="^LocalError: cannot do it$"):
        worker.do("do it")
    assert worker.do("process") == first


def test_a_hang_costs_one_test() -> None:
    with Worker(prepare, patience=0.5) as worker:
        assert ended(worker, "hang") == (Status.TIMED_OUT, "no answer within 0.5 s")


def test_a_test_that_waits_for_a_processor_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reading is before the test; the second says that other processes had the processor for 300 s."""
    waits = iter([0.0, 300.0])
    with Worker(prepare, patience=0.5) as worker:
        worker.do("process")
        monkeypatch.setattr("nnapi.testing.suite.worker.read_waited", lambda process: next(waits))
        assert worker.do("nap") == "awake"


def test_devices_that_cannot_start_end_the_run() -> None:
    with (
        Worker(partial(fail_to_prepare, os.abort)) as worker,
        pytest.raises(UnavailableDeviceError, match="^the process for the devices did not start: .*SIGABRT"),
    ):
        worker.do("process")


def test_a_stopped_worker_does_not_start_again(worker: Worker, tmp_path: Path) -> None:
    worker.do("process")
    begun = tmp_path / "begun"
    threading.Thread(target=lambda: comes_true(begun.exists) and worker.stop()).start()
    assert ended(worker, begun)[0] is Status.CRASHED
    with pytest.raises(WorkerStoppedError):
        worker.do("process")
