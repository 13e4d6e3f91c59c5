"""Operations that belong together: which run one after the other on one device, and as models of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType


def group_by_owner(model: Model, assignment: dict[int, object]) -> list[tuple[object, list[OperationCall]]]:
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


def count_reads(calls: Sequence[OperationCall]) -> Counter[int]:
    """How often each operand is read."""
    return Counter(index for call in calls for index in call.inputs)


def make_submodel(
    model: Model, calls: list[OperationCall], reads: Mapping[int, int] | None = None
) -> tuple[Model, tuple[int, ...], tuple[int, ...]]:
    """The calls as a model of their own, with the operands of the whole that are its inputs and outputs.

    Constants are shared, not copied. ``reads`` are those of all calls of the whole, where they were counted before.
    """
    written = {index for call in calls for index in call.outputs}
    reads = count_reads(model.operations) if reads is None else reads
    own, given = count_reads(calls), set(model.outputs)
    part = Model(f"{model.name}[{', '.join(str(call.number) for call in calls[:3])}{'…' if calls[3:] else ''}]")
    places: dict[int, int] = {}
    for call in calls:
        for index in (*call.inputs, *call.outputs):
            if index not in places:
                places[index] = _copy_operand(model, index, part)
    inputs = tuple(i for i in places if i not in written and _is_open(model, i))
    outputs = tuple(i for i in places if i in written and (reads[i] > own[i] or i in given))
    for call in calls:
        part.add_operation(call.code, [places[i] for i in call.inputs], [places[i] for i in call.outputs])
    part.assign_roles([places[i] for i in inputs], [places[i] for i in outputs])
    part.relax_computation_float32_to_float16(model.relaxed)
    part.permit_dynamic_range(model.dynamic_range)
    part.permit_rounded_states(model.rounded_states)
    part.freeze()
    return part, inputs, outputs


def _is_open(model: Model, index: int) -> bool:
    return model.operands[index].lifetime in (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)


def _copy_operand(model: Model, index: int, part: Model) -> int:
    operand = model.operands[index]
    type = operand.type
    place = part.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point), operand.name)
    if type.data:
        part.set_operand_extension_data(place, type.data)
    if type.channel:
        part.set_operand_symm_per_channel_quant_params(place, type.channel.dimension, type.channel.scales)
    if operand.lifetime == Lifetime.CONSTANT:
        part.set_operand_value(place, operand.value)
    elif operand.lifetime == Lifetime.NO_VALUE:
        part.set_operand_value(place, None)
    elif operand.lifetime == Lifetime.SUBGRAPH:
        part.set_operand_value_from_model(place, operand.value)
    return place
