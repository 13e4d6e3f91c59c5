"""Writing a graph as a .tflite FlatBuffer.

Written front to back: a table's children follow it, so every offset is filled in when its child's place is known. A
tensor or an operator with all that belongs to it is a *record*, whose inner offsets are known beforehand: it is packed
in one call. Only the bytes of constants are large; they are joined once, at the end, and copied nowhere else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor
from nnapi.drivers.xnnpack.schema import CUSTOM, OPERATORS, TYPES
from nnapi.model.operand import Array

LARGEST = 2**31 - 2**16
"""Offsets are 32-bit, signed to some readers: a file must be smaller."""
ALIGNMENT = 16
"""Of the bytes of constants."""
RECORD = 8
"""Alignment of records, because of the zero points in some."""
REFERENCE = "R"
"""Format of a field that holds the offset of a child."""


class Layout:
    """A kind of table: which slots it has, where its fields lie, and the vtable that says so.

    Fields of one byte come last.
    """

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
        self.format = "i" + "".join(formats) + "x" * (self.size - position)
        self.pack = struct.Struct(f"<{self.format}").pack
        slots = [0] * (1 + max((slot for slot, _ in fields.values()), default=-1))
        for name, (slot, _) in fields.items():
            slots[slot] = self.at[name]
        vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), self.size, *slots)
        self.vtable = vtable + bytes(-len(vtable) % 4)


MODEL = Layout({"version": (0, "I"), "codes": (1, REFERENCE), "subgraphs": (2, REFERENCE), "buffers": (4, REFERENCE)})
CODE = Layout({"old": (0, "b"), "version": (2, "i"), "code": (3, "i")})
CUSTOM_CODE = Layout({"old": (0, "b"), "name": (1, REFERENCE), "version": (2, "i"), "code": (3, "i")})
SUBGRAPH = Layout({name: (slot, REFERENCE) for slot, name in enumerate(("tensors", "inputs", "outputs", "operators"))})
_TENSOR = {"shape": (0, REFERENCE), "type": (1, "b"), "buffer": (2, "I"), "variable": (5, "?")}
PLAIN, QUANTISED = Layout(_TENSOR), Layout({**_TENSOR, "quantization": (4, REFERENCE)})
QUANTIZATION = Layout({"scale": (2, REFERENCE), "zero_point": (3, REFERENCE), "axis": (6, "i")})
OPERATOR = Layout({"code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE)})
OPERATOR_WITH_OPTIONS = Layout(
    {"code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE), "kind": (3, "b"), "options": (4, REFERENCE)}
)
OPERATOR_WITH_INTERMEDIATES = Layout(
    {
        "code": (0, "I"), "inputs": (1, REFERENCE), "outputs": (2, REFERENCE), "kind": (3, "b"),
        "options": (4, REFERENCE), "intermediates": (8, REFERENCE),
    }
)  # fmt: skip
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

    def vtable(self, layout: Layout) -> int:
        """The place of a layout's vtable, which is appended where it is not there yet."""
        place = self._vtables.get(id(layout))
        if place is None:
            place = self._vtables[id(layout)] = len(self.out)
            self.out += layout.vtable
        return place

    def table(self, layout: Layout, **values: Any) -> int:
        """Append a table and give its place; fields that refer to children are filled in by :meth:`child`."""
        vtable, place = self.vtable(layout), len(self.out)
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

    def children(self, field: int, count: int, write: Callable[[], Iterator[int]]) -> None:
        """Append a vector of references that ``field`` refers to, and what it refers to: that many things, each of
        which ``write`` appends after it gave its place."""
        start = self.vector(field, bytes(count))
        places = [place - start - 4 * i for i, place in enumerate(write())]
        struct.pack_into(f"<{count}I", self.out, start, *places)

    def align(self, alignment: int) -> None:
        self.out += bytes(-len(self.out) % alignment)

    def raw(self, field: int, values: bytes, count: int) -> None:
        """Append a vector of ``count`` elements given as bytes."""
        self.child(field)
        self.out += struct.pack("<I", count) + values + bytes(-len(values) % 4)


def placed(graph: Graph) -> tuple[bytes, list[tuple[int, Array]]]:
    """The graph as a file, and where in it each constant lies."""
    tensors = graph.tensors()
    index: dict[Tensor | None, int] = {tensor: place for place, tensor in enumerate(tensors)}
    constants = [tensor.data for tensor in tensors if tensor.data is not None]
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(op.kind for op in graph.operators))}
    writer = Writer()
    writer.out += bytes(4) + b"TFL3"
    root = writer.table(MODEL, version=3)
    writer.child(0, root)
    writer.children(root + MODEL.at["codes"], len(kinds), lambda: _codes(writer, kinds))
    (place,) = [writer.vector(root + MODEL.at["subgraphs"], (0,))]
    subgraph = writer.table(SUBGRAPH)
    writer.child(place, subgraph)
    writer.children(subgraph + SUBGRAPH.at["tensors"], len(tensors), lambda: _tensors(writer, tensors))
    writer.vector(subgraph + SUBGRAPH.at["inputs"], [index[tensor] for tensor in graph.inputs])
    writer.vector(subgraph + SUBGRAPH.at["outputs"], [index[tensor] for tensor in graph.outputs])
    index[None] = -1
    writer.children(
        subgraph + SUBGRAPH.at["operators"], len(graph.operators),
        lambda: _operators(writer, graph.operators, kinds, index),
    )  # fmt: skip
    return _with_buffers(writer, root + MODEL.at["buffers"], constants)


def _codes(writer: Writer, kinds: Iterable[str]) -> Iterator[int]:
    for kind in kinds:
        code = OPERATORS[kind][0]
        table = writer.table(CUSTOM_CODE if code == CUSTOM else CODE, old=min(code, 127), version=1, code=code)
        yield table
        if code == CUSTOM:
            writer.raw(table + CUSTOM_CODE.at["name"], kind.encode() + b"\0", len(kind))


def _tensors(writer: Writer, tensors: Sequence[Tensor]) -> Iterator[int]:
    plain, quantised, quantization = map(writer.vtable, (PLAIN, QUANTISED, QUANTIZATION))
    writer.align(RECORD)
    out, buffers = writer.out, 0
    for tensor in tensors:
        place = len(out)
        yield place
        buffer = 0
        if tensor.data is not None:
            buffer = buffers = buffers + 1
        shape, scale = tensor.shape, tensor.scale
        values = buffer, TYPES[tensor.type], tensor.is_variable, shape
        if not isinstance(scale, float):
            scales = np.asarray(scale, "<f4").tobytes()
        elif scale:
            scales = FLOAT(scale)
        else:
            out += plain_tensor(len(shape))(place - plain, *values)
            continue
        zeros = LONG(tensor.zero_point) * (len(scales) // 4)
        pack = quantised_tensor(len(shape), len(scales) // 4)
        out += pack(place - quantised, *values, place - quantization, tensor.axis, scales, zeros)


def _operators(
    writer: Writer, operators: Iterable[Operator], kinds: Mapping[str, int], index: Mapping[Tensor | None, int]
) -> Iterator[int]:
    for operator in operators:
        options, content = OPTIONS.get(operator.kind), operator.options.get("content")
        layout = OPERATOR_WITH_OPTIONS if options else CUSTOM_OPERATOR if content else OPERATOR
        if operator.intermediates:
            layout = OPERATOR_WITH_INTERMEDIATES
        vtable, inner = writer.vtable(layout), writer.vtable(options) if options else 0
        place = len(writer.out)
        yield place
        vectors: list[Sequence[Tensor | None]] = [operator.inputs, operator.outputs]
        if operator.intermediates:
            vectors.append(operator.intermediates)
        writer.out += operator_record(layout, options, *map(len, vectors))(
            place, vtable, inner, kinds[operator.kind], OPERATORS[operator.kind][1],
            [[index[tensor] for tensor in tensors] for tensors in vectors], operator.options,
        )  # fmt: skip
        if content:
            writer.raw(place + layout.at["content"], content, len(content))


FLOAT, LONG, COUNT = (struct.Struct(f"<{code}").pack for code in "fqI")
PADS = [bytes(length) for length in range(ALIGNMENT)]


@cache
def plain_tensor(rank: int) -> Callable[..., bytes]:
    """What packs a tensor without quantisation: distance to the vtable, buffer, type, is it a variable, extents."""
    end = PLAIN.size + 4 + 4 * rank
    pack = struct.Struct(f"<iIIb?xxI{rank}i{-end % RECORD}x").pack
    shape = PLAIN.size - PLAIN.at["shape"]
    return lambda vtable, buffer, type, is_variable, extents: pack(
        vtable, shape, buffer, type, is_variable, rank, *extents
    )


@cache
def quantised_tensor(rank: int, count: int) -> Callable[..., bytes]:
    """What packs a tensor with that many scales: as :func:`plain_tensor`, then the distance of its place to the
    vtable of its quantisation, the axis, and scales and zero points as bytes."""
    table = QUANTISED.size + 4 + 4 * rank
    scales = table + QUANTIZATION.size
    end = scales + 4 + 4 * count
    zeros = end + -(end + 4) % RECORD
    pack = struct.Struct(f"<iIIIb?xxI{rank}iiIIiI{4 * count}s{zeros - end}xI{8 * count}s").pack
    shape, quantization = QUANTISED.size - QUANTISED.at["shape"], table - QUANTISED.at["quantization"]
    scale = scales - table - QUANTIZATION.at["scale"]
    zero_point = zeros - table - QUANTIZATION.at["zero_point"]

    def packed(
        vtable: int, buffer: int, type: int, is_variable: bool, extents: Sequence[int],
        inner: int, axis: int, scale_bytes: bytes, zero_bytes: bytes,
    ) -> bytes:  # fmt: skip
        return pack(
            vtable, shape, buffer, quantization, type, is_variable, rank, *extents,
            inner + table, scale, zero_point, axis, count, scale_bytes, count, zero_bytes,
        )  # fmt: skip

    return packed


@cache
def operator_record(layout: Layout, options: Layout | None, *counts: int) -> Callable[..., bytes]:
    """What packs an operator with vectors of those lengths: its place, the places of the vtables of itself and of its
    options, the numbers of its kind and of its options' kind, the vectors, and the options."""
    at, references, format = layout.size, dict.fromkeys(layout.names, 0), layout.format
    for name, count in zip(("inputs", "outputs", "intermediates"), counts, strict=False):
        references[name] = at - layout.at[name]
        format += f"I{count}i"
        at += 4 + 4 * count
    if options:
        references["options"] = at - layout.at["options"]
        format += options.format
    pack = struct.Struct(f"<{format}").pack
    fixed = [references[name] for name in layout.names if name not in ("code", "kind")]
    option_names = options.names if options else ()

    def packed(
        place: int, vtable: int, inner: int, code: int, kind: int,
        vectors: Sequence[Sequence[int]], values: Mapping[str, Any],
    ) -> bytes:  # fmt: skip
        numbers = [place - vtable, code, *fixed]
        if "kind" in references:
            numbers.append(kind)
        for vector in vectors:
            numbers.append(len(vector))
            numbers += vector
        if options:
            numbers.append(place + at - inner)
            numbers += [values.get(name, 0) for name in option_names]
        return pack(*numbers)

    return packed


def _with_buffers(writer: Writer, field: int, constants: Sequence[Array]) -> tuple[bytes, list[tuple[int, Array]]]:
    """Buffer 0 is empty, for tensors that are computed; the bytes of the others follow everything else."""
    empty, filled, count = writer.vtable(EMPTY_BUFFER), writer.vtable(BUFFER), len(constants)
    places = writer.vector(field, bytes(1 + count))
    first = len(writer.out)
    tables = [first, *range(first + EMPTY_BUFFER.size, first + EMPTY_BUFFER.size + count * BUFFER.size, BUFFER.size)]
    struct.pack_into(f"<{1 + count}I", writer.out, places, *[at - places - 4 * i for i, at in enumerate(tables)])
    numbers = [first - empty]
    parts: list[Any] = [writer.out]
    found = []
    end = first + EMPTY_BUFFER.size + count * BUFFER.size
    for at, array in zip(tables[1:], constants, strict=True):
        size, pad = array.nbytes, -(end + 4) % ALIGNMENT
        numbers += (at - filled, end + pad - at - BUFFER.at["data"])
        parts += (PADS[pad] + COUNT(size), array if array.flags.c_contiguous else np.ascontiguousarray(array))
        found.append((end + pad + 4, array))
        end += pad + 4 + size
    assert end < LARGEST, "the file is too large"
    writer.out += struct.pack(f"<{len(numbers)}i", *numbers)
    return b"".join(parts), found
