"""Random calls of IF and WHILE, with the models that they refer to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec, find_operands
from nnapi.testing.random.values import pick

MOST_TURNS = 4
TRUTH = OperandSpec("TENSOR_BOOL8", (1,))
COUNTER = OperandSpec("TENSOR_INT32", (1,))


class _Sketch:
    def __init__(self) -> None:
        self.operands: list[OperandSpec] = []
        self.operations: list[OperationSpec] = []

    def add(
        self, operand: OperandSpec, lifetime: OperandSource, data: Array | None = None, model: int | None = None
    ) -> int:
        name = f"operand{len(self.operands)}"
        self.operands.append(replace(operand, lifetime=lifetime, data=data, subgraph=model, name=name))
        return len(self.operands) - 1

    def inputs(self, *operands: OperandSpec) -> list[int]:
        return [self.add(operand, OperandSource.SUBGRAPH_INPUT) for operand in operands]

    def output(self, operand: OperandSpec) -> int:
        return self.add(operand, OperandSource.SUBGRAPH_OUTPUT)

    def models(self, count: int) -> list[int]:
        return [self.add(OperandSpec("SUBGRAPH"), OperandSource.SUBGRAPH, model=number) for number in range(count)]

    def no_activation(self) -> int:
        return self.add(OperandSpec("INT32"), OperandSource.CONSTANT_COPY, np.array(0, np.int32))

    def call(self, type: str, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self.operations.append(OperationSpec(type, tuple(inputs), tuple(outputs)))

    def graph(self) -> ExampleGraph:
        inputs, outputs = (
            find_operands(self.operands, s) for s in (OperandSource.SUBGRAPH_INPUT, OperandSource.SUBGRAPH_OUTPUT)
        )
        return ExampleGraph(tuple(self.operands), tuple(self.operations), inputs, outputs)


def random_control_flow(operation: Operation, rng: np.random.Generator) -> Example:
    """Return an IF between two arithmetic operations, or a WHILE that counts while it adds; no expected outputs."""
    type, dtype = pick(rng, (("TENSOR_FLOAT32", np.float32), ("TENSOR_INT32", np.int32)))
    shape = tuple(int(dimension) for dimension in rng.integers(1, 5, rng.integers(1, 5)))
    tensor = OperandSpec(type, shape)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    if operation.code == OperationCode.IF:
        graphs, first = _if_graphs(tensor, rng), np.array([rng.integers(2)], np.bool_)
    else:
        graphs, first = _while_graphs(tensor, rng), np.zeros(1, np.int32)
    inputs: Mapping[int, Array] = dict(zip(graphs[0].inputs, (first, x, y), strict=True))
    return Example(f"random_{operation.name.lower()}", graphs[0], inputs, {}, graphs[1:])


def _if_graphs(tensor: OperandSpec, rng: np.random.Generator) -> tuple[ExampleGraph, ...]:
    main = _Sketch()
    condition, *given = main.inputs(TRUTH, tensor, tensor)
    main.call("IF", [condition, *main.models(2), *given], [main.output(tensor)])
    branches = []
    for name in rng.permutation(["ADD", "SUB", "MUL"])[:2]:
        branch = _Sketch()
        branch.call(str(name), [*branch.inputs(tensor, tensor), branch.no_activation()], [branch.output(tensor)])
        branches.append(branch.graph())
    return main.graph(), *branches


def _while_graphs(tensor: OperandSpec, rng: np.random.Generator) -> tuple[ExampleGraph, ...]:
    state = (COUNTER, tensor, tensor)
    main, condition, body = _Sketch(), _Sketch(), _Sketch()
    main.call("WHILE", [*main.models(2), *main.inputs(*state)], [main.output(COUNTER), main.output(tensor)])
    turns = condition.add(COUNTER, OperandSource.CONSTANT_COPY, np.array([rng.integers(MOST_TURNS + 1)], np.int32))
    condition.call("LESS", [condition.inputs(*state)[0], turns], [condition.output(TRUTH)])
    count, total, step = body.inputs(*state)
    none, one = body.no_activation(), body.add(COUNTER, OperandSource.CONSTANT_COPY, np.ones(1, np.int32))
    body.call("ADD", [count, one, none], [body.output(COUNTER)])
    body.call("ADD", [total, step, none], [body.output(tensor)])
    return main.graph(), condition.graph(), body.graph()
