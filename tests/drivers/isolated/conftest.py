"""Fixtures of tests with a driver's side in this process."""

import pytest


@pytest.fixture
def collect_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting all garbage of the tests takes longer than any of them."""
    for module in ("server", "channel_server"):
        monkeypatch.setattr(f"nnapi.drivers.isolated.{module}.free_memory", lambda: None)
