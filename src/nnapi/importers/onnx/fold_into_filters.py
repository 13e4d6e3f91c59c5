"""Fold constants after a linear operation into its filter and bias, which saves a pass over the tensor."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from nnapi.codes import FuseCode, OperationCode
from nnapi.importers.graph import FLOAT32, Step, Value
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.model.operand import Array, OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.rewriting.dataflow import Dataflow
from nnapi.shapes.array import is_symbolic


class Linear(NamedTuple):
    """The input index of the fuse code, the filter axis of the output channels, and whether their order is fixed."""

    activation: int
    axis: int
    is_ordered: bool = False


LINEAR: dict[int, Linear] = {
    OperationCode.FULLY_CONNECTED: Linear(3, 0),
    OperationCode.CONV_2D: Linear(9, 0),
    OperationCode.TRANSPOSE_CONV_2D: Linear(9, 0),
    OperationCode.GROUPED_CONV_2D: Linear(10, 0, is_ordered=True),
    OperationCode.DEPTHWISE_CONV_2D: Linear(10, 3, is_ordered=True),
    CompositeCode.CONV_3D: Linear(7, 0, is_ordered=True),
    CompositeCode.TRANSPOSE_CONV_3D: Linear(5, 0),
}
"""Linear operations, in the overloads with explicit padding."""
SUMS: dict[int, int] = {OperationCode.ADD: 1, OperationCode.SUB: -1}
FACTORS = (OperationCode.MUL, OperationCode.DIV)
WHOLE = 2**23
"""A float32 from which on sums are whole numbers. Files add such numbers to round."""


class FoldingIntoFilters:
    def __init__(self, graph: OnnxGraph, outputs: Collection[Value]) -> None:
        self.graph = graph
        self.flow = Dataflow(graph.steps, outputs)

    def run(self) -> None:
        kept = [step for step in self.graph.steps if not self._fold(step)]
        self.graph.steps[:] = kept

    def _fold(self, step: Step) -> bool:
        """Fold a step into the operation before it; return whether that was possible."""
        value, numbers = _split(step)
        if value is None or numbers is None:
            return False
        last = maker = self.flow.find_only_maker(value)
        if maker is not None and maker.code == OperationCode.RESHAPE:
            maker = self.flow.find_only_maker(maker.inputs[0])
        if last is None or maker is None or not _accepts_constants(maker, last):
            return False
        changed = _change(step, maker, numbers)
        if changed is None or not self.graph.allowance.grants(sum(array.nbytes for array in changed)):
            return False
        index = LINEAR[maker.code].activation
        for i, array in enumerate(changed, 1):
            if array is not maker.inputs[i].array:
                maker.inputs[i] = self.graph.constant(array, name=maker.inputs[i].name)
        if step.code != OperationCode.GATHER:
            maker.inputs[index] = step.inputs[2]
        last.outputs, maker.known, last.known = list(step.outputs), None, None
        self.flow.makers[step.outputs[0]] = last
        return True


def _split(step: Step) -> tuple[Value | None, Array | None]:
    """Return a step's computed input and its constant, one value per channel; None for those that it lacks."""
    if step.code == OperationCode.GATHER:
        value, axis, indices = step.inputs
        if axis.array is None or value.array is not None or not value.rank or indices.rank != 1:
            return None, None
        return (value, indices.array) if int(axis.array) in (value.rank - 1, -1) else (None, None)
    if step.code not in SUMS and step.code not in FACTORS:
        return None, None
    x, y = step.inputs[:2]
    if x.array is not None and step.code in (OperationCode.ADD, OperationCode.MUL):
        x, y = y, x
    if y.array is None or is_symbolic(y.array) or y.type.code != FLOAT32 or x.array is not None:
        return None, None  # an array that depends on sizes has no numbers to fold
    if step.outputs[0].shape != x.shape:
        return None, None
    return x, y.array.reshape(-1) if y.array.size in (1, y.array.shape[-1]) else None


def _accepts_constants(maker: Step, last: Step) -> bool:
    """Return whether ``maker`` can absorb constants: linear, constant filter, no activation, channels last."""
    kind = LINEAR.get(maker.code)
    if kind is None or len(maker.inputs) <= kind.activation:
        return False
    activation, constants = maker.inputs[kind.activation], maker.inputs[1:3]
    if not activation.type.is_scalar or activation.array is None or int(activation.array) != FuseCode.FUSED_NONE:
        return False
    units = constants[1].type.dimensions
    is_last = last.outputs[0].shape[-1:] == units and maker.outputs[0].shape[-1:] == units
    return is_last and all(x.array is not None and x.type == OperandType(FLOAT32, x.shape) for x in constants)


def _change(step: Step, maker: Step, numbers: Array) -> tuple[Array, Array] | None:
    filter, bias = maker.inputs[1].constant, maker.inputs[2].constant
    kind = LINEAR[maker.code]
    if step.code == OperationCode.GATHER:
        if kind.is_ordered or len(numbers) != len(bias) or not ((numbers >= 0) & (numbers < len(bias))).all():
            return None
        return filter.take(numbers, kind.axis), bias[numbers]
    if numbers.size not in (1, len(bias)):
        return None
    if step.code in SUMS:
        shifted = (bias + SUMS[step.code] * numbers).astype(np.float32)
        return None if (np.abs(numbers) >= WHOLE).any() else (filter, shifted)
    if step.code == OperationCode.DIV and not numbers.all():
        return None
    factors = np.broadcast_to(numbers if step.code == OperationCode.MUL else 1 / numbers.astype(np.float64), bias.shape)
    lying = [-1 if axis == kind.axis else 1 for axis in range(filter.ndim)]
    changed = (filter * factors.reshape(lying)).astype(np.float32), (bias * factors).astype(np.float32)
    return changed if all(np.isfinite(array).all() for array in changed) else None
