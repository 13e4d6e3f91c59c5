"""In which order and under which dimensions the graph keeps the tensors of a file.

Images are NCHW in the file. Operations of images compute NHWC; what they give stays so (``Term.turned``) until an
operation asks for the file's order, so that a network turns its images at its ends and not at every operation.
Tensors of a rank that NNAPI does not take have their elements laid under fewer dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.importers.graph import Value
from nnapi.importers.movement import transpose
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.terms import BYTES, OPEN, Term
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Shape

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
IMAGES = (3, 4)
"""Ranks of what is an image: NCHW, or NCW of height 1."""


@dataclass(frozen=True)
class Layout:
    """The dimensions of a result in the file, and whether its value is NHWC."""

    shape: Shape
    turned: bool = False

    def result(self, node: Node, value: Value, elem: int = 0) -> Term:
        return node.result(value, self.shape, elem=elem, turned=self.turned)


def image_shape(shape: Shape, turned: bool) -> Shape:
    """The dimensions under which an image lies: of rank 4."""
    n, c, *size = shape
    height, width = size if len(size) == 2 else (1, *size)
    return (n, height, width, c) if turned else (n, c, height, width)


def image(node: Node, i: int) -> Value:
    """Input ``i`` as an NHWC image of real numbers."""
    return node.graph.real(coded_image(node, i)) if node.term(i).elem not in BYTES else coded_image(node, i)


def coded_image(node: Node, i: int) -> Value:
    """Input ``i`` as an NHWC image, which may be one of codes."""
    term = node.term(i)
    if term.rank not in IMAGES:
        raise Refused(f"NNAPI has images of two dimensions, the input is of rank {term.rank}")
    if term.turned:
        assert term.value is not None
        return term.value
    turned = node.conversion.turned
    if term not in turned:
        turned[term] = turn(node, node.codes(i), term.dims)
    return turned[term]


def turn(node: Node, value: Value, shape: Shape) -> Value:
    """A value ordered as in the file as an NHWC image."""
    target = image_shape(shape, turned=True)
    if _order_matters(shape):
        return transpose(node, node.view(value, image_shape(shape, turned=False)), TO_LAST)
    return node.view(value, target)


def turn_back(node: Node, value: Value, shape: Shape) -> Value:
    """An NHWC image as the file orders it."""
    if _order_matters(shape):
        value = transpose(node, value, TO_FIRST)
    return node.view(value, shape)


def _order_matters(shape: Shape) -> bool:
    """Whether NCHW and NHWC order the elements differently."""
    _, c, *size = shape
    return c != 1 and any(each != 1 for each in size)


def from_image(node: Node, value: Value, rank: int) -> Term:
    """A result that is an NHWC image."""
    n, height, width, c = value.shape if value.rank == 4 else (OPEN,) * 4
    return node.result(value, (n, c, height, width) if rank == 4 else (n, c, width), turned=True)


def stretched(shapes: Sequence[Shape]) -> Shape:
    """The dimensions that several stretch to, of which some may be open."""
    rank = max(len(shape) for shape in shapes)
    found = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        wide = {size for size in sizes if size != 1}
        closed = wide - {OPEN}
        expressible(len(closed) <= 1, f"shapes {[list(shape) for shape in shapes]} do not stretch to each other")
        found.append(closed.pop() if closed else OPEN if wide else 1)
    return tuple(found)


def aligned(node: Node, *indices: int, coded: bool = False) -> tuple[list[Value], Layout]:
    """Inputs as values that stretch to each other element by element, and the layout of what comes of them; with
    ``coded`` constants too are the codes that stand for them."""
    terms = [node.term(i) for i in indices]
    shape = stretched([term.dims for term in terms])
    if any(term.turned and term.rank == len(shape) for term in terms):
        return [_beside_image(node, i, shape, coded) for i in indices], Layout(shape, turned=True)
    values = [node.coded(i) if coded else node.codes(i) for i in indices]
    if len(shape) <= HIGHEST_RANK or all(value.shape == shape for value in values):
        return values, Layout(shape)
    return _laid_lower(node, values, [term.dims for term in terms], shape), Layout(shape)


def _beside_image(node: Node, i: int, shape: Shape, coded: bool) -> Value:
    """Input ``i`` as it stretches to an NHWC image."""
    term = node.term(i)
    if term.turned and term.rank == len(shape):
        assert term.value is not None
        return term.value
    value = node.coded(i) if coded else node.codes(i)
    if all(size == 1 for size in term.dims):
        return node.view(value, (1,))
    own = (1,) * (len(shape) - term.rank) + term.dims
    if term.array is not None and not value.is_quantized:
        first = term.array.reshape(image_shape(own, turned=False))
        return node.constant(np.ascontiguousarray(first.transpose(TO_LAST)), value)
    return turn(node, value, own)


def _laid_lower(node: Node, values: Sequence[Value], shapes: Sequence[Shape], shape: Shape) -> list[Value]:
    """Values of a high rank under fewer dimensions: neighbours that stretch alike become one."""
    expressible(all(OPEN not in each for each in shapes), f"rank {len(shape)} with open dimensions")
    padded = [(1,) * (len(shape) - len(each)) + tuple(each) for each in shapes]
    groups: list[list[int]] = []
    last: tuple[bool, ...] | None = None
    for axis, size in enumerate(shape):
        kind = tuple(each[axis] == 1 for each in padded)
        if (size == 1 and groups) or kind == last:
            groups[-1].append(axis)
        else:
            groups.append([axis])
            last = kind if size != 1 else None
    expressible(len(groups) <= HIGHEST_RANK, f"its shapes stretch along {len(groups)} axes, NNAPI has {HIGHEST_RANK}")
    return [
        node.view(value, [math.prod(own[axis] for axis in group) for group in groups])
        for value, own in zip(values, padded, strict=True)
    ]


def around(node: Node, value: Value, shape: Shape, axis: int) -> Value:
    """A value under three dimensions: what lies before an axis, the axis, and what lies behind it."""
    return node.view(value, (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))


PLACES = {4: (0, 3, 1, 2), 3: (0, 3, 2)}
"""Where an axis of the file lies in an NHWC image, by the rank in the file."""


def moved(node: Node, i: int) -> tuple[Value, dict[int, int], bool]:
    """Input ``i`` as it lies, which axis of the value each axis of the file is, and whether it is an NHWC image."""
    term = node.term(i)
    if term.turned and term.value is not None:
        return term.value, dict(enumerate(PLACES[term.rank])), True
    return node.codes(i), {axis: axis for axis in range(term.rank)}, False


def collapsed(shape: Shape, kinds: Sequence[object]) -> tuple[Shape, list[int]]:
    """A shape in which neighbours of one kind are one dimension, and the axis of the result that each axis became."""
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
