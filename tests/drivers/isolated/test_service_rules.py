"""The rules of a service, without its workers: how a worker begins, and which one is ended."""

import os
import select
import signal
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from nnapi.drivers.isolated import service as service_module
from nnapi.drivers.isolated.protocol import receive
from nnapi.drivers.isolated.service import Service
from nnapi.drivers.isolated.shared_constants import Offers
from nnapi.errors import UnavailableDeviceError
from tests.drivers.isolated.isolated_cases import Misbehaving
from tests.drivers.isolated.rule_cases import Clock, add_worker, connect
from tests.waiting import count_descriptors

# Its socket


@pytest.mark.parametrize("mode", [None, 0o660])
def test_permissions_of_the_socket(tmp_path: Path, mode: int | None) -> None:
    before = os.umask(0o027)
    try:
        service = Service(tmp_path / "socket", {}) if mode is None else Service(tmp_path / "socket", {}, mode)
        assert stat.S_IMODE(os.stat(tmp_path / "socket").st_mode) == (0o600 if mode is None else mode)
        assert os.umask(0o027) == 0o027
        service.close()
        service._socket.listener.close()
    finally:
        os.umask(before)


def test_a_service_that_is_closed_twice(tmp_path: Path) -> None:
    service = Service(tmp_path / "socket", {})
    service.close()
    (tmp_path / "socket").touch()
    service.close()
    assert (tmp_path / "socket").exists()
    service.run()


@pytest.mark.parametrize(
    ("workers", "due", "milliseconds"),
    [
        (0, [], None),
        (1, [], 500.0),
        (0, [1000.25, 1000.125], 125.0),
        (1, [1003.0], 500.0),
        (0, [999.0], 0.0),
    ],
)
def test_how_long_the_service_sleeps(
    service: Service,
    clock: Clock,
    workers: int,
    due: list[float],
    milliseconds: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service._workers = [None] * workers
    service._waiting = list(due)  # type: ignore[arg-type]
    monkeypatch.setattr(service, "_find_due", lambda due: due)
    assert service._find_patience() == milliseconds
    service._workers, service._waiting = [], []


# How a worker begins


def ready(service: Service) -> list[int]:
    return [file for file, _ in service._poll.poll(0)]


def test_a_worker_is_watched(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end, its application's end, and the constants that it offers."""
    monkeypatch.setattr(os, "fork", lambda: 77)
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.eventfd(pid))
    application, theirs = connect()
    ours = application.connection
    service._answer(application)
    (worker,) = service._workers
    assert (worker.pid, worker.application) == (77, application)
    assert worker.clock.tolist() == [0, 0, 0], "one for each of its threads"
    watched = {worker.process, ours.fileno(), application.end, worker.offers.worker.fileno()}
    assert set(service._handlers) == watched
    assert worker.process in ready(service)
    assert application.end not in ready(service)
    assert ours.fileno() not in ready(service)
    theirs.close()
    assert ours.fileno() in ready(service)
    for _ in range(2):
        service._ignore(ours)
        assert ours.fileno() not in ready(service)
    assert len(service._handlers) == 3


def test_a_worker_that_cannot_be_watched_is_ended(
    service: Service, monkeypatch: pytest.MonkeyPatch, killed: list[tuple[int, int]]
) -> None:
    def fail(pid: int) -> int:
        raise OSError(24, "no descriptor left")

    monkeypatch.setattr(os, "fork", lambda: 77)
    monkeypatch.setattr(os, "pidfd_open", fail)
    monkeypatch.setattr(os, "waitpid", lambda *args: killed.append(args))
    before = count_descriptors()
    application, theirs = connect()
    service._answer(application)
    answer = receive(theirs)
    assert answer is not None
    assert answer.body["error"][1] == "no process can be started: [Errno 24] no descriptor left"
    assert killed == [(77, signal.SIGKILL), (77, 0)]
    theirs.close()
    assert (service._workers, count_descriptors()) == ([], before)


def test_a_worker_that_offers_nothing_more_is_not_asked(service: Service) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    worker, other = add_worker(service)
    worker.offers.close()
    worker.offers = Offers(ours)
    service._watch(ours, select.POLLIN, print)
    service._share(worker)
    assert ours.fileno() in service._handlers, "there is no message yet"
    theirs.send(bytes(33))
    service._share(worker)
    assert ours.fileno() in service._handlers
    theirs.close()
    service._share(worker)
    assert service._handlers == {}
    other.close()


# How a worker ends


@pytest.mark.parametrize(
    ("begun", "is_ended"),
    [
        ([0, 0, 0], False),
        ([0, 997_500_000_000, 0], False),
        ([0, 0, 997_499_999_999], True),
        ([1, 0, 0], True),
        ([10**15, 0, 0], False),
    ],
)
def test_a_worker_whose_run_takes_too_long_is_ended(
    service: Service, clock: Clock, killed: list[tuple[int, int]], begun: list[int], is_ended: bool
) -> None:
    (late, other), (fine, another) = add_worker(service), add_worker(service, pid=78)
    for slot, nanoseconds in enumerate(begun):
        late.clock[slot] = nanoseconds
    service._end_late_workers()
    assert killed == ([(77, signal.SIGKILL)] if is_ended else [])
    words = "a run took longer than 2.5 s: the service allows 2.5 (nnapi serve --timeout)"
    assert (late.reason, fine.reason) == (words if is_ended else "", "")
    for each in (other, another):
        each.close()


def test_a_worker_without_its_application_has_five_seconds(
    service: Service, clock: Clock, killed: list[tuple[int, int]]
) -> None:
    worker, other = add_worker(service)
    service._watch(worker.application.connection, select.POLLRDHUP, print)
    service._watch(worker.application.end, select.POLLIN, print)
    service._end_late_workers()
    service._note_departure(worker)
    assert service._handlers == {}
    assert other.recv(1) == b"", "the worker is disconnected, whoever has the other end"
    for clock.now in (1000.0, 1005.0):
        service._end_late_workers()
        assert killed == []
    clock.now = 1005.1
    service._end_late_workers()
    assert killed == [(77, signal.SIGKILL)]
    assert worker.reason == ""
    other.close()


@pytest.mark.parametrize(
    ("status", "reason", "end"),
    [
        (3 << 8, "", ["its process ended with status 3", True]),
        (signal.SIGSEGV, "", ["its process was ended by SIGSEGV", True]),
        (signal.SIGKILL, "", ["its process was ended by SIGKILL", False]),
        (signal.SIGSEGV, "it took too long", ["it took too long", False]),
    ],
)
def test_the_application_is_told_how_its_worker_ended(
    service: Service, monkeypatch: pytest.MonkeyPatch, status: int, reason: str, end: list[Any]
) -> None:
    (worker, application), (_, other) = add_worker(service), add_worker(service)
    worker.reason = reason
    waited: list[tuple[int, int]] = []

    def wait(pid: int, options: int) -> tuple[int, int]:
        waited.append((pid, options))
        return pid, status

    monkeypatch.setattr(os, "waitpid", wait)
    service._watch(worker.process, select.POLLIN, print)
    service._note_end(worker)
    assert waited == [(77, 0)]
    answer = receive(application)
    assert answer is not None
    assert answer.body["end"] == end
    assert answer.body["error"][1] == f"the worker of a service has died: {end[0]}"
    assert worker not in service._workers
    assert (len(service._workers), service._handlers) == (1, {})
    assert worker.application.connection.fileno() == -1
    for each in (application, other):
        each.close()


# The driver of a worker


@pytest.mark.parametrize(("asked", "nice"), [(0, 0), (7, 7), (-3, 0), (40, 19)])
@pytest.mark.parametrize("is_remote", [None, False, True])
def test_a_worker_limits_itself_before_it_serves(
    service: Service, monkeypatch: pytest.MonkeyPatch, asked: int, nice: int, is_remote: bool | None
) -> None:
    """A device that starts a process of its own needs sockets for it."""
    driver: Any = Misbehaving("", "")
    if is_remote is not None:
        driver.is_remote = is_remote
    service._drivers = {"found": driver, "another": driver}
    done: list[Any] = []
    monkeypatch.setattr(service_module, "lower_priority", done.append)
    monkeypatch.setattr(service_module, "forbid", lambda **kinds: done.append(kinds))
    assert service._find({"device": "found", "nice": asked}) is driver
    assert done == [*([] if is_remote else [{"sockets": True, "writing": True}]), nice]
    with pytest.raises(UnavailableDeviceError, match="^none is not served; there are: found, another$"):
        service._find({"device": "none", "nice": asked})
