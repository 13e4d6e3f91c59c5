"""Candidates besides the predicted best plan: as much as possible on each device, and the nearest other partition."""

from nnapi.runtime.planning.partition import FORBIDDEN, Assignment, Problem

DIVIDED = 2
"""Maximum number of candidates that use several devices."""
NEAR = 1.15
"""A plan uses several devices only if the best single device is predicted to take this many times as long. Predictions
are no more exact, and engines with several threads hinder each other."""
DEAR = 1.5
"""A candidate with several devices may cost this many times the best plan's cost."""
MOST = 0.75
"""A device with this share of the operations is a candidate, whatever its cost."""
LARGEST = 8
"""Number of the most expensive groups that are moved to other devices."""


def list_candidates(problem: Problem, best: Assignment) -> list[Assignment]:
    """Return the assignments to compare, without duplicates: the first to run, then the others, the cheapest first."""
    single = min(((device,) * len(best) for device in problem.devices), key=problem.cost)
    first = single if len(set(best)) > 1 and problem.cost(single) <= NEAR * problem.cost(best) else best
    found = {best: None} | {_put_mostly_on(problem, best, device): None for device in problem.devices}
    if moved := _move_one_group(problem, best):
        found[moved] = None
    del found[first]
    costs = {assignment: problem.cost(assignment) for assignment in found}
    ranked = sorted((a for a in found if costs[a] < FORBIDDEN), key=costs.__getitem__)
    dearest = min(DEAR * problem.cost(best), problem.cost(single) / NEAR)
    mixed = [a for a in ranked if len(set(a)) > 1 and (costs[a] < dearest or _is_almost_whole(problem, a))][:DIVIDED]
    return [first, *(a for a in ranked if len(set(a)) == 1 or a in mixed)]


def _put_mostly_on(problem: Problem, best: Assignment, device: int) -> Assignment:
    """Return ``best``, with everything that ``device`` supports moved there."""
    costs = problem.compute
    return tuple(device if costs[o][device] < FORBIDDEN else elsewhere for o, elsewhere in enumerate(best))


def _is_almost_whole(problem: Problem, assignment: Assignment) -> bool:
    """Return whether one device runs everything that it supports, and that is most of the model."""
    leader = max(problem.devices, key=assignment.count)
    has_all = all(
        d == leader or costs[leader] == FORBIDDEN for costs, d in zip(problem.compute, assignment, strict=True)
    )
    return has_all and assignment.count(leader) >= MOST * len(assignment)


def _move_one_group(problem: Problem, best: Assignment) -> Assignment | None:
    """Return the cheapest assignment that moves one group of connected operations to another device, or None."""
    groups = sorted(_find_groups(problem, best), key=lambda g: -sum(problem.compute[o][best[o]] for o in g))
    moved = [
        tuple(device if o in group else elsewhere for o, elsewhere in enumerate(best))
        for group in (groups[:LARGEST] if len(groups) > 1 else ())
        for device in problem.devices
        if device != best[min(group)] and all(problem.compute[o][device] < FORBIDDEN for o in group)
    ]
    return min(moved, key=problem.cost, default=None)


def _find_groups(problem: Problem, best: Assignment) -> list[set[int]]:
    """Return groups of operations on the same device that are connected by tensors."""
    group_of = [{operation} for operation in range(len(best))]
    pairs = [(flow.producer, consumer) for flow in problem.flows for consumer in flow.consumers]
    for producer, consumer in pairs:
        if producer is not None and best[producer] == best[consumer]:
            group_of[producer] |= group_of[consumer]
            for operation in group_of[consumer]:
                group_of[operation] = group_of[producer]
    return list({min(group): group for group in group_of}.values())
