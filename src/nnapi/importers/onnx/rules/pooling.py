"""Pooling."""

import math
from functools import reduce

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, FLOATS, Value
from nnapi.importers.onnx.layout import from_image, image, stored_image
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.convolution import Windows, find_windows, pad_and_stride
from nnapi.importers.onnx.rules.indexing import slice_with_step
from nnapi.importers.onnx.rules.movement import pad_with
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.tensors import DYNAMIC, Tensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term

POOLS = {"AveragePool": OperationCode.AVERAGE_POOL_2D, "MaxPool": OperationCode.MAX_POOL_2D}
GLOBAL = {"GlobalAveragePool": OperationCode.MEAN, "GlobalMaxPool": OperationCode.REDUCE_MAX}


@rule(*POOLS)
def pool(node: Node) -> Tensor:
    """Lower pooling. In NNAPI, padding counts neither in the average nor in the maximum."""
    expressible(not node.wants(1), "NNAPI gives no indices of the largest values")
    x, window = stored_image(node, 0), pool_windows(node)
    if node.kind == "AveragePool" and node.attribute("count_include_pad"):
        x, window = _with_zeros(node, x, window)
    expressible(node.kind == "MaxPool" or window.dilation == (1, 1), "NNAPI's average has no dilation")
    if window.dilation != (1, 1):
        result = _max_pool_dilated(node, x, window)
    else:
        result = apply_pool(node, POOLS[node.kind], x, window)
    return from_image(node, result)


def pool_windows(node: Node) -> Windows:
    """Return the window of a node. With ``ceil_mode`` its last position may end, not begin, beyond the image."""
    shape, window = node.shape(0), _given_windows(node)
    if not node.attribute("ceil_mode") or node.attribute("auto_pad") != "NOTSET":
        return window
    size = shape[2:] if len(shape) == 4 else (1, *shape[2:])
    pads = []
    for i, (low, high) in enumerate(window.pads):
        expressible(size[i] != DYNAMIC, "it rounds the size of a dynamic image up; fix it by load(shapes=…)")
        span, stride, whole = window.span[i], window.stride[i], size[i] + low + high
        steps = -(-(whole - span) // stride)
        if steps * stride >= size[i] + low:
            steps -= 1
        pads.append((low, max(high, steps * stride + span - size[i] - low)))
    return window._replace(pads=(pads[0], pads[1]))


def _given_windows(node: Node) -> Windows:
    return find_windows(node, tuple(node.attribute("kernel_shape") or ()))


def apply_pool(node: Node, code: OperationCode, x: Value, window: Windows) -> Value:
    return node.apply(code, x, *pad_and_stride(node, window), *map(node.i32, (*window.size[::-1], 0)))


def _with_zeros(node: Node, x: Value, window: Windows) -> tuple[Value, Windows]:
    """Pad the image with zeros that count in the average; the pads that ``ceil_mode`` adds do not count."""
    own = _given_windows(node).pads
    (_, bottom), (_, right) = ((0, high - mine[1]) for (_, high), mine in zip(window.pads, own, strict=True))
    image = pad_with(node, x, [(0, 0), *own, (0, 0)], 0.0)
    return image, window._replace(pads=((0, bottom), (0, right)))


def _max_pool_dilated(node: Node, x: Value, window: Windows) -> Value:
    """Return the maximum of the image at each filter tap, strided: a dilated max pool."""
    lowest = _lowest(x)
    x = pad_with(node, x, [(0, 0), *window.pads, (0, 0)], lowest)
    _, height, width, _ = node.static_shape_of(x)
    counts = [
        (size - span) // stride + 1
        for size, span, stride in zip((height, width), window.span, window.stride, strict=True)
    ]

    def begin_at(tap: tuple[int, int]) -> Value:
        part = x
        for i, position in enumerate(tap):
            start, step = position * window.dilation[i], window.stride[i]
            part = slice_with_step(node, part, 1 + i, range(start, start + (counts[i] - 1) * step + 1, step))
        return part

    images = map(begin_at, np.ndindex(*window.size))
    return reduce(lambda best, image: node.apply(OperationCode.MAXIMUM, best, image), images)


def _lowest(x: Value) -> float:
    if x.type.code in FLOATS:
        return float(np.finfo(x.type.dtype).min)
    return float(np.iinfo(x.type.dtype).min - x.type.zero_point) * x.type.scale


@rule("LpPool")
def lp_pool(node: Node) -> Tensor:
    """Lower LpPool; powers of float16 are computed in float32, as they may exceed float16."""
    p = float(node.attribute("p"))
    given, window = image(node, 0), pool_windows(node)
    expressible(window.dilation == (1, 1), "NNAPI's average has no dilation")
    x = node.cast(given, FLOAT32)
    raised = node.apply(OperationCode.POW, node.apply(OperationCode.ABS, x), node.like(x, p))
    raised = pad_with(node, raised, [(0, 0), *window.pads, (0, 0)], 0.0)
    bare = window._replace(pads=((0, 0), (0, 0)))
    mean = Term(node, apply_pool(node, OperationCode.AVERAGE_POOL_2D, raised, bare))
    root = (mean * math.prod(window.size)).apply(OperationCode.POW, 1 / p)
    return from_image(node, node.cast(root.value, given.type.code))


@rule(*GLOBAL)
def global_pool(node: Node) -> Tensor:
    shape, code = node.shape(0), GLOBAL[node.kind]
    result = (*shape[:2], *(1 for _ in shape[2:]))
    flag = node.i32(1) if code == OperationCode.MEAN else node.flag(True)
    if len(shape) in (3, 4):
        type = node.wanted if computes_quantized(node, 0) else None
        found = node.apply(
            code, stored_image(node, 0) if type else image(node, 0), node.graph.ints([1, 2]), flag, type=type
        )
        return node.result(found, result, is_nhwc=True)
    laid = node.view(node.input(0), (*node.static_shape(0)[:2], math.prod(shape[2:])))
    return node.result(node.apply(code, laid, node.graph.ints([2]), flag), result)
