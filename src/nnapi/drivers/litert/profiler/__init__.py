"""LiteRT's own profiler, which measures each operator for traces."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.model.operand import Array


class Engine(NamedTuple):
    """An interpreter, its graph's content, views of its inputs and outputs, and its threads."""

    content: bytes | memoryview
    native: Any
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    threads: int
