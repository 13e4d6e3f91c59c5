"""A graph as the engine is handed it, and the same as an entry of the compilation cache.

An entry is the content, and behind it what else is to be known, which does not bother the engine. Where most of the
content are constants that the model holds byte by byte, as in models of floats, they are left out.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnapi.codes import OperandCode
from nnapi.drivers.xnnpack.ends import left_unsigned
from nnapi.drivers.xnnpack.estimates import products
from nnapi.drivers.xnnpack.flatbuffer import placed
from nnapi.drivers.xnnpack.graph import Graph
from nnapi.drivers.xnnpack.profile import origins
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, Shape

VERSION = 2
"""Of entries: to be raised with every change of what graphs become."""
TAIL = struct.Struct("<II")
"""The version, and the bytes of JSON in front of it."""
WORTH_TAKING = 1024
"""Bytes from which a constant is taken from the model instead of being kept."""


@dataclass(frozen=True)
class Compiled:
    """A serialised graph and what its user must know.

    ``flipped`` says for each input, then each output, whether the caller's codes are unsigned and the engine's signed;
    ``shapes`` are those of the outputs; ``origins`` are the calls of the model behind the operators; ``work`` is how
    many products it sums; ``taken`` says where in the content the value of which operand of the model lies.
    """

    content: bytes
    flipped: tuple[bool, ...]
    shapes: tuple[Shape, ...]
    origins: tuple[int | None, ...]
    work: int
    taken: tuple[tuple[int, int], ...] = ()


def compile_graph(model: Model, graph: Graph, omitted: Sequence[int] = ()) -> Compiled:
    """The graph of a model, serialised. ``omitted`` are inputs of the model that the graph has not."""
    ends = [index for index in (*model.inputs, *model.outputs) if index not in omitted]
    unsigned = [model.operands[index].type.code == OperandCode.TENSOR_QUANT8_ASYMM for index in ends]
    graph = left_unsigned(graph, unsigned)
    tensors = (*graph.inputs, *graph.outputs)
    content, places = placed(graph)
    known = {id(operand.value): operand.index for operand in model.operands if operand.lifetime is Lifetime.CONSTANT}
    return Compiled(
        content,
        tuple(turned and tensor.type == "i8" for turned, tensor in zip(unsigned, tensors, strict=True)),
        tuple(tensor.shape for tensor in graph.outputs),
        tuple(origins(graph)),
        products(graph),
        tuple(
            (place, known[id(array)]) for place, array in places if array.nbytes >= WORTH_TAKING and id(array) in known
        ),
    )


def constants(model: Model) -> list[Array]:
    """The values of a model that are not small."""
    values = [operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    return [value for value in values if value.nbytes >= WORTH_TAKING]


def packed(model: Model, compiled: Compiled) -> bytes:
    """What :func:`unpacked` needs besides the model."""
    content, taken = compiled.content, compiled.taken
    if 2 * sum(model.operands[index].value.nbytes for _, index in taken) < len(content):
        taken = ()  # then the entry is the content, and nothing is put together again
    view, at = memoryview(content), 0
    parts: list[Any] = []
    for place, index in taken:
        parts.append(view[at:place])
        at = place + model.operands[index].value.nbytes
    told = json.dumps(
        {
            "flipped": compiled.flipped, "shapes": compiled.shapes, "origins": compiled.origins, "work": compiled.work,
            "taken": taken, "size": len(content),
        }
    ).encode()  # fmt: skip
    return b"".join([*parts, view[at:], told, TAIL.pack(VERSION, len(told))])


def unpacked(model: Model, entry: bytes) -> Compiled:
    """The graph of an entry; ValueError where it is none of this version or does not fit the model."""
    version, length = TAIL.unpack_from(entry, len(entry) - TAIL.size)
    if version != VERSION:
        raise ValueError(f"it has version {version}, the driver's is {VERSION}")
    end = len(entry) - TAIL.size - length
    told = json.loads(entry[end : end + length])
    content = _put_together(model, memoryview(entry)[:end], told["taken"]) if told["taken"] else entry
    if len(content) - (0 if told["taken"] else TAIL.size + length) != told["size"]:
        raise ValueError(f"its content is not of the {told['size']} bytes that were written")
    return Compiled(
        content, tuple(told["flipped"]), tuple(map(tuple, told["shapes"])), tuple(told["origins"]), told["work"]
    )


def _put_together(model: Model, rest: memoryview, taken: Sequence[tuple[int, int]]) -> bytes:
    """The content, of which the model's constants are left out in ``rest``."""
    parts: list[Any] = []
    at = size = 0
    for place, index in taken:
        kept, operand = place - size, model.operands[index]
        if operand.lifetime is not Lifetime.CONSTANT or kept < 0:
            raise ValueError(f"operand {index} of the model is no constant that it could have taken")
        value = operand.value
        parts += (rest[at : at + kept], value.reshape(-1))
        at, size = at + kept, place + value.nbytes
    return b"".join([*parts, rest[at:]])
