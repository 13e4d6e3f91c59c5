"""The time of each operator, measured by LiteRT's own profiler, for traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.model.operand import Array


class Engine(NamedTuple):
    """An interpreter and what it runs: the graph's content, views of its inputs and outputs, its threads."""

    content: bytes | memoryview
    native: Any
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    threads: int
