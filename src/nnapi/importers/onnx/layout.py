"""In which order and under which dimensions the graph keeps the tensors of a file.

Images are NCHW in the file. Operations of images compute NHWC; what they give stays so (``Tensor.is_nhwc``) until an
operation asks for the file's order, so that a network turns its images at its ends and not at every operation.
Tensors of a rank that NNAPI does not take have their elements laid under fewer dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.importers.graph import Value
from nnapi.importers.onnx.images import IMAGES, TO_LAST, image_shape, to_nhwc
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.tensors import OPEN, Tensor, constant
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Shape


@dataclass(frozen=True)
class Layout:
    """The dimensions of a result in the file, and whether its value is NHWC."""

    shape: Shape
    is_nhwc: bool = False

    def result(self, node: Node, value: Value, elem: int = 0) -> Tensor:
        return node.result(value, self.shape, elem=elem, is_nhwc=self.is_nhwc)


def image(node: Node, i: int) -> Value:
    """Return input ``i`` as an NHWC image of float values."""
    return node.read_numbers(i, image_codes(node, i))


def image_codes(node: Node, i: int) -> Value:
    """Return input ``i`` as an NHWC image, which may be quantized."""
    tensor = node.tensor(i)
    if tensor.rank not in IMAGES:
        raise Refused(f"NNAPI has images of two dimensions, the input is of rank {tensor.rank}")
    if tensor.nhwc is not None:
        return tensor.nhwc
    images = node.conversion.nhwc_images
    if tensor not in images:
        images[tensor] = to_nhwc(node, node.codes(i), tensor.dims)
    return images[tensor]


def from_image(node: Node, value: Value, rank: int) -> Tensor:
    """A result that is an NHWC image."""
    n, height, width, c = value.shape if value.rank == 4 else (OPEN,) * 4
    return node.result(value, (n, c, height, width) if rank == 4 else (n, c, width), is_nhwc=True)


def flatten_shape(shape: Shape, axis: int) -> Shape:
    """Two dimensions: those before an axis, and those from it on."""
    return tuple(OPEN if OPEN in part else math.prod(part) for part in (shape[:axis], shape[axis:]))


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The dimensions that several stretch to, of which some may be open."""
    rank = max(len(shape) for shape in shapes)
    found = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        wide = {size for size in sizes if size != 1}
        closed = wide - {OPEN}
        expressible(len(closed) <= 1, f"shapes {[list(shape) for shape in shapes]} do not stretch to each other")
        found.append(closed.pop() if closed else OPEN if wide else 1)
    return tuple(found)


def align(node: Node, *indices: int, in_codes: bool = False) -> tuple[list[Value], Layout]:
    """Return inputs as values that broadcast to each other, and the layout of the result.

    They are floats, or bytes as integers; with ``in_codes`` quantized as the file stores them.
    """
    tensors = [node.tensor(i) for i in indices]
    shape = broadcast_shape([tensor.dims for tensor in tensors])
    is_nhwc = any(tensor.is_nhwc and tensor.rank == len(shape) for tensor in tensors)
    if is_nhwc:
        values = [_broadcast_to_image(node, i, shape, in_codes) for i in indices]
    else:
        values = [node.codes(i, of_constants=in_codes) for i in indices]
        if len(shape) > HIGHEST_RANK and any(value.shape != shape for value in values):
            values = _lower_rank(node, values, [tensor.dims for tensor in tensors], shape)
    if not in_codes:
        values = [node.read_numbers(i, value) for i, value in zip(indices, values, strict=True)]
    return values, Layout(shape, is_nhwc)


def real_input(node: Node, *, of_any_rank: bool = False) -> tuple[Value, Layout]:
    """Return input 0 as :func:`align` does; its rank is reduced to the one that most NNAPI operations take."""
    (value,), layout = align(node, 0)
    if value.rank > HIGHEST_RANK and value.type.is_known and not of_any_rank:
        value = node.view(value, (math.prod(value.shape),))
    return value, layout


def align_from(node: Node, i: int, leader: int, axis: int) -> None:
    """Let input ``i`` stretch to another one whose dimensions from ``axis`` on are its own: ones follow them."""
    tensor, rank = node.tensor(i), node.tensor(leader).rank
    shape = tensor.dims + (1,) * (rank - node.axis(axis, rank) - tensor.rank)
    if tensor.array is not None:
        aligned = constant(tensor.name, tensor.array.reshape(shape), in_file=tensor.in_file)
    else:
        aligned = Tensor(tensor.name, tensor.elem, shape, value=node.view(node.codes(i), shape))
    node.tensors = [*node.tensors[:i], aligned, *node.tensors[i + 1 :]]


def _broadcast_to_image(node: Node, i: int, shape: Shape, of_constants: bool) -> Value:
    """Input ``i`` as it stretches to an NHWC image."""
    tensor = node.tensor(i)
    if tensor.nhwc is not None and tensor.rank == len(shape):
        return tensor.nhwc
    value = node.codes(i, of_constants=of_constants)
    if all(size == 1 for size in tensor.dims):
        return node.view(value, (1,))
    own = (1,) * (len(shape) - tensor.rank) + tensor.dims
    if tensor.array is not None and not value.is_quantized:
        first = tensor.array.reshape(image_shape(own, is_nhwc=False))
        return node.constant(np.ascontiguousarray(first.transpose(TO_LAST)), value)
    return to_nhwc(node, value, own)


def _lower_rank(node: Node, values: Sequence[Value], shapes: Sequence[Shape], shape: Shape) -> list[Value]:
    """Return values of a high rank with fewer dimensions: adjacent axes that broadcast alike are merged."""
    expressible(all(OPEN not in each for each in shapes), f"rank {len(shape)} with dynamic dimensions")
    padded = [(1,) * (len(shape) - len(each)) + tuple(each) for each in shapes]
    kinds: list[tuple[bool, ...]] = []
    for axis, size in enumerate(shape):
        kinds.append(kinds[-1] if size == 1 and kinds else tuple(each[axis] == 1 for each in padded))
    rank = len(collapse(shape, kinds)[0])
    expressible(rank <= HIGHEST_RANK, f"its shapes stretch along {rank} axes, NNAPI has {HIGHEST_RANK}")
    return [node.view(value, collapse(own, kinds)[0]) for value, own in zip(values, padded, strict=True)]


def view_around(node: Node, value: Value, shape: Shape, axis: int) -> Value:
    """A value under three dimensions: what lies before an axis, the axis, and what lies behind it."""
    return node.view(value, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))


PLACES = {4: (0, 3, 1, 2), 3: (0, 3, 2)}
"""The axis in an NHWC image of each axis in the file, by the rank in the file."""


def read_as_stored(node: Node, i: int) -> tuple[Value, dict[int, int], bool]:
    """Input ``i`` as it lies, which axis of the value each axis of the file is, and whether it is an NHWC image."""
    tensor = node.tensor(i)
    if tensor.nhwc is not None:
        return tensor.nhwc, dict(enumerate(PLACES[tensor.rank])), True
    return node.codes(i), {axis: axis for axis in range(tensor.rank)}, False


def collapse(shape: Shape, kinds: Sequence[object]) -> tuple[Shape, list[int]]:
    """Merge adjacent dimensions of one kind; return the shape and, for each axis, the axis of the result."""
    sizes: list[int] = []
    places: list[int] = []
    last: object = object()
    for size, kind in zip(shape, kinds, strict=True):
        if sizes and kind == last:
            sizes[-1] *= size
        else:
            sizes.append(size)
            last = kind
        places.append(len(sizes) - 1)
    return tuple(sizes), places
