"""Movements of elements of any type: the graph of an import and a decomposition get the same operations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, OperandType, compile
from nnapi.codes import OperandCode
from nnapi.importers.build import build
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.lowering.decomposition_builder import Decomposition
from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.model.emitter import Emitter
from nnapi.model.operand import Array

SHAPE = (2, 3, 4)
CASES: dict[str, tuple[Callable[[Emitter[Any, Any], Any], Any], Callable[[Array], Array], str, str]] = {
    "reshape": (lambda e, x: e.reshape(x, (6, 4)), lambda x: x.reshape(6, 4), "RESHAPE", "RESHAPE"),
    "transpose": (
        lambda e, x: e.transpose(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        "TRANSPOSE",
        "RESHAPE GATHER RESHAPE",
    ),
    "concatenate": (
        lambda e, x: e.concatenate([x, x], 1),
        lambda x: np.concatenate([x, x], 1),
        "CONCATENATION",
        "CONCATENATION_V2",
    ),
    "split": (lambda e, x: e.split(x, 2, 2)[1], lambda x: x[:, :, 2:], "SPLIT", "SPLIT"),
    "slice": (lambda e, x: e.slice(x, (1, 0, 1), (1, -1, 2)), lambda x: x[1:, :, 1:3], "SLICE", "SLICE"),
    "block": (lambda e, x: e.block(x, 1, 1, 2), lambda x: x[:, 1:], "SLICE", "SLICE"),
    "pick": (lambda e, x: e.pick(x, 2, [3, 3, 0]), lambda x: x[:, :, [3, 3, 0]], "GATHER", "GATHER"),
    "pad": (
        lambda e, x: e.pad_by_concatenation(x, [(0, 0), (1, 2), (0, 1)], 7),
        lambda x: np.pad(x, [(0, 0), (1, 2), (0, 1)], constant_values=7),
        "CONCATENATION CONCATENATION",
        "CONCATENATION_V2 CONCATENATION_V2",
    ),
}


def into_graph(move: Callable[[Emitter[Any, Any], Any], Any], type: OperandType) -> Model:
    graph = Graph(Allowance(0))
    x = Value(type, "x")
    return build(graph, Model("moved"), [x], [move(GraphEmitter(graph, "y"), x)])


def into_decomposition(move: Callable[[Emitter[Any, Any], Any], Any], type: OperandType) -> Model:
    outer = Builder()
    outer.output(outer.reshape(outer.input(type), list(type.dimensions)))
    model = outer.finish()
    (call,), types = model.operations, KnownTypes(model)
    types.update({operand.index: operand.type for operand in model.operands})
    values = {operand.index: operand.value for operand in model.operands if operand.value is not None}
    decomposition = Decomposition(normalize_call(model, call, types, values.get), types, values)
    decomposition.output(move(decomposition, decomposition.read(call.inputs[0])))
    return decomposition.finish()


@pytest.mark.parametrize("into", [into_graph, into_decomposition])
@pytest.mark.parametrize("code", [OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32])
@pytest.mark.parametrize("case", CASES)
def test_both_targets_get_the_same_operations(case: str, code: OperandCode, into: Callable[..., Model]) -> None:
    move, expected, of_floats, of_integers = CASES[case]
    model = into(move, OperandType(code, SHAPE))
    names = " ".join(call.name for call in model.operations)
    assert names == (of_integers if code == OperandCode.TENSOR_INT32 else of_floats)
    x = np.arange(24).reshape(SHAPE).astype(model.operands[model.inputs[0]].type.dtype)
    np.testing.assert_array_equal(compile(model, "nnapi-reference").run(x)[0], expected(x))


@pytest.mark.parametrize("into", [into_graph, into_decomposition])
def test_movements_that_change_nothing_emit_nothing(into: Callable[..., Model]) -> None:
    def move(e: Emitter[Any, Any], x: Any) -> Any:
        same = e.block(e.concatenate([e.reshape(x, SHAPE)], 0), 0, 0, 2)
        assert same is x
        assert e.split(x, 0, 1) == [x]
        assert e.pad_by_concatenation(x, [(0, 0)] * 3, 1) is x
        return e.reshape(x, (24,))

    model = into(move, OperandType(OperandCode.TENSOR_FLOAT32, SHAPE))
    assert [call.name for call in model.operations] == ["RESHAPE"]
