"""Products by weights of few bits, with a scale for each block: BLOCKWISE_FULLY_CONNECTED, which keeps them packed."""

import math

import numpy as np

from nnapi.importers.graph import QUANT8, Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.reader import INT4, UINT4
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.tensors import DYNAMIC, ELEM_OF, INT8, UINT8, OnnxTensor, PackedWeights, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.ops.blockwise_fully_connected import BITS, pack_bits, unpack_bits

WIDTHS = {INT4: 4, UINT4: 4, INT8: 8, UINT8: 8}
"""The number of bits of integer types."""
BYTES = OperandType(QUANT8, (), 1.0, 0)


@rule("com.microsoft:MatMulNBits")
def matmul_n_bits(node: OnnxNode) -> Result:
    """Lower MatMulNBits, whose weights [N, blocks, bytes] stay as the file has them."""
    columns, rows, bits, size = (int(node.attribute(name, 4)) for name in ("N", "K", "bits", "block_size"))
    expressible(not node.has(4), "its rows are in another order (g_idx)")
    expressible(bits in BITS, f"its weights have {bits} bits")
    shape = columns, -(-rows // size), size * bits // 8
    given, points = node.array(1), node.given(3)
    fits = given.dtype == np.uint8 and given.size == math.prod(shape)
    expressible(fits, f"its weights have shape {list(given.shape)}, its attributes need {shape[0]} × {shape[1]} blocks")
    expressible(node.shape(0)[-1] == rows, f"its rows have {node.shape(0)[-1]} elements, must have {rows}")
    if points is not None and points.elem != UINT8:
        return _multiply_by_floats(node, given.reshape(shape), points.constant, bits, size)
    zero_points = None if points is None else node.view(node.stored(3), (columns, -(-shape[1] * bits // 8)))
    scales = node.view(node.constant(node.array(2), node.input(0)), shape[:2])
    weights = PackedWeights(node.view(node.stored(1), shape), scales, zero_points, bits, size)
    return multiply(node, weights, node.input(5) if node.has(5) else None)


def _multiply_by_floats(node: OnnxNode, packed: Array, points: Array, bits: int, size: int) -> Result:
    """Multiply by unpacked weights, whose zero points are floats."""
    columns, blocks, _ = packed.shape
    node.graph.reserve(8 * columns * blocks * size)
    values = unpack_bits(packed, bits).astype(np.float32) - points.astype(np.float32).reshape(columns, blocks, 1)
    scaled = (values * node.array(2).astype(np.float32).reshape(columns, blocks, 1)).reshape(columns, -1)
    matrix = np.ascontiguousarray(scaled[:, : node.shape(0)[-1]].T.astype(node.array(2).dtype))
    product = compose(node, "MatMul", node.tensor(0), matrix)
    return compose(node, "Add", product, node.tensor(5)) if node.has(5) else product


def multiply(node: OnnxNode, weights: PackedWeights, bias: Value | None = None) -> OnnxTensor:
    """Multiply the rows of input 0 by packed weights."""
    x, shape, units = node.input(0), node.shape(0), weights.scales.shape[0]
    rows = DYNAMIC if DYNAMIC in shape[:-1] else math.prod(shape[:-1])
    points = node.graph.no_value(QUANT8) if weights.zero_points is None else weights.zero_points
    added = node.graph.no_value(x.type.code) if bias is None else bias
    numbers = node.i32(weights.bits), node.i32(weights.block_size)
    arguments = node.view(x, (rows, shape[-1])), weights.values, weights.scales, points, added, *numbers
    found = node.apply(CompositeCode.BLOCKWISE_FULLY_CONNECTED, *arguments, shape=(rows, units))
    return node.result(found, (*shape[:-1], units))


# Constants that DequantizeLinear dequantizes with a scale for each block


def dequantize_blocks(node: OnnxNode, values: Array, points: Array | None) -> OnnxTensor:
    """Return a constant; weights that are only multiplied by stay packed."""
    axis, size = node.axis(int(node.attribute("axis", 1)), values.ndim), int(node.attribute("block_size"))
    scales = node.array(1)
    blocks = tuple(-(-count // size) if i == axis else count for i, count in enumerate(values.shape))
    expressible(scales.shape == blocks, f"its scales have shape {list(scales.shape)}, its blocks {list(blocks)}")
    expressible(points is None or points.shape == blocks, "its zero points have another shape than its scales")
    if values.ndim == 2 and node.tensor(0).elem in WIDTHS and _is_factor(node, axis):
        return _pack(node, values, points, axis, size)
    node.graph.reserve(8 * values.size)

    def spread(array: Array) -> Array:
        return np.repeat(array, size, axis).take(range(values.shape[axis]), axis)

    whole = values.astype(np.float32) - (0 if points is None else spread(points).astype(np.float32))
    return constant(node.name, (whole * spread(scales).astype(np.float32)).astype(scales.dtype))


def _is_factor(node: OnnxNode, axis: int) -> bool:
    """Return whether the only reader is a product along the axis of the blocks, maybe behind a Transpose."""
    only, name = node.conversion.source.find_only_reader, node.source.outputs[0]
    reader = only(name)
    if (
        reader is not None
        and reader.kind == "Transpose"
        and all([*each.ints] == [1, 0] for each in reader.proto.attribute)
    ):
        axis, name = 1 - axis, reader.outputs[0]
        reader = only(name)
    if reader is None or [i for i, each in enumerate(reader.inputs) if each == name] != [1]:
        return False
    if reader.kind == "Gemm":
        options = {each.name: each.f if each.name in ("alpha", "beta") else each.i for each in reader.proto.attribute}
        is_plain = options.get("alpha", 1) == options.get("beta", 1) == 1 and not options.get("transA", 0)
        return is_plain and axis == options.get("transB", 0)
    return reader.kind == "MatMul" and axis == 0


def _pack(node: OnnxNode, values: Array, points: Array | None, axis: int, size: int) -> OnnxTensor:
    """Return a matrix whose weights are packed along the axis of the blocks, as unsigned integers."""
    bits, scales = WIDTHS[node.tensor(0).elem], node.array(1)
    rows = values.shape[axis]
    node.graph.reserve(2 * values.size)

    def lay(array: Array) -> Array:
        """Return an array with the axis of the blocks last; signed integers become unsigned."""
        moved = array.T if axis == 0 else array
        if moved.dtype != np.int8:
            return moved
        highest = np.uint8(1 << (bits - 1))
        return (moved.view(np.uint8) ^ highest) & np.uint8((1 << bits) - 1)

    filled = np.pad(lay(values), [(0, 0), (0, -rows % size)]).reshape(values.shape[1 - axis], -1, size)
    zeros = points if points is not None else np.zeros(scales.shape, values.dtype)
    stored = [
        node.graph.constant(each, BYTES.with_dimensions(each.shape))
        for each in (pack_bits(filled, bits), pack_bits(lay(zeros), bits))
    ]
    factors = node.constant(np.ascontiguousarray(scales.T if axis == 0 else scales))
    packed = PackedWeights(stored[0], factors, stored[1], bits, size)
    return OnnxTensor(node.name, ELEM_OF[scales.dtype], values.shape, packed=packed)
