"""How much of a network's front is left on unsigned codes: what gains by it, less what turning its result costs."""

from itertools import pairwise

import numpy as np
import pytest

from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import NOMINAL, Dense, Depthwise, KernelTimings, use_timings
from nnapi.drivers.xnnpack.passes.signed_weights.front import keep_front_unsigned
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.options import convolution_options
from nnapi.formats.tflite.schema import SAME
from tests.drivers.xnnpack.passes.signed_weights.test_in_float import make_bias
from tests.drivers.xnnpack.passes.signed_weights.test_rewrite import filter_of

SHALLOW = NOMINAL._replace(
    signed=Dense(1e-9, 0.0, 1e-13),
    real=Dense(1e-7, 0.0, 1e-9),
    unsigned=Dense(1e-11, 0.0, 2e-11),
    unsigned_depthwise=Depthwise(0.0, 1e-9),
)
"""Unsigned codes are faster where few channels are summed, by far less than a tenth of what float32 takes."""


OPTIONS = convolution_options(SAME, (1, 1), (1, 1)) | {"activation": 0}


def chain(*depths: int) -> Graph:
    """Convolutions of one place one after the other."""
    tensors = [Tensor("i8", (1, 16, 16, depth), 0.1) for depth in depths]
    operators = []
    for x, y in pairwise(tensors):
        codes = np.full((y.shape[3], 1, 1, x.shape[3]), 100, np.uint8)
        codes[0, 0, 0, 0] = 250
        operators.append(Operator("CONV_2D", [x, filter_of(codes, 100), make_bias(y.shape[3])], [y], OPTIONS))
    return Graph(operators, tensors[:1], tensors[-1:], (True, True))


def kinds(graph: Graph, timings: KernelTimings = SHALLOW) -> list[str]:
    with use_timings(timings):
        found = keep_front_unsigned(graph, Outliers())
    return [f"{op.kind} {op.input(0).type}" for op in found.operators]


def test_shallow_convolutions_in_front_are_left_and_their_result_is_turned_once() -> None:
    turned = ["DEQUANTIZE u8", "QUANTIZE f32"]
    assert kinds(chain(4, 8, 400, 400)) == ["CONV_2D u8", "CONV_2D u8", *turned, "CONV_2D i8"]


def test_nothing_is_left_where_the_first_ones_are_deep() -> None:
    assert kinds(chain(400, 400, 8)) == ["CONV_2D i8", "CONV_2D i8"]


def test_a_graph_that_is_faster_so_altogether_is_left_whole() -> None:
    graph = chain(4, 8, 8)
    with use_timings(SHALLOW):
        found = keep_front_unsigned(graph, Outliers())
    assert {end.type for end in found.inputs_and_outputs} == {"u8"}
    assert found.flipped == (False, False)


def test_what_is_signed_outside_ends_the_front() -> None:
    graph = chain(4, 8, 8)
    graph.flipped = (False, True)
    assert kinds(graph) == ["CONV_2D i8", "CONV_2D i8"]


def test_an_operator_without_unsigned_kernels_ends_the_front() -> None:
    graph = chain(4, 8, 8)
    first, second = graph.operators
    gathered = Tensor("i8", second.output.shape, 0.1)
    last = Operator("GATHER", [second.output], [gathered])
    operators = [first, last.like([first.output], [gathered]), second]
    found = kinds(graph.with_operators(operators))
    assert found == ["CONV_2D u8", "DEQUANTIZE u8", "QUANTIZE f32", "GATHER i8", "CONV_2D i8"]


def test_turning_can_cost_more_than_is_gained() -> None:
    assert kinds(chain(4, 8, 400, 400), SHALLOW._replace(conversion=1e-6)) == ["CONV_2D i8"] * 3


@pytest.mark.parametrize("timings", [NOMINAL, SHALLOW._replace(unsigned=None)])
def test_nothing_is_left_where_nothing_is_known_of_unsigned_codes(timings: KernelTimings) -> None:
    assert kinds(chain(4, 8, 400), timings) == ["CONV_2D i8"] * 2
