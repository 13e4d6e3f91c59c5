"""Capture what engines write to stdout and stderr, so that errors can quote it, also after a crash."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from nnapi.locks import make_lock

LEVEL = re.compile(r"^(ERROR|WARNING|INFO|VERBOSE|[EWIF]\d{4} \S+ +\d+ \S+\]|[EWID] ?\[[^]]*\]):? *")
"""Prefixes of log lines of LiteRT and glog."""
OWN = re.compile(r"^INFO: (Created TensorFlow Lite|Initialized TensorFlow Lite)")
"""Log lines in which LiteRT only reports its start."""
LONGEST = 300
"""Maximum characters of a quoted line."""
LAST = 1 << 16
"""Maximum bytes, from the end of a process's output, that are searched."""


@dataclass
class Output:
    text: str = ""

    @property
    def lines(self) -> list[str]:
        """Return the lines, except those in which LiteRT reports its start."""
        return [line for line in self.text.splitlines() if not OWN.match(line)]


@contextmanager
def collect_output(output: Output) -> Iterator[None]:
    """Capture what this process writes to file descriptors 1 and 2; one caller at a time."""
    with _turn, _open_file() as held:
        kept = {}
        for descriptor in (1, 2):
            try:
                kept[descriptor] = os.dup(descriptor)
            except OSError:  # the process has no such descriptor
                continue
            os.dup2(held.fileno(), descriptor)
        try:
            yield
        finally:
            for descriptor, copy in kept.items():
                os.dup2(copy, descriptor)
                os.close(copy)
            held.seek(0)
            output.text = held.read().decode(errors="replace")
            held.seek(0)
            held.truncate()


_turn = make_lock()
_shared: int | None = None


def share_output(descriptor: int) -> None:
    """From now on, store captured output in this file, which is emptied after each capture."""
    global _shared
    _shared = descriptor


def _open_file() -> BinaryIO:
    if _shared is None:
        return open(os.memfd_create("nnapi-output"), "w+b")
    return open(_shared, "w+b", closefd=False)


def read_last_words(descriptor: int) -> str:
    """Return the most informative line in a file of :func:`share_output`; empty if there is none."""
    size = os.fstat(descriptor).st_size
    content = os.pread(descriptor, LAST, max(0, size - LAST))
    return choose_line(Output(content.decode(errors="replace")).lines)


def choose_line(lines: Sequence[str], otherwise: str = "") -> str:
    """Return the last error without its level, else the last warning, else ``otherwise``, else the last line."""
    told = [line.strip() for line in lines if LEVEL.sub("", line.strip())]
    errors, warnings = ([line for line in told if line[0] in levels and LEVEL.match(line)] for levels in ("EF", "W"))
    told = errors or warnings or ([otherwise] if otherwise else told)
    return LEVEL.sub("", told[-1])[:LONGEST] if told else ""
