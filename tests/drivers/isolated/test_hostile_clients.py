"""Mutated messages and descriptors: whatever is sent, an honest application is served on."""

import pytest

from tools.fuzz_service import fuzz

MESSAGES = 400


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_messages(seed: int) -> None:
    outcomes = fuzz(MESSAGES, seed)
    assert outcomes["sent"] == MESSAGES
    assert min(outcomes[each] for each in ("answer", "error", "thrown out")) > MESSAGES // 50, outcomes
