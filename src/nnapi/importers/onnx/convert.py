"""Convert the nodes of an ONNX graph to operations of NNAPI, and collect refusals."""

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.onnx import functions
from nnapi.importers.onnx.computed_sizes import defer_computation, join_sizes, with_computed_shapes
from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.folding import KNOWN, compute_constants, compute_empty, reads_empty
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import MODULES, ByFunctionError, Result, reason_without_rule
from nnapi.importers.onnx.reader import INT4, UINT4
from nnapi.importers.onnx.rule_results import call_rule, name_results
from nnapi.importers.onnx.scope import MOST_NODES, ImportState, Scope
from nnapi.importers.onnx.tensors import OnnxTensor, constant, placeholder
from nnapi.importers.refusals import EmptyResult, Refused, expressible

INCONSISTENT = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, struct.error, AssertionError)
MOVES = ("Gather", "GatherND", "Slice", "Transpose", "Squeeze", "Unsqueeze")
"""Operators whose results have only elements of input 0."""
DEEPEST = 20
"""The maximum nesting depth of functions."""
Method: TypeAlias = Callable[[OnnxNode], Sequence[Result | None]]


class Conversion(Scope):
    def __init__(self, state: ImportState, graph: OnnxGraph, opsets: dict[str, int], depth: int = 0) -> None:
        need(depth <= DEEPEST, f"functions lie more than {DEEPEST} deep in each other", BadDataError)
        super().__init__(state, graph, opsets, depth)

    def begin(self, graph: FileGraph) -> None:
        """Add the constants of a graph. Names of a subgraph hide the same names outside."""
        for name in {name for node in graph.nodes for name in node.outputs} & set(self.tensors):
            del self.tensors[name]
        for proto in graph.constants:
            with self.refusing("initializer", proto.name):
                array, in_file = self.state.file.array(proto)
                self.tensors[proto.name] = tensor = constant(proto.name, array, in_file=in_file)
                if proto.data_type in (INT4, UINT4):
                    tensor.elem = proto.data_type
            self.tensors.setdefault(proto.name, placeholder(proto.name))
        for name in graph.sparse:
            with self.refusing("initializer", name):
                expressible(False, "it is stored sparsely")
            self.tensors[name] = placeholder(name)

    def run(self, graph: FileGraph) -> None:
        """Convert the nodes in their order."""
        self.source = graph
        for node in graph.nodes:
            self.state.nodes_left -= 1
            need(self.state.nodes_left >= 0, f"inlining makes more than {MOST_NODES} nodes", BadDataError)
            self._convert(node)

    def run_subgraph(self, graph: FileGraph, inputs: Sequence[OnnxTensor]) -> list[OnnxTensor]:
        """Convert a subgraph and return its outputs; raise Refused if NNAPI cannot express a node."""
        self.begin(graph)
        self.tensors.update(zip(graph.inputs, inputs, strict=True))
        self._run_whole("its subgraph uses", graph)
        return [self.tensors[name] for name in graph.outputs]

    def _run_whole(self, reason: str, graph: FileGraph) -> None:
        """Convert all nodes. If NNAPI cannot express one, raise Refused with reasons that begin with ``reason``."""
        refusals, before = self.state.refusals, len(self.state.refusals)
        self.run(graph)
        if len(refusals) > before:
            reasons = [f"{reason} {each.operation}: {each.reason}" for each in refusals[before:]]
            del refusals[before:]
            raise Refused(*dict.fromkeys(reasons))

    def _convert(self, source: FileNode) -> None:
        """Apply the node's rule; every error becomes a refusal that names the node."""
        name = source.proto.name or next((name for name in source.outputs if name), "without output")
        with self.refusing(source.proto.op_type, name):
            try:
                self._bind(source)
            except NnapiError as error:
                raise Refused(str(error)) from None
            except INCONSISTENT as error:
                reason = f"its parameters contradict each other ({type(error).__name__}: {error})"
                raise Refused(reason) from None
        for name in source.outputs if self.state.refusals else ():  # so that refusals of later nodes are found too
            self.tensors.setdefault(name, placeholder(name))

    def _bind(self, source: FileNode) -> None:
        """Convert a node and name its results. If an input was refused, only check that the node has a rule."""
        tensors = self.find(source.inputs)
        node = OnnxNode(self, source, tensors, self.schema(source.proto.op_type, source.domain))
        if any(tensor is not None and tensor.is_refused for tensor in tensors):
            if source.kind not in KNOWN:
                self._find_method(node)
            self._examine_subgraphs(node)
            return
        results = self._compute_constants(node)
        if results:
            defer_computation(node, results)
        else:
            node.tensors = with_computed_shapes(node.tensors)
            results = self._apply_method(node)
        for name, tensor in name_results(node, results):
            need(name not in self.tensors, f"{name} is written twice", BadDataError)
            self.tensors[name] = tensor

    def _examine_subgraphs(self, node: OnnxNode) -> None:
        """Raise Refused if a subgraph of a node is refused; for nodes whose inputs were refused."""
        reasons: list[str] = []
        for _, graph in node.source.graphs:
            inner = nested_conversion(self, self.opsets)
            inner.tensors = self.tensors.copy()
            try:
                inner.run_subgraph(graph, list(map(placeholder, graph.inputs)))
            except Refused as refused:
                reasons += refused.reasons
        if reasons:
            raise Refused(*dict.fromkeys(reasons))

    def _is_own(self, node: OnnxNode) -> bool:
        """Return whether ONNX's default domain defines a node's operator."""
        return not node.source.domain and node.source.kind not in self.state.functions

    def _compute_constants(self, node: OnnxNode) -> Sequence[Result | None] | None:
        if not self._is_own(node):
            return None
        tensors = join_sizes(node)
        return compute_constants(self.state.file, node.proto, self.opsets[""], tensors)

    def _apply_method(self, node: OnnxNode) -> Sequence[Result | None]:
        is_own = self._is_own(node)
        if is_own and reads_empty(node.proto, node.tensors):
            empty = compute_empty(node.proto, self.opsets[""], node.tensors)
            if empty is not None:
                return empty
            if node.kind in MOVES and node.tensor(0).lacks_elements:
                return [_without_elements(each) for each in self._find_method(node)(node)]
        try:
            return self._find_method(node)(node)
        except EmptyResult:
            empty = compute_empty(node.proto, self.opsets[""], node.tensors) if is_own else None
            if empty is None:
                raise
            return empty

    def _find_method(self, node: OnnxNode) -> Method:
        """Return the function that converts a node: by a function of the file, a rule, or ONNX's own function."""
        local = self.state.functions.get(node.source.kind)
        if local is not None:
            return lambda node: self._inline(functions.local_body(local, node.source, self.opsets, node.tensors), node)
        return self._call_rule if node.source.kind in MODULES else self._find_function(node)

    def _call_rule(self, node: OnnxNode) -> Sequence[Result | None]:
        try:
            return call_rule(node, node.source.kind)
        except ByFunctionError:
            return self._find_function(node)(node)

    def _find_function(self, node: OnnxNode) -> Method:
        """Return the function that converts a node by ONNX's definition of its operator; raise Refused without one."""
        schema, reason = node.schema, reason_without_rule(node.kind, node.source.domain)
        if schema is None or not schema.has_function:
            raise Refused(reason)

        def inline(node: OnnxNode) -> Sequence[Result | None]:
            body = functions.body_of(node.source, self.opsets, node.tensors)
            if body is None:
                raise Refused(reason)
            return self._inline(body, node)

        return inline

    def _inline(self, body: functions.Body, node: OnnxNode) -> list[Result | None]:
        inner = nested_conversion(self, body.opsets)
        given = zip(body.graph.inputs, node.tensors, strict=False)
        inner.tensors = {name: tensor for name, tensor in given if tensor is not None}
        inner._run_whole("its definition in ONNX uses", body.graph)
        return [inner.tensors.get(name) for name in body.graph.outputs]


def _without_elements(result: Result | None) -> Result | None:
    """Mark the result of a move of no elements, whose dimensions depend on data."""
    if isinstance(result, OnnxTensor):
        result.is_empty = True
    return result


def nested_conversion(outer: Scope, opsets: dict[str, int]) -> Conversion:
    inner = Conversion(outer.state, outer.graph, opsets, outer.depth + 1)
    inner.nhwc_images, inner.in_file_order = outer.nhwc_images, outer.in_file_order
    return inner
