"""A quantized network cut where it is quantized: one operation between codes, with what ONNX Runtime makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import onnx
import onnxruntime as ort
from onnx import helper

HIGHEST_RANK = 4
"""Of inputs of NNAPI's operations; those of higher rank occur only within a network."""


class Part(NamedTuple):
    """A model of one operation, the codes that it is given within the network, and those that it gives."""

    name: str
    content: bytes
    inputs: dict[str, Any]
    output: Any


def parts_of(model: Any, inputs: Mapping[str, Any]) -> list[Part]:
    """The parts of a model that ends in codes, as it runs on ``inputs``."""
    constants = {each.name for each in model.graph.initializer}
    codes = [
        node.output[0]
        for node in model.graph.node
        if node.op_type == "QuantizeLinear" and node.input[0] not in constants
    ]
    values = {**inputs, **_values(model, codes, inputs)}
    writers = {name: node for node in model.graph.node for name in node.output}
    found = []
    for name in codes:
        nodes, sources = _back_to_codes(name, writers, {*codes, *inputs})
        if sources and all(values[each].ndim <= HIGHEST_RANK for each in sources):
            found.append(_part(model, name, nodes, {each: values[each] for each in sorted(sources)}))
    return found


def _values(model: Any, names: list[str], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network's results with these names."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return dict(zip(names, _run(copy.SerializeToString(), inputs), strict=True))


def _back_to_codes(name: str, writers: Mapping[str, Any], ends: set[str]) -> tuple[set[str], set[str]]:
    """The nodes that compute a name from codes, by their first outputs, and the names of those codes."""
    nodes, sources, open_names = {name}, set(), list(writers[name].input)
    while open_names:
        each = open_names.pop()
        if each in ends:
            sources.add(each)
        elif each in writers and writers[each].output[0] not in nodes:
            nodes.add(writers[each].output[0])
            open_names += writers[each].input
    return nodes, sources


def _part(model: Any, name: str, firsts: set[str], inputs: dict[str, Any]) -> Part:
    nodes = [node for node in model.graph.node if node.output[0] in firsts]
    read = {each for node in nodes for each in node.input}
    graph = helper.make_graph(
        nodes,
        name,
        [_info(each, array) for each, array in inputs.items()],
        [onnx.ValueInfoProto(name=name)],
        [each for each in model.graph.initializer if each.name in read],
    )
    content = helper.make_model(
        graph, opset_imports=model.opset_import, ir_version=model.ir_version
    ).SerializeToString()
    (output,) = _run(content, inputs)
    return Part(name, content, inputs, output)


def _info(name: str, array: Any) -> Any:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _run(content: bytes, inputs: Mapping[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, dict(inputs))
    return found
