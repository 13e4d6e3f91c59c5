"""Compute transposed convolutions as convolutions of each phase of the result, which take less than half the time.

A phase consists of the result's pixels that are a stride apart. Its filter has the taps that are a stride apart, in
reverse. So each product is one of the transposed convolution. Filters of the same size are joined.
"""

import numpy as np

from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.options import convolution_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.model.operand import Array, Shape
from nnapi.ops.shapes import Pair, same_padding

TYPES = {("f32", "f32"), ("i8", "i8"), ("i8", "u8")}
"""Types of image and filter."""
MOST_JOINED = 5
"""Inputs of a CONCATENATION that XNNPACK takes."""


def use_phases(graph: Graph) -> Graph:
    """Return the graph without transposed convolutions that have phases."""
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _Phases(Conv(operator)).compute() if _has_phases(Conv(operator)) else [operator]
    return graph.with_operators(operators)


def _has_phases(conv: Conv) -> bool:
    """Return whether an operator is a transposed convolution with constants, each of its phases has taps, and their
    channels can be rearranged as pixels."""
    if conv.operator.kind != "TRANSPOSE_CONV" or len(conv.operator.inputs) != 4:
        return False
    filter, bias, stride = conv.filter, conv.bias, _stride(conv)
    if filter.data is None or bias.data is None or (conv.input.type, filter.type) not in TYPES:
        return False
    taps = filter.shape[1:3]
    are_equal = all(k % step == 0 for k, step in zip(taps, stride, strict=True))
    have_taps = all(k >= step for k, step in zip(taps, stride, strict=True))
    is_column = stride[1] == 1 and conv.input.shape[2] + _after(conv)[1] == 1  # the phases have one column
    is_line = stride[0] == 1 or is_column
    is_square = stride[0] == stride[1] or is_line
    is_joined = are_equal or stride[0] * stride[1] <= MOST_JOINED
    return max(stride) > 1 and have_taps and is_square and is_joined and min(_after(conv)) >= 0


def _stride(conv: Conv) -> Pair:
    return conv.options["stride_h"], conv.options["stride_w"]


def _before(conv: Conv) -> Pair:
    """Return the rows and columns that the padding cuts off before the result."""
    if conv.options["padding"] != SAME:
        return 0, 0
    sizes = zip(conv.output.shape[1:3], conv.filter.shape[1:3], _stride(conv), strict=True)
    down, across = (same_padding(*each)[0] for each in sizes)
    return down, across


def _after(conv: Conv) -> Pair:
    """Return the rows and columns of zeros after the image that reach the result's end."""
    ends = zip(_before(conv), conv.output.shape[1:3], _stride(conv), conv.input.shape[1:3], strict=True)
    down, across = (-(-(before + size) // step) - pixels for before, size, step, pixels in ends)
    return down, across


class _Phases:
    """The operators that replace a transposed convolution."""

    def __init__(self, conv: Conv) -> None:
        self._conv, self._stride = conv, _stride(conv)
        self._written: list[Operator] = []

    def compute(self) -> list[Operator]:
        y, (down, across) = self._conv.output, self._stride
        phases = self._join([self._convolve(filter) for filter in self._make_filters()])
        _, rows, columns, _ = phases.shape
        whole = y.shape[0], rows * down, columns * across, y.shape[3]
        if whole == y.shape:
            self._rearrange(phases, y)
        else:
            cut = self._rearrange(phases, y.like(shape=whole))
            self._emit("SLICE", [cut, constant([0, *_before(self._conv), 0]), constant(y.shape)], y)
        return self._written

    def _make_filters(self) -> list[Array]:
        """Return the filters of the phases, in the order of their pixels; one for all if they have the same size."""
        values, (down, across) = self._conv.filter.value, self._stride
        phases = [(row, column) for row in range(down) for column in range(across)]
        filters = [values[:, row::down, column::across][:, ::-1, ::-1] for row, column in phases]
        return [np.concatenate(filters)] if len({filter.shape for filter in filters}) == 1 else filters

    def _convolve(self, values: Array) -> Tensor:
        filter, bias, y = self._conv.filter, self._conv.bias, self._conv.output
        x = self._pad(self._conv.input, values.shape[1:3])
        times = len(values) // len(filter.value)
        biases = np.tile(bias.value, times)
        weights = filter.like(shape=values.shape, scale=_repeat_scale(filter, times), data=np.ascontiguousarray(values))
        offsets = bias.like(shape=biases.shape, scale=_repeat_scale(bias, times), data=biases)
        rows, columns = (size - taps + 1 for size, taps in zip(x.shape[1:3], values.shape[1:3], strict=True))
        options = convolution_options(VALID, (1, 1), (1, 1)) | {"activation": self._conv.options.get("activation", 0)}
        out = y.like(shape=(y.shape[0], rows, columns, len(values)))
        return self._emit("CONV_2D", [x, weights, offsets], out, **options)

    def _pad(self, x: Tensor, taps: Shape) -> Tensor:
        around = [(0, 0), *((k - 1, after) for k, after in zip(taps, _after(self._conv), strict=True)), (0, 0)]
        shape = tuple(size + sum(pair) for size, pair in zip(x.shape, around, strict=True))
        return x if shape == x.shape else self._emit("PAD", [x, constant(around)], x.like(shape=shape))

    def _join(self, phases: list[Tensor]) -> Tensor:
        if len(phases) == 1:
            return phases[0]
        shape = *phases[0].shape[:3], sum(phase.shape[3] for phase in phases)
        return self._emit("CONCATENATION", phases, phases[0].like(shape=shape), axis=3, activation=0)

    def _rearrange(self, phases: Tensor, out: Tensor) -> Tensor:
        """Rearrange channels as pixels."""
        if min(self._stride) == 1:
            return self._emit("RESHAPE", [phases, constant(out.shape)], out)
        return self._emit("DEPTH_TO_SPACE", [phases], out, block_size=self._stride[0])

    def _emit(self, kind: str, inputs: list[Tensor], out: Tensor, **options: int) -> Tensor:
        self._written.append(Operator(kind, [*inputs], [out], options))
        return out


def _repeat_scale(tensor: Tensor, times: int) -> float | Array:
    return tensor.scale if isinstance(tensor.scale, float) else np.tile(tensor.scale, times)
