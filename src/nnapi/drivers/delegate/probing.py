"""Find the operations that a delegate claims: in the whole model, then each remaining operation alone."""

from collections.abc import Sequence

from nnapi.contract.driver import Verdict
from nnapi.drivers.delegate.plugin import Plugin
from nnapi.drivers.litert.lowering import Lowered
from nnapi.drivers.litert.unsigned_values import can_be_unsigned, has_unsigned_filters, make_unsigned
from nnapi.errors import OpFailedError
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, remove_dead_operators
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Model

Calls = dict[int, list[Operator]]
"""The TFLite operators of each operation of the model, by the operation's number."""
UNSIGNED_FILTER = "its filter is not signed with zero point 0, and other operators do not support unsigned values"


def use_unsigned_values(graph: Graph) -> Graph:
    """Return the graph with unsigned values if a filter needs them and all operators support them."""
    return make_unsigned(graph) if has_unsigned_filters(graph) and can_be_unsigned(graph) else graph


def rewrite_for_delegate(graph: Graph) -> Graph:
    """Return the graph for a delegate: dead operators removed, values unsigned if necessary."""
    return use_unsigned_values(remove_dead_operators(graph))


def find_obstacle(operators: Sequence[Operator]) -> str:
    """Return why operators cannot be written for a delegate; empty if they can."""
    for operator in operators:
        if row_of(operator.kind).states:
            return f"delegates are not given {operator.kind}, which has a state"
        signed = any(tensor.type == "i8" for tensor in operator.tensors)
        if signed and Conv(operator).unsigned_filter:
            return UNSIGNED_FILTER
    return ""


def probe_verdicts(plugin: Plugin, model: Model, lowered: Lowered) -> list[Verdict]:
    graph = use_unsigned_values(lowered.graph)
    calls: Calls = {}
    for operator in graph.operators:
        if operator.output.origin is not None:
            calls.setdefault(operator.output.origin, []).append(operator)
    reasons = {number: reason for number, made in calls.items() if (reason := find_obstacle(made))}
    for number in reasons:
        del calls[number]
    reasons |= _find_left(plugin, calls)
    return [
        Verdict(False, f"{call}: {reasons[call.number]}") if verdict.supported and call.number in reasons else verdict
        for call, verdict in zip(model.operations, lowered.verdicts, strict=True)
    ]


def _find_left(plugin: Plugin, calls: Calls) -> dict[int, str]:
    """Return why operations are not claimed, by number; the delegate claims all others in one graph."""
    reasons: dict[int, str] = {}
    while calls:
        try:
            left, failure = _probe(plugin, calls)[0], ""
        except OpFailedError as error:
            left, failure = set(calls), str(error)
        if not left:
            break
        found = {number: _explain_left(plugin, calls[number]) for number in sorted(left)}
        if not any(found.values()):  # the cause is in their combination
            found = dict.fromkeys(found, failure or f"{plugin.name} takes it by itself, not in this model")
        elif not failure:
            found = {n: reason or f"{plugin.name} takes it by itself, not in this model" for n, reason in found.items()}
        reasons |= {number: reason for number, reason in found.items() if reason}
        calls = {number: made for number, made in calls.items() if number not in reasons}
        if not failure:  # the others were claimed in the same graph
            break
    return reasons


def _explain_left(plugin: Plugin, operators: list[Operator]) -> str:
    """Return why the delegate does not claim the operators alone; empty if it does."""
    try:
        left, said, kinds = _probe(plugin, {0: operators})
    except OpFailedError as error:
        return str(error)
    return f"{plugin.name} did not take {', '.join(kinds)}{said and f': {said}'}" if left else ""


def _probe(plugin: Plugin, calls: Calls) -> tuple[set[int], str, list[str]]:
    """Return the numbers of the calls that the delegate does not claim, its output, and the operators' kinds."""
    operators = [(number, operator) for number, made in calls.items() for operator in made]
    graph = cut_out([operator for _, operator in operators])
    nodes, said = plugin.ask(serialize(graph))
    left = [operators[node] for node in nodes]
    return {number for number, _ in left}, said, list(dict.fromkeys(operator.kind for _, operator in left))


def cut_out(operators: Sequence[Operator]) -> Graph:
    """Return a graph of some operators; tensors that others write or read become its inputs and outputs."""
    made = dict.fromkeys(output for operator in operators for output in operator.outputs)
    read: dict[Tensor, None] = dict.fromkeys(
        tensor for operator in operators for tensor in operator.inputs if tensor is not None
    )
    inputs = [tensor for tensor in read if not tensor.is_constant and tensor not in made]
    return Graph([*operators], inputs, [tensor for tensor in made if tensor not in read] or [*made])
