"""Connections that a service answers, refuses or lets wait."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated import service as service_module
from nnapi.drivers.isolated.application import Application
from nnapi.drivers.isolated.protocol import receive
from nnapi.drivers.isolated.service import Service
from nnapi.errors import ResourceExhaustedTransientError
from tests.drivers.isolated.rule_cases import CLIENT, STRANGER, Clock, add_worker, connect
from tests.waiting import count_descriptors


@pytest.fixture
def caller() -> Iterator[Application]:
    application, other = connect()
    yield application
    application.close()
    other.close()


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
    service: Service, caller: Application, applications: int, own: int, others: int, reason: str
) -> None:
    service._applications = applications
    for number in range(own + others):
        client, user = (CLIENT, STRANGER) if number < own else ((1, 9999)[number % 2], STRANGER + 1)
        add_worker(service, client, user=user)[1].close()
    assert service._find_obstacle(caller) == reason


@pytest.mark.parametrize(
    ("applications", "own", "others", "user", "reason"),
    [
        (8, 5, 0, STRANGER, ""),
        (8, 6, 0, STRANGER, "user 1234 has 6 connections, one user may have 6"),
        (8, 5, 2, STRANGER, ""),
        (1, 0, 0, STRANGER, ""),
        (8, 7, 0, 0, ""),
        (8, 7, 0, os.geteuid(), ""),
    ],
)
def test_one_user_may_have_three_fourths_of_the_connections(
    service: Service, caller: Application, applications: int, own: int, others: int, user: int, reason: str
) -> None:
    """Except root and the service's own user, who can end the service anyway. Each process has one connection."""
    service._applications, caller.user = applications, user
    for number in range(own + others):
        add_worker(service, number + 1, user=user if number < own else 4321)[1].close()
    assert service._find_obstacle(caller) == reason


def test_a_service_has_sixty_four_applications(tmp_path: Path, caller: Application) -> None:
    service = Service(tmp_path / "socket", {})
    assert service._find_obstacle(caller) == ""
    worker, other = add_worker(service, 1, user=1)
    service._workers = [worker] * 63
    assert service._find_obstacle(caller) == ""
    service._workers *= 2
    assert "the service has 126 applications" in service._find_obstacle(caller)
    service._workers = service._workers[:64]
    assert "the service has 64 applications" in service._find_obstacle(caller)
    worker.close()
    other.close()
    service.close()
    service._socket.listener.close()


def test_a_refusal_says_why(service: Service) -> None:
    for _ in range(2):
        add_worker(service)[1].close()
    application, theirs = connect()
    service._answer(application)
    answer = receive(theirs)
    assert answer is not None
    error = plain_values.to_error(answer.body["error"])
    assert type(error) is ResourceExhaustedTransientError
    assert str(error) == "process 4711 has 2 connections, one process may have 2"
    assert receive(theirs) is None
    theirs.close()


def reach(service: Service) -> socket.socket:
    """Connect to a service, which lets the connection in."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.connect(service._socket._path)
    service._let_in()
    return made


def test_connections_wait_for_the_rates_of_their_process_and_user(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[Application] = []
    monkeypatch.setattr(service, "_answer", answered.append)
    processes = {os.getpid(): 1000.0}
    users = {os.getuid(): 1000.0}
    counted: list[tuple[str, int, float]] = []
    for name, rate, due in (("process", service._process_rate, processes), ("user", service._user_rate, users)):
        monkeypatch.setattr(rate, "find_due", due.__getitem__)
        monkeypatch.setattr(rate, "count", lambda key, now, name=name: counted.append((name, key, now)))
    kept = [reach(service)]
    service._answer_waiting()
    assert counted == [("process", os.getpid(), 1000.0), ("user", os.getuid(), 1000.0)]
    assert (len(answered), service._waiting, service._handlers) == (1, [], {})
    for due, key in ((processes, os.getpid()), (users, os.getuid())):
        due[key] = 1001.0
        kept.append(reach(service))
        service._answer_waiting()
        (waiting,) = service._waiting
        assert list(service._handlers) == [waiting.end]
        assert service._find_patience() == 500.0
        due[key] = 1000.0
        service._answer_waiting()
        assert answered[-1] is waiting
        assert (service._waiting, service._handlers) == ([], {})
    for each in answered:
        each.close()
    for connection in kept:
        connection.close()


def test_at_most_sixty_four_connections_of_one_user_wait(service: Service, clock: Clock) -> None:
    other, end = connect(user=STRANGER)
    service._waiting = [other] * 9
    kept = [reach(service) for _ in range(65)]
    assert len(service._waiting) == 73
    answer = receive(kept[-1])
    assert answer is not None
    assert answer.body["error"][1] == f"user {os.getuid()} has 64 connections that wait"
    for each in kept:
        each.close()
    end.close()
    for waiting in service._waiting:
        waiting.connection.close()
    for number in {waiting.end for waiting in service._waiting}:
        os.close(number)


@pytest.mark.slow
def test_a_connection_whose_process_has_ended_does_not_wait(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does it count."""
    monkeypatch.setattr(service._process_rate, "find_due", lambda process: 1001.0)
    before = count_descriptors()
    for _ in range(70):
        child = os.fork()
        if not child:
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(service._socket._path)
            os._exit(0)
        os.waitpid(child, 0)
        service._let_in()
        service._answer_waiting()
    assert (service._waiting, service._handlers, count_descriptors()) == ([], {}, before)
    assert service._user_rate._full == {}


def test_a_process_that_cannot_be_watched_is_refused(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: socket.socket) -> Application:
        raise OSError(24, "no descriptor left")

    monkeypatch.setattr(service_module, "Application", fail)
    before = count_descriptors()
    connection = reach(service)
    answer = receive(connection)
    assert answer is not None
    assert answer.body["error"][1] == "its process cannot be watched: no descriptor left"
    connection.close()
    assert (service._waiting, count_descriptors()) == ([], before)


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
