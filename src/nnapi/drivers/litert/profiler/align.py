"""Assign the events of a profile to the operators of a graph.

Events of LiteRT's own kernels name their operator. XNNPACK's name only the computation, in order: mostly one per
operator, but some prepare or finish an operator, and some operators are fused.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from nnapi.drivers.litert.profiler.litert import Event
from nnapi.formats.tflite.operators import CLAMP, CONVERT, facts


class Node(NamedTuple):
    """An operator's kind, and the indices of its tensors, -1 for omitted ones."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


FINISHING = CLAMP
"""Events that finish the operator before them; other extra events prepare the next one."""
FUSED, ALONE, MISNAMED = 2, 2, 3
"""The costs of a fused operator, an extra event, and two different names."""


def fits(kind: str, name: str) -> bool:
    """Whether an event of that name may be an operator of that kind. "Invalid" are chains computed as one table."""
    names = facts(kind).events
    if name.startswith("Invalid"):
        return names in (CONVERT, CLAMP)
    return name.startswith(names or kind[:3].capitalize())


def find_owners(nodes: Sequence[Node], events: Sequence[Event]) -> list[int]:
    """Return the number of each event's operator."""
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
    """Return the index of each name's kind, both in order, by the assignment of least cost."""
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
    """Return the cheapest assignment, with extra events as late as possible."""
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
