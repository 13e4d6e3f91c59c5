"""RESIZE_NEAREST_NEIGHBOR by GATHER, RESIZE_BILINEAR by GATHER and interpolation."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition, read_stored, round_half_up, write_stored
from nnapi.model.builder import Tensor
from nnapi.ops.quantized_values import AWAY
from nnapi.ops.resize import nearest_cells, neighbors
from nnapi.ops.shapes import Pair


@decomposition(Op.RESIZE_NEAREST_NEIGHBOR)
def resize_nearest_neighbor(b: Decomposition, input: Tensor, size: Pair, **sampling: bool) -> Tensor:
    for axis, out in zip((1, 2), size, strict=True):
        input = b.pick(input, axis, nearest_cells(input.shape[axis], out, **sampling).tolist())
    return input


@decomposition(Op.RESIZE_BILINEAR)
def resize_bilinear(b: Decomposition, input: Tensor, size: Pair, **sampling: bool) -> Tensor:
    """Interpolate quantized values as integers less their zero point, so that halves round as in the reference."""
    x = read_stored(b, input) if input.type.is_quantized else input
    for axis, out in zip((1, 2), size, strict=True):
        low, high, share = neighbors(x.shape[axis], out, **sampling)
        first, second = (b.pick(x, axis, cells.tolist()) for cells in (low, high))
        weight = b.constant(share.astype(np.float32).reshape(-1, *[1] * (3 - axis)))
        x = first + (second - first) * weight
    if not input.type.is_quantized:
        return x
    rounded = round_half_up(b, abs(x) * AWAY)
    signed = b.select(x > np.zeros(x.shape, np.float32), rounded, -rounded)
    return write_stored(b, signed, input.type)
