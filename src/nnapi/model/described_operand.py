"""Add operands to a model with all that is known of them: scales, an extension's data, and a value."""

import numpy as np

from nnapi.model.graph import Lifetime
from nnapi.model.model import Model, Operand
from nnapi.model.operand import Array, OperandType


def describe(
    model: Model, type: OperandType, name: str = "", value: Array | Model | None = None, *, omitted: bool = False
) -> int:
    """Add an operand and return its index. Its value is a constant, or the model that it refers to."""
    channel, data = type.channel, type.data
    index = model.add_operand(type.replace(channel=None, data=b"") if channel or data else type, name)
    if data:
        model.set_operand_extension_data(index, data)
    if channel:
        model.set_operand_symm_per_channel_quant_params(index, channel.dimension, channel.scales)
    return _set_value(model, index, value, omitted)


def _set_value(model: Model, index: int, value: Array | Model | None, omitted: bool) -> int:
    if isinstance(value, Model):
        model.set_operand_value_from_model(index, value)
    elif omitted or value is not None:
        model.set_operand_value(index, value)
    return index


def copy_operand(operand: Operand, target: Model) -> int:
    """Add a copy to another model, without its role as input or output; return its index. Constants are shared."""
    value = operand.value if operand.lifetime in (Lifetime.CONSTANT, Lifetime.SUBGRAPH) else None
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:  # a transposed view of a file
        return target.add_constant(operand.type, value, operand.name)
    index = target.add_operand(operand.type, operand.name)
    return _set_value(target, index, value, operand.lifetime is Lifetime.NO_VALUE)
