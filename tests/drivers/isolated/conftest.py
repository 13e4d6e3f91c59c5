"""Fixtures of tests with a driver's side in this process."""

from collections.abc import Iterator

import pytest

from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel_server import ChannelServer
from nnapi.drivers.isolated.session import Session
from tests.drivers.isolated.channel_server_cases import make_server
from tests.drivers.isolated.isolated_cases import Misbehaving


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
