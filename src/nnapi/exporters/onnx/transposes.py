"""Move Transposes behind operators that ignore the order of axes, so that opposite ones cancel out."""

from collections.abc import Sequence

import numpy as np

from nnapi.exporters.onnx.graph import Graph, Node, Value, constant
from nnapi.rewriting.dataflow import select_needed

Order = tuple[int, ...]
_EACH_ELEMENT = """
Abs Neg Exp Log Floor Sin Sqrt Tanh Sigmoid Relu HardSwish Reciprocal Not Cast Clip Elu Identity Add Sub Mul Div Max Min
Pow And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where QuantizeLinear DequantizeLinear Concat
"""
EACH_ELEMENT = frozenset(_EACH_ELEMENT.split())
"""Elementwise operators, and Concat, whose axis is adapted."""


def sink_transposes(graph: Graph, is_dynamic: bool = False) -> Graph:
    """Return the graph with fewer Transposes; ``is_dynamic`` means that a dimension of 1 may have another size."""
    return _TransposeSinker(is_dynamic).run(graph)


class _TransposeSinker:
    """Delays Transposes; ``transposed`` maps each result not yet written to the source of its Transpose."""

    def __init__(self, is_dynamic: bool) -> None:
        self.is_dynamic = is_dynamic
        self.nodes: list[Node] = []
        self.transposed: dict[Value, tuple[Value, Order]] = {}
        self.origins: dict[Value, int | None] = {}

    def run(self, graph: Graph) -> Graph:
        for node in graph.nodes:
            self._take(node)
        for value in graph.outputs:
            self._write(value)
        return Graph(remove_unread(self.nodes, graph.outputs), graph.inputs, graph.outputs, graph.name)

    def _take(self, node: Node) -> None:
        if node.kind == "Transpose":
            self._add_transpose(node)
        elif node.kind in EACH_ELEMENT and self._sink(node):
            return
        else:
            for value in node.read():
                self._write(value)
            inner = {
                name: sink_transposes(each, self.is_dynamic)
                for name, each in node.attributes.items()
                if isinstance(each, Graph)
            }
            node.attributes.update(inner)
            self.nodes.append(node)

    def _add_transpose(self, node: Node) -> None:
        (given,), order = node.inputs, tuple(node.attributes["perm"])
        assert given is not None
        source, before = self.transposed.get(given, (given, tuple(range(len(order)))))
        self.transposed[node.output] = source, tuple(before[axis] for axis in order)
        self.origins[node.output] = node.origin

    def _sink(self, node: Node) -> bool:
        """Apply the node before the common Transpose of its inputs, and transpose its result; False if impossible."""
        orders = {self.transposed[value][1] for value in node.inputs if value in self.transposed}
        if len(orders) != 1:
            return False
        (order,) = orders
        rank = len(order)
        inputs = [self._as_source(value, order, node) for value in node.inputs]
        if any(given is None and value is not None for given, value in zip(inputs, node.inputs, strict=True)):
            return False
        if len(node.output.shape) != rank:
            return False
        back = tuple(np.argsort(order).tolist())
        source = node.output.like([node.output.shape[axis] for axis in back])
        attributes = dict(node.attributes)
        if node.kind == "Concat":
            attributes["axis"] = order[attributes["axis"]]
        self.nodes.append(Node(node.kind, inputs, [source], attributes, node.origin))
        self.transposed[node.output] = source, order
        self.origins[node.output] = node.origin
        return True

    def _as_source(self, value: Value | None, order: Order, node: Node) -> Value | None:
        """Return an input as it is before its transposition by ``order``; None if that needs another node."""
        if value is None:
            return None
        if value in self.transposed:
            return self.transposed[value][0]
        if value.data is None:
            return None
        if value.size == 1 and node.kind != "Concat":
            return constant(value.data.reshape(()), value.element)
        if value.quantized is None and node.kind in ("QuantizeLinear", "DequantizeLinear"):
            return None
        data = value.data.reshape((1,) * (len(order) - len(value.shape)) + value.shape)
        data = np.ascontiguousarray(data.transpose(np.argsort(order)))
        return value.like(data.shape, data=data)

    def _write(self, value: Value) -> None:
        if value not in self.transposed:
            return
        source, order = self.transposed.pop(value)
        origin = self.origins.get(value)
        if order == tuple(range(len(order))):
            self.nodes.append(Node("Identity", [source], [value], origin=origin))
        elif not self.is_dynamic and _moves_nothing(source.shape, order):
            self.nodes.append(Node("Reshape", [source, constant(value.shape)], [value], origin=origin))
        else:
            self._write(source)
            self.nodes.append(Node("Transpose", [source], [value], {"perm": list(order)}, origin))


def _moves_nothing(shape: Sequence[int], order: Order) -> bool:
    rest = [axis for axis in order if shape[axis] != 1]
    return rest == sorted(rest)


def remove_unread(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[Node]:
    """Return the nodes that outputs depend on, without needless Identities."""
    same: dict[Value, Value] = {}
    kept: list[Node] = []
    fixed = set(outputs)
    for node in nodes:
        for inner in node.graphs():
            fixed.update(inner.outputs, *(each.read() for each in inner.nodes))
    for node in nodes:
        node.inputs = [None if value is None else same.get(value, value) for value in node.inputs]
        given = node.inputs[0] if node.inputs else None
        if node.kind == "Identity" and node.output not in fixed and given is not None:
            same[node.output] = given
        else:
            kept.append(node)
    return select_needed(kept, outputs, Node.read)
