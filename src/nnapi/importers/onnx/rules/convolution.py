"""Convolutions: NCHW with OIHW filters in ONNX, NHWC with OHWI filters in NNAPI."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import QUANT8, Value
from nnapi.importers.onnx.images import VOLUME, channels_last
from nnapi.importers.onnx.layout import from_image, image, stored_image
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.movement import concatenate_values, split_by_sizes
from nnapi.importers.onnx.rules.padding import pad_with
from nnapi.importers.onnx.rules.quantized_operands import (
    filter_beside,
    is_quantized_float,
    quantize_bias,
    reshape_and_transpose,
    to_ohwi,
    zeros,
)
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import CompositeCode

Pair = tuple[int, int]
T = TypeVar("T")


class Windows(NamedTuple):
    """A sliding window along (height, width), or (depth, height, width) of a volume. ``pads`` has a pair for each."""

    size: Shape
    stride: Shape
    dilation: Shape
    pads: tuple[Pair, ...]

    @property
    def span(self) -> Shape:
        return tuple((size - 1) * gap + 1 for size, gap in zip(self.size, self.dilation, strict=True))

    @property
    def is_dilated(self) -> bool:
        return max(self.dilation) > 1


def find_windows(node: OnnxNode, kernel: Shape) -> Windows:
    """Return the sliding window of a node, with pads computed for the image in input 0."""
    size = node.shape(0)[2:]
    stride, dilation, around = _read_windows(node, kernel)
    mode = node.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        around = [same_padding(*each, mode) for each in zip(size, kernel, stride, dilation, strict=True)]
    elif mode == "VALID":
        around = [(0, 0) for _ in kernel]
    expressible(all(each >= 0 for pair in around for each in pair), "pads holds negative values")
    return Windows(_image(kernel, 1), _image(stride, 1), _image(dilation, 1), _image(around, (0, 0)))


def _read_windows(node: OnnxNode, kernel: Shape) -> tuple[list[int], list[int], list[Pair]]:
    axes = len(kernel)
    fits = axes == node.tensor(0).rank - 2 and axes in (1, 2, 3)
    expressible(fits, f"its windows have {axes} dimensions, its image {node.tensor(0).rank - 2}")
    stride, dilation = (list(node.attribute(name) or [1] * axes) for name in ("strides", "dilations"))
    pads = list(node.attribute("pads") or [0] * (2 * axes))
    expressible(len(stride) == len(dilation) == axes and len(pads) == 2 * axes, "its strides or pads do not fit")
    expressible(min(*stride, *dilation, *kernel) > 0, "a stride, dilation or size is not above 0")
    return stride, dilation, list(zip(pads[:axes], pads[axes:], strict=True))


def _image(values: Sequence[T], missing: T) -> tuple[T, ...]:
    return (missing, *values) if len(values) == 1 else tuple(values)


def same_padding(size: int, kernel: int, stride: int, dilation: int, mode: str) -> Pair:
    """Return the pads before and behind for ceil(size / stride) results; ``mode`` is SAME_UPPER or SAME_LOWER."""
    expressible(size != DYNAMIC, "it pads a dynamic axis; fix it by load(shapes=…)")
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return (total // 2, total - total // 2) if mode == "SAME_UPPER" else (total - total // 2, total // 2)


@rule("Conv")
def conv(node: OnnxNode) -> OnnxTensor:
    if node.tensor(0).rank == VOLUME:
        return convolve_volume(node, find_windows(node, node.shape(1)[2:]))
    if is_quantized_float(node.tensor(0)) and node.wanted is not None and node.tensor(1).rank in (3, 4):
        x = stored_image(node, 0)
        filter = filter_beside(node, x, 1)
        bias = None if filter is None else quantize_bias(node, node.given(2), x, filter)
        if filter is not None and bias is not None and node.wanted.code == x.type.code:
            return convolve(node, x, to_ohwi(filter), bias, node.wanted)
    x, filter = image(node, 0), _filter(node, 1)
    return convolve(node, x, filter, read_bias(node, x, filter.shape[0]))


def convolve(node: OnnxNode, x: Value, filter: Value, bias: Value, type: OperandType | None = None) -> OnnxTensor:
    """Convolve input 0 by a filter [out, height, width, in per group]; ``type`` is the result's, by default float."""
    shape = node.shape(0)
    x, window = _pad_beyond_span(node, x, find_windows(node, node.shape(1)[2:]))
    groups, channels = int(node.attribute("group", 1)), shape[1]
    units = filter.shape[0]
    pads = pad_and_stride(node, window)
    act, flag = node.activation_operand(), node.flag(False)
    dilated = (flag, node.i32(window.dilation[1]), node.i32(window.dilation[0])) if window.is_dilated else ()
    if groups == 1:
        result = node.apply(OperationCode.CONV_2D, x, filter, bias, *pads, act, *dilated, type=type)
    elif groups == channels:
        operands = (x, depthwise_filter(node, filter), bias, *pads, node.i32(units // groups), act, *dilated)
        result = node.apply(OperationCode.DEPTHWISE_CONV_2D, *operands, type=type)
    elif not dilated:
        operands = (x, filter, bias, *pads, node.i32(groups), act, flag)
        result = node.apply(OperationCode.GROUPED_CONV_2D, *operands, type=type)
    else:
        expressible(groups > 0 and units % groups == 0 and channels % groups == 0, f"{groups} groups")
        sides = ((x, 3, channels), (filter, 0, units), (bias, 0, units))
        parts = (split_by_sizes(node, value, axis, [size // groups] * groups) for value, axis, size in sides)
        results = [
            node.apply(OperationCode.CONV_2D, *part, *pads, act, *dilated, type=type)
            for part in zip(*parts, strict=True)
        ]
        result = concatenate_values(node, results, 3)
    return from_image(node, node.claim_activation(result))


def convolve_dynamic_range(node: OnnxNode, filter: OnnxTensor) -> OnnxTensor | None:
    """Convolve floats by a filter that the model stores quantized; return None if no engine supports this filter."""
    stored = filter.quantized
    is_signed = stored is not None and stored.type.code != QUANT8 and not stored.type.zero_point
    if stored is None or not is_signed or stored.rank not in (3, 4) or node.attribute("group", 1) != 1:
        return None
    x = image(node, 0)
    return convolve(node, x, node.graph.real_at_run(to_ohwi(stored)), zeros(node, x, stored.shape[0]))


def convolve_volume(node: OnnxNode, window: Windows) -> OnnxTensor:
    (x, window), units = _pad_beyond_span(node, image(node, 0, volumes=True), window), node.shape(1)[0]
    expressible(node.tensor(1).rank == VOLUME, f"its filter has rank {node.tensor(1).rank}, its input {VOLUME}")
    array, order = node.tensor(1).array, channels_last(VOLUME)
    filter = node.transpose(node.input(1), order) if array is None else node.constant(array.transpose(order), x)
    more = node.graph.ints(window.dilation), node.i32(int(node.attribute("group", 1))), node.activation_operand()
    bias = read_bias(node, x, units)
    return from_image(
        node, node.claim_activation(apply_to_volume(node, CompositeCode.CONV_3D, x, filter, bias, window, *more))
    )


def apply_to_volume(
    node: OnnxNode, code: CompositeCode, x: Value, filter: Value, bias: Value, window: Windows, *more: Value
) -> Value:
    return node.apply(code, x, filter, bias, node.graph.ints(window.pads), node.graph.ints(window.stride), *more)


def _pad_beyond_span(node: OnnxNode, x: Value, window: Windows) -> tuple[Value, Windows]:
    """Pad an image by what its windows must not: NNAPI refuses windows that lie in padding wholly."""
    excess = [
        (max(low - span + 1, 0), max(high - span + 1, 0))
        for (low, high), span in zip(window.pads, window.span, strict=True)
    ]
    if not any(map(any, excess)):
        return x, window
    rest = tuple((low - a, high - b) for (low, high), (a, b) in zip(window.pads, excess, strict=True))
    return pad_with(node, x, [(0, 0), *excess, (0, 0)], 0.0), window._replace(pads=rest)


def pad_and_stride(node: OnnxNode, window: Windows) -> list[Value]:
    """Return left, right, top and bottom padding, then horizontal and vertical stride."""
    (top, bottom), (left, right) = window.pads
    return [node.i32(each) for each in (left, right, top, bottom, *window.stride[::-1])]


def _filter(node: OnnxNode, i: int) -> Value:
    tensor = node.tensor(i)
    if tensor.rank not in (3, 4):
        raise Refused(f"NNAPI has images of two dimensions, its filter is of rank {tensor.rank}")
    own = tensor.dims if tensor.rank == 4 else (*tensor.dims[:2], 1, tensor.dims[2])
    if tensor.array is not None:
        return node.constant(tensor.array.reshape(own).transpose(0, 2, 3, 1), node.input(0))
    return node.transpose(node.view(node.input(i), own), (0, 2, 3, 1))


def depthwise_filter(node: OnnxNode, filter: Value) -> Value:
    """Transpose [out, height, width, 1] to [1, height, width, out]."""
    depth = filter.shape[3]
    expressible(depth == 1, f"its filter takes {depth} channels for each group of one")
    if filter.array is not None:
        return reshape_and_transpose(filter, filter.shape, (3, 1, 2, 0))
    return node.transpose(filter, (3, 1, 2, 0))


def read_bias(node: OnnxNode, x: Value, units: int) -> Value:
    if not node.has(2):
        return zeros(node, x, units)
    array = node.tensor(2).array
    return node.input(2) if array is None else node.constant(array, x)


@rule("ConvTranspose")
def conv_transpose(node: OnnxNode) -> OnnxTensor:
    """Lower ConvTranspose. Filters are IOHW; a dilated filter is expanded with zeros."""
    x = image(node, 0, volumes=True)
    window, extra = _windows_of_transpose(node)
    groups, weights = node.attribute("group"), node.array(1)
    weights = _dilate(weights[:, :, None, :] if weights.ndim == 3 else weights, window.dilation)
    units = weights.shape[1] * groups
    expressible(
        groups > 0 and weights.shape[0] % groups == 0,
        f"group is {groups}, must divide the {weights.shape[0]} input channels",
    )
    bias = read_bias(node, x, units)
    node.graph.reserve(weights.nbytes)
    parts = zip(
        split_by_sizes(node, x, x.rank - 1, [weights.shape[0] // groups] * groups),
        np.split(weights, groups),
        split_by_sizes(node, bias, 0, [units // groups] * groups),
        strict=True,
    )
    results = [_convolve_transposed(node, window, extra, *part) for part in parts]
    return from_image(node, concatenate_values(node, results, x.rank - 1))


def _convolve_transposed(
    node: OnnxNode, window: Windows, extra: tuple[Pair, ...], x: Value, weights: Array, bias: Value
) -> Value:
    """Lower one group. ``extra`` are elements to append where ONNX's pads are negative; only the bias applies there."""
    filter = node.constant(weights.transpose(*range(1, weights.ndim), 0), x)
    late = any(map(any, extra))
    first = zeros(node, x, weights.shape[1]) if late else bias
    if len(window.size) == 3:
        result = apply_to_volume(node, CompositeCode.TRANSPOSE_CONV_3D, x, filter, first, window, node.i32(0))
    else:
        operands = (x, filter, first, *pad_and_stride(node, window), node.i32(0), node.flag(False))
        result = node.apply(OperationCode.TRANSPOSE_CONV_2D, *operands)
    if not late:
        return result
    result = pad_with(node, result, [(0, 0), *extra, (0, 0)], 0.0)
    return node.apply(OperationCode.ADD, result, bias, node.i32(0))


def _windows_of_transpose(node: OnnxNode) -> tuple[Windows, tuple[Pair, ...]]:
    """Return the window, and the elements to add to the result where ONNX's pads are negative."""
    size, kernel = node.shape(0)[2:], node.shape(1)[2:]
    stride, dilation, around = _read_windows(node, kernel)
    axes = len(kernel)
    added = list(node.attribute("output_padding") or [0] * axes)
    wanted, mode = node.attribute("output_shape"), node.attribute("auto_pad")
    pairs = []
    for i, (before, behind) in enumerate(around):
        behind -= added[i]
        if wanted or mode.startswith("SAME"):
            expressible(size[i] != DYNAMIC, "its image is dynamic; fix it by load(shapes=…)")
            target = wanted[-axes:][i] if wanted else size[i] * stride[i]
            total = stride[i] * (size[i] - 1) + added[i] + (kernel[i] - 1) * dilation[i] + 1 - target
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            behind = total - before - added[i]
        pairs.append((before, behind))
    cut_off = [(max(a, 0), max(b, 0)) for a, b in pairs]
    extra = [(max(-a, 0), max(-b, 0)) for a, b in pairs]
    window = Windows(_image(kernel, 1), _image(stride, 1), _image(dilation, 1), _image(cut_off, (0, 0)))
    return window, _image(extra, (0, 0))


def _dilate(weights: Array, dilation: Shape) -> Array:
    if max(dilation) == 1:
        return weights
    spans = ((size - 1) * gap + 1 for size, gap in zip(weights.shape[2:], dilation, strict=True))
    whole = np.zeros((*weights.shape[:2], *spans), weights.dtype)
    whole[:, :, *(slice(None, None, gap) for gap in dilation)] = weights
    return whole
