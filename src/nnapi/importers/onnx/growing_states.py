"""States of a loop to which each step appends a row, as PyTorch exports ``torch.cat``: they become scan outputs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.formats.onnx.messages import make_node
from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.reader import to_array
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor, constant
from nnapi.model.operand import Array
from nnapi.rewriting.dataflow import find_makers

Writers = Mapping[str, FileNode]
Constants = Mapping[str, Array]


class Grown(NamedTuple):
    """A loop whose growing states are its last scan outputs, and the position of each former result in its results."""

    body: FileGraph
    carried: list[OnnxTensor]
    order: list[int]


def extract_rows(node: OnnxNode, body: FileGraph, carried: Sequence[OnnxTensor]) -> Grown | None:
    """Return the loop without growing states; None if it has none.

    Such a state begins without rows. The body reads it only to append a row to it, and has no subgraphs.
    """
    writers = find_makers(body.nodes)
    if any(each.graphs for each in body.nodes):
        return None
    constants = {each.name: to_array(each) for each in body.constants}
    constants |= {name: tensor.array for name, tensor in node.conversion.tensors.items() if tensor.array is not None}
    grown = [i for i, state in enumerate(carried) if _is_growing(body, writers, constants, i, state)]
    if not grown:
        return None
    joins = [writers[body.outputs[1 + i]] for i in grown]
    nodes = [each for each in body.nodes if each not in joins]
    rest = [i for i in range(len(carried)) if i not in grown]
    inputs = [*body.inputs[:2], *(body.inputs[2 + i] for i in rest)]
    scanned = [body.outputs[1 + i] for i in grown]
    outputs = [body.outputs[0], *(body.outputs[1 + i] for i in rest), *body.outputs[1 + len(carried) :], *scanned]
    for i, join in zip(grown, joins, strict=True):
        shape = constant(f"{join.outputs[0]}:row", np.array(carried[i].dims[1:], np.int64))
        node.conversion.tensors[shape.name] = shape
        nodes.append(FileNode(make_node("Reshape", [join.inputs[1], shape.name], [join.outputs[0]])))
    inner = FileGraph(nodes, inputs, outputs, body.constants, body.sparse, body.name)
    count = len(body.outputs) - 1 - len(grown)
    order = [count + grown.index(i) if i in grown else rest.index(i) for i in range(len(carried))]
    return Grown(inner, [carried[i] for i in rest], [*order, *range(len(rest), count)])


def _is_growing(body: FileGraph, writers: Writers, constants: Constants, i: int, state: OnnxTensor) -> bool:
    before, after = body.inputs[2 + i], body.outputs[1 + i]
    join = writers.get(after)
    if state.array is None or state.rank < 2 or state.dims[0] != 0 or DYNAMIC in state.dims[1:] or join is None:
        return False
    axes = [attribute.i for attribute in join.proto.attribute if attribute.name == "axis"]
    is_join = join.kind == "Concat" and axes == [0] and len(join.inputs) == 2 and join.inputs[0] == before
    readers = [name for each in body.nodes for name in each.inputs]
    is_alone = readers.count(before) == 1 and after not in readers
    return is_join and is_alone and body.outputs.count(after) == 1 and _is_row(writers, constants, join.inputs[1])


def _is_row(writers: Writers, constants: Constants, name: str) -> bool:
    """Return whether a node makes a tensor of one row by inserting its first axis."""
    row = writers.get(name)
    if row is None or row.kind != "Unsqueeze":
        return False
    if len(row.inputs) == 1:
        return [list(attribute.ints) for attribute in row.proto.attribute if attribute.name == "axes"] == [[0]]
    maker = writers.get(row.inputs[1])
    if maker is not None and maker.kind == "Constant" and maker.proto.attribute[0].name == "value":
        return bool(to_array(maker.proto.attribute[0].t).reshape(-1).tolist() == [0])
    axes = constants.get(row.inputs[1])
    return axes is not None and bool(axes.reshape(-1).tolist() == [0])
