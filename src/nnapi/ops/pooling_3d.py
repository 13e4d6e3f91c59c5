"""Pooling of volumes, images of three dimensions: one element per window; padding does not count.

MAX_POOL_3D: the largest element of each window of a volume.
AVERAGE_POOL_3D: the mean of each window of a volume.
"""

import numpy as np

from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Tensor, Values
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.pooling import average_pool, max_pool
from nnapi.ops.shapes import count_windows_in, need_image
from nnapi.ops.signature_types import QUANT8, QUANT8_SIGNED, floats, reals

ONES = np.ones(3, np.int32)


def _pool(code: CompositeCode, facts: Facts, types: Levels) -> Operation:
    operation = Operation(
        code,
        facts=facts,
        inputs=(
            Tensor("input", types, rank=5, late_rank=True),
            Values("paddings", rank=2, since=3),
            Values("strides", since=3),
            Values("size", since=3),
        ),
        outputs=(Tensor("out", like="input", quant="input"),),
    )

    @operation.shape
    def infer_shape(input: OperandType, paddings: Array, strides: Array, size: Array) -> Shape:
        n, *volume, depth = need_image("input", input)
        return (n, *count_windows_in(volume, size.tolist(), paddings, strides, ONES), depth)

    return operation


MAX_POOL_3D = _pool(CompositeCode.MAX_POOL_3D, Facts(Kind.REDUCTION, Trait.CHOOSES), reals(3, quant8=3))
AVERAGE_POOL_3D = _pool(CompositeCode.AVERAGE_POOL_3D, Facts(Kind.REDUCTION), floats(3))


@MAX_POOL_3D.kernel(kind="raw", types=(QUANT8, QUANT8_SIGNED))
@MAX_POOL_3D.kernel
def max_pool_3d(input: Array, paddings: Array, strides: Array, size: Array) -> Array:
    return max_pool(input, paddings.tolist(), strides.tolist(), size.tolist())


@AVERAGE_POOL_3D.kernel
def average_pool_3d(input: Array, paddings: Array, strides: Array, size: Array) -> Array:
    return average_pool(input, paddings.tolist(), strides.tolist(), size.tolist())


@MAX_POOL_3D.proposal
@AVERAGE_POOL_3D.proposal
def propose_pooling(draw: Draw) -> Proposal:
    from nnapi.ops.volume_proposals import draw_windows  # only random tests need it

    _, size = draw_windows(draw, draw.pick(1, 2, 3, 8, 17))
    draw.proposal.numbers["size"] = np.array(size, np.int32)
    return draw.proposal
