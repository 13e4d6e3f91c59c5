"""A compilation of an NNAPI library that an agent calls, and its runs."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.drivers.base import DEFAULT_LOOP_TIMEOUT, Request
from nnapi.drivers.foreign.agent import Agent, find_rest
from nnapi.drivers.foreign.wire import MOST_DATA, Answer, Ask, Reader, align, lay_out, pack_type
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array, OperandType, Shape

MOST_DIMENSIONS = 32
UNKNOWN = (1 << 64) - 1
"""A duration that the device does not measure."""


class Result(NamedTuple):
    """The end of a computation. Unless it is complete, the buffers were too small for the reported shapes.

    A shape is None for an output whose shape is static; the buffers are flat. Durations are None if unknown.
    """

    is_complete: bool
    shapes: Sequence[Shape | None]
    buffers: Sequence[Array]
    hardware_ns: int | None
    driver_ns: int | None


class Compiled:
    """A finished compilation, or a burst of one."""

    def __init__(
        self, agent: Agent, number: int, inputs: Sequence[OperandType], outputs: Sequence[OperandType], burst: int = 0
    ) -> None:
        self._agent, self._number, self._inputs, self._outputs = agent, number, inputs, outputs
        self._burst = burst

    def run(self, request: Request, shapes: Sequence[Shape], measure: bool) -> Result:
        """Compute once, with buffers for outputs of those shapes; ``measure`` asks for durations."""
        arrays = [None if array is None else np.ascontiguousarray(array) for array in request.inputs]
        offsets, parts, size = lay_out(array for array in arrays if array is not None)
        lengths = [max(math.prod(s), 1) * t.dtype.itemsize for s, t in zip(shapes, self._outputs, strict=True)]
        need(
            max(size, sum(map(align, lengths))) <= MOST_DATA,
            f"the inputs or outputs of a run have more than {MOST_DATA} bytes",
            OpFailedError,
        )
        places = iter(offsets)
        head = b"".join(
            [_pack_input(t, a, 0 if a is None else next(places)) for t, a in zip(self._inputs, arrays, strict=True)]
            + [struct.pack("<IQ", not t.is_known, n) for t, n in zip(self._outputs, lengths, strict=True)]
        )
        with self._agent.lock():
            rest = 0 if request.deadline is None else find_rest(request.deadline)
            loop = 0 if request.loop_timeout == DEFAULT_LOOP_TIMEOUT else request.loop_timeout
            start = struct.pack("<IIIIIQQ", self._number, self._burst, measure, len(arrays), len(lengths), rest, loop)
            answer = self._agent.ask_locked(Ask.RUN, start + head, parts, size)
        return self._read(answer, lengths)

    def open_burst(self) -> Compiled | None:
        """Return a burst, which is closed before this; None if the library has none."""
        if not self._agent.has_bursts:
            return None
        number = self._agent.ask(Ask.BURST, struct.pack("<I", self._number)).head.read_word()
        return Compiled(self._agent, self._number, self._inputs, self._outputs, number)

    def close(self) -> None:
        self._agent.release(self._burst or self._number)

    def _read(self, answer: Answer, lengths: Iterable[int]) -> Result:
        code, *durations = answer.head.read("IQQ")
        shapes = [None if t.is_known else self._read_shape(answer.head, i) for i, t in enumerate(self._outputs)]
        buffers, at = [], 0
        for type, length in zip(self._outputs, lengths, strict=True):
            need(at + length <= answer.data.size, f"{self._agent.path} sent too few bytes", OpFailedError)
            buffers.append(answer.data[at : at + length].view(type.dtype))
            at = align(at + length)
        return Result(not code, shapes, buffers, *[None if ns == UNKNOWN else ns for ns in durations])

    def _read_shape(self, head: Reader, index: int) -> Shape:
        rank = head.read_word()
        said = f"{self._agent.path}: output {index} is said to have {rank} dimensions"
        need(rank <= MOST_DIMENSIONS, said, OpFailedError)
        return tuple([head.read_word() for _ in range(rank)])


def _pack_input(type: OperandType, array: Array | None, offset: int) -> bytes:
    if array is None:
        return struct.pack("<IQQI", 0, 0, 0, 0)
    place = struct.pack("<IQQI", 1, offset, array.nbytes, not type.is_known)
    return place if type.is_known else place + pack_type(type.with_dimensions(array.shape))
