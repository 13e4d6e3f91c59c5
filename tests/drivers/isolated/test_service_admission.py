"""Connections that a service answers, refuses or lets wait."""

import os
import socket

import pytest

from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated import service as service_module
from nnapi.drivers.isolated.application import Application
from nnapi.drivers.isolated.protocol import receive
from nnapi.drivers.isolated.service import Service
from nnapi.errors import ResourceExhaustedTransientError
from tests.drivers.isolated.rule_cases import STRANGER, Clock, add_worker, connect
from tests.waiting import count_descriptors


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
