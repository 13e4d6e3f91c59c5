"""Pad, in its modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import FLOATS, INT32, Value
from nnapi.importers.onnx.layout import read_as_stored
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.movement import block, join
from nnapi.importers.onnx.tensors import BYTES, Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType

MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}
"""ONNX's modes by the name of NumPy's."""

Widths = list[tuple[int, int]]


@rule("Pad")
def pad(node: Node) -> Tensor:
    tensor, mode = node.tensor(0), node.attribute("mode", "constant")
    need(mode in MODES, f"its mode is {mode}", BadDataError)
    expressible(tensor.rank <= HIGHEST_RANK, f"NNAPI pads no rank {tensor.rank}")
    widths = _widths(node, tensor.rank)
    shape = tuple(size and size + sum(width) for size, width in zip(tensor.dims, widths, strict=True))
    value, places, is_nhwc = read_as_stored(node, 0)
    along = [(0, 0)] * value.rank
    for axis, width in enumerate(widths):
        along[places[axis]] = width
    value = _crop(node, value, along)
    along = [(max(low, 0), max(high, 0)) for low, high in along]
    number = _number(node) if mode == "constant" else 0.0
    if tensor.elem in BYTES and value.is_quantized:  # the file says a byte, whatever that stands for
        number = (number - value.type.zero_point) * value.type.scale
    result = pad_with(node, value, along, number) if mode == "constant" else pad_by_mode(node, value, along, mode)
    return node.result(result, shape, elem=tensor.elem, is_nhwc=is_nhwc)


def _widths(node: Node, rank: int) -> Widths:
    """Elements to add, or to take away, before and behind each axis."""
    pads = node.integers(1, "pads") or []
    axes = [node.axis(int(axis), rank) for axis in node.array(3).reshape(-1)] if node.has(3) else list(range(rank))
    need(len(pads) == 2 * len(axes), f"{len(pads)} pads for {len(axes)} axes", BadDataError)
    widths = [(0, 0)] * rank
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        widths[axis] = (low, high)
    return widths


def _number(node: Node) -> float:
    if node.since < 11:
        return float(node.attribute("value", 0.0))
    return float(node.array(2).reshape(())) if node.has(2) else 0.0


def _crop(node: Node, value: Value, along: Widths) -> Value:
    if all(low >= 0 and high >= 0 for low, high in along):
        return value
    begin = [max(-low, 0) for low, _ in along]
    size = [
        have + min(low, 0) + min(high, 0) for have, (low, high) in zip(node.static_shape_of(value), along, strict=True)
    ]
    expressible(min(size) > 0, "its result has no elements")
    return block(node, value, begin, size)


def pad_with(node: Node, value: Value, along: Widths, number: float) -> Value:
    """A value with a number around it."""
    if not any(map(any, along)):
        return value
    if value.type.code in FLOATS:
        if number == 0:
            return node.apply(OperationCode.PAD, value, node.graph.ints(along))
        return node.apply(OperationCode.PAD_V2, value, node.graph.ints(along), node.real(number, value))
    code = int(number) if not value.is_quantized else round(number / value.type.scale) + value.type.zero_point
    limits = np.iinfo(value.type.dtype)
    expressible(limits.min <= code <= limits.max, f"it pads with {number:g}, outside the range of its quantized type")
    if value.is_quantized:
        scalar = node.graph.scalar(OperandCode.INT32, code)
        return node.apply(OperationCode.PAD_V2, value, node.graph.ints(along), scalar)
    for axis, (low, high) in enumerate(along):
        shape = list(node.static_shape_of(value))
        parts = []
        for width in (low, high):
            shape[axis] = width
            parts.append(node.spread(OperandType(value.type.code), code, tuple(shape)) if width else None)
        value = join(node, [part for part in (parts[0], value, parts[1]) if part is not None], axis)
    return value


def pad_by_mode(node: Node, value: Value, along: Sequence[tuple[int, int]], mode: str) -> Value:
    """A value with its own elements around it."""
    reflected = mode == "reflect" and value.type.code != INT32
    fits = all(max(width) < size for width, size in zip(along, node.static_shape_of(value), strict=True))
    if reflected and fits:
        return node.apply(OperationCode.MIRROR_PAD, value, node.graph.ints(along), node.i32(0))
    for axis, width in enumerate(along):
        if any(width):
            places = np.pad(np.arange(value.shape[axis]), width, mode=MODES[mode])  # type: ignore[call-overload]
            value = node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(places))
    return value
