"""An order of operations that keeps those of one device together, as far as their inputs allow."""

from collections.abc import Mapping, Sequence

from nnapi.model.model import Model, OperationCall


def group_by_owner(model: Model, assignment: Mapping[int, object]) -> list[tuple[object, list[OperationCall]]]:
    """Group operations by owner, in an order that their inputs allow. The owner that can run most is next."""
    waiting = _Waiting(model, [assignment[call.number] for call in model.operations])
    groups: list[tuple[object, list[OperationCall]]] = []
    while waiting.ready:
        owner = max(sorted(waiting.ready, key=waiting.first), key=lambda owner: len(waiting.reach(owner)))
        groups.append((owner, [model.operations[position] for position in waiting.take(owner)]))
    return groups


class _Waiting:
    """Operations that are not grouped yet, identified by position in the model."""

    def __init__(self, model: Model, owners: Sequence[object]) -> None:
        self._owners = owners
        writers = {index: position for position, call in enumerate(model.operations) for index in call.outputs}
        awaited = [{writers[index] for index in call.inputs if index in writers} for call in model.operations]
        self._missing = [len(each) for each in awaited]
        self._readers: list[list[int]] = [[] for _ in owners]
        for position, producers in enumerate(awaited):
            for writer in producers:
                self._readers[writer].append(position)
        self.ready: dict[object, set[int]] = {}
        """For each owner, the positions of operations whose inputs are all available."""
        for position, count in enumerate(self._missing):
            if not count:
                self.ready.setdefault(owners[position], set()).add(position)
        self._reach: dict[object, list[int]] = {}

    def first(self, owner: object) -> int:
        return min(self.ready[owner])

    def reach(self, owner: object) -> list[int]:
        """Return all operations that an owner can run before another owner must; cached until more become available."""
        if owner not in self._reach:
            missing: dict[int, int] = {}
            found = list(self.ready[owner])
            for position in found:
                for reader in self._readers[position]:
                    missing[reader] = missing.get(reader, self._missing[reader]) - 1
                    if not missing[reader] and self._owners[reader] == owner:
                        found.append(reader)
            self._reach[owner] = sorted(found)
        return self._reach[owner]

    def take(self, owner: object) -> list[int]:
        """Remove and return all operations that the owner can run now."""
        group = self.reach(owner)
        del self.ready[owner]
        chosen = set(group)
        for position in group:
            for reader in self._readers[position]:
                self._missing[reader] -= 1
                self._reach.pop(self._owners[reader], None)
                if not self._missing[reader] and reader not in chosen:
                    self.ready.setdefault(self._owners[reader], set()).add(reader)
        self._reach.pop(owner, None)
        return group
