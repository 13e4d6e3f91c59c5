"""A compilation of an NNAPI library that an agent calls, and its runs."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.drivers.base import DEFAULT_LOOP_TIMEOUT, Request
from nnapi.drivers.foreign.agent import Agent, find_rest
from nnapi.drivers.foreign.wire import ALIGNMENT, MOST_DATA, Answer, Ask, Reader, align, pack_type
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


class Frame:
    """The constant bytes of requests to run with inputs of some shapes, and buffers for outputs of some shapes."""

    def __init__(self, compiled: Compiled, shapes: Sequence[Shape | None], output_shapes: Sequence[Shape]) -> None:
        """A shape is None for an omitted input."""
        inputs, outputs = compiled.inputs, compiled.outputs
        self.lengths = [max(math.prod(s), 1) * t.dtype.itemsize for s, t in zip(output_shapes, outputs, strict=True)]
        self.gaps: list[bytes] = []
        """The padding before each input that is not omitted."""
        self.size, layouts = 0, []
        for type, shape in zip(inputs, shapes, strict=True):
            if shape is None:
                layouts.append(struct.pack("<IQQI", 0, 0, 0, 0))
                continue
            self.gaps.append(bytes(-self.size % ALIGNMENT))
            start, length = align(self.size), math.prod(shape) * type.dtype.itemsize
            self.size = start + length
            layouts.append(struct.pack("<IQQI", 1, start, length, not type.is_known))
            if not type.is_known:
                layouts.append(pack_type(type.with_dimensions(shape)))
        need(
            max(self.size, sum(map(align, self.lengths))) <= MOST_DATA,
            f"the inputs or outputs of a run have more than {MOST_DATA} bytes",
            OpFailedError,
        )
        layouts += [struct.pack("<IQ", not t.is_known, n) for t, n in zip(outputs, self.lengths, strict=True)]
        self._counts, self._layouts = (len(inputs), len(outputs)), b"".join(layouts)

    def pack(self, numbers: tuple[int, int], measure: bool, limit: int = 0, loop_limit: int = 0) -> bytes:
        """Return the head of a request; the numbers are the compilation's and the burst's."""
        return struct.pack("<5I2Q", *numbers, measure, *self._counts, limit, loop_limit) + self._layouts

    def lay_out(self, inputs: Iterable[Array | None]) -> list[Any]:
        """Return the parts of a request's data."""
        given = [np.ascontiguousarray(array) for array in inputs if array is not None]
        return [part for pair in zip(self.gaps, given, strict=True) for part in pair]


class Compiled:
    """A finished compilation, or a burst of one."""

    def __init__(
        self, agent: Agent, number: int, inputs: Sequence[OperandType], outputs: Sequence[OperandType], burst: int = 0
    ) -> None:
        self.agent, self.inputs, self.outputs = agent, inputs, outputs
        self._numbers = number, burst

    def run(self, request: Request, shapes: Sequence[Shape], measure: bool) -> Result:
        """Compute once, with buffers for outputs of those shapes; ``measure`` asks for durations."""
        frame = Frame(self, [None if array is None else array.shape for array in request.inputs], shapes)
        parts = frame.lay_out(request.inputs)
        loop = 0 if request.loop_timeout == DEFAULT_LOOP_TIMEOUT else request.loop_timeout
        with self.agent.lock():
            rest = 0 if request.deadline is None else find_rest(request.deadline)
            head = frame.pack(self._numbers, measure, rest, loop)
            answer = self.agent.ask_locked(Ask.RUN, head, parts, frame.size, request.deadline)
        return self._read(answer, frame)

    def run_frame(self, frame: Frame, inputs: Sequence[Array]) -> list[Array]:
        """Compute once where no output has dynamic dimensions, and measure nothing."""
        head = frame.pack(self._numbers, measure=False)
        result = self._read(self.agent.ask(Ask.RUN, head, frame.lay_out(inputs), frame.size), frame)
        if not result.is_complete:
            raise OpFailedError(f"{self.agent.path} asks for larger outputs than the model has")
        return [buffer.reshape(t.dimensions) for buffer, t in zip(result.buffers, self.outputs, strict=True)]

    def open_burst(self) -> Compiled:
        """Return a burst, which is closed before this."""
        number, _ = self._numbers
        burst = self.agent.ask(Ask.BURST, struct.pack("<I", number)).head.read_word()
        return Compiled(self.agent, number, self.inputs, self.outputs, burst)

    def close(self) -> None:
        number, burst = self._numbers
        self.agent.release(burst or number)

    def _read(self, answer: Answer, frame: Frame) -> Result:
        code, *durations = answer.head.read("IQQ")
        shapes = [None if t.is_known else self._read_shape(answer.head, i) for i, t in enumerate(self.outputs)]
        buffers, at = [], 0
        for type, length in zip(self.outputs, frame.lengths, strict=True):
            if at + length > answer.data.size:
                raise OpFailedError(f"{self.agent.path} sent too few bytes")
            buffers.append(answer.data[at : at + length].view(type.dtype))
            at = align(at + length)
        return Result(not code, shapes, buffers, *[None if ns == UNKNOWN else ns for ns in durations])

    def _read_shape(self, head: Reader, index: int) -> Shape:
        rank = head.read_word()
        said = f"{self.agent.path}: output {index} is said to have {rank} dimensions"
        need(rank <= MOST_DIMENSIONS, said, OpFailedError)
        return tuple([head.read_word() for _ in range(rank)])
