"""Match added operations with their declarations and order them when the model is finished."""

from collections.abc import Sequence
from typing import Protocol

from nnapi.codes import OEM_OPERATION
from nnapi.errors import BadDataError, NnapiError, UnexpectedNullError, need
from nnapi.model.extension import EXTENSIONS
from nnapi.model.graph import Graph, Lifetime, Operand, OperationCall, label_call
from nnapi.model.lifecycle import State
from nnapi.model.matching import KnownMatch
from nnapi.model.operation import REGISTRY
from nnapi.model.validation import check_graph, count_needed_inputs, run_order
from nnapi.operation_codes import COMPOSITE_CODES

SUBGRAPH = Lifetime.SUBGRAPH  # a member of an enumeration is slow to look up


class Described(Graph, Protocol):
    state: State
    is_altered: bool
    high_ranks: bool
    empty_tensors: bool
    known_matches: list[KnownMatch | None]

    def need_operand(self, index: int, label: str = "") -> Operand: ...
    def note_call(self, call: OperationCall, known: KnownMatch | None) -> None: ...


def add_call(
    model: Described, code: int, inputs: Sequence[int], outputs: Sequence[int], known: KnownMatch | None = None
) -> None:
    """Append an operation; reuse the match ``known`` if the operand types still agree."""
    need(inputs is not None and outputs is not None, "inputs or outputs is None", UnexpectedNullError)
    need(not isinstance(code, str), f"{code!r} is not a code: nnapi.OperationCode has them by name", BadDataError)
    model.state.need("building", to="add an operation")
    number, count, is_registered = len(model.operations), len(model.operands), code in REGISTRY
    if not (is_registered or code == OEM_OPERATION or EXTENSIONS.name(code)):
        label = label_call(code, number)
        raise BadDataError(f"{label}: operation code {code} is not one of NeuralNetworks.h nor of an extension")
    if not (len(inputs) and len(outputs)):
        raise BadDataError(f"{label_call(code, number)}: needs at least one input and one output")
    for index in (*inputs, *outputs):
        if not 0 <= index < count:
            model.need_operand(index, label_call(code, number))
    known = _match(model, code, inputs, outputs, number, known) if is_registered else None
    match = None if known is None else known.match
    call = OperationCall(number, code, tuple(map(int, inputs)), tuple(map(int, outputs)), match)
    model.note_call(call, known)
    if code in COMPOSITE_CODES:  # composites come from files, which have tensors without elements
        model.empty_tensors = True


def order_calls(model: Described) -> tuple[OperationCall, ...]:
    """Return the operations in run order, without trailing default inputs; BadDataError for an invalid graph."""

    def check_fit(call: OperationCall) -> None:
        if call.code in REGISTRY:
            _match(model, call.code, call.inputs, call.outputs, call.number, model.known_matches[call.number])

    check_graph(model, check_fit if model.is_altered else None)
    return tuple(_trim(model, call) for call in run_order(model))


def _match(
    model: Described,
    code: int,
    inputs: Sequence[int],
    outputs: Sequence[int],
    number: int,
    known: KnownMatch | None = None,
) -> KnownMatch:
    """Match operation ``number``, or reuse ``known`` if its types are equal; BadDataError names the operation."""
    operands = [model.operands[index] for index in inputs]
    types, results = [operand.type for operand in operands], [model.operands[index].type for index in outputs]
    references = [operand.value if operand.lifetime is SUBGRAPH else None for operand in operands]
    if known is not None and known.holds(code, types, results, references):
        return known
    try:
        match = REGISTRY[code].match(types, results, references)
        need(model.high_ranks or not match.beyond, match.beyond, BadDataError)
        return KnownMatch(match, code, types, results, references)
    except NnapiError as error:
        raise error.at(label_call(code, number)) from None


def _trim(model: Described, call: OperationCall) -> OperationCall:
    count = count_needed_inputs(model, call)
    if count == len(call.inputs):
        return call
    inputs = call.inputs[:count]
    match = _match(model, call.code, inputs, call.outputs, call.number).match
    return OperationCall(call.number, call.code, inputs, call.outputs, match)
