"""TOPK_V2: the k largest elements of each row, and their indices."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, positive
from nnapi.ops.types import INT32, numbers

TOPK_V2 = Operation(
    OperationCode.TOPK_V2,
    facts=Facts(traits=Trait.CHOOSES | Trait.ORDERS),
    inputs=(Tensor("input", numbers(3, int32=3)), Scalar("k", OperandCode.INT32, since=3, check=positive)),
    outputs=(Tensor("values", like="input", quant="input"), Tensor("indices", INT32, since=3)),
)


@TOPK_V2.shape
def infer_shapes(input: OperandType, k: int) -> list[Shape]:
    *rows, dimension = input.shape
    need(k <= dimension, f"k is {k}, must not be above {dimension}, the last dimension of input")
    return [(*rows, k)] * 2


@TOPK_V2.kernel(kind="raw")
def top_k(input: Array, k: int) -> tuple[Array, Array]:
    ascending = np.argsort(input, axis=-1, kind="stable")
    indices = ascending[..., : -k - 1 : -1]  # reversed, so of equal values the one with the larger index comes first
    return np.take_along_axis(input, indices, -1), indices.astype(np.int32)
