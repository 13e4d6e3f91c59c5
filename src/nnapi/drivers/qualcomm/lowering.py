"""Lowering to ONNX for Qualcomm's compiler: every quantized operator lies between DequantizeLinear and QuantizeLinear,
and each operator knows its operation."""

from collections.abc import Collection, Sequence

import numpy as np

from nnapi.codes import FuseCode, OperationCode
from nnapi.exporters.onnx.context import OnnxContext
from nnapi.exporters.onnx.convert import Conversion
from nnapi.exporters.onnx.graph import Graph, Node, Value, constant, value_of
from nnapi.exporters.onnx.transposes import sink_transposes
from nnapi.lowering.refusal import require
from nnapi.model.call import Call
from nnapi.model.model import OperationCall
from nnapi.model.operand import OperandType
from nnapi.ops.quantized_values import BOUNDS, quantize

CONVERSIONS = ("QuantizeLinear", "DequantizeLinear")
NEARLY = 2.0**-12
"""The difference of a factor from 1, beyond which HTP's PRELU is right."""
CAST = "Cast"
"""The operator that reads and writes stored values."""


class HtpContext(OnnxContext):
    """A call whose result is quantized before its activation, because the compiler fuses a convolution only with the
    QuantizeLinear that reads it."""

    def store(self, real: Value, position: int = 0) -> Value:
        type = self.call.results[position]
        if position or not self.activation or not type.is_quantized:
            return super().store(real, position)
        stored = self.quantize(real, type)
        if self.code == OperationCode.TRANSPOSE_CONV_2D and self.activation != FuseCode.FUSED_RELU:
            return self._bound(stored, type)
        return self.quantize(self.activate(self.real(stored), self.activation), type)

    def _bound(self, value: Value, type: OperandType) -> Value:
        """Apply the bounds of an activation by Max and Min: the compiler drops a Clip after ConvTranspose."""
        for kind, bound in zip(("Max", "Min"), BOUNDS[self.activation], strict=True):
            limit = quantize(type, np.full((1,) * len(value.shape), bound))
            pair = [self.real(value), self.real(value_of(type.with_dimensions(limit.shape), "a bound", limit))]
            value = self.quantize(self.emit(kind, pair, pair[0].like()), type)
        return value


class HtpConversion(Conversion):
    """A conversion whose operators have the number of their operation as ``origin``."""

    takes_control_flow = False
    no_rule = "it is not written as ONNX, which Qualcomm's compiler reads"

    def context(self, call: Call) -> HtpContext:
        return HtpContext(call, self._transposed, is_part=self.depth > 0)

    def _lower(self, call: OperationCall) -> None:
        before = len(self.operators)
        super()._lower(call)
        for node in self.operators[before:]:
            node.origin = call.number

    def check_call(self, call: OperationCall) -> None:
        """Refuse a PRELU that HTP computes with the wrong sign."""
        super().check_call(call)
        if call.code == OperationCode.PRELU:
            input, alpha, made = (self.types[index] for index in (*call.inputs, *call.outputs))
            if input and alpha and made and made.is_quantized:
                ratio = input.scale * alpha.scale / made.scale
                require(abs(ratio - 1) > NEARLY, "HTP computes it wrongly if the output's scale is that of the product")

    def make_graph(self, numbers: Collection[int]) -> Graph:
        """Return the graph of some operations. What others write or read becomes its inputs and outputs."""
        nodes = [node for node in self.operators if node.origin in numbers]
        others = [node for node in self.operators if node.origin not in numbers]
        made = {value for node in nodes for value in node.outputs}
        if len(numbers) == len(self.model.operations):
            inputs = [self.value(index) for index in self.model.inputs]
        else:
            read = dict.fromkeys(value for node in nodes for value in node.read())
            inputs = [value for value in read if value.data is None and value not in made]
        results = {self.values[index] for index in self.model.outputs if index in self.values}
        wanted = results | {value for node in others for value in node.read()}
        read_inside = {value for node in nodes for value in node.read()}
        outputs = [value for node in nodes for value in node.outputs if value in wanted or value not in read_inside]
        if len(numbers) == len(self.model.operations):
            outputs = [self.value(index) for index in self.model.outputs]
        for value in (*inputs, *outputs):
            value.dynamic = {}
        return surround(sink_transposes(Graph(nodes, inputs, outputs, self.model.name)))


def surround(graph: Graph) -> Graph:
    """Return the graph with DequantizeLinear before, and QuantizeLinear after, operators that move quantized values.

    Names tell the operations, so that the compiler's log names them.
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.kind in CONVERSIONS:
            nodes.append(node)
            continue
        if node.kind == CAST:
            nodes += _cast(node)
            continue
        inputs = [_dequantize(value, node, nodes) for value in node.inputs]
        outputs = [value.like(element=np.float32) if _has_one_scale(value) else value for value in node.outputs]
        nodes.append(Node(node.kind, inputs, outputs, node.attributes, node.origin))
        for real, value in zip(outputs, node.outputs, strict=True):
            if real is not value:
                nodes.append(Node("QuantizeLinear", [real, *_parameters(value)], [value], origin=node.origin))
    kept = {*graph.inputs, *graph.outputs}
    for node in nodes:
        for value in node.outputs:
            if value not in kept:
                value.name = f"op{node.origin}"
    return Graph(nodes, graph.inputs, graph.outputs, graph.name)


def _cast(node: Node) -> list[Node]:
    """Return a cast in one or two steps: HTP's cast of uint8 to float32 gives 1 for all values but 0."""
    (given,), made = node.inputs, node.output
    if given is None or given.element != np.uint8 or made.element != np.float32:
        return [node]
    wide = made.like(element=np.int32)
    first = Node(CAST, [given], [wide], {"to": np.dtype(np.int32)}, node.origin)
    return [first, Node(CAST, [wide], [made], node.attributes, node.origin)]


def _dequantize(value: Value | None, node: Node, nodes: list[Node]) -> Value | None:
    if value is None or not _has_one_scale(value):
        return value
    real = value.like(element=np.float32)
    nodes.append(Node("DequantizeLinear", [value, *_parameters(value)], [real], origin=node.origin))
    return real


def _has_one_scale(value: Value) -> bool:
    return value.quantized is not None and value.quantized.channel is None


def _parameters(value: Value) -> Sequence[Value]:
    type = value.quantized
    assert type is not None
    return constant(type.scale, np.float32), constant(type.zero_point, value.element)
