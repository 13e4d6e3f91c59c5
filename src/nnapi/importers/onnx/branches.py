"""Subgraphs that become models of their own, which NNAPI's IF and WHILE refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.build import build
from nnapi.importers.graph import Graph, Value
from nnapi.importers.onnx.convert import Conversion
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.terms import Term
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.model import Model
from nnapi.model.operand import OperandType

if TYPE_CHECKING:
    import onnx


class Branch:
    """A subgraph with inputs like some terms outside. What else it takes from outside are further inputs.

    ``captured`` are those terms; ``results`` its outputs, and ``values`` what the operation that refers to it gives.
    """

    def __init__(self, outer: Scope, graph: onnx.GraphProto, like: Sequence[Term]) -> None:
        self.name = graph.name
        self.outer = outer
        self.conversion = Conversion(outer.whole, Graph(outer.whole.allowance), outer.opsets, outer.depth + 1)
        self.captured: dict[Term, Term] = {}
        self.own = [self._input(term, info.name) for term, info in zip(like, graph.input, strict=True)]
        self.conversion.terms = _Scope(self)
        self.conversion.fill(graph, self.own)
        before = len(outer.whole.refusals)
        self.conversion.run(graph.node, [each.name for each in graph.output])
        if len(outer.whole.refusals) > before:
            first = outer.whole.refusals[before]
            del outer.whole.refusals[before:]
            raise Refused(f"its subgraph uses {first.operation}: {first.reason}")
        self.results = [self.conversion.terms[each.name] for each in graph.output]
        self.values: list[Value] = []

    def capture(self, name: str) -> Term:
        """A term from outside by its name."""
        term = self.outer.terms[name]
        if term.array is not None or term.is_refused:
            return term
        if term not in self.captured:
            self.captured[term] = self._input(term, name)
        return self.captured[term]

    def _input(self, term: Term, name: str) -> Term:
        value = self.outer.ordered(term)
        return Term(name, term.elem, term.dims, value=Value(value.type, name))

    def model(self, captured: Sequence[Term], results: Sequence[Term], *, counts: bool = False) -> Value:
        """The subgraph as a model that takes its own inputs, then those captured. With ``counts`` it is the body of a
        loop: its first input is the number of the step, and it gives the next, its results, and what was captured."""
        further = [self.captured.get(term) or self._input(term, term.name) for term in captured]
        outputs = [self.conversion.ordered(term) for term in results]
        inputs = [term.value for term in (*self.own, *further) if term.value is not None]
        if counts:
            step = Value(inputs[0].type, "next step")
            one = self.conversion.graph.ints([1])
            none = self.conversion.graph.scalar(OperandCode.INT32, 0)
            self.conversion.graph.emit(OperationCode.ADD, [inputs[0], one, none], [step])
            outputs = [step, *outputs, *(term.value for term in further if term.value is not None)]
            for before, after in zip(inputs, outputs, strict=True):
                expressible(before.type == after.type, f"{before.name} changes from {before.type} to {after.type}")
            self.results = [*self.own, *further]
        self.values = outputs
        model = Model(self.name)
        return reference(build(self.conversion.graph, model, inputs, outputs))


class _Scope(dict[str, Term]):
    """The terms of a subgraph, and those outside."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.branch = branch

    def __missing__(self, name: str) -> Term:
        return self.branch.capture(name)


def reference(model: Model) -> Value:
    return Value(OperandType(OperandCode.MODEL), model.name, model=model)


def going_on(outer: Scope, states: Sequence[Value]) -> Value:
    """The condition of a loop whose state begins with the number of the step and whether to go on, and ends with the
    number of steps."""
    graph = Graph(outer.whole.allowance)
    inputs = [Value(replace(value.type), f"state {i}") for i, value in enumerate(states)]
    within, both = (Value(OperandType(OperandCode.TENSOR_BOOL8, (1,)), name) for name in ("within", "going on"))
    graph.emit(OperationCode.LESS, [inputs[0], inputs[-1]], [within])
    graph.emit(OperationCode.LOGICAL_AND, [within, inputs[1]], [both])
    return reference(build(graph, Model("condition"), inputs, [both]))
