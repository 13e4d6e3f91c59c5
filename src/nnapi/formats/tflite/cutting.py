"""Cut a partition out of a file: the same bytes with other lists of operators, inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from struct import pack, pack_into

from nnapi.errors import BadDataError, need_value
from nnapi.formats.tflite import schema
from nnapi.formats.tflite.table import OFFSET, Source


def cut(
    content: memoryview, subgraph: int, operators: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """Return the file with some of a subgraph's operators, in their order, and other inputs and outputs."""
    source, fields = Source(content), schema.SubGraph
    found = next(islice(source.root().children(schema.Model.SUBGRAPHS), subgraph, None), None)
    graph = need_value(found, f"there is no subgraph {subgraph}", BadDataError)
    data = bytearray(content)
    start, _ = source.vector(graph.position(fields.OPERATORS), OFFSET.size)
    slots = [start + OFFSET.size * number for number in operators]
    tables = [slot + OFFSET.unpack_from(content, slot)[0] for slot in slots]
    OFFSET.pack_into(data, start - OFFSET.size, len(tables))
    for slot, table in zip(range(start, start + OFFSET.size * len(tables), OFFSET.size), tables, strict=True):
        OFFSET.pack_into(data, slot, table - slot)
    for field, numbers in ((fields.INPUTS, inputs), (fields.OUTPUTS, outputs)):
        data += bytes(-len(data) % OFFSET.size)
        pack_into("<I", data, graph.position(field), len(data) - graph.position(field))
        data += pack(f"<I{len(numbers)}i", len(numbers), *numbers)
    return bytes(data)
