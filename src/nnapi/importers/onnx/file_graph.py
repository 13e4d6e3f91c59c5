"""The graphs of an ONNX file as plain values, which all imports of the file share."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nnapi.formats.onnx import messages as onnx
from nnapi.model.operand import Shape

DEFAULT = ("", "ai.onnx")


def kind_of(domain: str, kind: str) -> str:
    return kind if domain in DEFAULT else f"{domain}:{kind}"


class FileNode:
    """A node. ``kind`` is its operator, after the operator's domain unless that is ONNX's default domain.

    ``graphs`` are its subgraphs with the names of their attributes; ``captured`` are the names that these read.
    """

    __slots__ = ("captured", "domain", "graphs", "inputs", "kind", "outputs", "proto")

    def __init__(self, proto: onnx.NodeProto, graphs: "tuple[tuple[str, FileGraph], ...]" = ()) -> None:
        self.proto, self.graphs = proto, graphs
        self.domain = "" if proto.domain in DEFAULT else proto.domain
        self.kind = kind_of(proto.domain, proto.op_type)
        self.inputs, self.outputs = proto.input, proto.output
        self.captured = {name for _, graph in graphs for name in graph.readers}


class FileGraph:
    """A graph, or the body of a function for one of its calls. ``sparse`` are the names of sparse constants."""

    def __init__(
        self,
        nodes: Sequence[FileNode],
        inputs: Sequence[str],
        outputs: Sequence[str],
        constants: Sequence[onnx.TensorProto] = (),
        sparse: Sequence[str] = (),
        name: str = "",
    ) -> None:
        self.nodes, self.inputs, self.outputs = nodes, inputs, outputs
        self.constants, self.sparse, self.name = constants, sparse, name
        self.readers: dict[str, list[FileNode | None]] = {name: [None] for name in outputs}
        """The nodes that read each name; None for subgraphs, and for readers outside the graph."""
        for node in nodes:
            for name in node.inputs:
                self.readers.setdefault(name, []).append(node)
            for name in node.captured:
                self.readers.setdefault(name, []).append(None)

    def find_only_reader(self, name: str) -> FileNode | None:
        """Return the single reader of a tensor; None if it has several, or one in a subgraph or outside the graph."""
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 else None


class FileFunction(NamedTuple):
    """A function as its file or ONNX defines it."""

    nodes: Sequence[FileNode]
    proto: onnx.FunctionProto


class Declared(NamedTuple):
    """An input or output of the graph. ``kind`` is the field that holds its type; ``shape`` is None if it has none."""

    name: str
    kind: str | None
    elem: int
    shape: Shape | None
    is_empty: bool


class FileContent(NamedTuple):
    graph: FileGraph
    functions: Mapping[str, FileFunction]
    """The functions of the file, by the kind of the nodes that call them."""
    inputs: Sequence[Declared]
    """The inputs without constants, which old files list too."""
    outputs: Sequence[Declared]
    results: Sequence[FileNode]
    """A node for each output, which reads it."""
