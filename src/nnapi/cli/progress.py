"""A progress bar for work that takes longer than a second; without a terminal, one line per minute."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from nnapi.printable import printable

PATIENCE = 1.0
"""Seconds before the bar appears."""
PAUSE = 60.0
"""Seconds between lines without a terminal."""


@contextmanager
def progress(
    out: Console, total: int, patience: float = PATIENCE, pause: float = PAUSE
) -> Iterator[Callable[[str], None]]:
    """Show a bar of ``total`` steps while work lasts; call the yielded function at the beginning of each step.

    The bar is drawn on the terminal of standard output, else of stderr. If neither is a terminal, or the cursor cannot
    be moved (TERM=dumb), a line is written to stderr every ``pause`` seconds.
    """
    where = out if out.is_interactive else Console(file=sys.stderr)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(" of "),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=where,
        transient=True,
        disable=not where.is_interactive,
    )
    task = bar.add_task("", total=total)
    start, begun, current = time.monotonic(), 0, ""
    ended = threading.Event()

    def step(description: str) -> None:
        nonlocal begun, current
        description = printable(description)
        current = f"{begun} of {total}{_estimate(time.monotonic() - start, begun, total)}: {description}"
        bar.update(task, description=description, completed=begun)
        begun += 1

    def show() -> None:
        if where.is_interactive:
            if not ended.wait(patience):
                bar.start()
            return
        while not ended.wait(pause):
            if current:
                print(current, file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield step
    finally:
        ended.set()
        thread.join()
        bar.stop()


def _estimate(elapsed: float, done: int, total: int) -> str:
    if not done or elapsed < PAUSE:
        return ""
    minutes = round(elapsed / done * (total - done) / 60)
    return f", about {minutes} min left" if minutes else ", less than a minute left"
