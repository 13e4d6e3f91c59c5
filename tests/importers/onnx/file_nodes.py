"""Nodes of ONNX files for tests of the importer's passes."""

from collections.abc import Iterator, Sequence
from typing import Any

from nnapi.importers.onnx.decode import _decode_node
from nnapi.importers.onnx.file_graph import FileNode


def decoded(protos: Sequence[Any]) -> list[FileNode]:
    """Return the nodes with their subgraphs, whatever names they read."""
    return [_decode_node(proto, set(_list_names(protos))) for proto in protos]


def _list_names(protos: Sequence[Any]) -> Iterator[str]:
    for proto in protos:
        yield from proto.input
        for attribute in proto.attribute:
            yield from (output.name for output in attribute.g.output)
            yield from _list_names(attribute.g.node)
