"""Normalizations and soft maxima."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import add, divide, multiply, plus, subtract, truth
from nnapi.importers.graph import FLOAT32, FLOATS, INT32, Value
from nnapi.importers.onnx.layout import from_image, image, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.quantized_operands import computes_in_codes
from nnapi.importers.onnx.rules.reduction import reduce_axes
from nnapi.importers.onnx.tensors import OPEN, Tensor
from nnapi.importers.onnx.terms import select
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, OperandType, Shape


@rule("BatchNormalization")
def batch_normalization(node: Node) -> Tensor:
    """A factor and a summand for each channel."""
    expressible(not node.attribute("training_mode", 0) and not node.wants(1), "NNAPI models do not learn")
    rank = node.tensor(0).rank
    epsilon = float(node.attribute("epsilon", 1e-5))
    if all(node.tensor(i).array is not None for i in range(1, 5)):
        scale, bias, mean, variance = (node.array(i).astype(np.float64) for i in range(1, 5))
        factor = scale / np.sqrt(variance + epsilon)
        return _by_channel(node, rank, factor, bias - mean * factor)
    values = [node.input(i) for i in range(1, 5)]
    spread = node.apply(OperationCode.SQRT, plus(node, values[3], epsilon))
    computed = divide(node, values[0], spread)
    return _by_channel(node, rank, computed, subtract(node, values[1], multiply(node, values[2], computed)))


def _by_channel(node: Node, rank: int, factor: Array | Value, summand: Array | Value) -> Tensor:
    """x times a factor plus a summand, each along axis 1 of the file."""
    lying: tuple[int, ...] = (1, 1, 1, -1)
    if rank in (3, 4):
        x = image(node, 0)
    else:
        shape = node.shape(0)
        x = node.input(0)
        x = x if rank == 2 else node.view(x, (shape[0], shape[1], OPEN if OPEN in shape[2:] else math.prod(shape[2:])))
        lying = (1, -1) if rank <= 2 else (1, -1, 1)
        lying = (-1,) if rank == 1 else lying
    x = node.graph.real(x)
    parts = [
        node.constant(each.reshape(lying), x)
        if isinstance(each, np.ndarray)
        else node.view(each, [each.shape[0] if size == -1 else size for size in lying])
        for each in (factor, summand)
    ]
    result = add(node, multiply(node, x, parts[0]), parts[1])
    return from_image(node, result, rank) if rank in (3, 4) else node.result(result, node.shape(0))


@rule("InstanceNormalization")
def instance_normalization(node: Node) -> Tensor:
    rank = node.tensor(0).rank
    expressible(rank in (3, 4), f"NNAPI has it for images, the input is of rank {rank}")
    x = image(node, 0)
    scalars = [node.real(number, x) for number in (1.0, 0.0, float(node.attribute("epsilon", 1e-5)))]
    flat = node.apply(OperationCode.INSTANCE_NORMALIZATION, x, *scalars, node.flag(False))
    scaled = multiply(node, flat, node.input(1))
    return from_image(node, add(node, scaled, node.input(2)), rank)


@rule("LRN")
def local_response_normalization(node: Node) -> Tensor:
    """ONNX divides the factor by the number of channels that are added up."""
    x, size = image(node, 0), int(node.attribute("size"))
    expressible(size % 2 == 1, f"it adds up {size} channels, NNAPI as many before as behind")
    alpha, beta, bias = (float(node.attribute(name)) for name in ("alpha", "beta", "bias"))
    factors = [node.real(number, x) for number in (bias, alpha / size, beta)]
    found = node.apply(OperationCode.LOCAL_RESPONSE_NORMALIZATION, x, node.i32(size // 2), *factors)
    return from_image(node, found, node.tensor(0).rank)


def _along(node: Node, codes: bool = False) -> tuple[Value, int, Shape]:
    """The input with the axis that is normalized, under the dimensions in which it is one, and those of the file.

    Up to opset 12 everything from the axis on is one.
    """
    shape = node.shape(0)
    axis = node.axis(int(node.attribute("axis", 1 if node.since < 13 else -1)), len(shape))
    x = node.codes(0) if codes else node.input(0)
    if node.since < 13:
        outer, inner = shape[:axis], shape[axis:]
        sizes = (OPEN if OPEN in outer else math.prod(outer), OPEN if OPEN in inner else math.prod(inner))
        return node.view(x, sizes), 1, shape
    if len(shape) <= HIGHEST_RANK:
        return x, axis, shape
    return view_around(node, x, shape, axis), 1, shape


@rule("Softmax")
def softmax(node: Node) -> Tensor:
    codes = computes_in_codes(node, 0)
    x, axis, shape = _along(node, codes)
    last = [] if axis == x.rank - 1 else [node.i32(axis)]
    type = node.wanted if codes else None
    return node.result(node.apply(OperationCode.SOFTMAX, x, node.real(1.0, x), *last, type=type), shape)


@rule("LogSoftmax")
def log_softmax(node: Node) -> Tensor:
    x, axis, shape = _along(node)
    return node.result(node.apply(OperationCode.LOG_SOFTMAX, x, node.real(1.0, x), node.i32(axis)), shape)


@rule("Hardmax")
def hardmax(node: Node) -> Tensor:
    """One where the first largest lies."""
    x, axis, shape = _along(node)
    sizes = node.static_shape_of(x)
    first = node.apply(OperationCode.ARGMAX, x, node.i32(axis), type=OperandType(INT32))
    lying = [1] * len(sizes)
    lying[axis] = sizes[axis]
    first = node.view(first, [1 if i == axis else size for i, size in enumerate(sizes)])
    places = node.graph.constant(np.arange(sizes[axis], dtype=np.int32).reshape(lying))
    hot = truth(node, OperationCode.EQUAL, first, places)
    return node.result(select(node, hot, node.like(x, 1), node.like(x, 0), sizes), shape)


@rule("LpNormalization")
def lp_normalization(node: Node) -> Tensor:
    """Lower LpNormalization; vectors of length zero stay zero."""
    shape, p = node.shape(0), int(node.attribute("p", 2))
    expressible(len(shape) <= HIGHEST_RANK and p in (1, 2), f"its p is {p}, its rank {len(shape)}")
    axis = node.axis(int(node.attribute("axis", -1)), len(shape))
    x = node.input(0)
    sizes = node.apply(OperationCode.ABS, x) if p == 1 else multiply(node, x, x)
    length = reduce_axes(node, OperationCode.REDUCE_SUM, sizes, [axis])
    length = length if p == 1 else node.apply(OperationCode.SQRT, length)
    none = truth(node, OperationCode.EQUAL, length, node.like(length, 0))
    safe = select(node, none, node.like(length, 1), length, node.static_shape_of(length))
    return node.result(divide(node, x, safe), shape)


@rule("LayerNormalization")
def layer_normalization(node: Node) -> list[Tensor]:
    """The mean taken away and the deviation divided by, over the last axes."""
    tensor, shape = node.tensor(0), node.shape(0)
    axis = node.axis(int(node.attribute("axis", -1)), len(shape))
    inner = math.prod(node.static_size(0, i) for i in range(axis, len(shape)))
    outer = OPEN if OPEN in shape[:axis] else math.prod(shape[:axis])
    x = node.input(0)
    expressible(x.type.code in FLOATS, "NNAPI normalizes floats only")
    code, kept = x.type.code, axis == len(shape) - 1 and len(shape) <= HIGHEST_RANK
    x = node.cast(x if kept else node.view(x, (outer, inner)), FLOAT32)
    last = [x.rank - 1]
    mean = reduce_axes(node, OperationCode.MEAN, x, last)
    rest = subtract(node, x, mean)
    variance = reduce_axes(node, OperationCode.MEAN, multiply(node, rest, rest), last)
    inverse = node.apply(OperationCode.RSQRT, plus(node, variance, float(node.attribute("epsilon", 1e-5))))
    result = node.cast(multiply(node, rest, inverse), code)
    result = multiply(node, result, _row(node, 1, shape[axis:]))
    result = add(node, result, _row(node, 2, shape[axis:])) if node.has(2) else result
    small = (*shape[:axis], *(1 for _ in shape[axis:]))
    return [
        node.result(result, shape, elem=tensor.elem),
        *(node.result(value, small) for value in (mean, inverse)),
    ]


def _row(node: Node, i: int, shape: Shape) -> Value:
    """A factor or summand for the normalized axes laid flat."""
    tensor = node.tensor(i)
    count = math.prod(shape)
    if tensor.array is not None:
        return node.constant(np.broadcast_to(tensor.array, shape).reshape(count), node.input(i))
    expressible(math.prod(node.static_shape(i)) in (1, count), "its scale stretches along other axes")
    return node.view(node.input(i), (math.prod(node.static_shape(i)),))
