"""Padding: constants, reflections, edges and repetitions around a tensor, or elements removed from its ends."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOATS, INT32, Value
from nnapi.importers.onnx.layout import read_as_stored
from nnapi.importers.onnx.node import WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import BYTES, DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible, need_elements

Widths = list[tuple[int, int]]


@rule("Pad")
def pad(node: OnnxNode) -> OnnxTensor:
    tensor, mode = node.tensor(0), node.attribute("mode")
    expressible(
        mode in ("constant", "reflect", "edge", "wrap"), f"its mode is {mode}, must be constant, reflect, edge or wrap"
    )
    expressible(tensor.rank <= WIDEST_RANK, f"it pads a tensor of rank {tensor.rank}, operations at most {WIDEST_RANK}")
    if node.has(1) and node.tensor(1).array is None and mode == "constant":
        return _pad_at_run(node)
    widths = _widths(node, tensor.rank)
    shape = tuple(size and size + sum(width) for size, width in zip(tensor.dims, widths, strict=True))
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    value = value if is_nhwc else node.view(value, tensor.dims)
    along = [(0, 0)] * value.rank
    for axis, width in enumerate(widths):
        along[axis_of[axis]] = width
    value = _crop(node, value, along)
    along = [(max(low, 0), max(high, 0)) for low, high in along]
    if mode == "constant":
        number = _number(node)
        if tensor.elem in BYTES and value.is_quantized:  # the file gives a stored byte, not a float value
            number = (number - value.type.zero_point) * value.type.scale
        value = pad_with(node, value, along, number)
    else:
        value = _pad_by_mode(node, value, along, mode)
    return node.result(value, shape, elem=tensor.elem, is_nhwc=is_nhwc)


def _pad_at_run(node: OnnxNode) -> OnnxTensor:
    """Pad with computed numbers of elements, which the file lists first before, then behind each axis."""
    tensor, value = node.tensor(0), node.input(0)
    expressible(value.is_float, f"NNAPI pads no {value.type.name} with computed widths")
    expressible(not node.has(3), "its axes are given, and its widths are computed")
    order = np.arange(2 * tensor.rank).reshape(2, -1).T.reshape(-1)
    pads = node.apply(OperationCode.GATHER, node.cast(node.input(1), INT32), node.i32(0), node.graph.ints(order))
    known = node.tensor(1).known_sizes
    widths = np.full((tensor.rank, 2), -1) if known is None else known[order].reshape(-1, 2)
    shape = tuple(
        size + int(sum(each)) if size and min(each) >= 0 else DYNAMIC
        for size, each in zip(tensor.dims, widths, strict=True)
    )
    number = node.real(_number(node), value)
    found = node.apply(OperationCode.PAD_V2, value, node.view(pads, (tensor.rank, 2)), number, shape=shape)
    return node.result(found, shape, elem=tensor.elem)


def _widths(node: OnnxNode, rank: int) -> Widths:
    """Return the elements to add before and behind each axis; negative numbers remove elements."""
    pads = node.integers(1, "pads") or []
    axes = [node.axis(int(axis), rank) for axis in node.array(3).reshape(-1)] if node.has(3) else list(range(rank))
    expressible(len(pads) == 2 * len(axes), f"{len(pads)} pads for {len(axes)} axes")
    widths = [(0, 0)] * rank
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        widths[axis] = (low, high)
    return widths


def _number(node: OnnxNode) -> float:
    if node.since < 11:
        return float(node.attribute("value", 0.0))
    return float(node.array(2).reshape(())) if node.has(2) else 0.0


def _crop(node: OnnxNode, value: Value, along: Widths) -> Value:
    if all(low >= 0 and high >= 0 for low, high in along):
        return value
    begin = [max(-low, 0) for low, _ in along]
    size = [
        have + min(low, 0) + min(high, 0) for have, (low, high) in zip(node.static_shape_of(value), along, strict=True)
    ]
    need_elements(all(each > 0 for each in size))
    return node.slice(value, begin, size)


def pad_with(node: OnnxNode, value: Value, along: Widths, number: float) -> Value:
    if not any(map(any, along)):
        return value
    if value.type.code in FLOATS:
        if number == 0:
            return node.apply(OperationCode.PAD, value, node.graph.ints(along))
        return node.apply(OperationCode.PAD_V2, value, node.graph.ints(along), node.real(number, value))
    stored = int(number) if not value.is_quantized else round(number / value.type.scale) + value.type.zero_point
    limits = np.iinfo(value.type.dtype)
    expressible(limits.min <= stored <= limits.max, f"it pads with {number:g}, outside the range of its quantized type")
    if value.is_quantized:
        scalar = node.graph.scalar(OperandCode.INT32, stored)
        return node.apply(OperationCode.PAD_V2, value, node.graph.ints(along), scalar)
    return node.pad_by_concatenation(value, along, stored)


def _pad_by_mode(node: OnnxNode, value: Value, along: Widths, mode: str) -> Value:
    reflected = mode == "reflect" and value.type.code != INT32
    fits = all(max(width) < size for width, size in zip(along, node.static_shape_of(value), strict=True))
    if reflected and fits:
        return node.apply(OperationCode.MIRROR_PAD, value, node.graph.ints(along), node.i32(0))
    for axis, width in enumerate(along):
        if any(width):
            positions = np.pad(np.arange(value.shape[axis]), width, mode=mode)  # type: ignore[call-overload]
            value = node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(positions))
    return value
