"""Compute operators with unsigned filters exactly by signed filters, which are two to three times faster.

Most values less their zero point are within ±127. Some outliers have no effect (:mod:`dead_channels`). Others become
sums of two: the second applies to a copy of the input channel, appended to the input. Images have copies in rows
(:mod:`space_to_depth`). Depthwise filters cannot sum over copies: they are computed in float32, if possible for few
channels (:mod:`split_depthwise`). A large filter for a single row stays unsigned: reading it dominates the time.
"""

from collections.abc import Sequence

from nnapi.drivers.litert.unsigned_values import flip_signedness
from nnapi.drivers.xnnpack.passes.cost_model import estimate_ways
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import (
    Outliers,
    append_rest,
    make_signed,
    repeat_scale,
)
from nnapi.drivers.xnnpack.passes.signed_weights.dead_channels import clear_weights
from nnapi.drivers.xnnpack.passes.signed_weights.in_float import rewrite_in_float
from nnapi.drivers.xnnpack.passes.signed_weights.space_to_depth import move_space_to_depth
from nnapi.drivers.xnnpack.passes.signed_weights.split_depthwise import split_depthwise
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.lowering.tflite.context import flip_sign


def sign_weights(graph: Graph) -> Graph:
    """Return the graph with unsigned filters replaced by signed ones, or by another way that is faster."""
    if not any(Conv(operator).unsigned_filter for operator in graph.operators):
        return move_space_to_depth(graph)
    outliers = Outliers()
    graph = move_space_to_depth(clear_weights(graph, outliers))
    graph = split_depthwise(graph, outliers)
    rewriting = _Rewriting(outliers)
    for operator in graph.operators:
        rewriting.rewrite(operator)
    return graph.with_operators(rewriting.operators)


class _Rewriting:
    """The rewritten operators. Dense filters with outliers become sums of two or float32, depthwise ones float32."""

    def __init__(self, outliers: Outliers) -> None:
        self.operators: list[Operator] = []
        self._outliers = outliers
        self._reals: dict[Tensor, Tensor] = {}

    def rewrite(self, operator: Operator) -> None:
        conv = Conv(operator)
        filter = conv.unsigned_filter
        if filter is None:
            self.operators.append(operator)
        elif _is_dense(conv):
            self._sum(conv)
        elif len(self._outliers[filter]):
            self.operators += rewrite_in_float(conv, self._reals)
        else:
            signed = [make_signed(filter), *operator.inputs[2:-1], repeat_scale(conv.bias)]
            self.operators.append(operator.like([operator.inputs[0], *signed]))

    def _sum(self, conv: Conv) -> None:
        """Compute a dense operator in the fastest way: signed filters, the second on copies; unsigned; or float32."""
        copies = self._outliers.list_copies(conv.filter)
        seconds = estimate_ways(conv.operator, copies) if copies else {"alone": 0.0}
        match min(seconds, key=lambda way: seconds[way]):
            case "float":
                self.operators += rewrite_in_float(conv, self._reals)
            case "unsigned":
                self._compute_unsigned(conv)
            case "doubled":
                x = self._concatenate(conv.input, conv.input)
                self._compute_signed(conv, x, range(conv.input.shape[-1]))
            case "appended":
                slices = [self._slice_channel(conv.input, channel) for channel in copies]
                self._compute_signed(conv, self._concatenate(conv.input, *slices), copies)
            case _:
                self._compute_signed(conv, conv.input, [])

    def _compute_signed(self, conv: Conv, x: Tensor, copies: Sequence[int]) -> None:
        filter = append_rest(conv.filter, self._outliers[conv.filter], copies)
        self.operators.append(conv.operator.like([x, filter, repeat_scale(conv.bias)]))

    def _concatenate(self, *tensors: Tensor) -> Tensor:
        *shape, _ = tensors[0].shape
        joined = tensors[0].like(shape=(*shape, sum(tensor.shape[-1] for tensor in tensors)))
        self.operators.append(Operator("CONCATENATION", [*tensors], [joined], {"axis": len(shape)}))
        return joined

    def _slice_channel(self, x: Tensor, channel: int) -> Tensor:
        part = x.like(shape=(*x.shape[:-1], 1))
        begin = [0] * (len(x.shape) - 1) + [channel]
        self.operators.append(Operator("SLICE", [x, constant(begin), constant(part.shape)], [part]))
        return part

    def _compute_unsigned(self, conv: Conv) -> None:
        x, y = conv.input, conv.output
        above, below = flip_sign(x), flip_sign(y)
        self.operators += flip_signedness(x, above)
        self.operators.append(conv.operator.like([above, *conv.operator.inputs[1:]], [below]))
        self.operators += flip_signedness(below, y)


def _is_dense(conv: Conv) -> bool:
    """Return whether an operator sums over all input channels."""
    return conv.operator.kind in ("CONV_2D", "FULLY_CONNECTED") and conv.filter.shape[-1] == conv.input.shape[-1]
