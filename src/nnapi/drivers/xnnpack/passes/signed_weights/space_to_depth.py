"""Rewrite convolutions with stride 2 of images with few channels: two pixels become one of twice the depth."""

from collections.abc import Callable

import numpy as np

from nnapi.drivers.litert.outliers import REACH
from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import repeat_scale, replace_values
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.model.operand import Shape
from nnapi.rewriting.dataflow import Dataflow


def move_space_to_depth(graph: Graph) -> Graph:
    """Return the graph with suitable convolutions rewritten. A PAD that only such a convolution reads is fused."""
    flow = Dataflow(graph.operators, graph.outputs)
    replaced: dict[Operator, list[Operator]] = {}
    for operator in graph.operators:
        if _is_suited(Conv(operator)):
            border = flow.find_only_maker(operator.input(0))
            border = border if border is not None and _is_border(border) else None
            pairs = _Pairs(Conv(operator), border)
            if pairs.is_possible and pairs.estimate_gain() > 0:
                replaced[operator] = pairs.emit()
                replaced.update({border: []} if border else {})
    return graph.rewrite(replaced.get)


def _is_border(operator: Operator) -> bool:
    """Return whether an operator pads images with zeros."""
    if operator.kind != "PAD":
        return False
    paddings = operator.input(1)
    return paddings.data is not None and paddings.shape == (4, 2) and not paddings.data[[0, 3]].any()


def _is_suited(conv: Conv) -> bool:
    """Return whether an operator is a quantized convolution with stride 2 and at most STEP / 2 input channels."""
    options = conv.options
    if not conv.is_constant_dense or (options["stride_h"], options["stride_w"]) != (2, 2):
        return False
    is_quantized = conv.input.type == "i8" and conv.filter.type in ("i8", "u8") and len(conv.input.shape) == 4
    is_near = (options["dilation_h"], options["dilation_w"]) == (1, 1)
    return is_quantized and is_near and 2 * conv.input.shape[3] <= cost_model.STEP


class _Pairs:
    """An image's rows and columns in pairs, and the filter for them.

    ``rows`` are the filter's rows with outliers. Copies of image rows for them follow each pair of rows, so pairs are
    ``step`` rows apart.
    """

    def __init__(self, conv: Conv, border: Operator | None = None) -> None:
        filter = conv.filter
        self.conv, self.filter, self.y = conv, filter, conv.output
        numbers = filter.value.astype(np.int16) - (filter.zero_point if filter.type == "u8" else 0)
        self.main = np.clip(numbers, -REACH, REACH) if filter.type == "u8" else numbers
        self.rest = numbers - self.main
        self.rows: list[int] = np.flatnonzero(self.rest.any((0, 2, 3))).tolist()
        self.step = 2 + len(self.rows)
        height, width = filter.shape[1:3]
        self.size = max((height - 1) // 2 * self.step + (height - 1) % 2 + 1, self.step), -(-width // 2)
        self.x = conv.input if border is None else border.input(0)
        ends = zip(self._outs, self._spans, conv.input.shape[1:3], strict=True)
        total = [max((out - 1) * 2 + k - dimension, 0) for out, k, dimension in ends]
        before = [each // 2 if conv.options["padding"] == SAME else 0 for each in total]
        if border is not None:
            given = border.input(1).value[1:3, 0].tolist()
            before = [each + more for each, more in zip(before, given, strict=True)]
        self._place(before)

    @property
    def _spans(self) -> Shape:
        return self.filter.shape[1:3]

    @property
    def _outs(self) -> Shape:
        return self.y.shape[1:3]

    def _place(self, before: list[int]) -> None:
        """Compute the number of pairs along both axes, and the pixels to add before and after the image."""
        dimensions = self.x.shape[1:3]
        overhang = self.size[0] - self.step, self.size[1] - 1
        is_whole = [2 * out for out in self._outs] == list(dimensions)
        if is_whole and not any(before) and max(overhang) <= 1:
            self.padding, self.counts, self.before, self.after = SAME, [*self._outs], [0, 0], [0, 0]
        else:
            self.padding, self.before = VALID, before
            self.counts = [out - 1 + -(-k // 2) for out, k in zip(self._outs, self._spans, strict=True)]
            self.after = [2 * c - e - b for c, e, b in zip(self.counts, dimensions, before, strict=True)]

    @property
    def is_possible(self) -> bool:
        """Whether the image ends with a whole pair, and two bytes suffice for each filter value."""
        return min(self.after) >= 0 and (not self.rows or int(np.abs(self.rest).max()) <= REACH)

    def estimate_gain(self) -> float:
        other = cost_model.estimate_float(self.conv.operator) if self.rows else 0.0
        mine = cost_model.estimate_dense(self.conv.operator, self.size[0] * self.size[1], 2 * self.x.shape[3])
        return cost_model.estimate_dense(self.conv.operator) + other - mine

    def emit(self) -> list[Operator]:
        emitted: list[Operator] = []

        def emit(kind: str, inputs: list[Tensor | None], shape: Shape, **options: int) -> Tensor:
            emitted.append(Operator(kind, inputs, [self.x.like(shape=shape)], options))
            return emitted[-1].outputs[0]

        batches, height, width, depth = self.x.shape
        image, (high, wide) = self.x, self.counts
        if any(self.before) or any(self.after):  # whole rows are padded at once, pixels one by one
            rows = (batches, height, width * depth)
            image = emit("RESHAPE", [image, constant(rows)], rows)
            up, left, down, right = *self.before, *self.after
            borders = [(0, 0), (up, down), (left * depth, right * depth)]
            image = emit("PAD", [image, constant(borders)], (batches, 2 * high, 2 * wide * depth))
        if self.rows:
            by_rows = (batches, high, 2, 2 * wide * depth)
            image = emit("RESHAPE", [image, constant(by_rows)], by_rows)
            copies = [self._emit_copy(image, row, emit) for row in self.rows]
            image = emit("CONCATENATION", [image, *copies], (*by_rows[:2], self.step, by_rows[3]), axis=2)
        by_pairs = (batches, high * self.step, wide, 2 * depth)
        image = emit("RESHAPE", [image, constant(by_pairs)], by_pairs)
        options = self.conv.options | {"stride_h": self.step, "stride_w": 1, "padding": self.padding}
        inputs: list[Tensor | None] = [image, self._make_filter(), repeat_scale(self.conv.bias)]
        return [*emitted, Operator("CONV_2D", inputs, [self.y], options)]

    def _emit_copy(self, pairs: Tensor, row: int, emit: Callable[..., Tensor]) -> Tensor:
        """Emit, for each pair of rows, a copy of the image row that the filter's ``row`` reads."""
        ahead, odd = divmod(row, 2)
        batches, high, _, width = pairs.shape
        shape = (batches, high - ahead, 1, width)
        copy = emit("SLICE", [pairs, constant([0, ahead, odd, 0]), constant(shape)], shape)
        if not ahead:
            return copy
        return emit("PAD", [copy, constant([(0, 0), (0, ahead), (0, 0), (0, 0)])], (batches, high, 1, width))

    def _make_filter(self) -> Tensor:
        units, height, width, depth = self.filter.shape
        data = np.zeros((units, *self.size, 2, depth), np.int8)
        for column in range(width):
            pair, second = divmod(column, 2)
            for row in range(height):
                data[:, row // 2 * self.step + row % 2, pair, second] = self.main[:, row, column]
            for copy, row in enumerate(self.rows):
                data[:, 2 + copy, pair, second] = self.rest[:, row, column]
        values = data.reshape(units, *self.size, 2 * depth)
        if self.filter.type == "u8":
            return replace_values(self.filter, values)
        return self.filter.like(shape=values.shape, data=values)
