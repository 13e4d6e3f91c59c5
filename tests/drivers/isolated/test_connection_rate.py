"""How often a process may connect to a service."""

import socket
import subprocess
from pathlib import Path

import pytest

from nnapi.drivers.isolated.application import ConnectionRate
from nnapi.drivers.isolated.protocol import receive
from nnapi.drivers.isolated.service import BURST, Service
from nnapi.errors import BadDataError
from tests.drivers.isolated.service_cases import CONNECT, error_of, serving, workers
from tests.waiting import comes_true
from tests.warm_process import WarmPopen


def answer(rate: ConnectionRate, key: int, now: float) -> float:
    """Answer a connection when it is due; return that time."""
    due = max(now, rate.find_due(key))
    rate.count(key, now)
    return due


def test_a_burst_is_answered_at_once_and_further_connections_at_the_rate() -> None:
    rate = ConnectionRate(4, BURST)
    assert [answer(rate, 1, 100.0) for _ in range(BURST)] == [100.0] * BURST
    assert [answer(rate, 1, 100.0) for _ in range(3)] == [100.25, 100.5, 100.75]
    assert answer(rate, 2, 100.0) == 100.0


def test_a_pause_fills_the_bucket() -> None:
    rate = ConnectionRate(4, BURST)
    for _ in range(BURST + 4):
        answer(rate, 1, 100.0)
    assert answer(rate, 1, 101.0) == 101.25
    assert [answer(rate, 1, 200.0) for _ in range(BURST)] == [200.0] * BURST
    assert list(rate._full) == [1]
    answer(rate, 2, 300.0)
    assert list(rate._full) == [2]


def test_a_user_counts_as_three_processes(tmp_path: Path) -> None:
    """So processes that each connect once have no more than that together."""
    service = Service(tmp_path / "socket", {}, rate=4)
    service.close()
    for number in range(3 * BURST):
        assert service._user_rate.find_due(0) <= 100.0
        service._process_rate.count(number, 100.0)
        service._user_rate.count(0, 100.0)
    assert service._user_rate.find_due(0) == pytest.approx(100 + 1 / 12)
    service.run()


@pytest.mark.slow
def test_a_process_that_comes_and_goes_waits_and_others_do_not(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "rate=0.0001") as process:
        for _ in range(BURST):
            connect(path).close()
        waiting = connect(path)  # before the honest one
        with WarmPopen([*CONNECT, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as honest:
            assert honest.stdout is not None
            assert honest.stdout.readline() == b"in\n"
            assert comes_true(lambda: len(workers(process.pid)) == 1)
            honest.communicate()
        waiting.close()
        assert process.poll() is None


@pytest.mark.slow
def test_connections_that_wait_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "rate=0.0001"):
        for _ in range(BURST):
            connect(path).close()
        waiting = [connect(path) for _ in range(65)]
        refusal = receive(waiting[-1])
        assert refusal is not None
        assert "has 64 connections that wait" in error_of(refusal.body)
        waiting[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            waiting[0].recv(1)
        for each in waiting:
            each.close()


@pytest.mark.slow
def test_waiting_connections_get_in_when_they_are_due(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "rate=20") as process:
        kept = [connect(path)]
        for _ in range(BURST):
            connect(path).close()
        kept.append(connect(path))
        assert comes_true(lambda: len(workers(process.pid)) == 2)
        for each in kept:
            each.close()


def test_a_rate_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="rate is 0, must be above 0"):
        Service(tmp_path / "socket", {}, rate=0)


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(path))
    connection.settimeout(120)
    return connection
