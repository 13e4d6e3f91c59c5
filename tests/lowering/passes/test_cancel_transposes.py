"""Pairs of TRANSPOSE of which the second undoes the first."""

import numpy as np
import pytest

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.lowering.passes.cancel_transposes import cancel_transposes


def make(*orders: list[int], reads_first: bool = False) -> Graph:
    """A RELU, TRANSPOSE by each order, and an ABS; ``reads_first`` makes the first transposed tensor an output too."""
    x = Tensor("f32", (2, 3, 4))
    tensors = [x, x.like()]
    operators = [Operator("RELU", [x], [tensors[-1]])]
    for order in orders:
        source = tensors[-1]
        tensors.append(source.like(shape=tuple(np.take(source.shape, order))))
        operators.append(Operator("TRANSPOSE", [source, constant(order)], [tensors[-1]]))
    result = tensors[-1].like()
    operators.append(Operator("ABS", [tensors[-1]], [result]))
    return Graph(operators, [x], [result, *([tensors[2]] if reads_first else [])])


@pytest.mark.parametrize(
    ("orders", "kinds"),
    [
        ([[1, 2, 0], [2, 0, 1]], "RELU ABS"),
        ([[1, 2, 0], [1, 2, 0]], "RELU TRANSPOSE TRANSPOSE ABS"),
        ([[1, 2, 0], [2, 0, 1], [1, 0, 2]], "RELU TRANSPOSE ABS"),
        ([[1, 0, 2], [0, 2, 1], [0, 2, 1], [1, 0, 2]], "RELU ABS"),
        ([[1, 0, 2]], "RELU TRANSPOSE ABS"),
    ],
)
def test_what_is_transposed_back_is_not_transposed(orders: list[list[int]], kinds: str) -> None:
    graph = cancel_transposes(make(*orders))
    assert [operator.kind for operator in graph.operators] == kinds.split()
    made = {tensor for operator in graph.operators for tensor in operator.outputs} | {*graph.inputs}
    assert all(x in made or x.data is not None for operator in graph.operators for x in operator.tensors)


def test_a_transposed_tensor_with_other_readers_stays() -> None:
    graph = cancel_transposes(make([1, 2, 0], [2, 0, 1], reads_first=True))
    assert [operator.kind for operator in graph.operators] == ["RELU", "TRANSPOSE", "ABS"]


def test_an_output_is_written() -> None:
    whole = make([1, 2, 0], [2, 0, 1])
    graph = Graph(whole.operators[:-1], whole.inputs, [whole.operators[-2].output])
    assert cancel_transposes(graph).operators == graph.operators
