"""Normalizations and softmax."""

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, INT32, Value
from nnapi.importers.graph_emitter import REAL
from nnapi.importers.onnx.images import IMAGES, VOLUME
from nnapi.importers.onnx.layout import flatten_shape, from_image, image, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.rules.reduction import reduce_axes
from nnapi.importers.onnx.tensors import BYTES, DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose, in_float32, sqrt
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import CompositeCode


@rule("BatchNormalization")
def batch_normalization(node: OnnxNode) -> OnnxTensor:
    expressible(not node.attribute("training_mode") and not node.wants(1), "NNAPI has no training")
    epsilon = float(node.attribute("epsilon"))
    if all(node.tensor(i).array is not None for i in range(1, 5)):
        scale, bias, mean, variance = (node.array(i).astype(np.float64) for i in range(1, 5))
        factor = scale / np.sqrt(variance + epsilon)
        return _by_channel(node, factor, bias - mean * factor)
    gamma, beta, center, spread = (Term(node, node.input(i)) for i in range(1, 5))
    computed = gamma / sqrt(spread + epsilon)
    return _by_channel(node, computed.value, (beta - center * computed).value)


def _by_channel(node: OnnxNode, factor: Array | Value, summand: Array | Value) -> OnnxTensor:
    shape = node.shape(0)
    is_image, lying = len(shape) in IMAGES or node.tensor(0).is_nhwc, [-1]
    if is_image:
        x = image(node, 0, volumes=True)
    else:
        x = node.input(0)
        if len(shape) > 2:
            x, lying = node.view(x, (*shape[:2], DYNAMIC if DYNAMIC in shape[2:] else math.prod(shape[2:]))), [-1, 1]

    def beside(each: Array | Value) -> Term:
        if isinstance(each, Value):
            return Term(node, node.view(each, [each.shape[0], *lying[1:]]))
        return Term(node, node.constant(each.reshape(lying), x))

    result = (Term(node, x) * beside(factor) + beside(summand)).value
    return from_image(node, result) if is_image else node.result(result, shape)


@rule("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> OnnxTensor:
    """Lower InstanceNormalization; the images of a volume are one image, below each other."""
    rank = node.tensor(0).rank
    expressible(rank in (*IMAGES, VOLUME), f"NNAPI has it for images, the input is of rank {rank}")
    x = image(node, 0, volumes=True)
    scalars = [node.real(number, x) for number in (1.0, 0.0, float(node.attribute("epsilon")))]
    n, *size, width, channels = x.shape
    whole = node.view(x, (n, math.prod(size), width, channels)) if rank == VOLUME else x
    flat = node.view(node.apply(OperationCode.INSTANCE_NORMALIZATION, whole, *scalars, node.flag(False)), x.shape)
    scaled = Term(node, flat) * Term(node, node.input(1))
    return from_image(node, (scaled + Term(node, node.input(2))).value)


@rule("LRN")
def local_response_normalization(node: OnnxNode) -> OnnxTensor:
    """Lower LRN; ONNX divides alpha by the number of summed channels, NNAPI does not."""
    x, size = image(node, 0), int(node.attribute("size"))
    expressible(size % 2 == 1, f"it adds up {size} channels; NNAPI adds an odd number, the channel in the middle")
    alpha, beta, bias = (float(node.attribute(name)) for name in ("alpha", "beta", "bias"))
    factors = [node.real(number, x) for number in (bias, alpha / size, beta)]
    found = node.apply(OperationCode.LOCAL_RESPONSE_NORMALIZATION, x, node.i32(size // 2), *factors)
    return from_image(node, found)


def _read_axis(node: OnnxNode, quantized: bool = False) -> tuple[Value, int]:
    """Return the input and its normalized axis; up to opset 12 all axes from ``axis`` on are merged."""
    shape = node.shape(0)
    axis = node.axis(int(node.attribute("axis")), len(shape))
    x = node.stored(0) if quantized else node.input(0)
    if node.since < 13:
        return node.view(x, flatten_shape(shape, axis)), 1
    return (x, axis) if len(shape) <= HIGHEST_RANK else (view_around(node, x, shape, axis), 1)


@rule("Softmax")
def softmax(node: OnnxNode) -> OnnxTensor:
    quantized = computes_quantized(node, 0)
    x, axis = _read_axis(node, quantized)
    last = [] if axis == x.rank - 1 else [node.i32(axis)]
    found = node.apply(OperationCode.SOFTMAX, x, node.real(1.0, x), *last, type=node.wanted if quantized else None)
    return node.result(found, node.shape(0))


@rule("LogSoftmax")
def log_softmax(node: OnnxNode) -> OnnxTensor:
    x, axis = _read_axis(node)
    return node.result(node.apply(OperationCode.LOG_SOFTMAX, x, node.real(1.0, x), node.i32(axis)), node.shape(0))


@rule("Hardmax")
def hardmax(node: OnnxNode) -> OnnxTensor:
    value, axis = _read_axis(node)
    sizes = node.static_shape_of(value)
    first = node.apply(OperationCode.ARGMAX, value, node.i32(axis), type=OperandType(INT32))
    first = node.view(first, [*sizes[:axis], 1, *sizes[axis + 1 :]])
    positions = np.arange(sizes[axis], dtype=np.int32).reshape(-1, *(1,) * (len(sizes) - 1 - axis))
    hot = Term(node, first).compare(OperationCode.EQUAL, Term(node, node.graph.constant(positions)))
    return node.result(choose(hot, 1, Term(node, node.like(value, 0))).value, node.shape(0))


@rule("LpNormalization")
def lp_normalization(node: OnnxNode) -> OnnxTensor:
    shape, p = node.shape(0), int(node.attribute("p"))
    expressible(len(shape) <= WIDEST_RANK and p in (1, 2), f"its p is {p}, its rank {len(shape)}")
    axis = node.axis(int(node.attribute("axis")), len(shape))

    def normalize(x: Term) -> Term:
        length = reduce_axes(OperationCode.REDUCE_SUM, abs(x) if p == 1 else x * x, [axis])
        length = length if p == 1 else sqrt(length)
        return x / choose(length.compare(OperationCode.EQUAL, 0), 1, length)

    return node.result(in_float32(normalize)(Term(node, node.view(node.input(0), shape))).value, shape)


@rule(
    "LayerNormalization",
    "RMSNormalization",
    "SimplifiedLayerNormalization",
    "com.microsoft:SimplifiedLayerNormalization",
)
def layer_normalization(node: OnnxNode) -> list[OnnxTensor]:
    """Divide by the standard deviation over the last axes; LayerNormalization first subtracts the mean."""
    tensor, shape = node.tensor(0), node.shape(0)
    axis, epsilon = node.axis(int(node.attribute("axis", -1)), len(shape)), float(node.attribute("epsilon", 1e-5))
    for i in range(axis, len(shape)):
        node.static_size(0, i)
    expressible(node.input(0).is_float, "NNAPI normalizes floats only")
    flat, is_flat = flatten_shape(shape, axis), len(shape) > HIGHEST_RANK
    x = node.view(node.input(0), flat if is_flat else shape)
    group = flat[1:] if is_flat else shape[axis:]
    gamma, *beta = (node.cast(_factor(node, i, shape[axis:], group), x.type.code) for i in (1, 2) if node.has(i))
    scalars = node.i32(1 if is_flat else axis), node.graph.scalar(REAL, epsilon)
    if node.kind == "LayerNormalization":
        factors = [gamma, *(beta or [node.graph.no_value(x.type.code)])]
        found = node.apply(CompositeCode.LAYER_NORM, x, *factors, *scalars, shape=x.shape)
    else:
        found = node.apply(CompositeCode.RMS_NORM, x, gamma, *scalars, shape=x.shape)
        found = (Term(node, found) + Term(node, beta[0])).value if beta else found
    small = (*shape[:axis], *(1 for _ in shape[axis:]))
    statistics = _find_statistics(node, node.view(x, flat), epsilon) if node.wants(1) or node.wants(2) else []
    return [node.result(found, shape, elem=tensor.elem), *(node.result(each.value, small) for each in statistics)]


def _find_statistics(node: OnnxNode, value: Value, epsilon: float) -> list[Term]:
    """Return the mean, except of root mean squares, and the reciprocal of the standard deviation."""
    x, means = Term(node, node.cast(value, FLOAT32)), []
    last = [value.rank - 1]
    if node.kind == "LayerNormalization":
        means = [reduce_axes(OperationCode.MEAN, x, last)]
        x = x - means[0]
    return [*means, (reduce_axes(OperationCode.MEAN, x * x, last) + epsilon).apply(OperationCode.RSQRT)]


def _factor(node: OnnxNode, i: int, shape: Shape, group: Shape) -> Value:
    """Return a scale or bias of groups, which have ``shape`` in the file and the shape ``group`` in the operation."""
    array, count = node.tensor(i).array, math.prod(shape)
    if array is not None:
        return node.constant(np.broadcast_to(array, shape).reshape(group), node.input(i))
    own = math.prod(node.static_shape(i))
    expressible(own in (1, count), "its scale has other axes than the normalized ones")
    return node.view(node.input(i), group if own == count else (1,))


@rule("GroupNormalization")
def group_normalization(node: OnnxNode) -> OnnxTensor:
    """Lower GroupNormalization; up to opset 20, scale and bias are those of groups, not of channels."""
    shape, groups = node.shape(0), int(node.attribute("num_groups"))
    channels = node.static_size(0, 1)
    expressible(node.tensor(0).elem not in BYTES, "NNAPI normalizes floats only")
    if len(shape) in IMAGES:
        x = image(node, 0)
    else:
        flat = node.view(node.input(0), (*node.static_shape(0)[:2], math.prod(shape[2:])))
        x = node.transpose(flat, [0, 2, 1])
    factors = [node.cast(_spread_over_channels(node, i, channels), x.type.code) for i in (1, 2)]
    epsilon = node.graph.scalar(REAL, float(node.attribute("epsilon", 1e-5)))
    found = node.apply(CompositeCode.GROUP_NORM, x, *factors, node.i32(groups), epsilon, shape=x.shape)
    return from_image(node, found) if len(shape) in IMAGES else node.result(node.transpose(found, [0, 2, 1]), shape)


def _spread_over_channels(node: OnnxNode, i: int, channels: int) -> Value:
    count = node.static_shape(i)[0]
    if count == channels:
        return node.input(i)
    return node.constant(np.repeat(node.array(i), channels // count), node.input(i))
