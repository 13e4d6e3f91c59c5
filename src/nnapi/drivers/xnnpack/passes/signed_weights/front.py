"""Leave the front of a network, with wide images of few channels, on unsigned values where these are faster."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_map import estimate_alone
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers, split
from nnapi.drivers.xnnpack.passes.signed_weights.space_to_depth import estimate_pairing
from nnapi.drivers.xnnpack.passes.unsigned_values import UnsignedTensors, flip_signedness, is_possible
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator


def keep_front_unsigned(graph: Graph, outliers: Outliers) -> Graph:
    """Return the graph with unsigned values in as many first operators as the estimate favors."""
    if not cost_model.timings().is_measured:
        return graph
    count = _count_front(graph, outliers)
    return _rewrite(graph, count) if count else graph


def _count_front(graph: Graph, outliers: Outliers) -> int:
    last = {tensor: index for index, operator in enumerate(graph.operators) for tensor in operator.inputs if tensor}
    kept = {end for end, flipped in zip(graph.inputs_and_outputs, graph.flipped, strict=False) if not flipped}
    best, least, gained, crossing = 0, 0.0, 0.0, {}
    for index, operator in enumerate(graph.operators):
        quantized = [tensor for tensor in operator.tensors if tensor.type == "i8"]
        if not is_possible(operator) or not kept.isdisjoint(quantized):
            break
        gained += _estimate_gain(operator, outliers)
        crossing.update({tensor: last.get(tensor, index) for tensor in quantized})
        open = [tensor for tensor, end in crossing.items() if end > index and not tensor.is_constant]
        seconds = sum(map(cost_model.estimate_sign_flip, open)) - gained
        if seconds < least:
            best, least = index + 1, seconds
    return best


def _estimate_gain(operator: Operator, outliers: Outliers) -> float:
    """Return the seconds that unsigned values save, compared with the fastest signed way."""
    conv = Conv(operator)
    if conv.is_constant_depthwise and conv.input.type == "i8":
        signed = cost_model.estimate_depthwise(operator)
        more = cost_model.estimate_float(operator)
        signed += more if outliers.find_slices(operator, 3) else min(more, 0.0)
        return signed - cost_model.estimate_unsigned_depthwise(operator)
    if not conv.is_constant_dense or conv.input.type != "i8":
        return 0.0
    filter = conv.unsigned_filter
    channels: Sequence[int] = split(filter, outliers[filter]).channels if filter else []
    signed = cost_model.estimate_dense(operator)
    more = estimate_alone(operator, channels) if channels else min(cost_model.estimate_float(operator), 0.0)
    signed += min(more, -estimate_pairing(operator))
    return signed - cost_model.estimate_unsigned_dense(operator)


def _rewrite(graph: Graph, count: int) -> Graph:
    """Compute ``count`` operators on unsigned values, and convert those that others read."""
    change = UnsignedTensors()
    front = [change.rewrite(operator) for operator in graph.operators[:count]]
    rest = graph.operators[count:]
    wanted = {tensor for operator in rest for tensor in operator.inputs}
    inputs, outputs = ([change.get(tensor, tensor) for tensor in side] for side in (graph.inputs, graph.outputs))
    crossing = [
        (unsigned, tensor)
        for tensor, unsigned in change.items()
        if unsigned.type != tensor.type and tensor in wanted and not tensor.is_constant
    ]
    turned = [operator for pair in crossing for operator in flip_signedness(*pair)]
    flipped = tuple(
        flip and end not in change for end, flip in zip(graph.inputs_and_outputs, graph.flipped, strict=False)
    )
    return Graph([*front, *turned, *rest], inputs, outputs, flipped, graph.name)
