"""The contents of an ONNX file as plain values: values, nodes and the graph that they make up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need_value
from nnapi.lowering.lower import Unsupported
from nnapi.model.operand import DTYPES, Array, OperandType, Shape

ELEMENTS: Mapping[int, np.dtype[Any]] = {
    **{code: DTYPES[code] for code in OperandCode if code.name.startswith("TENSOR_")},
    OperandCode.TENSOR_BOOL8: np.dtype(np.bool_),
}
"""Element types of the file by NNAPI's operand code."""


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of the file.

    ``quantized`` is the quantized type of its elements, if they are quantized; ``data`` is the value of a constant.
    ``dynamic`` names the dynamic dimensions by axis; they are 1 in ``shape``.
    """

    element: np.dtype[Any]
    shape: Shape
    quantized: OperandType | None = None
    data: Array | None = None
    name: str = ""
    dynamic: Mapping[int, str] = field(default_factory=dict)

    @property
    def meaning(self) -> OperandType:
        """Return the quantized type; raise OpFailedError where the value is not quantized."""
        return need_value(self.quantized, f"{self.name} has no codes")

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def like(
        self, shape: Sequence[int] | None = None, *, element: Any = None, data: Array | None = None, real: bool = False
    ) -> Value:
        """Return a new value that differs in the given attributes; with ``real`` its elements are dequantized."""
        if real and self.quantized is not None:
            element = np.float32
        plain = real or element is not None
        kept = None if plain or self.quantized is None else self.quantized.with_dimensions(tuple(shape or self.shape))
        chosen = self.element if element is None else np.dtype(element)
        return Value(chosen, self.shape if shape is None else tuple(shape), kept, data, self.name)

    def same_quantization(self, other: Value) -> bool:
        """Whether an element means the same number in both."""
        ours, theirs = (
            None
            if each.quantized is None
            else (each.quantized.scale, each.quantized.zero_point, each.quantized.channel)
            for each in (self, other)
        )
        return self.element == other.element and ours == theirs


def value_of(type: OperandType, name: str, data: Array | None = None) -> Value:
    """The file's value for an operand."""
    element, shape = ELEMENTS.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(f"ONNX has no {type.name}, which {name} is")
    if not shape or 0 in shape:
        raise Unsupported(f"{name} has unspecified dimensions: {type}")
    if data is not None:
        data = data.reshape(shape) != 0 if element == np.bool_ else data.reshape(shape).astype(element, copy=False)
    return Value(element, shape, type if type.is_quantized else None, data, name)


def constant(values: Any, element: Any = np.int64) -> Value:
    """A constant: shapes and axes, which ONNX has as int64, or of another type."""
    data = np.asarray(values, element)
    return Value(data.dtype, data.shape, None, data)


@dataclass(eq=False, slots=True)
class Node:
    """One operator by its name in ONNX; an input that is left out is None, an attribute may be a graph."""

    kind: str
    inputs: list[Value | None]
    outputs: list[Value]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Value:
        """The first output, of most operators the only one."""
        return self.outputs[0]

    def graphs(self) -> Iterator[Graph]:
        """Those that are attributes: branches and bodies."""
        return (each for each in self.attributes.values() if isinstance(each, Graph))

    def plain(self) -> dict[str, Any]:
        """Return the attributes that are not graphs."""
        return {name: each for name, each in self.attributes.items() if not isinstance(each, Graph)}

    def read(self) -> Iterator[Value]:
        """Yield the values that the node reads, also within its graphs."""
        yield from (value for value in self.inputs if value is not None)
        for graph in self.graphs():
            yield from graph.outputs
            for node in graph.nodes:
                yield from node.read()


@dataclass(eq=False, slots=True)
class Graph:
    """Nodes in an order in which they can run, and what comes from and goes to the outside."""

    nodes: list[Node]
    inputs: list[Value]
    outputs: list[Value]
    name: str = ""


def list_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of those within."""
    for node in graph.nodes:
        yield node
        for inner in node.graphs():
            yield from list_nodes(inner)
