"""Models built in the library that an agent calls, their compilations and runs."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.contract.driver import DEFAULT_LOOP_TIMEOUT, PrepareOptions, Request
from nnapi.drivers.foreign.agent import Agent, find_rest
from nnapi.drivers.foreign.constants import Block
from nnapi.drivers.foreign.wire import ALIGNMENT, MOST_DATA, Answer, Ask, Reader, align, pack_list, pack_type
from nnapi.errors import OpFailedError, need
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.nesting import list_nested
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.store.digest import digest

VALUES = {Lifetime.NO_VALUE: 1, Lifetime.CONSTANT: 2, Lifetime.SUBGRAPH: 3}


class ModelDescription(NamedTuple):
    """A model to build: operands numbered from 0, and operations as (code, input indices, output indices)."""

    operands: list[Operand]
    operations: list[tuple[int, list[int], list[int]]]
    inputs: list[int]
    outputs: list[int]
    relaxed: bool

    def list_types(self, indices: Sequence[int]) -> list[OperandType]:
        return [self.operands[index].type for index in indices]


class Built:
    """A model that is finished in the library, with the models that it refers to."""

    def __init__(self, agent: Agent, model: Model, calls: Sequence[OperationCall] | None = None) -> None:
        """Build a model, or ``calls`` of it, whose other operands become inputs; raise the library's errors."""
        self._agent, self._part = agent, _cut(model, calls)
        self._numbers: dict[Model, int] = {}
        self._blocks: list[Block] = []
        self._said: list[bytes] = []
        """The bytes whose digest identifies the model, for the caching token."""
        try:
            for each in list_nested(model):
                self._numbers[each] = self._send(self._part if each is model else _cut(each))
            self._number = self._numbers[model]
        except BaseException:
            self.close()
            raise

    def ask(self, device: int) -> list[bool]:
        """Return, for each operation, whether the device with index ``device`` supports it."""
        answer = self._agent.ask(Ask.SUPPORTED, struct.pack("<II", self._number, device))
        return [bool(answer.head.read_word()) for _ in self._part.operations]

    def compile(self, device: int, options: PrepareOptions) -> RemoteCompilation:
        rest = 0 if options.deadline is None else find_rest(options.deadline)
        chosen = struct.pack("<Iii", device, options.preference, options.priority)
        token = digest(*self._said, chosen)
        head = struct.pack("<I", self._number) + chosen + struct.pack("<QI", rest, 1) + token
        number = self._agent.ask(Ask.COMPILE, head, deadline=options.deadline).head.read_word()
        part = self._part
        return RemoteCompilation(self._agent, number, part.list_types(part.inputs), part.list_types(part.outputs))

    def close(self) -> None:
        self._agent.release(*reversed(self._numbers.values()))
        self._numbers.clear()
        self._agent.release(*self._agent.constants.leave(self._blocks))
        self._blocks = []

    def _send(self, part: ModelDescription) -> int:
        constant = [operand.value for operand in part.operands if operand.lifetime is Lifetime.CONSTANT]
        placed = self._agent.constants.place(constant, self._agent.send_constants)
        self._blocks += {block for _, block, _ in placed}
        pairs = iter(zip(placed, constant, strict=True))
        counts = struct.pack("<III", len(part.operands), len(part.operations), part.relaxed)
        start = counts + pack_list(part.inputs) + pack_list(part.outputs)
        sources, rest = [], []
        for operand in part.operands:
            source = 0, 0, 0
            if operand.lifetime is Lifetime.SUBGRAPH:
                source = self._numbers[operand.value], 0, 0
            elif operand.lifetime is Lifetime.CONSTANT:
                (key, block, offset), value = next(pairs)
                source = block.number, offset, value.nbytes
                self._said.append(key)
            rest.append(_pack_operand(operand))
            sources.append(struct.pack("<IQQ", *source))
        for code, *lists in part.operations:
            rest.append(struct.pack("<i", code) + b"".join(map(pack_list, lists)))
        self._said += [start, *rest]
        return self._agent.ask(Ask.MODEL, b"".join([start, *sources, *rest])).head.read_word()


def _pack_operand(operand: Operand) -> bytes:
    channel = operand.type.channel
    scales = channel.scales if channel is not None else ()
    axis = channel.dimension if channel is not None else 0
    value = VALUES.get(operand.lifetime, 0)
    return pack_type(operand.type) + struct.pack(f"<III{len(scales)}f", value, axis, len(scales), *scales)


def _cut(model: Model, calls: Sequence[OperationCall] | None = None) -> ModelDescription:
    inputs, outputs = (model.inputs, model.outputs) if calls is None else _find_inputs_and_results(model, calls)
    calls = model.operations if calls is None else calls
    used = {*inputs, *outputs, *(index for call in calls for index in (*call.inputs, *call.outputs))}
    positions = {index: position for position, index in enumerate(sorted(used))}

    def number(indices: Sequence[int]) -> list[int]:
        return [positions[index] for index in indices]

    return ModelDescription(
        [model.operands[index] for index in positions],
        [(call.code, number(call.inputs), number(call.outputs)) for call in calls],
        number(inputs),
        number(outputs),
        model.relaxed,
    )


def _find_inputs_and_results(model: Model, calls: Sequence[OperationCall]) -> tuple[list[int], list[int]]:
    """Return the operands that the operations read but do not compute, and those that they compute."""
    computed = [index for call in calls for index in call.outputs]
    read = dict.fromkeys(index for call in calls for index in call.inputs if index not in computed)
    open_ends = Lifetime.INPUT, Lifetime.TEMPORARY, Lifetime.OUTPUT
    return [index for index in read if model.operands[index].lifetime in open_ends], computed


MOST_DIMENSIONS = 32
UNKNOWN = (1 << 64) - 1
"""The value of a duration that the device does not measure."""


class Result(NamedTuple):
    """The result of a computation. Unless it is complete, the buffers were too small for the reported shapes.

    A shape is None for an output with static dimensions; buffers have rank 1. Durations are None if not measured.
    """

    is_complete: bool
    shapes: Sequence[Shape | None]
    buffers: Sequence[Array]
    hardware_ns: int | None
    driver_ns: int | None


class Frame:
    """The part of run requests that depends only on shapes, and the sizes of inputs and output buffers."""

    def __init__(
        self, compiled: RemoteCompilation, shapes: Sequence[Shape | None], output_shapes: Sequence[Shape]
    ) -> None:
        """``shapes`` are those of the inputs, None for an omitted one."""
        inputs, outputs = compiled.inputs, compiled.outputs
        self.lengths = [max(math.prod(s), 1) * t.dtype.itemsize for s, t in zip(output_shapes, outputs, strict=True)]
        self.gaps: list[bytes] = []
        """For each input that is not omitted: the padding before it."""
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
        self.output_size = sum(map(align, self.lengths))
        need(
            max(self.size, self.output_size) <= MOST_DATA,
            f"the inputs or outputs of a run have more than {MOST_DATA} bytes",
            OpFailedError,
        )
        layouts += [struct.pack("<IQ", not t.is_known, n) for t, n in zip(outputs, self.lengths, strict=True)]
        self._counts, self._layouts = (len(inputs), len(outputs)), b"".join(layouts)

    def pack(self, numbers: tuple[int, int], measure: bool, limit: int = 0, loop_limit: int = 0) -> bytes:
        """Return a request's head; ``numbers`` are the compilation's and the burst's, limits are in nanoseconds."""
        return struct.pack("<5I2Q", *numbers, measure, *self._counts, limit, loop_limit) + self._layouts

    def lay_out(self, inputs: Iterable[Array | None]) -> list[Any]:
        """Return the buffers of a request's data: each input after its padding."""
        given = [np.ascontiguousarray(array) for array in inputs if array is not None]
        return [part for pair in zip(self.gaps, given, strict=True) for part in pair]


class RemoteCompilation:
    """A finished compilation in the library, or a burst on one."""

    def __init__(
        self, agent: Agent, number: int, inputs: Sequence[OperandType], outputs: Sequence[OperandType], burst: int = 0
    ) -> None:
        self.agent, self.inputs, self.outputs = agent, inputs, outputs
        self._numbers = number, burst

    def run(self, request: Request, shapes: Sequence[Shape], *, measure: bool = False) -> Result:
        """Run once, with output buffers for ``shapes``; ``measure`` asks for durations."""
        frame = Frame(self, [None if array is None else array.shape for array in request.inputs], shapes)
        parts = frame.lay_out(request.inputs)
        loop = 0 if request.loop_timeout == DEFAULT_LOOP_TIMEOUT else request.loop_timeout

        def pack() -> bytes:
            rest = 0 if request.deadline is None else find_rest(request.deadline)
            return frame.pack(self._numbers, measure=measure, limit=rest, loop_limit=loop)

        answer = self.agent.ask(Ask.RUN, pack, parts, frame.size, request.deadline, frame.output_size)
        return self._read(answer, frame)

    def run_frame(self, frame: Frame, inputs: Sequence[Array]) -> list[Array]:
        """Run once without measuring, for outputs with static dimensions."""
        head = frame.pack(self._numbers, measure=False)
        answer = self.agent.ask(Ask.RUN, head, frame.lay_out(inputs), frame.size, most=frame.output_size)
        result = self._read(answer, frame)
        if not result.is_complete:
            raise OpFailedError(f"{self.agent.path} asks for larger outputs than the model has")
        return [buffer.reshape(t.dimensions) for buffer, t in zip(result.buffers, self.outputs, strict=True)]

    def open_burst(self) -> RemoteCompilation:
        """Return a burst on this compilation; close it before the compilation."""
        number, _ = self._numbers
        burst = self.agent.ask(Ask.BURST, struct.pack("<I", number)).head.read_word()
        return RemoteCompilation(self.agent, number, self.inputs, self.outputs, burst)

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
