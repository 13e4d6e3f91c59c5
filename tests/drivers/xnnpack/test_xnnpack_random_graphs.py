"""Random graphs of several operations, on the engine and on the reference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drivers.xnnpack.engine_cases import engine
from tests.drivers.xnnpack.growing import GRAPHS, KINDS, judge


@pytest.mark.slow
@settings(max_examples=GRAPHS, deadline=None)
@given(st.sampled_from(KINDS), st.integers(3, 20), st.integers(0, 2**32 - 1))
def test_random_graphs_agree(kind: str, count: int, seed: int) -> None:
    judge(engine(), kind, count, seed)
