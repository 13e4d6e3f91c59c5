"""FULLY_CONNECTED with computed weights, and BATCH_MATMUL of int32 values."""

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import matmul as canonical
from nnapi.model.operand import OperandType


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: LitertContext, input: Tensor, weights: OperandType, bias: OperandType) -> Tensor:
    """Lower computed float32 weights to BATCH_MATMUL: the engine's FULLY_CONNECTED would not overflow to infinity."""
    if weights.is_quantized or context.find_quantized("weights") or not context.is_computed("weights"):
        return canonical.fully_connected(context, input, weights, bias)
    out = context.result()
    x = context.reshape(input, (out.shape[0], weights.shape[1]))
    sums = context.emit("BATCH_MATMUL", [x, context.stored_tensor("weights")], out.like(), adj_x=False, adj_y=True)
    return context.emit("ADD", [sums, context.stored_tensor("bias")], out, activation=context.activation)


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: LitertContext, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    is_dynamic = context.is_dynamic("lhs", -2 if adj_x else -1) and context.is_dynamic("rhs", -1 if adj_y else -2)
    require(lhs.type != "i32" or not is_dynamic, "a run may have more products of integers than are decomposed")
    return canonical.batch_matmul(context, lhs, rhs, adj_x, adj_y)
