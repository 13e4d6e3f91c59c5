"""Values, nodes and graphs of an ONNX file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.lowering.refusal import Unsupported
from nnapi.model.operand import DTYPES, Array, OperandType, Shape

ELEMENTS: Mapping[int, np.dtype[Any]] = {
    **{code: DTYPES[code] for code in OperandCode if code.name.startswith("TENSOR_")},
    OperandCode.TENSOR_BOOL8: np.dtype(np.bool_),
}


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of the file.

    ``quantized`` is the operand type of quantized elements. ``data`` is the value of a constant. ``dynamic`` maps the
    axes of dynamic dimensions to their names; ``shape`` has 1 there.
    """

    element: np.dtype[Any]
    shape: Shape
    quantized: OperandType | None = None
    data: Array | None = None
    name: str = ""
    dynamic: Mapping[int, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def like(self, shape: Sequence[int] | None = None, *, element: Any = None, data: Array | None = None) -> Value:
        """Return a new value with changed attributes; a value with another element type is not quantized."""
        dimensions = self.shape if shape is None else tuple(shape)
        if element is not None:
            return Value(np.dtype(element), dimensions, None, data, self.name)
        quantized = None if self.quantized is None else self.quantized.with_dimensions(dimensions)
        return Value(self.element, dimensions, quantized, data, self.name)

    def transposed(self, order: Sequence[int], data: Array | None = None) -> Value:
        """Return a new value with its axes, and that of per-channel scales, in another order."""
        value = self.like([self.shape[axis] for axis in order], data=data)
        if value.quantized is not None and (channel := value.quantized.channel) is not None:
            channel = channel._replace(dimension=list(order).index(channel.dimension))
            value.quantized = value.quantized.replace(channel=channel)
        return value


def value_of(type: OperandType, name: str, data: Array | None = None, *, is_static: bool = False) -> Value:
    """Return a value of an operand type. If its dimensions are static, 0 is the size of an axis without elements."""
    element, shape = ELEMENTS.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(f"{name} is {type.name}, which ONNX does not have")
    if not shape or (0 in shape and not is_static):
        raise Unsupported(f"{name} has unspecified dimensions: {type}")
    if data is not None:
        data = data.reshape(shape) != 0 if element == np.bool_ else data.reshape(shape).astype(element, copy=False)
    return Value(element, shape, type if type.is_quantized else None, data, name)


def constant(values: Any, element: Any = np.int64) -> Value:
    data = np.asarray(values, element)
    return Value(data.dtype, data.shape, None, data)


@dataclass(eq=False, slots=True)
class Node:
    """One operator by its name in ONNX. An omitted input is None; an attribute may be a graph.

    ``origin`` is the number of the operation that the operator computes, for lowerings that note it.
    """

    kind: str
    inputs: list[Value | None]
    outputs: list[Value]
    attributes: dict[str, Any] = field(default_factory=dict)
    origin: int | None = None

    @property
    def output(self) -> Value:
        return self.outputs[0]

    def graphs(self) -> Iterator[Graph]:
        return (each for each in self.attributes.values() if isinstance(each, Graph))

    @property
    def options(self) -> dict[str, Any]:
        """Return the attributes that are not graphs."""
        return {name: each for name, each in self.attributes.items() if not isinstance(each, Graph)}

    def read(self) -> Iterator[Value]:
        yield from (value for value in self.inputs if value is not None)
        for graph in self.graphs():
            yield from graph.outputs
            for node in graph.nodes:
                yield from node.read()


@dataclass(eq=False, slots=True)
class Graph:
    nodes: list[Node]
    inputs: list[Value]
    outputs: list[Value]
    name: str = ""


def list_graphs(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and all that its nodes contain."""
    yield graph
    for node in graph.nodes:
        for inner in node.graphs():
            yield from list_graphs(inner)


def list_nodes(graph: Graph) -> Iterator[Node]:
    return (node for each in list_graphs(graph) for node in each.nodes)
