"""The rules of a service, without its workers: who is let in, who waits, which worker is ended."""

import mmap
import os
import select
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated import service as service_module
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.protocol import receive
from nnapi.drivers.isolated.service import Service, Waiting, Worker
from nnapi.drivers.isolated.shared_constants import Offers
from nnapi.errors import ResourceExhaustedTransientError, UnavailableDeviceError
from tests.drivers.isolated.isolated_cases import Misbehaving
from tests.waiting import count_descriptors

CLIENT = 4711


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(service_module, "time", made)
    return made


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The signals that the service sends."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path / "socket", {}, allowance=Allowance(seconds=2.5, threads=3), applications=8)
    yield made
    made.close()
    made._listener.close()
    for worker in made._workers:
        worker.close()


def add_worker(service: Service, client: int = CLIENT, pid: int = 77) -> tuple[Worker, socket.socket]:
    """Add a worker without a process; return it with the application's end of its connection."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    shared, unused = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    unused.close()
    clock = memoryview(mmap.mmap(-1, 24)).cast("Q")
    worker = Worker(pid, os.eventfd(0), ours, Offers(shared), clock, client)
    service._workers.append(worker)
    return worker, theirs


# Its socket


@pytest.mark.parametrize("mode", [None, 0o660])
def test_permissions_of_the_socket(tmp_path: Path, mode: int | None) -> None:
    before = os.umask(0o027)
    try:
        service = Service(tmp_path / "socket", {}) if mode is None else Service(tmp_path / "socket", {}, mode)
        assert stat.S_IMODE(os.stat(tmp_path / "socket").st_mode) == (0o600 if mode is None else mode)
        assert os.umask(0o027) == 0o027
        service.close()
        service._listener.close()
    finally:
        os.umask(before)


def test_a_service_that_is_closed_twice(tmp_path: Path) -> None:
    service = Service(tmp_path / "socket", {})
    service.close()
    (tmp_path / "socket").touch()
    service.close()
    assert (tmp_path / "socket").exists()
    service.run()


# Who is let in


@pytest.mark.parametrize(
    ("applications", "own", "others", "reason"),
    [
        (8, 0, 0, ""),
        (8, 1, 6, ""),
        (8, 2, 0, "process 4711 has 2 connections, one process may have 2"),
        (8, 1, 7, "the service has 8 applications, as many as it may have at a time (nnapi serve --applications)"),
        (8, 2, 7, "the service has 9 applications, as many as it may have at a time (nnapi serve --applications)"),
        (3, 0, 2, ""),
        (3, 1, 1, "process 4711 has 1 connections, one process may have 1"),
        (11, 1, 0, ""),
        (11, 2, 0, "process 4711 has 2 connections, one process may have 2"),
    ],
)
def test_one_process_may_have_a_fourth_of_the_connections(
    service: Service, applications: int, own: int, others: int, reason: str
) -> None:
    service._applications = applications
    for number in range(own + others):
        add_worker(service, CLIENT if number < own else (1, 9999)[number % 2])[1].close()
    assert service._find_obstacle(CLIENT) == reason


def test_a_service_has_sixty_four_applications(tmp_path: Path) -> None:
    service = Service(tmp_path / "socket", {})
    assert service._find_obstacle(CLIENT) == ""
    service._workers = [type("Other", (), {"client": 1})] * 63  # type: ignore[list-item]
    assert service._find_obstacle(CLIENT) == ""
    service._workers *= 2
    assert "the service has 126 applications" in service._find_obstacle(CLIENT)
    service._workers = service._workers[:64]
    assert "the service has 64 applications" in service._find_obstacle(CLIENT)
    service.close()
    service._listener.close()


def test_a_refusal_says_why(service: Service) -> None:
    for _ in range(2):
        add_worker(service)[1].close()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    service._answer(ours, CLIENT)
    answer = receive(theirs)
    assert answer is not None
    error = plain_values.to_error(answer.body["error"])
    assert type(error) is ResourceExhaustedTransientError
    assert str(error) == "process 4711 has 2 connections, one process may have 2"
    assert receive(theirs) is None
    theirs.close()


def test_connections_of_one_process_wait_for_its_rate(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 64; those of others are answered."""
    answered: list[tuple[socket.socket, int]] = []
    due = [1000.0, 1001.0, 1002.0]
    monkeypatch.setattr(service, "_answer", lambda connection, client: answered.append((connection, client)))
    monkeypatch.setattr(service._rate, "book", lambda client, now: due.pop(0))

    def connect() -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.connect(service._path)
        service._let_in()
        return made

    kept = [connect() for _ in range(3)]
    assert [client for _, client in answered] == [os.getpid()]
    assert [(each.due, each.client) for each in service._waiting] == [(1001.0, os.getpid()), (1002.0, os.getpid())]
    clock.now = 1001.0
    service._answer_waiting()
    assert [client for _, client in answered] == [os.getpid()] * 2
    assert [each.due for each in service._waiting] == [1002.0]
    (last,) = service._waiting
    service._waiting += [last._replace(client=1)] * 9 + [last] * 62
    due += [1003.0, 1003.0]
    kept.append(connect())
    assert len(service._waiting) == 73
    kept.append(connect())
    assert len(service._waiting) == 73
    assert kept[-1].recv(1) == b"", "the sixty-fifth is closed"
    for connection, _ in answered:
        connection.close()
    for waiting in {id(each.connection): each for each in service._waiting}.values():
        waiting.connection.close()
    for each in kept:
        each.close()


def test_a_connection_that_cannot_be_accepted_waits_for_a_moment(
    service: Service, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    service._let_in()
    assert clock.slept == [0.05]
    assert "no new connections for a moment" in caplog.text
    service._is_closed = True
    service._let_in()
    assert caplog.text.count("no new connections") == 1
    service._is_closed = False


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
    service: Service, clock: Clock, workers: int, due: list[float], milliseconds: float | None
) -> None:
    service._workers = [None] * workers
    service._waiting = [Waiting(each, None, 1) for each in due]
    assert service._find_patience() == milliseconds
    service._workers, service._waiting = [], []


# How a worker begins


def ready(service: Service) -> list[int]:
    return [file for file, _ in service._poll.poll(0)]


def test_a_worker_is_watched(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end, its application's end, and the constants that it offers."""
    monkeypatch.setattr(os, "fork", lambda: 77)
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.eventfd(pid))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    service._answer(ours, CLIENT)
    (worker,) = service._workers
    assert (worker.pid, worker.client, worker.connection) == (77, CLIENT, ours)
    assert worker.clock.tolist() == [0, 0, 0], "one for each of its threads"
    assert set(service._handlers) == {worker.process, ours.fileno(), worker.offers.worker.fileno()}
    assert worker.process in ready(service)
    assert ours.fileno() not in ready(service)
    theirs.close()
    assert ours.fileno() in ready(service)
    for _ in range(2):
        service._ignore(ours)
        assert ours.fileno() not in ready(service)
    assert len(service._handlers) == 2


def test_a_worker_that_cannot_be_watched_is_ended(
    service: Service, monkeypatch: pytest.MonkeyPatch, killed: list[tuple[int, int]]
) -> None:
    def fail(pid: int) -> int:
        raise OSError(24, "no descriptor left")

    monkeypatch.setattr(os, "fork", lambda: 77)
    monkeypatch.setattr(os, "pidfd_open", fail)
    monkeypatch.setattr(os, "waitpid", lambda *args: killed.append(args))
    before = count_descriptors()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    service._answer(ours, CLIENT)
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
    words = "a run took longer than 2.5 s: the service allows 2.5 (nnapi serve --seconds)"
    assert (late.reason, fine.reason) == (words if is_ended else "", "")
    for each in (other, another):
        each.close()


def test_a_worker_without_its_application_has_five_seconds(
    service: Service, clock: Clock, killed: list[tuple[int, int]]
) -> None:
    worker, other = add_worker(service)
    service._watch(worker.connection, select.POLLRDHUP, print)
    service._end_late_workers()
    service._note_departure(worker)
    assert worker.connection.fileno() not in service._handlers
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
    assert worker.connection.fileno() == -1
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
