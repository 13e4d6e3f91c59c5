"""DFT and STFT. The last axis has the real and the imaginary part."""

from math import prod
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode, PaddingCode
from nnapi.importers.graph import Value
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode
from nnapi.ops.dft import LARGEST_MATRIX, make_matrix


@rule("DFT")
def dft(node: OnnxNode) -> OnnxTensor:
    x, shape = node.input(0), node.shape(0)
    given = node.attribute("axis", 1) if node.since < 20 else node.array(2).item() if node.has(2) else -2
    at = axis = node.axis(int(given), len(shape))
    if len(shape) > HIGHEST_RANK:
        x, at = node.view(x, (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 : -1]), shape[-1])), 1
    length = int(node.array(1).item()) if node.has(1) else 0
    is_inverse, is_onesided = bool(node.attribute("inverse")), bool(node.attribute("onesided"))
    found = _transform(node, x, at, length, inverse=is_inverse, onesided=is_onesided)
    return node.result(found, (*shape[:axis], found.shape[at], *shape[axis + 1 : -1], found.shape[-1]))


def _transform(node: OnnxNode, x: Value, axis: int, length: int, *, inverse: bool, onesided: bool) -> Value:
    return node.apply(CompositeCode.DFT, x, node.i32(axis), node.i32(length), node.flag(inverse), node.flag(onesided))


class _Frames(NamedTuple):
    """The frames of a signal: distance, number of elements, and whether only frequencies from 0 on are wanted."""

    step: int
    length: int
    onesided: bool


@rule("STFT")
def stft(node: OnnxNode) -> OnnxTensor:
    """Lower STFT to one convolution; with a computed window or very long frames, to transforms of gathered frames."""
    shape, window = node.shape(0), node.given(2)
    expressible(len(shape) == 3, f"its signal is of rank {len(shape)}, must be 3")
    length = int(node.array(3).item()) if node.has(3) else node.static_size(2, 0)
    frames = _Frames(int(node.array(1).item()), length, bool(node.attribute("onesided")))
    expressible(min(frames.step, length) > 0, "its step or its frame is not above 0")
    expressible(window is None or window.dims == (length,), f"its window has not the {length} elements of a frame")
    bins = length // 2 + 1 if frames.onesided else length
    if (window is None or window.array is not None) and length * shape[2] * bins * 2 <= LARGEST_MATRIX:
        factors = np.ones(length) if window is None else window.constant
        return node.result(_convolve(node, frames, factors, bins))
    return node.result(_transform_frames(node, frames))


def _convolve(node: OnnxNode, frames: _Frames, factors: Array, bins: int) -> Value:
    """Convolve the signal with the window times the waves of the transform; a channel is a part of a frequency."""
    batch, samples, parts = node.shape(0)
    image = node.view(node.input(0), (batch, 1, samples, parts))
    matrix = make_matrix(frames.length, parts, 0, inverse=False, onesided=frames.onesided)
    matrix *= np.repeat(factors.astype(np.float64), parts)[:, np.newaxis]
    filter = node.constant(matrix.T.reshape(-1, 1, frames.length, parts), image)
    bias = node.constant(np.zeros(2 * bins), image)
    scheme = node.i32(PaddingCode.PADDING_VALID)
    operands = (image, filter, bias, scheme, node.i32(frames.step), node.i32(1), node.i32(0))
    found = node.apply(OperationCode.CONV_2D, *operands)
    return node.view(found, (batch, found.shape[2], bins, 2))


def _transform_frames(node: OnnxNode, frames: _Frames) -> Value:
    batch, samples, parts = node.static_shape(0)
    count = (samples - frames.length) // frames.step + 1
    expressible(count > 0, f"its signal has {samples} elements, fewer than a frame")
    indices = np.arange(frames.length) + frames.step * np.arange(count)[:, np.newaxis]
    node.graph.reserve(4 * indices.size)
    gathered = node.apply(OperationCode.GATHER, node.input(0), node.i32(1), node.graph.ints(indices.reshape(-1)))
    x = node.view(gathered, (batch, count, frames.length, parts))
    if node.has(2):
        x = (Term(node, x) * Term(node, node.view(node.input(2), (frames.length, 1)))).value
    return _transform(node, x, 2, 0, inverse=False, onesided=frames.onesided)
