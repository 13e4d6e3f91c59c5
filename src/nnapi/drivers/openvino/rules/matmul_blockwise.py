"""Products by weights of few bits, which the engine keeps packed: it unpacks them in the kernel of the product."""

import numpy as np

from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.sizes import reshape
from nnapi.drivers.openvino.value import SHARED, Node, Value, constant, make_shareable, number
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import CompositeCode

PACKED = {4: ov.Type.u4, 8: ov.Type.u8}
"""The element types of packed weights that the engine's products take, by their number of bits."""


@lower(CompositeCode.BLOCKWISE_FULLY_CONNECTED)
def blockwise_fully_connected(
    context: OpenvinoContext,
    input: Value,
    weights: Value,
    scales: Value,
    zero_points: Value | None,
    bias: Value | None,
    bits: int,
    block_size: int,
) -> Value:
    width = input.type.dimensions[-1]
    units, blocks = scales.type.dimensions
    require(bits in PACKED, f"the engine's products take no weights of {bits} bits")
    require(width == blocks * block_size, f"blocks of {block_size} columns do not fit {width} columns")
    require(block_size * bits % 8 == 0, "the weights of a block do not fill whole bytes")
    require(zero_points is None or blocks * bits % 8 == 0, "the zero points of a unit do not fill whole bytes")
    values = _unpack(weights, (units, blocks, block_size), bits)
    points = number(1 << (bits - 1)) if zero_points is None else _unpack(zero_points, (units, blocks, 1), bits)
    factors = constant(_need_constant(scales).astype(np.float32, copy=False).reshape(units, blocks, 1))
    matrix = op.reshape(op.multiply(op.subtract(values, points), factors), [units, width], False)
    y = op.matmul(reshape(input.real(), [input.type.size // width, width]), matrix, False, True)
    return context.result(y if bias is None else op.add(y, bias.real()))


def _unpack(packed: Value, shape: Shape, bits: int) -> Node:
    """Return packed integers as floats; the constant shares the memory of the bytes."""
    array = _need_constant(packed)
    tensor = ov.Tensor(make_shareable(array).reshape(-1), ov.Shape(list(shape)), PACKED[bits])
    return op.convert(ov.op.Constant(tensor, shared_memory=array.nbytes > SHARED), "f32")


def _need_constant(value: Value) -> Array:
    require(value.array is not None, f"{value.name} is computed, the engine needs it constant")
    assert value.array is not None
    return value.array
