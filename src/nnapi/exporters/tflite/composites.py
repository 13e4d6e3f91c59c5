"""Composites that .tflite files name: an operator refers to the subgraph of their decomposition.

Readers that know the name take the composite whole; all others run the subgraph.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.call import Call
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import axis_of

Attributes = Mapping[str, int | float]


HEADS = (0, 2, 1, 3)
"""The order of axes that swaps heads and rows."""


class Named(NamedTuple):
    """The name of a composite in files, and its attributes. In files, the arguments ``turned`` and the result have
    heads and rows in the opposite order."""

    name: str
    attributes: Attributes
    turned: Sequence[str] = ()


def _name_rms_norm(input: OperandType, gamma: OperandType | None, axis: int, epsilon: float) -> Named | None:
    is_last = axis_of(axis, input.rank) == input.rank - 1
    is_plain = is_last and gamma is not None and gamma.shape == input.shape[-1:]
    return Named("odml.rms_norm", {"epsilon": epsilon}) if is_plain else None


def _name_group_norm(
    input: OperandType, gamma: OperandType | None, beta: OperandType | None, groups: int, epsilon: float
) -> Named | None:
    if gamma is None or beta is None:
        return None
    attributes = {"num_groups": groups, "epsilon": epsilon, "channel_axis": input.rank - 1}
    return Named("odml.group_norm", attributes)


def _name_attention(
    query: OperandType, key: OperandType, value: OperandType, mask: OperandType | None, score_scale: float
) -> Named | None:
    named = Named("odml.scaled_dot_product_attention", {"scale": score_scale}, ("query", "key", "value"))
    return named if mask is not None and query.rank == 4 else None


NAMES: Mapping[int, Callable[..., Named | None]] = {
    CompositeCode.RMS_NORM: _name_rms_norm,
    CompositeCode.GROUP_NORM: _name_group_norm,
    CompositeCode.ATTENTION: _name_attention,
}


def name_composite(call: Call) -> Named | None:
    """Return the name of a composite of float32 tensors in files; None if files have none for it."""
    name = NAMES.get(call.operation.code)
    is_float = name is not None and call.results[0].code == OperandCode.TENSOR_FLOAT32
    return name(**call.arguments) if name is not None and is_float else None


def isolate(model: Model, call: OperationCall, turned: Collection[int] = ()) -> tuple[Model, list[int]]:
    """Return a model of one call, and the operands that are its inputs: all tensors, constant ones too. If operands are
    ``turned``, the result is too."""
    alone = Model(f"{model.name}: {call.name}")
    alone.high_ranks = model.high_ranks
    operands = [model.operands[index] for index in dict.fromkeys(call.inputs)]
    own = {operand.index: alone.add_operand(operand.type, operand.name) for operand in operands}
    given = dict(own)
    for operand in operands:
        if operand.type.is_scalar:
            alone.set_operand_value(own[operand.index], operand.value)
        if operand.index in turned:
            given[operand.index] = alone.add_operand(_turn(operand.type), operand.name)
            _add_turn(alone, given[operand.index], own[operand.index])
    tensors = [operand.index for operand in operands if not operand.type.is_scalar]
    results = [alone.add_operand(model.operands[index].type, model.operands[index].name) for index in call.outputs]
    alone.add_operation(call.code, [own[index] for index in call.inputs], results)
    if turned:
        (result,) = results
        results = [alone.add_operand(_turn(alone.operands[result].type))]
        _add_turn(alone, result, results[0])
    alone.identify_inputs_and_outputs([given[index] for index in tensors], results)
    alone.finish()
    return alone, tensors


def turn(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Swap heads and rows."""
    return tuple(dimensions[axis] for axis in HEADS)


def _turn(type: OperandType) -> OperandType:
    return type.with_dimensions(turn(type.dimensions)) if type.dimensions else type


def _add_turn(model: Model, source: int, target: int) -> None:
    order = model.add_operand(OperandType(OperandCode.TENSOR_INT32, (len(HEADS),)))
    model.set_operand_value(order, np.array(HEADS, np.int32))
    model.add_operation(OperationCode.TRANSPOSE, [source, order], [target])
