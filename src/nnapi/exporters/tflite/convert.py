"""Lower a model to a TFLite graph: convert each operation by its rule, or refuse it with the reason."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from nnapi.codes import OperandCode
from nnapi.exporters.dynamic_dimensions import OTHER
from nnapi.exporters.nested import FileLowering, need_few_copies
from nnapi.exporters.tflite.composites import HEADS, NAMES, isolate, name_composite, turn
from nnapi.exporters.tflite.context import RULES, ExportContext
from nnapi.formats.tflite.flexbuffer import write_map
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant, remove_dead_operators
from nnapi.formats.tflite.operators import row_of
from nnapi.lowering.lower import assume_shapes, name_of
from nnapi.lowering.passes.cancel_transposes import cancel_transposes
from nnapi.lowering.passes.keep_shared_memory import keep_shared_memory
from nnapi.lowering.passes.state_variables import make_state_variables
from nnapi.lowering.refusal import Unsupported
from nnapi.lowering.tflite.context import tensor_of
from nnapi.lowering.tflite.control_flow import SubgraphLowering, make_cast
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import Shape


class Conversion(SubgraphLowering[ExportContext], FileLowering[Tensor, ExportContext]):
    """One exported model, with those nested in it."""

    rules = RULES
    as_types = ("filter", "weights", "bias")
    no_rule = "the TFLite exporter has no rule for it"
    casts_round = False

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, assume_shapes(model) if shapes is None else shapes)
        self._given: dict[int, Tensor] = {}
        self._names_composites = True

    @classmethod
    def lower_copies(cls, model: Model, shapes: Sequence[Shape] | None = None) -> Self:
        """Return the finished lowering, with a copy of a nested model for each operation that refers to it."""
        need_few_copies(model, ".tflite")
        lowered = cls(model, shapes)
        lowered.copies = True
        return lowered.lower_file(".tflite")

    # Methods of Lowering

    def context(self, call: Call) -> ExportContext:
        return ExportContext(call, self.find_constant, self.value)

    def round_half(self, context: ExportContext, value: Tensor) -> Tensor:
        return context.round_half(value)

    def add_input(self, operand: Operand) -> None:
        """Convert a float16 input to float32 once. An omitted input is refused by the operation that reads it."""
        type = self.types.get(operand.index, operand.type)
        if type is not None and type.code == OperandCode.TENSOR_FLOAT16:
            inner = self.value(operand.index)
            outer = self._given[operand.index] = inner.like(type="f16")
            outer.signature = inner.signature
            self.operators.append(make_cast(outer, inner))

    def make_value(self, operand: Operand) -> Tensor:
        type = self.types.get(operand.index, operand.type)
        if type is None:
            raise Unsupported(f"{name_of(operand)} is omitted")
        value = self.constants.get(operand.index)
        if value is not None and type.code == OperandCode.TENSOR_FLOAT16:
            kept = Tensor("f16", type.dimensions, data=value, name=operand.name)
            real = self.name_value(tensor_of(type, name_of(operand)), operand)
            self.operators.append(Operator("DEQUANTIZE", [kept], [real]))
            return real
        return self.name_value(tensor_of(type, name_of(operand), value, is_static=value is not None), operand)

    def name_value(self, tensor: Tensor, operand: Operand) -> Tensor:
        """Set a tensor's name and dynamic dimensions, which are 1 in the file."""
        tensor.name = operand.name
        declared = operand.type.dimensions
        if 0 in declared and len(declared) == len(tensor.shape):
            tensor.signature = tuple(size or -1 for size in declared)
        return tensor

    def _lower_as_parts(self, call: OperationCall, refusal: Exception) -> None:
        """Lower a composite that files name as an operator that refers to a subgraph, its decomposition."""
        normal = self._normalize(call) if self._names_composites and call.code in NAMES else None
        named = name_composite(normal) if normal is not None else None
        if normal is None or named is None:
            super()._lower_as_parts(call, refusal)
            return
        turned = {index for name in named.turned for index in normal.operands[name]}
        alone, tensors = isolate(self.model, call, turned)
        types = dict(zip(tensors, self.given_types(tensors), strict=True))
        shapes = [turn(type.dimensions) if index in turned else type.dimensions for index, type in types.items()]
        inner = type(self)(alone, shapes)
        inner._names_composites = False
        inner._share_file(self)
        number = inner.run().require_all().add_subgraph(None)
        options = {"decomposition_subgraph_index": number, "name": named.name, "content": write_map(named.attributes)}
        given = [self._turn(self.value(index)) if index in turned else self.as_given(index) for index in tensors]
        (result,), _ = self._refer("STABLEHLO_COMPOSITE", call, given, inner.result_types(), options, [])
        if turned:
            result.name, result.signature = "", result.signature and turn(result.signature)
            self.values[call.outputs[0]] = self.name_value(self._turn(result), self.model.operands[call.outputs[0]])

    def _turn(self, tensor: Tensor) -> Tensor:
        """Swap heads and rows of a float32 tensor."""
        if tensor.data is not None:
            return tensor.like(shape=turn(tensor.shape), data=np.ascontiguousarray(tensor.value.transpose(HEADS)))
        turned = tensor.like(shape=turn(tensor.shape))
        turned.signature = tensor.signature and turn(tensor.signature)
        self.operators.append(Operator("TRANSPOSE", [tensor, constant(HEADS)], [turned]))
        return turned

    def finish(self) -> Graph:
        inputs = [self._given.get(index) or self.value(index) for index in self.model.inputs]
        outputs: list[Tensor] = []
        for index in self.model.outputs:
            tensor = self.as_given(index)
            if tensor in outputs:  # the output of a recurrent cell is also its state
                copy = self.name_value(tensor.like(), self.model.operands[index])
                self.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
                tensor = copy
            outputs.append(tensor)
        graph = Graph(self.operators, inputs, outputs, name=self.model.name)
        graph = cancel_transposes(graph)
        graph = make_state_variables(use_quantized_weights(graph) if self.model.dynamic_range else graph)
        return keep_shared_memory(graph)


class OtherConversion(Conversion):
    """A conversion with other sizes of the dimensions that depend on the data."""

    unknown = OTHER


# Products of floats and constants that stay quantized (TFLite's dynamic-range operators)


def use_quantized_weights(graph: Graph) -> Graph:
    """Return the graph with quantized instead of dequantized weights where operators accept both."""
    made = [operator for operator in graph.operators if operator.kind == "DEQUANTIZE"]
    found = {each.output: each.input(0) for each in made if _is_quantized_weights(each.input(0))}
    kept = {real: _repeat_scale(quantized) for real, quantized in found.items()}
    return remove_dead_operators(graph.with_operators([_replace(operator, kept) for operator in graph.operators]))


def _is_quantized_weights(tensor: Tensor) -> bool:
    is_signed = tensor.type == "i8" and tensor.is_constant and not tensor.zero_point
    return is_signed and (isinstance(tensor.scale, float) or tensor.axis == 0)


def _repeat_scale(tensor: Tensor) -> Tensor:
    """Repeat a tensor's single scale for each unit, because XNNPACK claims only such weights beside floats."""
    if not isinstance(tensor.scale, float):
        return tensor
    return tensor.like(scale=np.full(tensor.shape[0], tensor.scale, np.float32), axis=0, data=tensor.value)


def _replace(operator: Operator, kept: dict[Tensor, Tensor]) -> Operator:
    row = row_of(operator.kind)
    positions = row.weights if row.sums else ()
    return operator.like([kept.get(x, x) if i in positions and x else x for i, x in enumerate(operator.inputs)])
