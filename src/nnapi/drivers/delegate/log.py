"""What a delegate says on stderr while LiteRT works with it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LEVEL = re.compile(r"^(ERROR|WARNING|INFO|VERBOSE|[EWIF]\d{4} \S+ +\d+ \S+\]|[EWID] ?\[[^]]*\]):? *")
"""What lines of LiteRT's log and of glog's begin with."""
OWN = re.compile(r"^INFO: (Created TensorFlow Lite|Initialized TensorFlow Lite)")
"""What LiteRT says of itself."""
MOST = 300
"""Characters of a line that are shown."""
_lock = threading.Lock()


@contextmanager
def collect_lines() -> Iterator[list[str]]:
    """A list that has, afterwards, the lines that anybody in this process wrote to stderr, where they go as well."""
    lines: list[str] = []
    with _lock, open(os.memfd_create("nnapi-delegate"), "w+b") as held:
        try:
            stderr = os.dup(2)
        except OSError:  # a process without stderr
            yield lines
            return
        os.dup2(held.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            lines += [line for line in held.read().decode(errors="replace").splitlines() if not OWN.match(line)]


def choose_line(lines: Sequence[str]) -> str:
    """The line that says most, without its level: the last of an error, else of a warning, else of all."""
    told = [line.strip() for line in lines if LEVEL.sub("", line.strip())]
    for levels in ("EF", "W"):
        worst = [line for line in told if line[0] in levels and LEVEL.match(line)]
        if worst:
            told = worst
            break
    return LEVEL.sub("", told[-1])[:MOST] if told else ""
