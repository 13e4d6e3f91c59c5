"""Remove pairs of TRANSPOSE of which the second undoes the first."""

import numpy as np

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, remove_dead_operators


def cancel_transposes(graph: Graph) -> Graph:
    """Return the graph in which readers of a tensor that is transposed and transposed back read the tensor itself."""
    kept: dict[Tensor, Tensor] = {}
    made: dict[Tensor, tuple[Tensor, list[int]]] = {}
    """The sources and orders of transposed tensors."""
    operators: list[Operator] = []
    for operator in graph.operators:
        given = [None if tensor is None else kept.get(tensor, tensor) for tensor in operator.inputs]
        operator = operator if given == operator.inputs else operator.like(given)
        operators.append(operator)
        order = _read_order(operator)
        if order is None:
            continue
        made[operator.output] = operator.input(0), order
        source, before = made.get(operator.input(0), (operator.input(0), []))
        if np.argsort(before).tolist() == order and operator.output not in graph.outputs:
            kept[operator.output] = source
    return remove_dead_operators(graph.with_operators(operators)) if kept else graph


def _read_order(operator: Operator) -> list[int] | None:
    """Return the constant order of axes of a TRANSPOSE."""
    if operator.kind != "TRANSPOSE" or operator.input(1).data is None:
        return None
    order: list[int] = operator.input(1).value.tolist()
    return order
