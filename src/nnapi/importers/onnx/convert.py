"""Convert the nodes of an ONNX graph to operations of NNAPI, and collect refusals."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.onnx import functions
from nnapi.importers.onnx.checked_graph import list_graphs
from nnapi.importers.onnx.computed_sizes import defer_computation, join_sizes, with_computed_shapes
from nnapi.importers.onnx.dynamic_quantization import join_products
from nnapi.importers.onnx.folding import KNOWN, compute_constants, compute_empty, reads_empty
from nnapi.importers.onnx.fusion import Readers
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import MODULES, ByFunctionError, Result, kind_of, reason_without_rule
from nnapi.importers.onnx.reader import DEFAULT, INT4, UINT4
from nnapi.importers.onnx.rule_results import as_tensor, call_rule
from nnapi.importers.onnx.scope import MOST_NODES, ImportState, Scope
from nnapi.importers.onnx.tensors import OnnxTensor, constant, placeholder
from nnapi.importers.refusals import EmptyResult, Refused

if TYPE_CHECKING:
    from nnapi.formats.onnx import messages as onnx

INCONSISTENT = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, struct.error, AssertionError)
MOVES = ("Gather", "GatherND", "Slice", "Transpose", "Squeeze", "Unsqueeze")
"""Operators whose results have only elements of input 0."""
DEEPEST = 20
"""The maximum nesting depth of functions."""
Method: TypeAlias = "Callable[[OnnxNode], Sequence[Result | None]]"


class Conversion(Scope):
    def __init__(self, state: ImportState, graph: OnnxGraph, opsets: dict[str, int], depth: int = 0) -> None:
        need(depth <= DEEPEST, f"functions lie more than {DEEPEST} deep in each other", BadDataError)
        super().__init__(state, graph, opsets, depth)

    def begin(self, graph: onnx.GraphProto) -> None:
        """Add the constants of a graph. Names of a subgraph hide the same names outside."""
        for name in {name for proto in graph.node for name in proto.output} & set(self.tensors):
            del self.tensors[name]
        for proto in graph.initializer:
            with self.refusing("initializer", proto.name):
                array, in_file = self.state.file.array(proto)
                self.tensors[proto.name] = tensor = constant(proto.name, array, in_file=in_file)
                if proto.data_type in (INT4, UINT4):
                    tensor.elem = proto.data_type
            if proto.name not in self.tensors:
                self.tensors[proto.name] = placeholder(proto.name)

    def run(
        self, nodes: Sequence[onnx.NodeProto], outputs: Iterable[str], outer: functions.Attributes | None = None
    ) -> None:
        """Convert nodes in their order; ``outputs`` are the names read outside of them."""
        outputs = list(outputs)
        nodes = join_products(nodes, outputs)
        self.readers = Readers(nodes, outputs)
        for proto in nodes:
            self.state.nodes_left -= 1
            need(self.state.nodes_left >= 0, f"inlining makes more than {MOST_NODES} nodes", BadDataError)
            self._convert(functions.resolve_attributes(proto, outer or {}))

    def run_subgraph(self, graph: onnx.GraphProto, inputs: Sequence[OnnxTensor]) -> list[OnnxTensor]:
        """Convert a subgraph and return its outputs; raise Refused if NNAPI cannot express a node."""
        self.begin(graph)
        self.tensors.update(zip((info.name for info in graph.input), inputs, strict=True))
        self._run_whole("its subgraph uses", graph.node, [each.name for each in graph.output])
        return [self.tensors[each.name] for each in graph.output]

    def _run_whole(
        self,
        reason: str,
        nodes: Sequence[onnx.NodeProto],
        outputs: Sequence[str],
        outer: functions.Attributes | None = None,
    ) -> None:
        """Convert all nodes. If NNAPI cannot express one, raise Refused with reasons that begin with ``reason``."""
        refusals, before = self.state.refusals, len(self.state.refusals)
        self.run(nodes, outputs, outer)
        if len(refusals) > before:
            reasons = [f"{reason} {each.operation}: {each.reason}" for each in refusals[before:]]
            del refusals[before:]
            raise Refused(*dict.fromkeys(reasons))

    def _convert(self, proto: onnx.NodeProto) -> None:
        """Apply the node's rule; every error becomes a refusal that names the node."""
        name = proto.name or next((name for name in proto.output if name), "without output")
        with self.refusing(proto.op_type, name):
            try:
                self._bind(proto)
            except NnapiError as error:
                raise Refused(str(error)) from None
            except INCONSISTENT as error:
                reason = f"its parameters contradict each other ({type(error).__name__}: {error})"
                raise Refused(reason) from None
        for name in proto.output if self.state.refusals else ():  # so that refusals of later nodes are found too
            self.tensors.setdefault(name, placeholder(name))

    def _bind(self, proto: onnx.NodeProto) -> None:
        """Convert a node and name its results. If an input was refused, only check that the node has a rule."""
        domain = "" if proto.domain in DEFAULT else proto.domain
        tensors = self.find(proto.input)
        node = OnnxNode(self, proto, tensors, self.schema(proto.op_type, domain))
        if any(tensor is not None and tensor.is_refused for tensor in tensors):
            if domain or proto.op_type not in KNOWN:
                self._find_method(node, domain)
            self._examine_subgraphs(proto)
            return
        results = self._compute_constants(node, domain)
        if results:
            defer_computation(node, results)
        else:
            node.tensors = with_computed_shapes(node.tensors)
            results = self._apply_method(node, domain)
        for name, result in zip(proto.output, results, strict=False):
            if name:
                need(name not in self.tensors, f"{name} is written twice", BadDataError)
                self.tensors[name] = as_tensor(node, name, result)

    def _examine_subgraphs(self, proto: onnx.NodeProto) -> None:
        """Raise Refused if a subgraph of a node is refused; for nodes whose inputs were refused."""
        reasons: list[str] = []
        for graph in list_graphs(proto):
            inner = nested_conversion(self, self.opsets)
            inner.tensors = self.tensors.copy()
            try:
                inner.run_subgraph(graph, [placeholder(info.name) for info in graph.input])
            except Refused as refused:
                reasons += refused.reasons
        if reasons:
            raise Refused(*dict.fromkeys(reasons))

    def _compute_constants(self, node: OnnxNode, domain: str) -> Sequence[Result | None] | None:
        if domain or (node.proto.domain, node.kind) in self.state.functions:
            return None
        tensors = join_sizes(node)
        return compute_constants(self.state.file, node.proto, self.opsets[""], tensors)

    def _apply_method(self, node: OnnxNode, domain: str) -> Sequence[Result | None]:
        is_own = not domain and (node.proto.domain, node.kind) not in self.state.functions
        if is_own and reads_empty(node.proto, node.tensors):
            empty = compute_empty(node.proto, self.opsets[""], node.tensors)
            if empty is not None:
                return empty
            if node.kind in MOVES and node.tensor(0).lacks_elements:
                return [_without_elements(each) for each in self._find_method(node, domain)(node)]
        try:
            return self._find_method(node, domain)(node)
        except EmptyResult:
            empty = compute_empty(node.proto, self.opsets[""], node.tensors) if is_own else None
            if empty is None:
                raise
            return empty

    def _find_method(self, node: OnnxNode, domain: str) -> Method:
        """Return the function that converts a node: by a function of the file, a rule, or ONNX's own function."""
        local = self.state.functions.get((node.proto.domain, node.kind))
        if local is not None:
            return lambda node: self._inline(functions.local_body(local, node.proto, self.opsets), node)
        key = kind_of(domain, node.kind)
        return partial(self._call_rule, key=key, domain=domain) if key in MODULES else self._find_function(node, domain)

    def _call_rule(self, node: OnnxNode, key: str, domain: str) -> Sequence[Result | None]:
        try:
            return call_rule(node, key)
        except ByFunctionError:
            return self._find_function(node, domain)(node)

    def _find_function(self, node: OnnxNode, domain: str) -> Method:
        """Return the function that converts a node by ONNX's definition of its operator; raise Refused without one."""
        schema, reason = node.schema, reason_without_rule(node.kind, domain)
        if schema is None or not schema.has_function:
            raise Refused(reason)

        def inline(node: OnnxNode) -> Sequence[Result | None]:
            opset = self.opsets.get(domain, 1)
            body = functions.body_of(node.proto, domain, opset, self.opsets, node.tensors)
            if body is None:
                raise Refused(reason)
            return self._inline(body, node)

        return inline

    def _inline(self, body: functions.Body, node: OnnxNode) -> list[Result | None]:
        inner = nested_conversion(self, body.opsets)
        given = dict(zip(body.inputs, node.tensors, strict=False))
        inner.tensors = {name: tensor for name, tensor in given.items() if tensor is not None}
        absent = {name for name in body.inputs if given.get(name) is None}
        nodes = [_without(each, absent) for each in body.nodes]
        inner._run_whole("its definition in ONNX uses", nodes, body.outputs, body.attributes)
        return [inner.tensors.get(name) for name in body.outputs]


def _without_elements(result: Result | None) -> Result | None:
    """Mark the result of a move of no elements, whose dimensions depend on data."""
    if isinstance(result, OnnxTensor):
        result.is_empty = True
    return result


def nested_conversion(outer: Scope, opsets: dict[str, int]) -> Conversion:
    inner = Conversion(outer.state, outer.graph, opsets, outer.depth + 1)
    inner.nhwc_images, inner.in_file_order = outer.nhwc_images, outer.in_file_order
    return inner


def _without(proto: onnx.NodeProto, absent: set[str]) -> onnx.NodeProto:
    if absent.isdisjoint(proto.input):
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    copy.input = ["" if name in absent else name for name in proto.input]
    return copy
