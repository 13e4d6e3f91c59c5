"""Operations of a model as a model of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType


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
