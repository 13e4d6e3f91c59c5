"""Which tensors carry copies of some of their channels, so that filters find them there without moving anything.

Operators that treat every channel alike pass copies on: what they read and write carries the same ones, a *family* of
tensors. Convolutions begin and end families, as a filter can write a channel twice and leave a copy unread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from nnapi.drivers.xnnpack import estimates
from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor

if TYPE_CHECKING:
    from nnapi.drivers.xnnpack.narrow import Split

SINGLE = frozenset(
    {
        "AVERAGE_POOL_2D", "DEQUANTIZE", "HARD_SWISH", "LOGISTIC", "MAX_POOL_2D", "QUANTIZE", "RELU", "RELU6",
        "RELU_N1_TO_1", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "TANH",
    }
)  # fmt: skip
"""Operators of one tensor that treat every channel alike."""
PAIRS = frozenset({"ADD", "MUL", "SUB"})


def copied(graph: Graph, splits: Mapping[Operator, Split]) -> dict[Tensor, list[int]]:
    """For each tensor that should carry copies, the channels they are copies of, in order."""
    copies: dict[Tensor, list[int]] = {}
    for family in _families(graph):
        readers = [op for op in family.readers if op in splits and splits[op].rest]
        wanted = _union(splits[op].channels for op in readers)
        saved = sum(_alone(op, len(splits[op].rest)) for op in readers)
        if not family.is_closed or family.seconds(len(wanted), splits) >= saved:
            wanted = []
        if family.is_closed:
            wanted += [0] * family.missing(len(wanted))
        if wanted:
            copies.update(dict.fromkeys(family.tensors, wanted))
    return copies


class _Family:
    """Tensors that carry the same copies, and the operators around them."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self.writers: list[Operator] = []
        self.readers: list[Operator] = []
        self.inner: list[Operator] = []
        self.is_closed = all(len(tensor.shape) == 4 and tensor.data is None for tensor in tensors)

    def missing(self, count: int) -> int:
        """How many channels more make depthwise filters in float32 faster, which are so in full tiles."""
        depth = self.tensors[0].shape[3] + count
        is_float = any(op.kind == "DEPTHWISE_CONV_2D" and _is_unsigned(op) for op in self.inner)
        return estimates.rounded(depth, estimates.TILE) - depth if is_float and depth > estimates.TILE else 0

    def seconds(self, count: int, splits: Mapping[Operator, Split]) -> float:
        """What carrying so many copies costs."""
        written = sum(_written(op, count, splits) for op in self.writers)
        passed = sum(estimates.writing(op, count) for op in self.inner if op.kind == "DEPTHWISE_CONV_2D")
        return written + passed + sum(estimates.carrying(op, count) for op in self.readers)


def _alone(operator: Operator, count: int) -> float:
    """What a filter costs that finds no copies."""
    return min(estimates.appended(operator, count), estimates.doubled(operator), estimates.in_float(operator))


def _written(operator: Operator, count: int, splits: Mapping[Operator, Split]) -> float:
    if (
        operator in splits
        and splits[operator].rest
        and estimates.in_float(operator) <= _alone(operator, len(splits[operator].rest))
    ):
        return estimates.writing(operator, count, estimates.FLOAT_PRODUCT)
    return estimates.writing(operator, count)


def _families(graph: Graph) -> Iterable[_Family]:
    leader: dict[Tensor, Tensor] = {}

    def find(tensor: Tensor) -> Tensor:
        root = tensor
        while leader.get(root, root) is not root:
            root = leader[root]
        leader[tensor] = root
        return root

    for operator in graph.operators:
        tensors = _alike(operator)
        for tensor in tensors[1:]:
            leader[find(tensor)] = find(tensors[0])
    members: dict[Tensor, list[Tensor]] = defaultdict(list)
    for tensor in graph.tensors():
        members[find(tensor)].append(tensor)
    families = {root: _Family(tensors) for root, tensors in members.items()}
    _meet(graph, lambda tensor: families[find(tensor)])
    return families.values()


def _meet(graph: Graph, family: Callable[[Tensor], _Family]) -> None:
    """Tell each family which operators surround it, and which of them it cannot pass copies to."""
    for tensor in (*graph.inputs, *graph.outputs):
        family(tensor).is_closed = False
    for operator in graph.operators:
        alike = _alike(operator)
        if alike:
            family(alike[0]).inner.append(operator)
        elif operator.kind == "CONV_2D" and _is_plain(operator):
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
    if operator.kind in SINGLE:
        return [x, y]
    if operator.kind == "DEPTHWISE_CONV_2D" and x.shape[3] == y.shape[3] and _is_constant(operator):
        return [x, y]
    if operator.kind in PAIRS:
        other = operator.inputs[1]
        if other is not None and x.shape == other.shape == y.shape and x.data is None and other.data is None:
            return [x, other, y]
    return []


def _is_unsigned(operator: Operator) -> bool:
    filter = operator.inputs[1]
    return filter is not None and filter.type == "u8"


def _is_plain(operator: Operator) -> bool:
    """Whether a convolution has one group."""
    x, filter = operator.inputs[:2]
    return _is_constant(operator) and x is not None and filter is not None and filter.shape[3] == x.shape[3]


def _is_constant(operator: Operator) -> bool:
    """Whether filter and bias are constants, of which parts can be repeated."""
    return all(tensor is not None and tensor.data is not None for tensor in operator.inputs[1:])


def _union(lists: Iterable[Sequence[int]]) -> list[int]:
    """Each number as often as the list that has it most often."""
    most: dict[int, int] = {}
    for numbers in lists:
        for number in numbers:
            most[number] = max(most.get(number, 0), numbers.count(number))
    return [number for number, count in sorted(most.items()) for _ in range(count)]
