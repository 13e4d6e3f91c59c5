"""What the accelerator writes to stdout and stderr as it goes, kept from the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Output:
    """What was written."""

    text: str = ""


@contextmanager
def collect_output(output: Output) -> Iterator[None]:
    """Let ``output`` have all that anybody in this process writes to descriptors 1 and 2 meanwhile."""
    with open(os.memfd_create("nnapi-webgpu"), "w+b") as held:
        kept = {}
        for descriptor in (1, 2):
            try:
                kept[descriptor] = os.dup(descriptor)
            except OSError:  # a process without it
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
