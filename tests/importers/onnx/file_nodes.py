"""Nodes of ONNX files for tests of the importer's passes."""

from collections.abc import Iterator, Sequence
from typing import Any

from nnapi.importers.onnx.decode import decode_nodes
from nnapi.importers.onnx.file_graph import FileNode


def decoded(protos: Sequence[Any]) -> list[FileNode]:
    """Return the nodes with their subgraphs, whatever names they read."""
    return decode_nodes(protos, [], set(_list_names(protos)))


def _list_names(protos: Sequence[Any]) -> Iterator[str]:
    for proto in protos:
        yield from proto.input
        for attribute in proto.attribute:
            yield from (output.name for output in attribute.g.output)
            yield from _list_names(attribute.g.node)
