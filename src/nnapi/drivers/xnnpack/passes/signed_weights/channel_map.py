"""Find the families of tensors that carry copies of channels through operators that treat all channels alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers, Split
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import facts
from nnapi.model.operand import Array

MOST_SLICES = 3
"""The most copies appended one by one at a filter; the engine concatenates at most five tensors."""


def map_channels(
    graph: Graph, splits: Mapping[Operator, Split], dead: Mapping[Tensor, Array], outliers: Outliers
) -> dict[Tensor, Order]:
    """Return the order of channels of each tensor that should carry copies."""
    orders: dict[Tensor, Order] = {}
    for family in _find_families(graph):
        if not family.is_closed:
            continue
        readers = [op for op in family.readers if op in splits and splits[op].channels]
        wanted = _unite(splits[op].channels for op in readers)
        free = [channel for channel in family.find_free(dead) if channel not in wanted]
        more = max(len(wanted) - len(free), 0)
        if more and family.estimate_seconds(more, splits) >= sum(
            estimate_alone(op, splits[op].channels) for op in readers
        ):
            wanted = []
        depth = family.tensors[0].shape[3]
        behind = wanted[len(free) :]
        behind += [0] * family.count_padding_channels(depth + len(behind), outliers)
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

    def find_free(self, dead: Mapping[Tensor, Array]) -> list[int]:
        """Return channels that are zero wherever a convolution reads them."""
        ends = [dead.get(op.input(0)) for op in self.readers]
        known = [channels for channels in ends if channels is not None]
        return np.flatnonzero(np.logical_and.reduce(known)).tolist() if known and len(known) == len(ends) else []

    def count_padding_channels(self, depth: int, outliers: Outliers) -> int:
        """Return the number of channels that fill the tiles of depthwise filters in float32."""
        is_float = any(op.kind == "DEPTHWISE_CONV_2D" and outliers.find_slices(op, 3) for op in self.inner)
        return cost_model.round_up(depth, cost_model.TILE) - depth if is_float and depth > cost_model.TILE else 0

    def estimate_seconds(self, count: int, splits: Mapping[Operator, Split]) -> float:
        written = sum(_estimate_writing(op, count, splits) for op in self.writers)
        passed = sum(cost_model.estimate_writing(op, count) for op in self.inner if op.kind == "DEPTHWISE_CONV_2D")
        return written + passed + sum(cost_model.estimate_reading(op, count) for op in self.readers)


def estimate_ways(operator: Operator, channels: Sequence[int], written: int = 0, joined: int = 0) -> dict[str, float]:
    """Return the seconds of each way to compute an operator that needs copies of ``channels``.

    ``written`` is the number of copies that its output carries, ``joined`` the channels of the concatenated input that
    holds all ``channels``.
    """
    seconds = {
        "float": cost_model.estimate_float(operator, written),
        "unsigned": cost_model.estimate_unsigned(operator),
    }
    if len(set(channels)) == len(channels):
        seconds["doubled"] = cost_model.estimate_doubling(operator)
    if len(channels) <= MOST_SLICES:
        seconds["appended"] = cost_model.estimate_slices(operator, len(channels))
    if joined:
        seconds["joined"] = cost_model.estimate_rejoining(operator, joined)
    return seconds


def estimate_alone(operator: Operator, channels: Sequence[int]) -> float:
    """Return the seconds of the fastest way."""
    return min(estimate_ways(operator, channels).values()) if channels else 0.0


def _estimate_writing(operator: Operator, count: int, splits: Mapping[Operator, Split]) -> float:
    if operator in splits and splits[operator].channels:
        seconds = estimate_ways(operator, splits[operator].channels)
        if min(seconds, key=lambda way: seconds[way]) == "float":
            return cost_model.estimate_writing(operator, count, in_float=True)
    return cost_model.estimate_writing(operator, count)


def _find_families(graph: Graph) -> Iterable[_Family]:
    leader: dict[Tensor, Tensor] = {}

    def find(tensor: Tensor) -> Tensor:
        root = tensor
        while (above := leader.get(root, root)) is not root:
            root = above
        leader[tensor] = root
        return root

    alike = [_find_alike(operator) for operator in graph.operators]
    for tensors in alike:
        for tensor in tensors[1:]:
            leader[find(tensor)] = find(tensors[0])
    families: dict[Tensor, _Family] = defaultdict(_Family)
    for tensor in graph.tensors():
        if len(tensor.shape) == 4 and tensor.data is None:
            families[find(tensor)].tensors.append(tensor)
        elif tensor in leader:
            families[find(tensor)].is_closed = False
    _surround(graph, alike, lambda tensor: families[find(tensor)])
    return [family for family in families.values() if family.tensors]


def _surround(graph: Graph, alike: Iterable[Sequence[Tensor]], family: Callable[[Tensor], _Family]) -> None:
    for tensor in graph.inputs_and_outputs:
        family(tensor).is_closed = False
    for operator, tensors in zip(graph.operators, alike, strict=True):
        if tensors:
            family(tensors[0]).inner.append(operator)
        elif Conv(operator).is_constant_dense:
            family(operator.input(0)).readers.append(operator)
            family(operator.output).writers.append(operator)
        else:
            for end in operator.tensors:
                family(end).is_closed = False


def _find_alike(operator: Operator) -> list[Tensor]:
    y, count = operator.output, facts(operator.kind).channelwise
    if len(y.shape) != 4 or not (count or Conv(operator).is_constant_depthwise):
        return []
    inputs = [operator.input(index) for index in range(count or 1)]
    is_whole = count < 2 or all(x.shape == y.shape and x.data is None for x in inputs)
    return [*inputs, y] if is_whole else []


def _unite(lists: Iterable[Sequence[int]]) -> list[int]:
    """Return each channel as often as the list that has it most often."""
    most: dict[int, int] = {}
    for numbers in lists:
        for number in numbers:
            most[number] = max(most.get(number, 0), numbers.count(number))
    return [number for number, count in sorted(most.items()) for _ in range(count)]
