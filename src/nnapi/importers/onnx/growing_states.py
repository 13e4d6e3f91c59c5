"""States of a loop to which each step appends a row, as PyTorch exports ``torch.cat``: they become scan outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.formats.onnx.messages import make_node
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.reader import to_array
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor, constant
from nnapi.model.operand import Array


class Grown(NamedTuple):
    """A loop whose growing states are its last scan outputs, and the position of each former result in its results."""

    body: Any
    carried: list[OnnxTensor]
    order: list[int]


def extract_rows(node: OnnxNode, body: Any, carried: Sequence[OnnxTensor]) -> Grown | None:
    """Return the loop without growing states; None if it has none.

    Such a state begins without rows. The body reads it only to append a row to it, and has no subgraphs.
    """
    writers = {name: each for each in body.node for name in each.output}
    if any(attribute.HasField("g") for each in body.node for attribute in each.attribute):
        return None
    constants = {each.name: to_array(each) for each in body.initializer}
    constants |= {name: tensor.array for name, tensor in node.conversion.tensors.items() if tensor.array is not None}
    grown = [i for i, state in enumerate(carried) if _is_growing(body, writers, constants, i, state)]
    if not grown:
        return None
    inner, joins = type(body)(), [writers[body.output[1 + i].name] for i in grown]
    inner.CopyFrom(body)
    inner.node = [each for each in body.node if each not in joins]
    rest = [i for i in range(len(carried)) if i not in grown]
    inner.input = [*body.input[:2], *(body.input[2 + i] for i in rest)]
    scanned = [body.output[1 + i] for i in grown]
    inner.output = [body.output[0], *(body.output[1 + i] for i in rest), *body.output[1 + len(carried) :], *scanned]
    for i, join in zip(grown, joins, strict=True):
        shape = constant(f"{join.output[0]}:row", np.array(carried[i].dims[1:], np.int64))
        node.conversion.tensors[shape.name] = shape
        inner.node.append(make_node("Reshape", [join.input[1], shape.name], [join.output[0]]))
    count = len(body.output) - 1 - len(grown)
    order = [count + grown.index(i) if i in grown else rest.index(i) for i in range(len(carried))]
    return Grown(inner, [carried[i] for i in rest], [*order, *range(len(rest), count)])


def _is_growing(body: Any, writers: dict[str, Any], constants: dict[str, Array], i: int, state: OnnxTensor) -> bool:
    before, after = body.input[2 + i].name, body.output[1 + i].name
    join = writers.get(after)
    if state.array is None or state.rank < 2 or state.dims[0] != 0 or DYNAMIC in state.dims[1:] or join is None:
        return False
    axes = [attribute.i for attribute in join.attribute if attribute.name == "axis"]
    is_join = join.op_type == "Concat" and axes == [0] and len(join.input) == 2 and join.input[0] == before
    readers = [name for each in body.node for name in each.input]
    is_alone = readers.count(before) == 1 and after not in readers
    names = [each.name for each in body.output]
    return is_join and is_alone and names.count(after) == 1 and _is_row(writers, constants, join.input[1])


def _is_row(writers: dict[str, Any], constants: dict[str, Array], name: str) -> bool:
    """Return whether a node makes a tensor of one row by inserting its first axis."""
    row = writers.get(name)
    if row is None or row.op_type != "Unsqueeze":
        return False
    if len(row.input) == 1:
        return [list(attribute.ints) for attribute in row.attribute if attribute.name == "axes"] == [[0]]
    maker = writers.get(row.input[1])
    if maker is not None and maker.op_type == "Constant" and maker.attribute[0].name == "value":
        return bool(to_array(maker.attribute[0].t).reshape(-1).tolist() == [0])
    axes = constants.get(row.input[1])
    return axes is not None and bool(axes.reshape(-1).tolist() == [0])
