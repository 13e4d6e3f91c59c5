"""Agents that several files test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.foreign.agent_cases import serve
from tests.drivers.foreign.library_cases import TAKING, build


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[str]:
    """The address of an agent whose library takes everything."""
    with serve(tmp_path, build(tmp_path, **TAKING)) as address:
        yield address
