"""Which tensors carry copies of some of their channels, so that filters find them there without moving anything.

Operators that treat every channel alike pass copies on: what they read and write carries the same ones, a *family* of
tensors. Convolutions begin and end families, as a filter can write a channel twice and leave a copy unread. A copy
takes the place of a channel that is always zero, if there is one, and follows all channels otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outside, Split, is_each_channel, is_plain
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import Array

SINGLE = frozenset(
    {
        "AVERAGE_POOL_2D",
        "DEQUANTIZE",
        "HARD_SWISH",
        "LOGISTIC",
        "MAX_POOL_2D",
        "QUANTIZE",
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "RESIZE_BILINEAR",
        "RESIZE_NEAREST_NEIGHBOR",
        "TANH",
    }
)
"""Operators of one tensor that treat every channel alike."""
MOST_SLICES = 3
"""Copies appended one by one at a filter; the engine joins at most five tensors."""
PAIRS = frozenset({"ADD", "MUL", "SUB"})


def ordered(
    graph: Graph, splits: Mapping[Operator, Split], silence: Mapping[Tensor, Array], outside: Outside
) -> dict[Tensor, Order]:
    """For each tensor that should carry copies: the channel of the original that each of its channels holds."""
    orders: dict[Tensor, Order] = {}
    for family in _families(graph):
        if not family.is_closed:
            continue
        readers = [op for op in family.readers if op in splits and splits[op].channels]
        wanted = _union(splits[op].channels for op in readers)
        free = [channel for channel in family.free(silence) if channel not in wanted]
        more = max(len(wanted) - len(free), 0)
        if more and family.seconds(more, splits) >= sum(alone(op, splits[op].channels) for op in readers):
            wanted = []
        depth = family.tensors[0].shape[3]
        behind = wanted[len(free) :]
        behind += [0] * family.missing(depth + len(behind), outside)
        if wanted or behind:
            order = Order(range(depth), dict(zip(free, wanted, strict=False)), behind)
            orders.update(dict.fromkeys(family.tensors, order))
    return orders


class _Family:
    """Tensors that carry the same copies, and the operators around them."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.writers: list[Operator] = []
        self.readers: list[Operator] = []
        self.inner: list[Operator] = []
        self.is_closed = True

    def free(self, silence: Mapping[Tensor, Array]) -> list[int]:
        """Channels that are zero wherever a convolution reads them."""
        ends = [silence.get(op.inputs[0]) for op in self.readers if op.inputs[0] is not None]
        known = [channels for channels in ends if channels is not None]
        return np.flatnonzero(np.logical_and.reduce(known)).tolist() if known and len(known) == len(ends) else []

    def missing(self, depth: int, outside: Outside) -> int:
        """How many channels more make depthwise filters in float32 faster, which are so in full tiles."""
        is_float = any(op.kind == "DEPTHWISE_CONV_2D" and outside.slices(op, 3) for op in self.inner)
        return cost_model.rounded(depth, cost_model.TILE) - depth if is_float and depth > cost_model.TILE else 0

    def seconds(self, count: int, splits: Mapping[Operator, Split]) -> float:
        """What carrying so many copies costs."""
        written = sum(_written(op, count, splits) for op in self.writers)
        passed = sum(cost_model.writing(op, count) for op in self.inner if op.kind == "DEPTHWISE_CONV_2D")
        return written + passed + sum(cost_model.carrying(op, count) for op in self.readers)


def ways(operator: Operator, channels: Sequence[int], written: int = 0, joined: int = 0) -> dict[str, float]:
    """What the ways of computing an operator cost that wants copies of those channels and finds none.

    ``written`` are the copies that its output carries, ``joined`` are the channels of a tensor among those joined as
    its input that holds all the channels wanted.
    """
    seconds = {"float": cost_model.in_float(operator, written), "unsigned": cost_model.unsigned(operator)}
    if len(set(channels)) == len(channels):
        seconds["doubled"] = cost_model.doubled(operator)
    if len(channels) <= MOST_SLICES:
        seconds["appended"] = cost_model.appended(operator, len(channels))
    if joined:
        seconds["joined"] = cost_model.joined_again(operator, joined)
    return seconds


def alone(operator: Operator, channels: Sequence[int]) -> float:
    """What such an operator costs, computed in the fastest way."""
    return min(ways(operator, channels).values()) if channels else 0.0


def _written(operator: Operator, count: int, splits: Mapping[Operator, Split]) -> float:
    if operator in splits and splits[operator].channels:
        seconds = ways(operator, splits[operator].channels)
        if min(seconds, key=lambda way: seconds[way]) == "float":
            return cost_model.writing(operator, count, cost_model.FLOAT_PRODUCT)
    return cost_model.writing(operator, count)


def _families(graph: Graph) -> Iterable[_Family]:
    leader: dict[Tensor, Tensor] = {}

    def find(tensor: Tensor) -> Tensor:
        root = tensor
        while (above := leader.get(root, root)) is not root:
            root = above
        leader[tensor] = root
        return root

    alike = [_alike(operator) for operator in graph.operators]
    for tensors in alike:
        for tensor in tensors[1:]:
            leader[find(tensor)] = find(tensors[0])
    families: dict[Tensor, _Family] = defaultdict(_Family)
    for tensor in graph.tensors():
        if len(tensor.shape) == 4 and tensor.data is None:
            families[find(tensor)].tensors.append(tensor)
        elif tensor in leader:
            families[find(tensor)].is_closed = False
    _meet(graph, alike, lambda tensor: families[find(tensor)])
    return [family for family in families.values() if family.tensors]


def _meet(graph: Graph, alike: Iterable[Sequence[Tensor]], family: Callable[[Tensor], _Family]) -> None:
    """Tell each family which operators surround it, and which of them it cannot pass copies to."""
    for tensor in (*graph.inputs, *graph.outputs):
        family(tensor).is_closed = False
    for operator, tensors in zip(graph.operators, alike, strict=True):
        if tensors:
            family(tensors[0]).inner.append(operator)
        elif is_plain(operator):
            assert operator.inputs[0] is not None
            family(operator.inputs[0]).readers.append(operator)
            family(operator.outputs[0]).writers.append(operator)
        else:
            for end in (*operator.inputs, *operator.outputs):
                if end is not None:
                    family(end).is_closed = False


def _alike(operator: Operator) -> list[Tensor]:
    """The tensors of an operator that treats every channel alike; none where it does not."""
    x, y = operator.inputs[0], operator.outputs[0]
    if x is None or len(y.shape) != 4:
        return []
    if operator.kind in SINGLE or is_each_channel(operator):
        return [x, y]
    if operator.kind in PAIRS:
        other = operator.inputs[1]
        if other is not None and x.shape == other.shape == y.shape and x.data is None and other.data is None:
            return [x, other, y]
    return []


def _union(lists: Iterable[Sequence[int]]) -> list[int]:
    """Each number as often as the list that has it most often."""
    most: dict[int, int] = {}
    for numbers in lists:
        for number in numbers:
            most[number] = max(most.get(number, 0), numbers.count(number))
    return [number for number, count in sorted(most.items()) for _ in range(count)]
