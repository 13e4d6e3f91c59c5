"""DFT by a product with a constant matrix."""

import math

import numpy as np

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.dft import LARGEST_MATRIX, make_matrix
from nnapi.ops.shapes import axis_of


@decomposition(Composite.DFT)
def dft(b: Decomposition, input: Tensor, axis: int, length: int, inverse: bool, onesided: bool) -> Tensor:
    out, last = b.call.results[0].dimensions, len(input.shape) - 1
    axis = axis_of(axis, len(input.shape))
    columns, count = input.shape[axis] * input.shape[-1], out[axis] * out[-1]
    require(columns * count <= LARGEST_MATRIX, f"its matrix would have {columns * count} elements")
    matrix = make_matrix(input.shape[axis], input.shape[-1], length, inverse=inverse, onesided=onesided)
    weights = b.constant(np.ascontiguousarray(matrix.T, input.type.dtype))
    order = [*(each for each in range(last) if each != axis), axis, last]
    moved = b.transpose(input, order)
    rows = b.reshape(moved, (math.prod(moved.shape) // columns, columns))
    bias = b.constant(np.zeros(count, input.type.dtype))
    made = b.reshape(b.fully_connected(rows, weights, bias, 0), [out[each] for each in order])
    return b.transpose(made, np.argsort(order).tolist())
