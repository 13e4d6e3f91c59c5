"""Which operator of a graph each event of a profile belongs to.

Events of LiteRT's own kernels name their operator. XNNPACK's say only what was computed, in the order in which it was:
mostly an event for an operator, but some prepare or finish an operator, and some operators are fused into others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from nnapi.drivers.litert.profiler.litert import Event
from nnapi.formats.tflite.operators import CLAMP, CONVERT, facts


class Node(NamedTuple):
    """An operator by its kind, and the indices of its tensors, -1 for omitted ones."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


FINISHING = CLAMP
"""Events that finish the operator before them; others that stand alone prepare the one after them."""
FUSED, ALONE, MISNAMED = 2, 2, 3
"""The costs of treating an operator as fused, an event as preparation or cleanup, and two names as the same."""


def fits(kind: str, name: str) -> bool:
    """Whether an event of that name may be an operator of that kind. "Invalid" are chains computed as one table."""
    names = facts(kind).events
    if name.startswith("Invalid"):
        return names in (CONVERT, CLAMP)
    return name.startswith(names or kind[:3].capitalize())


def find_owners(nodes: Sequence[Node], events: Sequence[Event]) -> list[int]:
    """For each event the number of its operator."""
    left = dict.fromkeys(range(len(nodes)))
    for event in events:
        if event.operator is not None:
            left.pop(event.operator, None)
    pending = {tensor for node in nodes for tensor in node.outputs}
    found: list[int] = []
    for is_builtin, group in groupby(events, lambda event: event.operator is not None):
        names = list(group)
        if is_builtin:
            numbers = [event.operator for event in names if event.operator is not None]
            found += numbers
            pending.difference_update(*(nodes[number].outputs for number in numbers))
            continue
        part = []
        for number in list(left):
            if not pending.intersection(nodes[number].inputs):
                part.append(number)
                pending -= set(nodes[number].outputs)
                del left[number]
        if not part:
            raise ValueError("XNNPACK runs operators before their inputs are computed")
        found += [part[at] for at in align([nodes[number].kind for number in part], [e.name for e in names])]
    return found


def align(kinds: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return, for each name, the index of its kind, both in order: the assignment of least cost."""
    if len(kinds) == len(names) and all(map(fits, kinds, names)):
        return list(range(len(kinds)))
    costs = [[ALONE * j for j in range(len(names) + 1)]]
    for i, kind in enumerate(kinds, 1):
        above, row = costs[-1], [FUSED * i]
        for j, name in enumerate(names, 1):
            same = above[j - 1] + (0 if fits(kind, name) else MISNAMED)
            row.append(min(same, above[j] + FUSED, row[j - 1] + ALONE))
        costs.append(row)
    return _trace_back(kinds, names, costs)


def _trace_back(kinds: Sequence[str], names: Sequence[str], costs: Sequence[Sequence[int]]) -> list[int]:
    """The cheapest assignment, from the end, where single events are taken as late as may be."""
    found = [0] * len(names)
    i, j = len(kinds), len(names)
    while j:
        if costs[i][j] == costs[i][j - 1] + ALONE:
            j -= 1
            is_end = i == len(kinds) or (i > 0 and names[j].startswith(FINISHING))
            found[j] = i - 1 if is_end else i
        elif i and costs[i][j] == costs[i - 1][j] + FUSED:
            i -= 1
        else:
            i, j = i - 1, j - 1
            found[j] = i
    return found
