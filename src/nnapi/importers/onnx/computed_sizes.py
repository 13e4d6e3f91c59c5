"""Sizes that depend on data: shapes with dimensions that a run computes.

Such a shape is a constant with -1 for these dimensions. Operators that only move its elements pass the known ones on.
An operator that needs the others reads the shape as a tensor that a run computes.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOATS, INT32, Value
from nnapi.importers.onnx.emitter import OnnxEmitter
from nnapi.importers.onnx.layout import read_as_stored
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import Result
from nnapi.importers.onnx.rule_results import as_tensor, call_rule
from nnapi.importers.onnx.tensors import DYNAMIC, ELEM_OF, INT64, OnnxTensor, code_of
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import CompositeCode

FILLED = {INT32: OperandCode.INT32, FLOATS[0]: OperandCode.FLOAT32, FLOATS[1]: OperandCode.FLOAT16}
"""The types that FILL makes, and the type of its scalar."""
SHORT = [(count,) for count in range(1, HIGHEST_RANK + 5)]
"""The shapes of lists of sizes, such as dimensions and numbers of elements to pad."""


def read_shape(node: OnnxNode, i: int) -> Value:
    """Return the dimensions of input ``i`` in the file's order, as a run computes them."""
    tensor = node.tensor(i)
    value, axes, _ = read_as_stored(node, i)
    expressible(tensor.rank <= HIGHEST_RANK, f"{tensor.name} is of rank {tensor.rank}, and its size depends on data")
    shape = node.apply(CompositeCode.SHAPE, value, type=OperandType(INT32), shape=(value.rank,))
    order = [axes[axis] for axis in range(tensor.rank)]
    return shape if order == sorted(order) else _pick(node, shape, order)


def read_size(node: OnnxNode, i: int, axis: int) -> Value:
    """Return one dimension of input ``i`` as a tensor of one element."""
    return _pick(node, read_shape(node, i), [axis])


def _pick(node: OnnxNode, shape: Value, positions: Sequence[int]) -> Value:
    return node.apply(OperationCode.GATHER, shape, node.i32(0), node.graph.ints(positions), shape=(len(positions),))


def read_sizes(tensor: OnnxTensor, rank: int) -> Shape:
    """Return the dimensions in a shape that may be computed, as far as they are known."""
    expressible(rank <= HIGHEST_RANK, f"its result has {rank} dimensions, NNAPI's operations at most {HIGHEST_RANK}")
    known = tensor.known_sizes if tensor.array is None else tensor.array
    return (DYNAMIC,) * rank if known is None else tuple(max(each, DYNAMIC) for each in known.reshape(-1).tolist())


def fill(emitter: OnnxEmitter, dims: Value, number: Array, shape: Shape) -> Value:
    """Return a tensor of computed dimensions, filled with one number of the file."""
    wanted = code_of(ELEM_OF[number.dtype], "the constant")
    code = wanted if wanted in FILLED else INT32
    scalar = emitter.graph.scalar(FILLED[code], number.reshape(-1)[0].item())
    return emitter.cast(emitter.apply(OperationCode.FILL, dims, scalar, shape=shape, type=OperandType(code)), wanted)


def repeat(node: OnnxNode, value: Value, wanted: Term, shape: Shape) -> Value:
    """Repeat a value along its axes of size 1 to the computed dimensions ``wanted`` of its rank."""
    own = Term(node, node.apply(CompositeCode.SHAPE, value, type=OperandType(INT32), shape=(value.rank,)))
    once = Term(node, node.graph.ints([1] * value.rank))
    counts = choose(own.compare(OperationCode.EQUAL, 1), wanted, once)
    return node.apply(OperationCode.TILE, value, counts.value, shape=shape)


def with_computed_shapes(tensors: Sequence[OnnxTensor | None]) -> list[OnnxTensor | None]:
    """Replace the shapes whose dimensions depend on data by tensors that a run computes."""
    return [tensor.compute() if tensor is not None and tensor.compute else tensor for tensor in tensors]


def join_sizes(node: OnnxNode) -> Sequence[OnnxTensor | None]:
    """Return the inputs of a node; computed sizes that are concatenated with known ones as shapes."""
    tensors, state = [tensor for tensor in node.tensors if tensor is not None], node.conversion.state
    arrays = [tensor.array for tensor in tensors]
    is_mixed = any(array is None for array in arrays) and any(array is not None and array.size for array in arrays)
    if node.kind != "Concat" or not state.sizes_depend_on_data or not is_mixed:
        return node.tensors
    if any(tensor.elem != INT64 or tensor.shape not in SHORT for tensor in tensors):
        return node.tensors
    return [each if each.array is not None else _unknown(each) for each in tensors]


def _unknown(sizes: OnnxTensor) -> OnnxTensor:
    shape = OnnxTensor(sizes.name, sizes.elem, sizes.shape, np.full(sizes.dims, -1), is_dynamic_shape=True)
    shape.compute = lambda: sizes
    return shape


def defer_computation(node: OnnxNode, results: Sequence[Result | None]) -> None:
    """Tell how a run computes the results that are shapes with dynamic dimensions, if these depend on data."""
    if not node.conversion.state.sizes_depend_on_data:
        return
    for i, result in enumerate(results):
        if isinstance(result, OnnxTensor) and result.is_dynamic_shape:
            compute = _compute_shape if node.kind == "Shape" else partial(_apply_rule, output=i)
            result.compute = cache(partial(_compute, node, result, compute))


def _compute(node: OnnxNode, shape: OnnxTensor, compute: Callable[[OnnxNode, str], OnnxTensor]) -> OnnxTensor:
    found = compute(node, f"{shape.name}:computed")
    found.known_sizes = shape.array
    return found


def _compute_shape(node: OnnxNode, name: str) -> OnnxTensor:
    begin, end = node.attribute("start"), node.attribute("end")
    positions = list(range(node.tensor(0).rank))[begin:end]
    shape = read_shape(node, 0)
    value = shape if len(positions) == shape.shape[0] else _pick(node, shape, positions)
    return OnnxTensor(name, INT64, (len(positions),), value=value)


def _apply_rule(node: OnnxNode, name: str, output: int) -> OnnxTensor:
    inner = OnnxNode(node.conversion, node.source, with_computed_shapes(node.tensors), node.schema)
    return as_tensor(inner, name, call_rule(inner, node.kind)[output])


def capture_shape(tensor: OnnxTensor, read: Callable[[OnnxTensor], OnnxTensor]) -> OnnxTensor:
    """Return a shape of an outer graph for a subgraph that reads computed tensors by ``read``."""

    def compute() -> OnnxTensor:
        assert tensor.compute is not None
        found = read(tensor.compute())
        found.known_sizes = tensor.array
        return found

    made = cache(compute)
    return OnnxTensor(tensor.name, tensor.elem, tensor.shape, tensor.array, is_dynamic_shape=True, compute=made)
