"""Sizes in OpenVINO's graph: nodes compute what the expressions say."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.sizes import declare, integers, partial_shape, reshape
from nnapi.shapes.array import as_integers
from nnapi.shapes.symbols import Symbols

pytestmark = pytest.mark.engine


def run(graph: Any, *inputs: Any) -> list[Any]:
    request = ov.Core().compile_model(graph, "CPU").create_infer_request()
    found = request.infer(list(inputs))
    return [np.array(found[position]) for position in range(len(graph.outputs))]


def test_expressions_are_computed_from_the_shapes_of_inputs() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "a"), symbols.add(6, "b")
    shape: Any = (a, 2, b)
    assert partial_shape(shape) == [-1, 2, -1]
    x = op.parameter(partial_shape(shape), np.float32)
    declare(x, shape)

    def list_sizes(a: int, b: int) -> list[Any]:
        return [a, a * b * 2 - 3, -(-a // 4), a % 3, (a * 2 + b) // (b + 1), a - a, -1, 7]

    values: Any = list_sizes(a, b)
    sums = op.reduce_sum(x, integers([0, 1, 2]), False)
    nodes = [integers(values), integers(as_integers([b, 3], np.int32)), integers(a), integers(4), sums]
    graph = ov.Model([op.result(node) for node in nodes], [x])
    for one, two in ((5, 6), (1, 9), (12, 1)):
        found = run(graph, np.ones((one, 2, two), np.float32))
        assert [each.tolist() for each in found[:4]] == [list_sizes(one, two), [two, 3], one, 4]
    assert not symbols.guards


@pytest.mark.parametrize("wanted", [lambda a, b: [a, 2 * b], lambda a, b: [2, 5 * a], lambda a, b: [10, 3]])
def test_a_reshape_takes_sizes(wanted: Any) -> None:
    symbols = Symbols()
    a, b = symbols.add(3, "a"), symbols.add(5, "b")
    shape: Any = (2, a, b)
    x = op.parameter(partial_shape(shape), np.float32)
    declare(x, shape)
    graph = ov.Model([op.result(reshape(op.abs(x), wanted(a, b)))], [x])
    values = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    np.testing.assert_array_equal(run(graph, values)[0], values.reshape(wanted(3, 5)))
