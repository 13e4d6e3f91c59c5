"""MAX_POOL_3D and AVERAGE_POOL_3D by pooling of images, then of lines along the depth."""

from collections.abc import Sequence

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.convolution_3d import divide
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import Padding, Pair

KINDS = {Composite.MAX_POOL_3D: "max_pool_2d", Composite.AVERAGE_POOL_3D: "average_pool_2d"}


@decomposition(*KINDS)
def pool_3d(b: Decomposition, input: Tensor, paddings: Array, strides: Array, size: Array) -> Tensor:
    """A mean of means is a mean, because the windows of all images have the same padding."""
    out = b.call.results[0].dimensions
    n, depth, *image, channels = input.shape
    pads, stride, window = map(divide, (paddings, strides, size))
    flat = _pool(b, b.reshape(input, (n * depth, *image, channels)), pads.image, stride.image, window.image)
    lines = b.reshape(flat, (n, depth, out[2] * out[3], channels))
    return b.reshape(_pool(b, lines, (pads.depth, (0, 0)), (stride.depth, 1), (window.depth, 1)), out)


def _pool(b: Decomposition, x: Tensor, padding: Padding, stride: Pair, size: Sequence[int]) -> Tensor:
    if (*size, *stride) == (1, 1, 1, 1):
        return x
    (top, bottom), (left, right) = padding
    pool = getattr(b, KINDS[Composite(b.call.operation.code)])
    found: Tensor = pool(x, left, right, top, bottom, *stride[::-1], *size[::-1], 0)
    return found
