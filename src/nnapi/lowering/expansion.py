"""Replace composite operations by operations of NNAPI."""

from collections.abc import Container
from copy import copy
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nnapi.errors import NnapiError
from nnapi.lowering.decompose import decompose_call
from nnapi.lowering.decomposition_builder import Decomposition
from nnapi.lowering.lower import KnownTypes, check_results, normalize_call
from nnapi.lowering.refusal import Unsupported
from nnapi.model.call import UNKNOWN, NotYetKnown
from nnapi.model.described_operand import copy_operand
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import list_nested
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import COMPOSITE_CODES


class Expansion(NamedTuple):
    """A model without composites. Its operands begin with those of the given model."""

    model: Model
    origins: tuple[int, ...]
    """For each operation, by number, the number of the given model's operation that it belongs to."""
    refusals: dict[int, str]
    """Why composites remain, by number."""


_expansions: WeakKeyDictionary[Model, dict[frozenset[int] | None, Expansion]] = WeakKeyDictionary()


def has_composites(model: Model) -> bool:
    return any(call.code in COMPOSITE_CODES for each in list_nested(model) for call in each.operations)


def remove_composites(model: Model) -> Model:
    """Return the model in which all composites are replaced; the model itself if it has none."""
    if not has_composites(model):
        return model
    return expand(model).model


def expand(model: Model, chosen: frozenset[int] | None = None) -> Expansion:
    """Replace the composites whose numbers are ``chosen``, by default all, also those of nested models.

    The same arguments give the same model. A composite remains if its decomposition refuses, for example for unknown
    dimensions.
    """
    known = _expansions.setdefault(model, {})
    if chosen not in known:
        nested: dict[Model, Model] = {}
        for each in list_nested(model) if chosen is None else [model]:
            if each is model or has_composites(each):
                known[chosen] = _Expanded(each, nested, chosen).finish()
                nested[each] = known[chosen].model
    return known[chosen]


class _Expanded:
    """The expansion of one model, operation by operation. ``nested`` has the expansions of the models within."""

    def __init__(self, model: Model, nested: dict[Model, Model], chosen: Container[int] | None) -> None:
        self.given, self.chosen = model, chosen
        self.model = Model(model.name)
        self.model.permit_as(model)
        self.model.permit_high_ranks(True)  # decompositions may have them
        self.origins: list[int] = []
        self.refusals: dict[int, str] = {}
        self.types = KnownTypes(model)
        self.values = {o.index: o.value for o in model.operands if o.lifetime is Lifetime.CONSTANT}
        self.model.operands = [copy(operand) for operand in model.operands]
        for operand in self.model.operands:
            if operand.lifetime is Lifetime.SUBGRAPH:
                operand.value = nested.get(operand.value, operand.value)
            if operand.lifetime is Lifetime.NO_VALUE:
                self.types[operand.index] = None
            elif operand.type.is_known:
                self.types[operand.index] = operand.type

    def finish(self) -> Expansion:
        model, given = self.model, self.given
        for call in given.operations:
            self._add(call)
        model.inputs, model.outputs = given.inputs, given.outputs
        model.notes, model.empty_inputs = given.notes, given.empty_inputs
        model.freeze()
        return Expansion(model, tuple(self.origins), self.refusals)

    def _add(self, call: OperationCall) -> None:
        found = self._decompose(call)
        if found is None:
            self.model.add_operation(call.code, call.inputs, call.outputs)
            self.origins.append(call.number)
        else:
            self._inline(call, found)

    def _decompose(self, call: OperationCall) -> Decomposition | None:
        """Return the decomposition of a chosen composite; None for others, and for one that refuses."""
        if call.match is None or REGISTRY[call.code].shape_function is None:
            return None
        is_chosen = call.code in COMPOSITE_CODES and (self.chosen is None or call.number in self.chosen)
        try:
            normal = normalize_call(self.given, call, self.types, self.values.get)
            for operand, type in check_results(self.given, normal, lax=True):
                if UNKNOWN not in type.dimensions:
                    self.types[operand.index] = type
            if not is_chosen:
                return None
            found = decompose_call(self.given, call, normal, self.types, self.values)
        except (Unsupported, NotYetKnown, NnapiError) as refused:
            if is_chosen:
                self.refusals[call.number] = f"{call}: {refused}"
            return None
        if found is None:
            self.refusals[call.number] = f"{call} has no decomposition"
        elif has_composites(found.model) and (refusals := expand(found.model).refusals):
            self.refusals[call.number] = f"{call}: {next(iter(refusals.values()))}"
            return None
        return found

    def _inline(self, call: OperationCall, found: Decomposition) -> None:
        """Add the operations of a decomposition, with its operands that the model lacks."""
        part = remove_composites(found.model)
        indices = dict(zip(part.outputs, call.outputs, strict=True)) | found.origins
        for operand in part.operands:
            if operand.index not in indices:
                indices[operand.index] = copy_operand(operand, self.model)
        for inner in part.operations:
            inputs, outputs = ([indices[index] for index in each] for each in (inner.inputs, inner.outputs))
            self.model.add_operation(inner.code, inputs, outputs)
            self.origins.append(call.number)
