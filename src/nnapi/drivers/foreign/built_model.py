"""A model, or some of its operations, built in an NNAPI library that an agent calls."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from nnapi.drivers.base import PrepareOptions
from nnapi.drivers.foreign.agent import Agent, find_rest
from nnapi.drivers.foreign.compilation import Compiled
from nnapi.drivers.foreign.constants import Block
from nnapi.drivers.foreign.wire import Ask, pack_list, pack_type
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.nesting import list_nested
from nnapi.model.operand import OperandType
from nnapi.store.digest import digest

VALUES = {Lifetime.NO_VALUE: 1, Lifetime.CONSTANT: 2, Lifetime.SUBGRAPH: 3}


class Part(NamedTuple):
    """Operands numbered anew, operations as code, inputs and outputs, and the inputs and outputs of the whole."""

    operands: list[Operand]
    operations: list[tuple[int, list[int], list[int]]]
    inputs: list[int]
    outputs: list[int]
    relaxed: bool

    def list_types(self, indices: Sequence[int]) -> list[OperandType]:
        return [self.operands[index].type for index in indices]


class Built:
    """A finished model, with those that it refers to."""

    def __init__(self, agent: Agent, model: Model, calls: Sequence[OperationCall] | None = None) -> None:
        """Build all of a model or only ``calls``, whose other operands become inputs. Raises the library's errors."""
        self._agent, self._part = agent, _cut(model, calls)
        self._numbers: dict[Model, int] = {}
        self._blocks: list[Block] = []
        self._said: list[bytes] = []
        """The content that identifies the model."""
        try:
            for each in list_nested(model):
                self._numbers[each] = self._send(self._part if each is model else _cut(each))
            self._number = self._numbers[model]
        except BaseException:
            self.close()
            raise

    def ask(self, device: int) -> list[bool]:
        """Return for each operation whether the device at this index takes it."""
        answer = self._agent.ask(Ask.SUPPORTED, struct.pack("<II", self._number, device))
        return [bool(answer.head.read_word()) for _ in self._part.operations]

    def compile(self, device: int, options: PrepareOptions) -> Compiled:
        rest = 0 if options.deadline is None else find_rest(options.deadline)
        chosen = struct.pack("<Iii", device, options.preference, options.priority)
        token = digest(*self._said, chosen)
        head = struct.pack("<I", self._number) + chosen + struct.pack("<QI", rest, 1) + token
        number = self._agent.ask(Ask.COMPILE, head, deadline=options.deadline).head.read_word()
        part = self._part
        return Compiled(self._agent, number, part.list_types(part.inputs), part.list_types(part.outputs))

    def close(self) -> None:
        self._agent.release(*reversed(self._numbers.values()))
        self._numbers.clear()
        self._agent.release(*self._agent.constants.leave(self._blocks))
        self._blocks = []

    def _send(self, part: Part) -> int:
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


def _cut(model: Model, calls: Sequence[OperationCall] | None = None) -> Part:
    inputs, outputs = (model.inputs, model.outputs) if calls is None else _find_inputs_and_results(model, calls)
    calls = model.operations if calls is None else calls
    used = {*inputs, *outputs, *(index for call in calls for index in (*call.inputs, *call.outputs))}
    positions = {index: position for position, index in enumerate(sorted(used))}

    def number(indices: Sequence[int]) -> list[int]:
        return [positions[index] for index in indices]

    return Part(
        [model.operands[index] for index in positions],
        [(call.code, number(call.inputs), number(call.outputs)) for call in calls],
        number(inputs),
        number(outputs),
        model.relaxed,
    )


def _find_inputs_and_results(model: Model, calls: Sequence[OperationCall]) -> tuple[list[int], list[int]]:
    """Return the operands that the operations read from elsewhere, and those that they compute."""
    computed = [index for call in calls for index in call.outputs]
    read = dict.fromkeys(index for call in calls for index in call.inputs if index not in computed)
    open_ends = Lifetime.INPUT, Lifetime.TEMPORARY, Lifetime.OUTPUT
    return [index for index in read if model.operands[index].lifetime in open_ends], computed
