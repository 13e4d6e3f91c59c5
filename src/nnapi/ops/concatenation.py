"""CONCATENATION: tensors concatenated along an axis."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Facet, Operation
from nnapi.model.parameter import Scalar, Several, Tensor, not_negative, upto
from nnapi.ops.quantization import offset, requantizer, same_quantization
from nnapi.ops.types import QUANT8, reals

CONCATENATION = Operation(
    OperationCode.CONCATENATION,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.REQUANTIZES),
    inputs=(Several(Tensor("inputs", reals(), rank=upto(4))), Scalar("axis", OperandCode.INT32, check=not_negative)),
    outputs=(Tensor("out", like="inputs"),),
    zero_sized=True,
)


@CONCATENATION.facets
def mixed_quantization(inputs: Sequence[OperandType], out: OperandType) -> list[Facet]:
    """Before level 3 every input had to have the output's scale and zero point."""
    if out.code == QUANT8 and not all(same_quantization(type, out) for type in inputs):
        return [Facet(3, "inputs and out differ in scale or zero point")]
    return []


@CONCATENATION.shape
def infer_shape(inputs: Sequence[OperandType], axis: int) -> Shape:
    first = inputs[0].shape
    need(axis < len(first), f"axis is {axis}, must be in [0, {len(first)})")
    for position, type in enumerate(inputs):
        fits = type.rank == len(first) and all(
            i == axis or dimension == want for i, (dimension, want) in enumerate(zip(type.shape, first, strict=True))
        )
        need(fits, f"inputs {position} has shape {list(type.shape)}, must be {list(first)} but for axis {axis}")
    return (*first[:axis], sum(type.shape[axis] for type in inputs), *first[axis + 1 :])


@CONCATENATION.kernel(kind="exact")
def concatenate(call: Call, inputs: Sequence[Array], axis: int) -> Array:
    types, out = call.arguments["inputs"], call.results[0]
    return np.concatenate([_in_units_of(out, type, values) for type, values in zip(types, inputs, strict=True)], axis)


def _in_units_of(out: OperandType, type: OperandType, values: Array) -> Array:
    if same_quantization(type, out):
        return values
    return requantizer(out, FuseCode.FUSED_NONE, type.scale)(offset(type, values))
