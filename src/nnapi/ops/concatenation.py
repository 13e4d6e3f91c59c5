"""Concatenate and split tensors.

CONCATENATION: tensors concatenated along an axis.
CONCATENATION_V2: 32-bit integers concatenated along an axis.
PACK: tensors stacked along a new axis.
SPLIT: equal parts of the tensor along an axis.
"""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Facet, Operation
from nnapi.model.parameter import HIGH, Scalar, Several, Tensor, not_negative, positive, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.quantized_values import offset, requantizer, same_quantization
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import INT32, QUANT8, numbers, reals

CONCATENATION = Operation(
    OperationCode.CONCATENATION,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.REQUANTIZES),
    inputs=(
        Several(Tensor("inputs", reals(), rank=upto(4), high=HIGH)),
        Scalar("axis", OperandCode.INT32, check=not_negative),
    ),
    outputs=(Tensor("out", like="inputs"),),
    zero_sized=True,
)


CONCATENATION_V2 = Operation(
    CompositeCode.CONCATENATION_V2,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Several(Tensor("inputs", INT32, rank=upto(4), high=HIGH, since=4)),
        Scalar("axis", OperandCode.INT32, since=4, check=not_negative),
    ),
    outputs=(Tensor("out", like="inputs"),),
    zero_sized=True,
)


@CONCATENATION.check
def mixed_quantization(inputs: Sequence[OperandType], out: OperandType) -> Facet | None:
    """Before level 3, all inputs had to have the output's scale and zero point."""
    if out.code == QUANT8 and not all(same_quantization(type, out) for type in inputs):
        return Facet(3, "inputs and out differ in scale or zero point")
    return None


@CONCATENATION.shape
@CONCATENATION_V2.shape
def infer_concatenation_shape(inputs: Sequence[OperandType], axis: int) -> Shape:
    first = inputs[0].shape
    need(axis < len(first), f"axis is {axis}, must be in [0, {len(first)})")
    for position, type in enumerate(inputs):
        fits = type.rank == len(first) and all(
            i == axis or dimension == want for i, (dimension, want) in enumerate(zip(type.shape, first, strict=True))
        )
        need(fits, f"inputs {position} has shape {list(type.shape)}, must be {list(first)} but for axis {axis}")
    return (*first[:axis], sum(type.shape[axis] for type in inputs), *first[axis + 1 :])


@CONCATENATION_V2.kernel(kind="raw")
def concatenate_integers(inputs: Sequence[Array], axis: int) -> Array:
    return np.concatenate(inputs, axis)


@CONCATENATION.kernel(kind="exact")
def concatenate(call: Call, inputs: Sequence[Array], axis: int) -> Array:
    types, out = call.arguments["inputs"], call.results[0]
    return np.concatenate([in_units_of(out, type, values) for type, values in zip(types, inputs, strict=True)], axis)


def in_units_of(out: OperandType, type: OperandType, values: Array) -> Array:
    """Return stored values of a type as those of ``out``."""
    if same_quantization(type, out):
        return values
    return requantizer(out, FuseCode.FUSED_NONE, type.scale)(offset(type, values))


PACK = Operation(
    OperationCode.PACK,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Scalar("axis", OperandCode.INT32, since=6, check=not_negative),
        Several(Tensor("inputs", numbers(6, int32=6))),
    ),
    outputs=(Tensor("out", like="inputs", quant="inputs", since=6),),
)


@PACK.check
def alike(inputs: Sequence[OperandType], out: OperandType) -> None:
    rank = next((type.rank for type in inputs if type.rank), out.rank - 1)
    need(not out.rank or out.rank == rank + 1, f"out has rank {out.rank}, must have rank {rank + 1}", BadDataError)
    for position, type in enumerate(inputs):
        need(
            same_quantization(type, out),
            f"inputs {position} is {type}, must have the scale and zero point of out, {out}",
            BadDataError,
        )
        need(type.rank in (0, rank), f"inputs {position} has rank {type.rank}, must have rank {rank}", BadDataError)


@PACK.shape
def infer_pack_shape(axis: int, inputs: Sequence[OperandType]) -> Shape:
    first = inputs[0].shape
    need(axis <= len(first), f"axis is {axis}, must be in [0, {len(first)}]")
    for position, type in enumerate(inputs):
        need(type.shape == first, f"inputs {position} has shape {list(type.shape)}, must be {list(first)}")
    return (*first[:axis], len(inputs), *first[axis:])


@PACK.kernel(kind="raw")
def pack(axis: int, inputs: Sequence[Array]) -> Array:
    return np.stack(inputs, axis)


SPLIT = Operation(
    OperationCode.SPLIT,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("num_splits", OperandCode.INT32, since=3, check=positive),
    ),
    outputs=(Several(Tensor("out", like="input", quant="input")),),
    failure=BadDataError,
)


@SPLIT.shape
def infer_split_shapes(input: OperandType, axis: int, num_splits: int) -> list[Shape]:
    axis = axis_of(axis, input.rank)
    dimension = input.shape[axis]
    need(
        dimension % num_splits == 0,
        f"axis {axis} of input has dimension {dimension}, must be a multiple of {num_splits}",
    )
    return [(*input.shape[:axis], dimension // num_splits, *input.shape[axis + 1 :])] * num_splits


@SPLIT.kernel(kind="raw")
def split(input: Array, axis: int, num_splits: int) -> list[Array]:
    return np.split(input, num_splits, axis)


@SPLIT.proposal
def propose_split(draw: Draw) -> Proposal:
    count = draw.pick(1, 2, 2, 3, 4)
    shape, axis = draw.divisible(draw.shape(), count)
    return Proposal({"input": shape}, {"axis": axis, "num_splits": count}, outputs=count)


@CONCATENATION.proposal
@CONCATENATION_V2.proposal
def propose_concatenation(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"inputs": shape}, {"axis": draw.upto(len(shape) - 1)})


@PACK.proposal
def propose_pack(draw: Draw) -> Proposal:
    shape = draw.shape(1, 2, 3)
    return Proposal({"inputs": shape}, {"axis": draw.upto(len(shape))})
