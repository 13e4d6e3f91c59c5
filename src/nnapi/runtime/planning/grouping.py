"""The order of operations: those of one device one after the other, as far as their inputs allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnapi.model.model import Model, OperationCall


def group_by_owner(model: Model, assignment: Mapping[int, object]) -> list[tuple[object, list[OperationCall]]]:
    """Operations in an order that keeps those of one owner together as long as their inputs allow: of the owners that
    can go on, the one that gets furthest does.

    ``assignment`` maps an operation's number to its owner.
    """
    waiting = _Waiting(model, [assignment[call.number] for call in model.operations])
    groups: list[tuple[object, list[OperationCall]]] = []
    while waiting.ready:
        owner = max(sorted(waiting.ready, key=waiting.first), key=lambda owner: len(waiting.reach(owner)))
        groups.append((owner, [model.operations[place] for place in waiting.take(owner)]))
    return groups


class _Waiting:
    """Operations that did not have their turn yet, by their places in the order in which they can run."""

    def __init__(self, model: Model, owners: Sequence[object]) -> None:
        self._owners = owners
        writers = {index: place for place, call in enumerate(model.operations) for index in call.outputs}
        awaited = [{writers[index] for index in call.inputs if index in writers} for call in model.operations]
        self._missing = [len(places) for places in awaited]
        self._readers: list[list[int]] = [[] for _ in owners]
        for place, places in enumerate(awaited):
            for writer in places:
                self._readers[writer].append(place)
        self.ready: dict[object, set[int]] = {}
        """The places that each owner can begin with."""
        for place, count in enumerate(self._missing):
            if not count:
                self.ready.setdefault(owners[place], set()).add(place)
        self._reach: dict[object, list[int]] = {}

    def first(self, owner: object) -> int:
        return min(self.ready[owner])

    def reach(self, owner: object) -> list[int]:
        """Everything that an owner can run now without waiting for another; kept until more becomes possible."""
        if owner not in self._reach:
            missing: dict[int, int] = {}
            found = list(self.ready[owner])
            for place in found:
                for reader in self._readers[place]:
                    missing[reader] = missing.get(reader, self._missing[reader]) - 1
                    if not missing[reader] and self._owners[reader] == owner:
                        found.append(reader)
            self._reach[owner] = sorted(found)
        return self._reach[owner]

    def take(self, owner: object) -> list[int]:
        """Let the owner run all of that."""
        taken = self.reach(owner)
        del self.ready[owner]
        chosen = set(taken)
        for place in taken:
            for reader in self._readers[place]:
                self._missing[reader] -= 1
                self._reach.pop(self._owners[reader], None)
                if not self._missing[reader] and reader not in chosen:
                    self.ready.setdefault(self._owners[reader], set()).add(reader)
        self._reach.pop(owner, None)
        return taken
