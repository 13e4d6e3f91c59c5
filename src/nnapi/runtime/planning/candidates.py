"""Plans worth comparing with the predicted best: as much as possible on each device, and the nearest other division."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.runtime.planning.partition import FORBIDDEN, Assignment, Problem

DIVIDED = 2
"""Candidates at most that use several devices."""
NEAR = 1.15
"""A plan is not divided where a single device is predicted to take less than this many times its time: predictions are
not better than that, and engines on several threads hinder each other."""
DEAR = 1.5
"""A divided plan that is predicted to cost this many times the best one is not a candidate."""
MOST = 0.75
"""A device that takes this share of the operations, if not all, is a candidate as well, whatever it costs."""
LARGEST = 8
"""Groups, the dearest, that are tried on other devices."""


def candidates(problem: Problem, best: Sequence[int]) -> list[Assignment]:
    """Assignments to compare, each once: the one to begin with, then the others, the predicted cheapest first."""
    first = chosen = tuple(best)
    if len(problem.devices) == 1:
        return [chosen]
    single = min(((device,) * len(chosen) for device in problem.devices), key=problem.cost)
    if len(set(chosen)) > 1 and problem.cost(single) <= NEAR * problem.cost(chosen):
        first = single
    found = {chosen: None} | {_put_mostly_on(problem, chosen, device): None for device in problem.devices}
    if moved := _move_one_group(problem, chosen):
        found[moved] = None
    del found[first]
    costs = {assignment: problem.cost(assignment) for assignment in found}
    ranked = sorted((a for a in found if costs[a] < FORBIDDEN), key=costs.__getitem__)
    dearest = min(DEAR * problem.cost(chosen), problem.cost(single) / NEAR)
    mixed = [a for a in ranked if len(set(a)) > 1 and (costs[a] < dearest or _is_almost_whole(problem, a))][:DIVIDED]
    return [first, *(a for a in ranked if len(set(a)) == 1 or a in mixed)]


def _put_mostly_on(problem: Problem, best: Assignment, device: int) -> Assignment:
    """Everything that a device takes on it, and the rest where it is at best."""
    costs = problem.compute
    return tuple(device if costs[o][device] < FORBIDDEN else elsewhere for o, elsewhere in enumerate(best))


def _is_almost_whole(problem: Problem, assignment: Assignment) -> bool:
    """Whether one device has all that it takes, which is most of the model, and others what it refuses."""
    leader = max(problem.devices, key=assignment.count)
    has_all = all(
        d == leader or costs[leader] == FORBIDDEN for costs, d in zip(problem.compute, assignment, strict=True)
    )
    return has_all and assignment.count(leader) >= MOST * len(assignment)


def _move_one_group(problem: Problem, best: Assignment) -> Assignment | None:
    """The cheapest assignment in which connected operations of one device are all on another."""
    groups = sorted(_find_groups(problem, best), key=lambda g: -sum(problem.compute[o][best[o]] for o in g))
    moved = [
        tuple(device if o in group else elsewhere for o, elsewhere in enumerate(best))
        for group in (groups[:LARGEST] if len(groups) > 1 else ())
        for device in problem.devices
        if device != best[min(group)] and all(problem.compute[o][device] < FORBIDDEN for o in group)
    ]
    return min(moved, key=problem.cost, default=None)


def _find_groups(problem: Problem, best: Assignment) -> list[set[int]]:
    """Operations of one device that tensors connect."""
    leader = list(range(len(best)))

    def find(operation: int) -> int:
        while leader[operation] != operation:
            leader[operation] = operation = leader[leader[operation]]
        return operation

    for flow in problem.flows:
        if flow.producer is not None:
            for consumer in flow.consumers:
                if best[consumer] == best[flow.producer]:
                    leader[find(consumer)] = find(flow.producer)
    groups: dict[int, set[int]] = {}
    for operation in range(len(best)):
        groups.setdefault(find(operation), set()).add(operation)
    return list(groups.values())
