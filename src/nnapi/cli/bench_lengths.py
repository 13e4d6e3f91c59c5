"""How long ``nnapi bench`` measures: for a time, or a number of runs."""

import math
from dataclasses import replace
from typing import Annotated

import typer

from nnapi.report.benchmark import BenchmarkSettings

Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds",
        "-t",
        min=0,
        help="Measure each engine's latency for so many seconds in all rounds.",
        show_default="0.5, at most 2,000 runs",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        "--runs",
        "-r",
        min=1,
        help="Time so many runs of each engine in all rounds; with --seconds, whichever ends first.",
    ),
]
WarmUp = Annotated[
    int | None,
    typer.Option(
        "--warmup",
        min=0,
        help="Run so often in each round before runs are timed.",
        show_default="2, or 1 if it is slow",
    ),
]


def set_lengths(
    settings: BenchmarkSettings, seconds: float | None, runs: int | None, warmup: int | None
) -> BenchmarkSettings:
    """Return the settings with the user's limits in place of the default ones."""
    if warmup is not None:
        settings = replace(settings, warm_up=warmup, is_warm_up_short=False)
    if seconds is None and runs is None:
        return settings
    rounds = settings.rounds if runs is None else min(settings.rounds, runs)
    block = math.inf if seconds is None else seconds / rounds
    return replace(settings, rounds=rounds, block=block, patience=math.inf, most_runs=math.inf, runs=runs)
