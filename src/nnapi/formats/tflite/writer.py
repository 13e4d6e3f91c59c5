"""Write a graph as a .tflite FlatBuffer, front to back: an offset is filled in when its child is appended.

A tensor or operator with all its children is a *record*: its inner offsets are constant, and it is packed in one call.
Only the bytes of constants are large; they are concatenated once, at the end.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from nnapi.formats.tflite import schema
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.layout import Layout
from nnapi.formats.tflite.operators import OPERATORS, options_table
from nnapi.formats.tflite.tables import (
    BLOCKS,
    BUFFER,
    CODE,
    COMPOSITE,
    COMPOSITE_OPERATOR,
    COMPOSITE_OPTIONS,
    CUSTOM_CODE,
    CUSTOM_OPERATOR,
    EMPTY_BUFFER,
    IN_BLOCKS,
    METADATA,
    MODELS,
    NAMED_SUBGRAPH,
    OPERATOR,
    OPERATOR_WITH_INTERMEDIATES,
    OPERATOR_WITH_OPTIONS,
    PLAIN,
    QUANTIZATION,
    QUANTIZED,
    RECORD,
    SUBGRAPH,
    plain_packer,
    quantized_packer,
)

LARGEST = 2**31 - 2**16
"""Maximum bytes of a file: offsets have 32 bits, which some readers take as signed."""
LARGE = 1 << 20
"""Bytes of a file from which NumPy copies its parts: unlike ``bytes.join``, it lets other threads run meanwhile."""
SHARED = 1 << 16
"""Bytes from which constants with the same memory are written once."""
ALIGNMENT = 16
WRITTEN = "?bIif"

CODES = {row.name: number for number, row in enumerate(OPERATORS)}
PLACEHOLDER = CODES["PLACEHOLDER_FOR_GREATER_OP_CODES"]
"""The built-in code that old readers see for all operators with higher codes."""


@cache
def options_layout(kind: str) -> tuple[Layout, Sequence[Any]] | None:
    """Return layout and defaults of an operator's numeric options of at most 4 bytes; None if it has none."""
    table = options_table(kind)
    numbers = {
        name: (field.number, field.code)
        for name, field in table.fields.items()
        if name != "_" and not field.is_vector and field.code in WRITTEN
    }
    if not numbers or table.is_second:
        return None
    layout = Layout(numbers)
    return layout, [table.fields[name].default for name in layout.names]


class Writer:
    def __init__(self) -> None:
        self.out = bytearray()
        self.buffers = 0
        self._vtables: dict[int, int] = {}

    def vtable(self, layout: Layout) -> int:
        offset = self._vtables.get(id(layout))
        if offset is None:
            offset = self._vtables[id(layout)] = len(self.out)
            self.out += layout.vtable
        return offset

    def table(self, layout: Layout, **values: Any) -> int:
        vtable, offset = self.vtable(layout), len(self.out)
        self.out += layout.pack(offset - vtable, *[values.get(name, 0) for name in layout.names])
        return offset

    def child(self, field: int, offset: int | None = None) -> None:
        """Set the reference at ``field`` to ``offset``, by default to the bytes that are appended next."""
        struct.pack_into("<I", self.out, field, (len(self.out) if offset is None else offset) - field)

    def vector(self, field: int, values: Sequence[int], code: str = "i") -> int:
        """Append a vector of 4-byte numbers for ``field``; return the offset of its first element."""
        self.child(field)
        self.out += struct.pack(f"<I{len(values)}{code}", len(values), *values)
        return len(self.out) - 4 * len(values)

    def children(self, field: int, count: int, write: Callable[[], Sequence[int]]) -> None:
        """Append ``count`` references for ``field``; ``write`` appends the targets and returns their offsets."""
        start = self.vector(field, bytes(count))
        offsets = [offset - at for offset, at in zip(write(), range(start, start + 4 * count, 4), strict=True)]
        struct.pack_into(f"<{count}I", self.out, start, *offsets)

    def align(self, alignment: int) -> None:
        self.out += bytes(-len(self.out) % alignment)

    def raw(self, field: int, values: bytes, count: int) -> None:
        self.child(field)
        self.out += struct.pack("<I", count) + values + bytes(-len(values) % 4)

    def text(self, field: int, text: str) -> None:
        encoded = text.encode(errors="replace")
        self.raw(field, encoded + b"\0", len(encoded))


WriteTensors = Callable[[Writer, Sequence[Tensor]], list[int]]


def serialize(
    graph: Graph,
    write: WriteTensors | None = None,
    sign: Callable[[Writer], int] | None = None,
    tail: bytes = b"",
    blocks: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """Serialize a graph, with its subgraphs.

    ``write`` appends the tensors of each graph, by default without names. ``sign`` appends the signature and returns
    its offset. ``tail`` is appended to the finished file. ``blocks`` are named blocks of metadata.
    """
    write = write or _tensors
    graphs = [graph, *graph.subgraphs]
    kinds = {kind: index for index, kind in enumerate(dict.fromkeys(op.kind for g in graphs for op in g.operators))}
    writer = Writer()
    writer.out += bytes(4) + b"TFL3"
    model = MODELS[sign is not None, bool(blocks)]
    root = writer.table(model, version=3)
    writer.child(0, root)
    writer.children(root + model.at["operator_codes"], len(kinds), lambda: _codes(writer, kinds))
    writer.children(
        root + model.at["subgraphs"], len(graphs), lambda: [_subgraph(writer, each, kinds, write) for each in graphs]
    )
    if sign is not None:
        writer.children(root + model.at["signature_defs"], 1, lambda: [sign(writer)])
    constants = [tensor for each in graphs for tensor in each.tensors() if tensor.is_constant]
    if blocks:
        writer.children(root + model.at["metadata"], len(blocks), lambda: _metadata(writer, blocks, 1 + len(constants)))
        constants += [_tensor_of(block) for block in blocks.values()]
    return _with_buffers(writer, root + model.at["buffers"], constants, tail)


def _subgraph(writer: Writer, graph: Graph, kinds: Mapping[str, int], write: WriteTensors) -> int:
    tensors = graph.tensors()
    index: dict[Tensor | None, int] = {tensor: i for i, tensor in enumerate(tensors)}
    layout = NAMED_SUBGRAPH if graph.name else SUBGRAPH
    subgraph = writer.table(layout)
    writer.children(subgraph + layout.at["tensors"], len(tensors), lambda: write(writer, tensors))
    writer.vector(subgraph + layout.at["inputs"], [index[tensor] for tensor in graph.inputs])
    writer.vector(subgraph + layout.at["outputs"], [index[tensor] for tensor in graph.outputs])
    if graph.name:
        writer.text(subgraph + layout.at["name"], graph.name)
    index[None] = -1
    writer.children(
        subgraph + layout.at["operators"],
        len(graph.operators),
        lambda: _operators(writer, graph.operators, kinds, index),
    )
    return subgraph


def _metadata(writer: Writer, names: Iterable[str], first: int) -> list[int]:
    offsets = []
    for buffer, name in enumerate(names, first):
        offsets.append(writer.table(METADATA, buffer=buffer))
        writer.text(offsets[-1] + METADATA.at["name"], name)
    return offsets


def _tensor_of(block: bytes) -> Tensor:
    data = np.frombuffer(block, np.uint8)
    return Tensor("u8", data.shape, 0.0, 0, 0, data, "")


def _codes(writer: Writer, kinds: Iterable[str]) -> list[int]:
    offsets = []
    for kind in kinds:
        is_custom = kind.startswith(schema.CUSTOM)
        code = CODES["CUSTOM" if is_custom else kind]
        old = min(code, PLACEHOLDER)
        table = writer.table(
            CUSTOM_CODE if is_custom else CODE, deprecated_builtin_code=old, version=1, builtin_code=code
        )
        offsets.append(table)
        if is_custom:
            name = kind.removeprefix(schema.CUSTOM).encode()
            writer.raw(table + CUSTOM_CODE.at["custom_code"], name + b"\0", len(name))
    return offsets


def _tensors(writer: Writer, tensors: Sequence[Tensor]) -> list[int]:
    plain, quantized, quantization = map(writer.vtable, (PLAIN, QUANTIZED, QUANTIZATION))
    writer.align(RECORD)
    out, buffers, offsets = writer.out, writer.buffers, []
    for tensor in tensors:
        offset = len(out)
        offsets.append(offset)
        buffer = 0
        if tensor.is_constant:
            buffer = buffers = buffers + 1
        if tensor.block_scales is not None:
            _tensor_in_blocks(writer, tensor, buffer, tensor.block_scales, tensors.index(tensor.block_scales))
            continue
        type, shape, scale = schema.ELEMENTS[tensor.type], tensor.shape, tensor.scale
        if isinstance(scale, float):
            if not scale:
                pack, reach = plain_packer(len(shape))
                out += pack(offset - plain, reach, buffer, type, tensor.is_variable, len(shape), *shape)
                continue
            scales, count = FLOAT(scale), 1
        else:
            scales, count = np.asarray(scale, "<f4").tobytes(), len(scale)
        pack, fixed, table = quantized_packer(len(shape), count)
        out += pack(
            offset - quantized,
            fixed[0],
            buffer,
            fixed[1],
            type,
            tensor.is_variable,
            len(shape),
            *shape,
            offset - quantization + table,
            fixed[2],
            fixed[3],
            tensor.axis,
            count,
            scales,
            count,
            LONG(tensor.zero_point) * count,
        )
    writer.buffers = buffers
    return offsets


def _tensor_in_blocks(writer: Writer, tensor: Tensor, buffer: int, scales: Tensor, number: int) -> None:
    """Append a tensor whose blocks of values have the scales in another one, by its number."""
    size = tensor.shape[-1] // scales.shape[-1]
    table = writer.table(QUANTIZED, type=schema.INT4, buffer=buffer)
    writer.vector(table + QUANTIZED.at["shape"], tensor.shape)
    quantization = writer.table(IN_BLOCKS, details_type=schema.BLOCKWISE)
    writer.child(table + QUANTIZED.at["quantization"], quantization)
    details = writer.table(BLOCKS, scales=number, zero_points=-1, block_size=size)
    writer.child(quantization + IN_BLOCKS.at["details"], details)
    writer.align(RECORD)


def _operators(
    writer: Writer, operators: Iterable[Operator], kinds: Mapping[str, int], index: Mapping[Tensor | None, int]
) -> list[int]:
    offsets: list[int] = []
    alike: dict[tuple[Any, ...], Record] = {}
    at = index.__getitem__
    for operator in operators:
        inputs, outputs, intermediates = operator.inputs, operator.outputs, operator.intermediates
        content = operator.options.get("content")
        key = operator.kind, len(inputs), len(outputs), len(intermediates), content is None
        record = alike.get(key)
        if record is None:
            record = alike[key] = _record(writer, operator, kinds)
        offset = len(writer.out)
        offsets.append(offset)
        numbers = [offset - record.vtable, *record.head, len(inputs), *map(at, inputs), len(outputs), *map(at, outputs)]
        if intermediates:
            numbers += (len(intermediates), *map(at, intermediates))
        if record.names:
            numbers.append(offset + record.options - record.inner)
            numbers += map(operator.options.get, record.names, record.defaults)
        writer.out += record.pack(*numbers)
        if operator.kind == COMPOSITE:
            _composite_options(writer, offset + COMPOSITE_OPERATOR.at["builtin_options_2"], **operator.options)
        elif content:
            writer.raw(offset + CUSTOM_OPERATOR.at["custom_options"], content, len(content))
    return offsets


FLOAT, LONG, COUNT = (struct.Struct(f"<{code}").pack for code in "fqI")
PADS = [bytes(length) for length in range(ALIGNMENT)]


class Record(NamedTuple):
    """The layout of operators of one kind with equal numbers of tensors.

    ``pack`` takes the distance to the vtable, the ``head``, and the vectors with their lengths. If the operator has
    options, two further arguments follow: the distance of their table (at ``options``) to its vtable ``inner``, and
    their values, by ``names`` or from ``defaults``.
    """

    pack: Callable[..., bytes]
    vtable: int
    head: Sequence[int]
    options: int
    inner: int
    names: Sequence[str]
    defaults: Sequence[Any]


def _record(writer: Writer, operator: Operator, kinds: Mapping[str, int]) -> Record:
    options, defaults = options_layout(operator.kind) or (None, ())
    content = operator.options.get("content")
    layout = OPERATOR_WITH_OPTIONS if options else CUSTOM_OPERATOR if content else OPERATOR
    if is_composite := operator.kind == COMPOSITE:
        layout = COMPOSITE_OPERATOR
    assert is_composite or operator.options.keys() <= {"content", *(options.names if options else ())}, operator
    counts = {"inputs": len(operator.inputs), "outputs": len(operator.outputs)}
    if operator.intermediates:
        layout, counts["intermediates"] = OPERATOR_WITH_INTERMEDIATES, len(operator.intermediates)
    vtable, inner = writer.vtable(layout), writer.vtable(options) if options else 0
    at, fields, format = layout.size, dict.fromkeys(layout.names, 0), layout.format
    for name, count in counts.items():
        fields[name] = at - layout.at[name]
        format += f"I{count}i"
        at += 4 + 4 * count
    fields["opcode_index"] = kinds[operator.kind]
    if is_composite:
        fields["builtin_options_2_type"] = options_table(operator.kind).member
    if options:
        fields["builtin_options_type"] = options_table(operator.kind).member
        fields["builtin_options"] = at - layout.at["builtin_options"]
        format += options.format
    head = [fields[name] for name in layout.names]
    return Record(struct.Struct(f"<{format}").pack, vtable, head, at, inner, options.names if options else (), defaults)


def _composite_options(writer: Writer, field: int, name: str, content: bytes, **numbers: int) -> None:
    """Append the options of a composite for ``field``; ``content`` is a FlexBuffer with its attributes."""
    table = writer.table(COMPOSITE_OPTIONS, **numbers)
    writer.child(field, table)
    writer.text(table + COMPOSITE_OPTIONS.at["name"], name)
    writer.raw(table + COMPOSITE_OPTIONS.at["composite_attributes"], content, len(content))


def _with_buffers(writer: Writer, field: int, constants: Sequence[Tensor], tail: bytes) -> bytes:
    """Append the constants. Buffer 0 is empty, for computed tensors. All bytes lie at the end, before ``tail``; buffers
    may share them."""
    empty, filled, count = writer.vtable(EMPTY_BUFFER), writer.vtable(BUFFER), len(constants)
    offsets = writer.vector(field, bytes(1 + count))
    first = len(writer.out)
    tables = [first, *range(first + EMPTY_BUFFER.size, first + EMPTY_BUFFER.size + count * BUFFER.size, BUFFER.size)]
    struct.pack_into(f"<{1 + count}I", writer.out, offsets, *[at - offsets - 4 * i for i, at in enumerate(tables)])
    numbers = [first - empty]
    parts: list[Any] = [writer.out]
    end = first + EMPTY_BUFFER.size + count * BUFFER.size
    written: dict[Any, int] = {}
    for at, tensor in zip(tables[1:], constants, strict=True):
        array = tensor.data
        size = tensor.size if array is None else array.nbytes
        key = None if array is None or size < SHARED else (array.ctypes.data, size, array.shape, array.strides)
        if key in written:
            numbers += (at - filled, written[key] - at - BUFFER.at["data"])
            continue
        pad = -(end + 4) % ALIGNMENT
        if key is not None:
            written[key] = end + pad
        numbers += (at - filled, end + pad - at - BUFFER.at["data"])
        parts += (PADS[pad] + COUNT(size), tensor if array is None else array)
        end += pad + 4 + size
    assert end < LARGEST, "the file is too large"
    writer.out += struct.pack(f"<{len(numbers)}i", *numbers)
    parts.append(tail)
    is_small = end < LARGE and all(tensor.write is None for tensor in constants)
    if is_small:
        whole: list[Any] = [np.ascontiguousarray(each) if isinstance(each, np.ndarray) else each for each in parts]
        return b"".join(whole)
    return _fill(parts, end + len(tail))


def _fill(parts: Iterable[Any], size: int) -> bytes:
    """Return a file of ``size`` bytes made of parts; a tensor with a ``write`` function writes its bytes itself."""
    file = BytesIO(bytes(size))  # without a copy, here and below
    whole = np.frombuffer(file.getbuffer(), np.uint8)
    at = 0
    for part in parts:
        if isinstance(part, Tensor) and part.write is not None:
            end = at + part.size
            part.write(whole[at:end].view(np.int8).reshape(part.shape))
        elif isinstance(part, np.ndarray):
            end = at + part.nbytes
            whole[at:end].view(part.dtype).reshape(part.shape)[...] = part  # in C order, without a copy of the part
        else:
            end = at + len(part)
            whole[at:end] = np.frombuffer(part, np.uint8)
        at = end
    del whole  # getvalue makes no copy of the bytes only if no view of them exists
    return file.getvalue()
