"""Validate a finished model: its graph, run order and feature level."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from nnapi.codes import MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES, OperandCode
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS, is_legal
from nnapi.model.graph import Graph, Lifetime, Operand, OperationCall
from nnapi.model.matching import Facet
from nnapi.model.nesting import paths
from nnapi.model.operand import LAST_BUILT_IN, TYPE_LEVELS
from nnapi.model.parameter import REQUIRED


def check_graph(model: Graph, check_call: Callable[[OperationCall], object] | None) -> None:
    """Raise BadDataError unless every operand has exactly one source and every operation passes ``check_call``."""
    need(model.operands, "the model has no operand", BadDataError)
    need(model.operations, "the model has no operation", BadDataError)
    computed, outer = (Lifetime.TEMPORARY, Lifetime.OUTPUT), (Lifetime.INPUT, Lifetime.OUTPUT)
    reference, model_code = Lifetime.SUBGRAPH, OperandCode.MODEL
    int32, per_channel = OperandCode.TENSOR_INT32, OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL
    writers: dict[int, OperationCall] = {}
    operands = model.operands
    for call in model.operations:
        for index in call.outputs:
            operand = operands[index]
            if operand.lifetime not in computed:
                raise BadDataError(f"{call} writes {operand}, which is {operand.lifetime.value}")
            if index in writers:
                raise BadDataError(f"{call} writes {operand}, as {writers.get(index)} does")
            writers[index] = call
    roles = {**dict.fromkeys(model.inputs, Lifetime.INPUT), **dict.fromkeys(model.outputs, Lifetime.OUTPUT)}
    for operand in operands:
        type, lifetime, index = operand.type, operand.lifetime, operand.index
        if lifetime in computed and index not in writers:
            raise BadDataError(f"{operand} is neither a model input nor a constant, and no operation writes it")
        if not (roles[index] is lifetime if index in roles else lifetime not in outer):
            raise BadDataError(
                f"{operand} is {lifetime.value}, but listed otherwise among the model's inputs and outputs"
            )
        if (type.code == model_code) != (lifetime is reference):
            raise BadDataError(f"{operand} must be given a model exactly when its type is MODEL")
        if type.code == int32:
            _check_int32(operand)
        elif type.code == per_channel and not type.channel:
            raise BadDataError(f"{operand} was not given its scales")
    for call in model.operations:
        if call.code > LAST_BUILT_IN:
            _check_extension(call)
        if check_call is not None:
            check_call(call)


def _check_int32(operand: Operand) -> None:
    type = operand.type
    if not (type.scale >= 0):
        raise BadDataError(f"{operand} has a negative scale")
    if type.zero_point != 0:
        raise BadDataError(f"{operand} has zero point {type.zero_point}, TENSOR_INT32 has none")


def _check_extension(call: OperationCall) -> None:
    extension = EXTENSIONS.name(call.code)
    if extension is not None and not is_legal(extension):
        raise BadDataError(
            f"{call}: an extension's name has lower-case letters, digits, _ and at least one dot, got {extension!r}"
        )


def run_order(model: Graph) -> list[OperationCall]:
    """Return operations in run order, of several ready ones the latest; BadDataError names operations in a cycle."""
    lifetimes = (Lifetime.TEMPORARY, Lifetime.OUTPUT)
    computed = {operand.index for operand in model.operands if operand.lifetime in lifetimes}
    readers: dict[int, list[int]] = defaultdict(list)
    missing = []
    for call in model.operations:
        awaited = [index for index in call.inputs if index in computed]
        missing.append(len(awaited))
        for index in awaited:
            readers[index].append(call.number)
    ready = [number for number, count in enumerate(missing) if count == 0]
    order = []
    while ready:
        call = model.operations[ready.pop()]
        order.append(call)
        for index in call.outputs:
            for reader in readers[index]:
                missing[reader] -= 1
                if missing[reader] == 0:
                    ready.append(reader)
    stuck = [str(call) for call in model.operations if missing[call.number]]
    if stuck:
        raise BadDataError(f"{', '.join(stuck[:3])} can never run: the model has a cycle")
    return order


def count_needed_inputs(model: Graph, call: OperationCall) -> int:
    """Return the number of inputs without trailing default constants; lower levels lack these parameters."""
    if call.match is None or call.match.overload.is_variadic:
        return len(call.inputs)
    overload = call.match.overload
    count = len(call.inputs)
    while count and _is_default(model, call.inputs[count - 1], overload.inputs[count - 1]):
        count -= 1
    while count < len(call.inputs) and count not in overload.legal_lengths:
        count += 1
    return count


def _is_default(model: Graph, index: int, slot: object) -> bool:
    default = getattr(slot, "default", REQUIRED)
    if default is REQUIRED or default is None:
        return False
    operand = model.operands[index]
    return (
        operand.lifetime == Lifetime.CONSTANT
        and not operand.in_memory
        and operand.type.nbytes <= MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES
        and bool(np.all(operand.value == default))
    )


def model_facets(model: Graph) -> list[Facet]:
    return [
        Facet(facet.level, f"{path}{facet.reason}") for each, path in paths(model).items() for facet in _facets(each)
    ]


def _facets(model: Graph) -> list[Facet]:
    facets = [
        Facet(facet.level, f"{call}: {facet.reason}")
        for call in model.operations
        if call.match
        for facet in call.match.facets
    ]
    used = {*model.inputs, *model.outputs}.union(*((*call.inputs, *call.outputs) for call in model.operations))
    for operand in model.operands:
        if operand.index in used:  # unused operands are not passed to devices
            facets += _operand_facets(operand)
    return facets


def call_facets(model: Graph, call: OperationCall) -> list[Facet]:
    facets = list(call.match.facets) if call.match else []
    for operand in (model.operands[index] for index in (*call.inputs, *call.outputs)):
        facets += _operand_facets(operand)
        if operand.lifetime is Lifetime.SUBGRAPH:
            facets += [Facet(facet.level, f"{operand} → {facet.reason}") for facet in operand.value.facets]
    return facets


def _operand_facets(operand: Operand) -> list[Facet]:
    level = 3 if operand.type.is_extension else TYPE_LEVELS[operand.type.code]
    facets = [Facet(level, f"{operand} is of this type")]
    if not operand.type.is_scalar and not operand.type.rank and operand.value is None:
        facets.append(Facet(3, f"{operand} is of unknown rank"))
    return facets
