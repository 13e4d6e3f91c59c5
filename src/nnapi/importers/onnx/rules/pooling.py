"""Pooling."""

import math
import operator
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, FLOATS, Value
from nnapi.importers.onnx.images import IMAGES
from nnapi.importers.onnx.layout import from_image, image, stored_image
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.convolution import Windows, find_windows, pad_and_stride
from nnapi.importers.onnx.rules.indexing import slice_with_step
from nnapi.importers.onnx.rules.padding import pad_with
from nnapi.importers.onnx.rules.pooling_indices import pool_with_indices
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term
from nnapi.model.operand import Shape
from nnapi.operation_codes import CompositeCode

POOLS = {"AveragePool": OperationCode.AVERAGE_POOL_2D, "MaxPool": OperationCode.MAX_POOL_2D}
OF_VOLUMES = {
    OperationCode.AVERAGE_POOL_2D: CompositeCode.AVERAGE_POOL_3D,
    OperationCode.MAX_POOL_2D: CompositeCode.MAX_POOL_3D,
}
GLOBAL = {"GlobalAveragePool": OperationCode.MEAN, "GlobalMaxPool": OperationCode.REDUCE_MAX}


@rule(*POOLS)
def pool(node: OnnxNode) -> OnnxTensor | list[OnnxTensor]:
    """Lower pooling. In NNAPI, padding counts neither in the average nor in the maximum."""
    if node.wants(1):
        return pool_with_indices(node, stored_image(node, 0, volumes=True), pool_windows(node))
    x, window = stored_image(node, 0, volumes=True), pool_windows(node)
    if node.kind == "AveragePool" and node.attribute("count_include_pad"):
        x, window = _with_zeros(node, x, window)
    if not window.is_dilated:
        result = apply_pool(node, POOLS[node.kind], x, window)
    elif node.kind == "MaxPool":
        result = _max_pool_dilated(node, x, window)
    else:
        result = _average_dilated(node, node.graph.real(x), window)
    return from_image(node, result)


def pool_windows(node: OnnxNode) -> Windows:
    """Return the window of a node. With ``ceil_mode`` its last position may end, not begin, beyond the image."""
    shape, window = node.shape(0), _given_windows(node)
    if not node.attribute("ceil_mode") or node.attribute("auto_pad") != "NOTSET":
        return window
    size = shape[2:] if len(shape) > 3 else (1, *shape[2:])
    pads = []
    for i, (low, high) in enumerate(window.pads):
        expressible(size[i] != DYNAMIC, "it rounds the size of a dynamic image up; fix it by load(shapes=…)")
        span, stride, whole = window.span[i], window.stride[i], size[i] + low + high
        steps = -(-(whole - span) // stride)
        if steps * stride >= size[i] + low:
            steps -= 1
        pads.append((low, max(high, steps * stride + span - size[i] - low)))
    return window._replace(pads=tuple(pads))


def _given_windows(node: OnnxNode) -> Windows:
    return find_windows(node, tuple(node.attribute("kernel_shape") or ()))


def apply_pool(node: OnnxNode, code: OperationCode, x: Value, window: Windows) -> Value:
    if len(window.size) == 3:
        numbers = node.graph.ints(window.pads), node.graph.ints(window.stride), node.graph.ints(window.size)
        return node.apply(OF_VOLUMES[code], x, *numbers)
    return node.apply(code, x, *pad_and_stride(node, window), *map(node.i32, (*window.size[::-1], 0)))


def _with_zeros(node: OnnxNode, x: Value, window: Windows) -> tuple[Value, Windows]:
    """Pad the image with zeros that count in the average; the pads that ``ceil_mode`` adds do not count."""
    own = _given_windows(node).pads
    added = tuple((0, high - mine[1]) for (_, high), mine in zip(window.pads, own, strict=True))
    return pad_with(node, x, [(0, 0), *own, (0, 0)], 0.0), window._replace(pads=added)


def _max_pool_dilated(node: OnnxNode, x: Value, window: Windows) -> Value:
    x = pad_with(node, x, [(0, 0), *window.pads, (0, 0)], _lowest(x))
    return reduce(lambda best, each: node.apply(OperationCode.MAXIMUM, best, each), _list_taps(node, x, window))


def _average_dilated(node: OnnxNode, x: Value, window: Windows) -> Value:
    """Divide the sum over all filter taps by the number of those inside the image."""
    inside = np.pad(np.ones(node.static_shape_of(x)[1:-1], np.float32), window.pads)
    counts = sum(inside[_where(tap, window, inside.shape)] for tap in np.ndindex(*window.size))
    x = pad_with(node, x, [(0, 0), *window.pads, (0, 0)], 0.0)
    factors = 1 / np.maximum(counts, 1)[..., np.newaxis]
    return (_sum_taps(node, x, window) * Term(node, node.constant(factors, x))).value


def _sum_taps(node: OnnxNode, x: Value, window: Windows) -> Term:
    return reduce(operator.add, (Term(node, tap) for tap in _list_taps(node, x, window)))


def _where(tap: Sequence[int], window: Windows, sizes: Shape) -> tuple[slice, ...]:
    """Return the slice of a padded image that has the elements at a filter tap, one for each window."""
    counts = ((size - span) // step + 1 for size, span, step in zip(sizes, window.span, window.stride, strict=True))
    starts = (position * gap for position, gap in zip(tap, window.dilation, strict=True))
    return tuple(
        slice(start, start + (count - 1) * step + 1, step)
        for start, count, step in zip(starts, counts, window.stride, strict=True)
    )


def _list_taps(node: OnnxNode, x: Value, window: Windows) -> Iterator[Value]:
    """Yield a padded image at each filter tap, strided."""
    for tap in np.ndindex(*window.size):
        part = x
        for axis, each in enumerate(_where(tap, window, node.static_shape_of(x)[1:-1]), 1):
            part = slice_with_step(node, part, axis, range(each.start, each.stop, each.step))
        yield part


def _lowest(x: Value) -> float:
    if x.type.code in FLOATS:
        return float(np.finfo(x.type.dtype).min)
    return float(np.iinfo(x.type.dtype).min - x.type.zero_point) * x.type.scale


@rule("LpPool")
def lp_pool(node: OnnxNode) -> OnnxTensor:
    """Lower LpPool; powers of float16 are computed in float32, as they may exceed float16."""
    p = float(node.attribute("p"))
    given, window = image(node, 0, volumes=True), pool_windows(node)
    x = node.cast(given, FLOAT32)
    raised = node.apply(OperationCode.POW, node.apply(OperationCode.ABS, x), node.like(x, p))
    raised = pad_with(node, raised, [(0, 0), *window.pads, (0, 0)], 0.0)
    bare = window._replace(pads=((0, 0),) * len(window.pads))
    if window.is_dilated:
        total = _sum_taps(node, raised, bare)
    else:
        total = Term(node, apply_pool(node, OperationCode.AVERAGE_POOL_2D, raised, bare)) * math.prod(window.size)
    return from_image(node, node.cast(total.apply(OperationCode.POW, 1 / p).value, given.type.code))


@rule(*GLOBAL)
def global_pool(node: OnnxNode) -> OnnxTensor:
    shape, code = node.shape(0), GLOBAL[node.kind]
    result = (*shape[:2], *(1 for _ in shape[2:]))
    flag = node.i32(1) if code == OperationCode.MEAN else node.flag(True)
    if len(shape) in IMAGES or node.tensor(0).is_nhwc:
        type = node.wanted if computes_quantized(node, 0) else None
        read, axes = stored_image if type else image, list(range(1, max(len(shape), 4) - 1))
        found = node.apply(code, read(node, 0, volumes=True), node.graph.ints(axes), flag, type=type)
        return node.result(found, result, is_nhwc=True)
    laid = node.view(node.input(0), (*node.static_shape(0)[:2], math.prod(shape[2:])))
    return node.result(node.apply(code, laid, node.graph.ints([2]), flag), result)
