"""How long ``nnapi bench`` measures; test_bench.py has whole commands."""

from __future__ import annotations

import math

from nnapi.cli.bench_lengths import set_lengths
from nnapi.report.benchmark import BenchmarkSettings


def test_lengths() -> None:
    """--seconds is divided among the rounds, and neither the default number of runs nor the default time ends them."""
    given = BenchmarkSettings(rounds=4)
    assert set_lengths(given, None, None, None) == given
    found = set_lengths(given, 20.0, None, 7)
    assert (found.block, found.warm_up, found.is_warm_up_short) == (5.0, 7, False)
    assert found.patience == found.most_runs == math.inf
    found = set_lengths(given, 6.0, 2, None)
    assert (found.rounds, found.block, found.runs, found.warm_up) == (2, 3.0, 2, given.warm_up)
    assert set_lengths(given, None, 9, None).block == math.inf
