"""Writing a graph as a .tflite FlatBuffer.

Written front to back: a table's children follow it, so every offset is filled in when its child's place is known.
Only the bytes of constants are large; they are joined once, at the end, and copied nowhere else.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor
from nnapi.drivers.xnnpack.schema import CUSTOM, OPERATORS, TYPES

LARGEST = 2**31 - 2**16
"""Offsets are 32-bit, signed to some readers: a file must be smaller."""
ALIGNMENT = 16
"""Of the bytes of constants."""
REFERENCE = "R"
"""Format of a field that holds the offset of a child."""


class Layout:
    """A kind of table: which slots it has, where its fields lie, and the vtable that says so."""

    def __init__(self, fields: Mapping[str, tuple[int, str]]) -> None:
        order = sorted(fields, key=lambda name: fields[name][1] in "b?")
        self.at: dict[str, int] = {}
        position, formats = 4, []
        for name in order:
            self.at[name] = position
            formats.append("I" if fields[name][1] == REFERENCE else fields[name][1])
            position += 1 if fields[name][1] in "b?" else 4
        self.names = order
        self.size = position + -position % 4
        self.pack = struct.Struct("<i" + "".join(formats) + "x" * (self.size - position)).pack
        slots = [0] * (1 + max((slot for slot, _ in fields.values()), default=-1))
        for name, (slot, _) in fields.items():
            slots[slot] = self.at[name]
        vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), self.size, *slots)
        self.vtable = vtable + bytes(-len(vtable) % 4)


MODEL = Layout({"version": (0, "I"), "codes": (1, REFERENCE), "subgraphs": (2, REFERENCE), "buffers": (4, REFERENCE)})
CODE = Layout({"old": (0, "b"), "version": (2, "i"), "code": (3, "i")})
CUSTOM_CODE = Layout({"old": (0, "b"), "name": (1, REFERENCE), "version": (2, "i"), "code": (3, "i")})
SUBGRAPH = Layout({name: (slot, REFERENCE) for slot, name in enumerate(("tensors", "inputs", "outputs", "operators"))})
PLAIN = Layout({"shape": (0, REFERENCE), "type": (1, "b"), "buffer": (2, "I")})
QUANTISED = Layout({"shape": (0, REFERENCE), "type": (1, "b"), "buffer": (2, "I"), "quantization": (4, REFERENCE)})
QUANTIZATION = Layout({"scale": (2, REFERENCE), "zero_point": (3, REFERENCE), "axis": (6, "i")})
OPERATOR = Layout({"code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE)})
OPERATOR_WITH_OPTIONS = Layout(
    {"code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE), "kind": (3, "b"), "options": (4, REFERENCE)}
)
CUSTOM_OPERATOR = Layout(
    {"code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE), "content": (5, REFERENCE)}
)
EMPTY_BUFFER, BUFFER = Layout({}), Layout({"data": (0, REFERENCE)})
OPTIONS = {kind: Layout(fields) for kind, (_, _, fields) in OPERATORS.items() if fields}


class Writer:
    """Bytes so far, and the vtables among them."""

    def __init__(self) -> None:
        self.out = bytearray()
        self._vtables: dict[int, int] = {}

    def table(self, layout: Layout, **values: Any) -> int:
        """Append a table and give its place; fields that refer to children are filled in by :meth:`child`."""
        vtable = self._vtables.get(id(layout))
        if vtable is None:
            vtable = self._vtables[id(layout)] = len(self.out)
            self.out += layout.vtable
        place = len(self.out)
        self.out += layout.pack(place - vtable, *[values.get(name, 0) for name in layout.names])
        return place

    def child(self, field: int, place: int | None = None) -> None:
        """Let the reference at ``field`` point to ``place``, by default to what is appended next."""
        struct.pack_into("<I", self.out, field, (len(self.out) if place is None else place) - field)

    def vector(self, field: int, values: Sequence[int], code: str = "i") -> int:
        """Append a vector of 4-byte numbers that ``field`` refers to; gives the place of its first element."""
        self.child(field)
        self.out += struct.pack(f"<I{len(values)}{code}", len(values), *values)
        return len(self.out) - 4 * len(values)

    def raw(self, field: int, values: bytes, count: int, alignment: int) -> None:
        """Append a vector of ``count`` elements given as bytes, the first of them aligned."""
        self.out += bytes(-(len(self.out) + 4) % alignment)
        self.child(field)
        self.out += struct.pack("<I", count) + values + bytes(-len(values) % 4)


def serialise(graph: Graph) -> bytes:
    """The graph as a file."""
    tensors = graph.tensors()
    index = {tensor: place for place, tensor in enumerate(tensors)}
    constants = [tensor.data for tensor in tensors if tensor.data is not None]
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(op.kind for op in graph.operators))}
    writer = Writer()
    writer.out += bytes(4) + b"TFL3"
    root = writer.table(MODEL, version=3)
    writer.child(0, root)
    _codes(writer, root + MODEL.at["codes"], list(kinds))
    (place,) = [writer.vector(root + MODEL.at["subgraphs"], (0,))]
    subgraph = writer.table(SUBGRAPH)
    writer.child(place, subgraph)
    _tensors(writer, subgraph + SUBGRAPH.at["tensors"], tensors)
    writer.vector(subgraph + SUBGRAPH.at["inputs"], [index[tensor] for tensor in graph.inputs])
    writer.vector(subgraph + SUBGRAPH.at["outputs"], [index[tensor] for tensor in graph.outputs])
    _operators(writer, subgraph + SUBGRAPH.at["operators"], graph.operators, kinds, index)
    return _with_buffers(writer, root + MODEL.at["buffers"], constants)


def _codes(writer: Writer, field: int, kinds: Sequence[str]) -> None:
    places = writer.vector(field, [0] * len(kinds))
    for i, kind in enumerate(kinds):
        code = OPERATORS[kind][0]
        table = writer.table(CUSTOM_CODE if code == CUSTOM else CODE, old=min(code, 127), version=1, code=code)
        writer.child(places + 4 * i, table)
        if code == CUSTOM:
            writer.raw(table + CUSTOM_CODE.at["name"], kind.encode() + b"\0", len(kind), 4)


def _tensors(writer: Writer, field: int, tensors: Sequence[Tensor]) -> None:
    places = writer.vector(field, [0] * len(tensors))
    buffer = 0
    for i, tensor in enumerate(tensors):
        buffer += tensor.data is not None
        layout = QUANTISED if tensor.is_quantized else PLAIN
        table = writer.table(layout, type=TYPES[tensor.type], buffer=buffer if tensor.data is not None else 0)
        writer.child(places + 4 * i, table)
        writer.vector(table + layout.at["shape"], tensor.shape)
        if tensor.is_quantized:
            _quantization(writer, table + layout.at["quantization"], tensor)


def _quantization(writer: Writer, field: int, tensor: Tensor) -> None:
    scales = np.atleast_1d(np.asarray(tensor.scale, np.float32))
    table = writer.table(QUANTIZATION, axis=tensor.axis)
    writer.child(field, table)
    writer.raw(table + QUANTIZATION.at["scale"], scales.tobytes(), scales.size, 4)
    zero_points = np.full(scales.size, tensor.zero_point, np.int64)
    writer.raw(table + QUANTIZATION.at["zero_point"], zero_points.tobytes(), scales.size, 8)


def _operators(
    writer: Writer, field: int, operators: Sequence[Operator], kinds: Mapping[str, int], index: Mapping[Tensor, int]
) -> None:
    places = writer.vector(field, [0] * len(operators))
    for i, operator in enumerate(operators):
        options = OPTIONS.get(operator.kind)
        content = operator.options.get("content")
        layout = OPERATOR_WITH_OPTIONS if options else CUSTOM_OPERATOR if content else OPERATOR
        table = writer.table(layout, code=kinds[operator.kind], kind=OPERATORS[operator.kind][1])
        writer.child(places + 4 * i, table)
        writer.vector(table + layout.at["inputs"], [-1 if t is None else index[t] for t in operator.inputs])
        writer.vector(table + layout.at["outputs"], [index[t] for t in operator.outputs])
        if options:
            writer.child(table + layout.at["options"], writer.table(options, **operator.options))
        if content:
            writer.raw(table + layout.at["content"], content, len(content), 4)


def _with_buffers(writer: Writer, field: int, constants: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Buffer 0 is empty, for tensors that are computed; the bytes of the others follow everything else."""
    places = writer.vector(field, [0] * (1 + len(constants)))
    writer.child(places, writer.table(EMPTY_BUFFER))
    fields = []
    for i in range(len(constants)):
        table = writer.table(BUFFER)
        writer.child(places + 4 * (i + 1), table)
        fields.append(table + BUFFER.at["data"])
    parts: list[Any] = [writer.out]
    end = len(writer.out)
    for reference, array in zip(fields, constants, strict=True):
        pad = -(end + 4) % ALIGNMENT
        struct.pack_into("<I", writer.out, reference, end + pad - reference)
        parts += (bytes(pad) + struct.pack("<I", array.nbytes), np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        end += pad + 4 + array.nbytes
    assert end < LARGEST, "the file is too large"
    return b"".join(parts)
