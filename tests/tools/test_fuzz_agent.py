"""Mutated messages to an agent; ``python -m tools.fuzz_agent`` sends more."""

from pathlib import Path

import pytest

from tests.drivers.foreign.agent_cases import needs_agent
from tools.fuzz_agent import can_fuzz, fuzz

pytestmark = [needs_agent, pytest.mark.skipif(not can_fuzz(), reason="no compiler with sanitizers")]


@pytest.mark.slow
def test_no_message_harms_the_agent(tmp_path: Path) -> None:
    assert fuzz(tmp_path, 400, seed=3) > 50
