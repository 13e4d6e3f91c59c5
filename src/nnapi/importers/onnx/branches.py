"""Convert subgraphs: inline them, or make models that NNAPI's IF and WHILE refer to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.build import build
from nnapi.importers.graph import Value
from nnapi.importers.onnx.computed_sizes import capture_shape, fill
from nnapi.importers.onnx.convert import Conversion, nested_conversion
from nnapi.importers.onnx.emitter import OnnxEmitter, value_in_file_order
from nnapi.importers.onnx.file_graph import FileGraph
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.tensors import DTYPES, DYNAMIC, OnnxTensor, constant
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.ops.coordinates import Reduction


def inline_graph(outer: Scope, graph: FileGraph, inputs: Sequence[OnnxTensor]) -> list[OnnxTensor]:
    """Insert the nodes of a subgraph in its node's graph, on these inputs; return the subgraph's outputs."""
    inner = nested_conversion(outer, outer.opsets)
    inner.tensors = outer.tensors.copy()
    return inner.run_subgraph(graph, inputs)


class Branch:
    """A subgraph as a model. Its inputs have the types of ``like``; tensors captured from outside follow as inputs."""

    def __init__(self, outer: Scope, graph: FileGraph, like: Sequence[OnnxTensor]) -> None:
        self.name = graph.name
        self.outer = outer
        self.conversion = Conversion(outer.state, OnnxGraph(outer.state.allowance), outer.opsets, outer.depth + 1)
        self.captured: dict[OnnxTensor, OnnxTensor] = {}
        self.shapes: dict[OnnxTensor, OnnxTensor] = {}
        self.own = [self._input(tensor, name) for tensor, name in zip(like, graph.inputs, strict=True)]
        self.conversion.tensors = _Scope(self)
        self.results = self.conversion.run_subgraph(graph, self.own)
        if any(tensor.is_refused for tensor in self.results):
            raise Refused("its subgraph reads a tensor of a refused operation")
        self.values: list[Value] = []

    def capture(self, name: str) -> OnnxTensor:
        tensor = self.outer.tensors[name]
        if tensor.compute is not None:
            if tensor not in self.shapes:
                self.shapes[tensor] = capture_shape(tensor, lambda outer: self._capture(outer, outer.name))
            return self.shapes[tensor]
        if tensor.array is not None or tensor.is_refused:
            return tensor
        return self._capture(tensor, name)

    def _capture(self, tensor: OnnxTensor, name: str) -> OnnxTensor:
        if tensor not in self.captured:
            self.captured[tensor] = self._input(tensor, name)
        return self.captured[tensor]

    def _input(self, tensor: OnnxTensor, name: str) -> OnnxTensor:
        value = value_in_file_order(self.outer, tensor)
        return OnnxTensor(name, tensor.elem, tensor.dims, value=Value(value.type, name))

    def accumulate(self, count: int, limit: OnnxTensor | None) -> list[OnnxTensor]:
        """Make the last ``count`` results states of a loop, which each step extends; return their initial values.

        With a ``limit``, their first dimension is the limit, and each step writes its row. Else they grow.
        """
        initial = []
        for i in range(len(self.results) - count, len(self.results)):
            result = self.results[i]
            expressible(DYNAMIC not in result.dims, f"its scan output {result.name} has dynamic dimensions")
            emitter, value = OnnxEmitter(self.conversion, result.name), value_in_file_order(self.conversion, result)
            row, empty = emitter.view(value, (1, *result.dims)), np.zeros((0, *result.dims), DTYPES[result.elem])
            first = constant(f"{result.name}:none", empty)
            if limit is not None:
                first = self._allocate(limit, first)
            initial.append(first)
            before = Value(value.type.with_dimensions(first.dims), f"{result.name}:before")
            self.own.append(OnnxTensor(before.name, result.elem, first.dims, value=before))
            after = emitter.concatenate([before, row], 0) if limit is None else self._write_row(emitter, before, row)
            self.results[i] = OnnxTensor(result.name, result.elem, first.dims, value=after)
        return initial

    def _allocate(self, limit: OnnxTensor, empty: OnnxTensor) -> OnnxTensor:
        """Return, in the outer graph, zeros in as many rows as the loop may have steps."""
        emitter, rows = OnnxEmitter(self.outer, empty.name), value_in_file_order(self.outer, limit)
        least = emitter.apply(OperationCode.MAXIMUM, rows, emitter.like(rows, 0), shape=(1,))
        sizes = [least, emitter.graph.ints(empty.dims[1:])] if empty.rank > 1 else [least]
        dims = emitter.concatenate(sizes, 0) if empty.rank > 1 else least
        shape = (int(least.array.item()) if least.array is not None else DYNAMIC, *empty.dims[1:])
        value = fill(emitter, dims, np.zeros(1, DTYPES[empty.elem]), shape)
        return OnnxTensor(f"{empty.name}:rows", empty.elem, shape, value=value)

    def _write_row(self, emitter: OnnxEmitter, rows: Value, row: Value) -> Value:
        at = emitter.view(self.own[0].materialize(), (1, 1))
        options = emitter.i32(Reduction.NONE), emitter.flag(False)
        return emitter.apply(CompositeCode.SCATTER_ND, rows, at, row, *options, shape=rows.shape)

    def model(self, captured: Sequence[OnnxTensor], results: Sequence[OnnxTensor], *, counts: bool = False) -> Value:
        """Return the model; its inputs are the subgraph's, then ``captured``. With ``counts`` it is a loop's body."""
        further = [self.captured.get(tensor) or self._input(tensor, tensor.name) for tensor in captured]
        outputs = [value_in_file_order(self.conversion, tensor) for tensor in results]
        inputs = [tensor.materialize() for tensor in (*self.own, *further)]
        if counts:
            step = Value(inputs[0].type, "next step")
            one = self.conversion.graph.ints([1])
            none = self.conversion.graph.scalar(OperandCode.INT32, 0)
            self.conversion.graph.emit(OperationCode.ADD, [inputs[0], one, none], [step])
            outputs = [step, *outputs, *(tensor.materialize() for tensor in further)]
            for before, after in zip(inputs, outputs, strict=True):
                expressible(before.type == after.type, f"{before.name} changes from {before.type} to {after.type}")
            self.results = [*self.own, *further]
        self.values = outputs
        model = Model(self.name)
        return model_operand(build(self.conversion.graph, model, inputs, outputs))


class _Scope(dict[str, OnnxTensor]):
    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.branch = branch

    def __missing__(self, name: str) -> OnnxTensor:
        return self.branch.capture(name)

    def copy(self) -> _Scope:
        found = _Scope(self.branch)
        found.update(self)
        return found


def model_operand(model: Model) -> Value:
    return Value(OperandType(OperandCode.MODEL), model.name, model=model)


def loop_condition(outer: Scope, states: Sequence[Value]) -> Value:
    """Return a loop's condition, step < limit and the flag, as a model operand. ``states`` are step, flag, …, limit."""
    graph = OnnxGraph(outer.state.allowance)
    inputs = [Value(value.type.replace(), f"state {i}") for i, value in enumerate(states)]
    within, both = (Value(OperandType(OperandCode.TENSOR_BOOL8, (1,)), name) for name in ("within", "going on"))
    graph.emit(OperationCode.LESS, [inputs[0], inputs[-1]], [within])
    graph.emit(OperationCode.LOGICAL_AND, [within, inputs[1]], [both])
    return model_operand(build(graph, Model("condition"), inputs, [both]))
