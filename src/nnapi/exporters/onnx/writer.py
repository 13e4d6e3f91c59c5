"""Write a graph with the library ``onnx``, which also checks the file."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, checker, helper, numpy_helper

from nnapi.errors import BadDataError
from nnapi.exporters.onnx.graph import Graph, Node, Value, list_nodes
from nnapi.exporters.unique_names import UniqueNames
from nnapi.model.operand import Array

OPSET, WIDE_OPSET = 20, 21
"""The default opset, and the one for 16-bit quantized values: with the first, ONNX Runtime 1.31 mistakes the types of
quantized values."""
IR_VERSIONS = {OPSET: 9, WIDE_OPSET: 10}
"""The version of the format for each opset."""
LARGEST = 2**31 - 2**20
"""Maximum bytes of constants within the file, because a protocol buffer is smaller than 2 GiB."""
SMALL = 1024
SHORT = 16
"""Constants of at most this many elements are deduplicated."""


def serialize(
    graph: Graph, description: str, data_name: str, properties: Mapping[str, str]
) -> tuple[bytes, Sequence[Array]]:
    """Return the checked file, and the content of ``data_name`` if the constants have more than 2 GiB."""
    work = _Writer(graph, data_name)
    opset = WIDE_OPSET if _has_wide_values(graph) else OPSET
    model = helper.make_model(
        work.graph(graph, work.initializers),
        ir_version=IR_VERSIONS[opset],
        opset_imports=[helper.make_opsetid("", opset)],
        producer_name="nnapi",
        producer_version=version("nnapi"),
        doc_string=as_text(description),
    )
    helper.set_model_props(model, {as_text(key): as_text(value) for key, value in properties.items()})
    content: bytes = model.SerializeToString()
    try:
        checker.check_model(_without_data(model) if work.external else content)
    except checker.ValidationError as error:
        raise BadDataError(f"ONNX's checker refuses what would be written: {error}") from None
    return content, work.external


def as_text(name: str) -> str:
    """Replace what is not text by question marks: names of files, and names in .tflite files, are bytes."""
    return name.encode(errors="replace").decode()


def _has_wide_values(graph: Graph) -> bool:
    """Return whether 16-bit values are quantized or dequantized."""
    nodes = [node for node in list_nodes(graph) if node.kind in ("QuantizeLinear", "DequantizeLinear")]
    values = [value for node in nodes for value in (node.inputs[0], node.output)]
    return any(value is not None and value.element in (np.int16, np.uint16) for value in values)


class _Writer:
    def __init__(self, graph: Graph, data_name: str) -> None:
        self.names: dict[Value, str] = {}
        self.initializers: list[TensorProto] = []
        self.external: list[Array] = []
        self._unique = UniqueNames()
        self._equal: dict[Any, str] = {}
        self._offset = 0
        self._data_name = data_name
        constants = {value for node in graph.nodes for value in node.read() if value.data is not None}
        self._is_large = sum(value.data.nbytes for value in constants if value.data is not None) > LARGEST
        for side, values in (("input", graph.inputs), ("output", graph.outputs)):
            for position, value in enumerate(values):
                self._name(value, f"{side}_{position}")

    def graph(self, graph: Graph, initializers: Sequence[TensorProto] = ()) -> onnx.GraphProto:
        inputs = [self._info(value) for value in graph.inputs]
        nodes = [self._node(node) for node in graph.nodes]
        outputs = [self._info(value) for value in graph.outputs]
        return helper.make_graph(nodes, as_text(graph.name or "model"), inputs, outputs, list(initializers))

    def _node(self, node: Node) -> onnx.NodeProto:
        inputs = ["" if value is None else self._read(value) for value in node.inputs]
        while inputs and not inputs[-1]:
            inputs.pop()
        attributes = {name: self._attribute(value) for name, value in node.attributes.items()}
        outputs = [self._name(value, node.kind) for value in node.outputs]
        return helper.make_node(node.kind, inputs, outputs, outputs[0], **attributes)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Graph):
            return self.graph(value)
        return helper.np_dtype_to_tensor_dtype(value) if isinstance(value, np.dtype) else value

    def _info(self, value: Value) -> onnx.ValueInfoProto:
        shape = [value.dynamic.get(axis, size) for axis, size in enumerate(value.shape)]
        element = helper.np_dtype_to_tensor_dtype(value.element)
        return helper.make_tensor_value_info(self._name(value, "value"), element, shape)

    def _name(self, value: Value, otherwise: str) -> str:
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = self._unique.take(as_text(value.name or otherwise))
        return name

    def _read(self, value: Value) -> str:
        if value.data is None or value in self.names:
            return self._name(value, "value")
        key = (value.element, value.shape, value.data.tobytes()) if value.size <= SHORT else value
        found = self._equal.get(key)
        if found is None:
            found = self._equal[key] = self._name(value, "constant")
            self.initializers.append(self._tensor(found, value.data))
        return found

    def _tensor(self, name: str, data: Array) -> TensorProto:
        if not self._is_large or data.nbytes < SMALL:
            tensor: TensorProto = numpy_helper.from_array(np.ascontiguousarray(data).reshape(data.shape), name)
            return tensor
        tensor = numpy_helper.from_array(data[:0], name)
        tensor.dims[:] = data.shape
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", self._data_name), ("offset", self._offset), ("length", data.nbytes)):
            tensor.external_data.add(key=key, value=str(text))
        self.external.append(data)
        self._offset += data.nbytes
        return tensor


def _without_data(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model for the checker with constants as inputs; it would look for the file of their data."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        copy.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    del copy.graph.initializer[:]
    return copy
