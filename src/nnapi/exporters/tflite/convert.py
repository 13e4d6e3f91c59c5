"""Lower a model to a TFLite graph: convert each operation by its rule, or refuse it with the reason."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import Verdict
from nnapi.exporters.nested import FileLowering, need_alike, need_few_copies
from nnapi.exporters.tflite.context import RULES, Context
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant, remove_dead_operators
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.lowering.lower import name_of
from nnapi.lowering.passes.fuse_lstm import fuse_lstm_steps
from nnapi.lowering.passes.state_variables import make_state_variables
from nnapi.lowering.refusal import Unsupported
from nnapi.lowering.tflite.context import tensor_of
from nnapi.lowering.tflite.indexing import cancel_reversals
from nnapi.model.call import Call
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import OperandType, Shape


class Pending(Exception):
    """The lowering of a model needs that of a nested one first."""

    def __init__(self, conversion: "Conversion") -> None:
        self.conversion = conversion


Use = tuple[Model, tuple[Shape, ...], bool, Any]
"""A nested model, the shapes of its inputs, whether it is the body of a WHILE, and the owner of a copy."""


class Conversion(FileLowering[Tensor, Context]):
    """One exported model; its first nested graph in ``subgraphs`` has index 1. A nested model is one subgraph for all
    operations that use it in the same way, unless it ``copies``."""

    rules = RULES
    as_types = ("filter", "weights", "bias")
    no_rule = "the TFLite exporter has no rule for it"
    casts_round = False

    def __init__(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> None:
        super().__init__(model, shapes)
        self.subgraphs: list[Graph] = []
        """The nested graphs of the whole file."""
        self._given: dict[int, Tensor] = {}
        self._verdicts: list[Verdict] | None = None
        """Those of the operations that are lowered so far; None before the inputs are added."""
        self._nested: dict[Use, Conversion] = {}
        self._number: int | None = None
        """The index of a finished nested model among the file's subgraphs."""
        self._copies = False

    @classmethod
    def lower_copies(cls, model: Model, shapes: Sequence[Shape] | None = None) -> Self:
        """Return the finished lowering, with a copy of a nested model for each operation that refers to it."""
        need_few_copies(model, ".tflite")
        lowered = cls(model, shapes)
        lowered._copies = True
        return lowered.lower_file(".tflite")

    def run(self) -> Self:
        """Lower the model, and each nested one before the operation that needs it. A list replaces recursion, because
        models may be nested deeper than Python's stack permits."""
        work: list[Conversion] = [self]
        while work:
            try:
                work[-1]._continue()
                work.pop()
            except Pending as pending:
                work.append(pending.conversion)
        return self

    def _continue(self) -> None:
        """Lower the operations that are not lowered yet; raise Pending at one that needs another lowering first."""
        if self._verdicts is None:
            self._verdicts = []
            for index in self.model.inputs:
                self.add_input(self.model.operands[index])
        for call in self.model.operations[len(self._verdicts) :]:
            self._verdicts.append(self._judge(call))
        self.verdicts = tuple(self._verdicts)

    # Methods of Lowering

    def context(self, call: Call) -> Context:
        return Context(call, self.find_constant, self.value)

    def round_half(self, context: Context, value: Tensor) -> Tensor:
        return context.round_half(value)

    def add_input(self, operand: Operand) -> None:
        """Convert a float16 input to float32 once. An omitted input is refused by the operation that reads it."""
        type = self.types.get(operand.index, operand.type)
        if type is not None and type.code == OperandCode.TENSOR_FLOAT16:
            inner = self.value(operand.index)
            outer = self._given[operand.index] = inner.like(type="f16")
            outer.signature = inner.signature
            self.operators.append(_cast(outer, inner))

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
        return self.name_value(tensor_of(type, name_of(operand), value), operand)

    def name_value(self, tensor: Tensor, operand: Operand) -> Tensor:
        """Set a tensor's name and dynamic dimensions, which are 1 in the file."""
        tensor.name = operand.name
        declared = operand.type.dimensions
        if 0 in declared and len(declared) == len(tensor.shape):
            tensor.signature = tuple(size or -1 for size in declared)
        return tensor

    # Nested models

    def add_if(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        types = self.given_types(given)
        then, otherwise = (self._lower_use(call, position, models, types[1:]) for position in range(2))
        need_alike("the results of its models", then.result_types(), otherwise.result_types())
        numbers = [then.add_subgraph(), otherwise.add_subgraph()]
        options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
        self._refer("IF", call, given, then.result_types(), options)
        return then.result_types()

    def add_while(self, call: OperationCall, models: Sequence[Model], given: Sequence[int]) -> Sequence[OperandType]:
        """Append a WHILE; its body also returns the states that NNAPI's body does not, unchanged."""
        types = self.given_types(given)
        condition, body = (self._lower_use(call, position, models, types) for position in range(2))
        need_alike("the state before and after a pass", types, body.result_types())
        numbers = [condition.add_subgraph(), body.add_subgraph(is_body=True)]
        options = dict(zip(("cond_subgraph_index", "body_subgraph_index"), numbers, strict=True))
        self._refer("WHILE", call, given, types, options)
        return types[: len(call.outputs)]

    def finish(self) -> Graph:
        inputs = [self._given.get(index) or self.value(index) for index in self.model.inputs]
        outputs: list[Tensor] = []
        for index in self.model.outputs:
            tensor = self._as_given(index)
            if tensor in outputs:  # the output of a recurrent cell is also its state
                copy = self.name_value(tensor.like(), self.model.operands[index])
                self.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
                tensor = copy
            outputs.append(tensor)
        graph = cancel_reversals(Graph(self.operators, inputs, outputs, name=self.model.name))
        graph = fuse_lstm_steps(graph)
        return make_state_variables(use_quantized_weights(graph) if self.model.dynamic_range else graph)

    def _as_given(self, index: int) -> Tensor:
        inner = self.value(index)
        if self.model.operands[index].type.code != OperandCode.TENSOR_FLOAT16:
            return inner
        outer = inner.like(type="f16")
        outer.signature = inner.signature
        self.operators.append(_cast(inner, outer))
        return outer

    def _lower_use(
        self, call: OperationCall, position: int, models: Sequence[Model], types: Sequence[OperandType]
    ) -> "Conversion":
        """Return the lowering of the model at a position of a call's models; raise Pending if there is none yet."""
        model, shapes = models[position], tuple([each.dimensions for each in types])
        owner = (self, call.number, position) if self._copies else None
        use = model, shapes, call.code == OperationCode.WHILE and position == 1, owner
        inner = self._nested.get(use)
        if inner is None:
            inner = self._nested[use] = type(self)(model, shapes)
            inner.subgraphs, inner._nested, inner._copies = self.subgraphs, self._nested, self._copies
            raise Pending(inner)
        return inner.require_all()

    def add_subgraph(self, *, is_body: bool = False) -> int:
        """Add a finished nested model to the file, once; return its index. The body of a WHILE also returns the rest of
        its state, unchanged."""
        if self._number is None:
            graph = self.finish()
            for tensor in graph.inputs[len(graph.outputs) :] if is_body else ():
                copy = tensor.like()
                graph.operators.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
                graph.outputs.append(copy)
            self.subgraphs.append(graph)
            self._number = len(self.subgraphs)
        return self._number

    def _refer(
        self,
        kind: str,
        call: OperationCall,
        given: Sequence[int],
        types: Sequence[OperandType],
        options: dict[str, int],
    ) -> None:
        """Append an operator that refers to subgraphs; float16 inputs and results are converted."""
        inputs = [self._as_given(index) for index in given]
        results = [tensor_of(type, "") for type in types]
        outer = [
            result.like(type="f16") if type.code == OperandCode.TENSOR_FLOAT16 else result
            for result, type in zip(results, types, strict=True)
        ]
        self.operators.append(Operator(kind, list(inputs), outer, options))
        self.operators += [_cast(*pair) for pair in zip(outer, results, strict=True) if pair[0] is not pair[1]]
        for index, result in zip(call.outputs, results, strict=False):
            self.values[index] = self.name_value(result, self.model.operands[index])


def _cast(source: Tensor, target: Tensor) -> Operator:
    return Operator("CAST", [source], [target], {"source": ELEMENTS[source.type], "target": ELEMENTS[target.type]})


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
