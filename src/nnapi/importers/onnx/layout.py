"""The axis order and rank of a file's tensors in the graph.

Images are NCHW in the file, NHWC in NNAPI. Results stay NHWC (``Tensor.is_nhwc``) until an operation needs the file's
order, so most networks transpose only inputs and outputs. Tensors of more than four dimensions have merged dimensions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nnapi.importers.broadcasting import broadcast_shape
from nnapi.importers.graph import Value
from nnapi.importers.movement import collapse
from nnapi.importers.onnx.images import IMAGES, VOLUME, channels_last, image_shape, to_nhwc
from nnapi.importers.onnx.node import HIGHEST_RANK, WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor, constant
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Shape
from nnapi.shapes.array import in_order


@dataclass(frozen=True)
class Layout:
    shape: Shape
    is_nhwc: bool = False

    def result(self, node: OnnxNode, value: Value, elem: int = 0) -> OnnxTensor:
        return node.result(value, self.shape, elem=elem, is_nhwc=self.is_nhwc)


def image(node: OnnxNode, i: int, *, volumes: bool = False) -> Value:
    """Return input ``i`` as an NHWC image of float values."""
    return node.dequantize_unless_bytes(i, stored_image(node, i, volumes=volumes))


def stored_image(node: OnnxNode, i: int, *, volumes: bool = False) -> Value:
    """Return input ``i`` as an NHWC image, which may be quantized, or as a volume if the rule has ``volumes``."""
    tensor = node.tensor(i)
    if tensor.rank not in IMAGES and not (volumes and tensor.rank == VOLUME):
        raise Refused(f"NNAPI has images of two dimensions, the input is of rank {tensor.rank}")
    if tensor.nhwc is not None:
        return tensor.nhwc
    images = node.conversion.nhwc_images
    if tensor not in images:
        images[tensor] = to_nhwc(node, node.stored(i), tensor.dims)
    return images[tensor]


def from_image(node: OnnxNode, value: Value) -> OnnxTensor:
    """Return an NHWC image as a result whose shape in the file has the rank of input 0."""
    rank = node.tensor(0).rank
    n, *size, c = value.shape if value.rank == max(rank, 4) else (DYNAMIC,) * max(rank, 4)
    return node.result(value, (n, c, *size) if rank > 3 else (n, c, size[1]), is_nhwc=True)


def flatten_shape(shape: Shape, axis: int) -> Shape:
    return tuple(DYNAMIC if DYNAMIC in part else math.prod(part) for part in (shape[:axis], shape[axis:]))


def align(node: OnnxNode, *indices: int, quantized: bool = False) -> tuple[list[Value], Layout]:
    """Return inputs in a layout in which they broadcast, as floats or plain bytes, and the result's layout."""
    tensors = [node.tensor(i) for i in indices]
    shape = broadcast_shape([tensor.dims for tensor in tensors])
    is_nhwc = any(tensor.is_nhwc and tensor.rank == len(shape) for tensor in tensors)
    if is_nhwc:
        values = [_broadcast_to_image(node, i, shape, quantized) for i in indices]
    else:
        values = [node.stored(i, of_constants=quantized) for i in indices]
        if len(shape) > HIGHEST_RANK and any(value.shape != shape for value in values):
            values = _lower_rank(node, values, [tensor.dims for tensor in tensors], shape)
    if not quantized:
        values = [node.dequantize_unless_bytes(i, value) for i, value in zip(indices, values, strict=True)]
    return values, Layout(shape, is_nhwc)


def real_input(node: OnnxNode) -> tuple[Value, Layout]:
    """Return input 0 and its layout, as :func:`align` does."""
    (value,), layout = align(node, 0)
    return value, layout


def align_from(node: OnnxNode, axis: int) -> None:
    """Append axes of 1 to the second input so that it begins at ``axis`` of the first, as before opset 7."""
    tensor, rank = node.tensor(1), node.tensor(0).rank
    shape = tensor.dims + (1,) * (rank - node.axis(axis, rank) - tensor.rank)
    if tensor.array is not None:
        aligned = constant(tensor.name, tensor.array.reshape(shape), in_file=tensor.in_file)
    else:
        aligned = OnnxTensor(tensor.name, tensor.elem, shape, value=node.view(node.stored(1), shape))
    node.tensors = [node.tensors[0], aligned, *node.tensors[2:]]


def _broadcast_to_image(node: OnnxNode, i: int, shape: Shape, of_constants: bool) -> Value:
    tensor = node.tensor(i)
    if tensor.nhwc is not None and tensor.rank == len(shape):
        return tensor.nhwc
    value = node.stored(i, of_constants=of_constants)
    if all(size == 1 for size in tensor.dims):
        return node.view(value, (1,))
    own = (1,) * (len(shape) - tensor.rank) + tensor.dims
    if tensor.array is not None and not value.is_quantized:
        first = tensor.array.reshape(image_shape(own, is_nhwc=False))
        return node.constant(in_order(first.transpose(channels_last(first.ndim))), value)
    return to_nhwc(node, value, own)


def _lower_rank(node: OnnxNode, values: Sequence[Value], shapes: Sequence[Shape], shape: Shape) -> list[Value]:
    """Lower the rank by merging adjacent axes that broadcast alike."""
    expressible(all(DYNAMIC not in each for each in shapes), f"rank {len(shape)} with dynamic dimensions")
    padded = [(1,) * (len(shape) - len(each)) + tuple(each) for each in shapes]
    kinds: list[tuple[bool, ...]] = []
    for axis, size in enumerate(shape):
        kinds.append(kinds[-1] if size == 1 and kinds else tuple(each[axis] == 1 for each in padded))
    rank = len(collapse(shape, kinds)[0])
    expressible(rank <= WIDEST_RANK, f"its shapes stretch along {rank} axes, operations along at most {WIDEST_RANK}")
    return [node.view(value, collapse(own, kinds)[0]) for value, own in zip(values, padded, strict=True)]


def view_around(node: OnnxNode, value: Value, shape: Shape, axis: int) -> Value:
    """Reshape a value to three dimensions: all axes before ``axis`` merged, ``axis``, all axes behind it merged."""
    return node.view(value, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))


NHWC_AXES = {5: (0, 4, 1, 2, 3), 4: (0, 3, 1, 2), 3: (0, 3, 2)}
"""The axis of an NHWC image for each axis in the file, by the rank in the file."""


def read_as_stored(node: OnnxNode, i: int) -> tuple[Value, dict[int, int], bool]:
    """Return input ``i`` in its current layout, a map from the file's axes to the value's, and whether the layout is
    NHWC."""
    tensor = node.tensor(i)
    if tensor.nhwc is not None:
        return tensor.nhwc, dict(enumerate(NHWC_AXES[tensor.rank])), True
    return node.stored(i), {axis: axis for axis in range(tensor.rank)}, False
