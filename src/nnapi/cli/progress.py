"""A progress bar for what takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

PATIENCE = 1.0
"""Seconds before the bar shows."""


@contextmanager
def progress(out: Console, total: int, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """A bar of ``total`` steps that shows itself only when work lasts; call what is yielded as each step begins.

    It is drawn where results go if that is a terminal, else on stderr if that is one, else not at all.
    """
    where = out if out.is_terminal else Console(file=sys.stderr)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        console=where,
        transient=True,
        disable=not where.is_terminal,
    )
    task = bar.add_task("", total=total)
    begun = 0

    def step(description: str) -> None:
        nonlocal begun
        bar.update(task, description=description, completed=begun)
        begun += 1

    timer = threading.Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
