"""Fixtures of tests with a driver's side, or a service, in this process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.drivers.isolated import service as service_module
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel_server import ChannelServer
from nnapi.drivers.isolated.service import Service
from nnapi.drivers.isolated.session import Session
from tests.drivers.isolated.channel_server_cases import make_server
from tests.drivers.isolated.isolated_cases import Misbehaving
from tests.drivers.isolated.rule_cases import Clock


@pytest.fixture
def collect_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting all garbage of the tests takes longer than any of them."""
    for module in ("connection_server", "channel_server"):
        monkeypatch.setattr(f"nnapi.drivers.isolated.{module}.free_memory", lambda: None)


@pytest.fixture
def server() -> Iterator[ChannelServer]:
    """The server of a channel whose application may have two channels and three models."""
    session = Session(Allowance(threads=2, models=3))
    session.driver = Misbehaving("", "")
    made, ours = make_server(session)
    yield made
    made._bindings.clear()
    made.close()
    ours.close()


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
    made._socket.listener.close()
    for worker in made._workers:
        worker.close()
