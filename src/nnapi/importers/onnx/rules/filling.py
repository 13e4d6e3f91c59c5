"""Tensors of a size that may be computed: constants, ranges of numbers, and repetition to a shape."""

import math

import numpy as np

from nnapi.importers.broadcasting import broadcast, broadcast_shape
from nnapi.importers.graph import INT32
from nnapi.importers.movement import collapse
from nnapi.importers.onnx.computed_sizes import fill, read_sizes, repeat
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import DTYPES, DYNAMIC, ELEM_OF, OnnxTensor
from nnapi.importers.refusals import expressible, need_elements
from nnapi.importers.terms import Term
from nnapi.operation_codes import CompositeCode
from nnapi.shapes.array import broadcast as broadcast_shapes


@rule("Expand")
def expand(node: OnnxNode) -> OnnxTensor:
    if node.tensor(1).array is None or not node.tensor(0).is_known:
        return _expand_at_run(node)
    own, wanted = node.static_shape(0), tuple(node.array(1).reshape(-1).tolist())
    need_elements(0 not in wanted)
    found = broadcast_shapes([own, wanted])
    expressible(found is not None, f"{list(own)} does not stretch to {list(wanted)}")
    shape = found or ()
    padded, whole = (1,) * (len(shape) - len(own)) + own, shape or (1,)
    if len(shape) > HIGHEST_RANK:
        kinds = [have == want for have, want in zip(padded, shape, strict=True)]
        padded, whole = collapse(padded, kinds)[0], collapse(shape, kinds)[0]
    value = broadcast(node, node.view(node.stored(0), padded), whole)
    return node.result(value, shape, elem=node.tensor(0).elem)


def _expand_at_run(node: OnnxNode) -> OnnxTensor:
    """Repeat to dimensions that only a run knows: by TILE, whose counts the run computes."""
    tensor, given = node.tensor(0), node.tensor(1)
    (count,) = node.static_shape(1)
    rank = max(tensor.rank, count)
    own, wanted = (1,) * (rank - tensor.rank) + tensor.dims, (1,) * (rank - count) + read_sizes(given, count)
    value, want = node.view(node.stored(0), own), node.cast(node.input(1), INT32)
    if count < rank:
        want = node.concatenate([node.graph.ints([1] * (rank - count)), want], 0)
    return node.result(repeat(node, value, Term(node, want), broadcast_shape([own, wanted])), elem=tensor.elem)


@rule("Range")
def number_range(node: OnnxNode) -> OnnxTensor:
    """Lower Range of computed bounds; the import computes others."""
    numbers = [node.view(node.input(i), (1,)) for i in range(3)]
    type = numbers[0].type.with_dimensions((DYNAMIC,))
    found = node.apply(CompositeCode.RANGE, *numbers, shape=(DYNAMIC,), type=type)
    return node.result(found, (DYNAMIC,), elem=node.tensor(0).elem)


@rule("ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> OnnxTensor:
    if node.tensor(0).array is None:
        return _fill_at_run(node)
    shape = tuple(node.array(0).reshape(-1).tolist())
    value = node.attribute("value")
    number = node.conversion.state.file.array(value)[0] if value is not None else np.zeros(1, np.float32)
    node.graph.reserve(number.itemsize * math.prod(shape))
    return node.constant_result(np.full(shape, number.reshape(-1)[0]))


def _fill_at_run(node: OnnxNode) -> OnnxTensor:
    """Make a constant tensor of dimensions that only a run knows."""
    (rank,) = node.static_shape(0)
    given, shape = node.attribute("value"), read_sizes(node.tensor(0), rank)
    number = node.conversion.state.file.array(given)[0] if given is not None else np.zeros(1, np.float32)
    return node.result(fill(node, node.cast(node.input(0), INT32), number, shape), elem=ELEM_OF[number.dtype])


@rule("EyeLike")
def eye_like(node: OnnxNode) -> OnnxTensor:
    rows, columns = node.static_shape(0)
    elem = int(node.attribute("dtype", node.tensor(0).elem))
    expressible(elem in DTYPES, f"it is of type {elem}, which NNAPI does not have")
    node.graph.reserve(8 * rows * columns)
    return node.constant_result(np.eye(rows, columns, int(node.attribute("k", 0)), DTYPES[elem]))
