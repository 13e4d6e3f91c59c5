"""The figures that the rewriting goes by: measured here, and what those of made-up processors lead to."""

import json
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.drivers.base import PrepareOptions, Request
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.xnnpack.compile import PASSES, lower_model
from nnapi.drivers.xnnpack.figures import as_data, measure_figures, parse_figures
from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import NOMINAL, Dense, Depthwise, Figures, use_figures
from nnapi.formats.tflite.graph import Graph
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both
from tests.drivers.xnnpack.passes.signed_weights.test_rewrite import IMAGE, convolution, depthwise, image, wide_filter

CHEAP, DEAR = Dense(1e-12, 0.0, 1e-13), Dense(1e-6, 0.0, 1e-9)
QUICK, SLOW = Depthwise(1e-12, 1e-12), Depthwise(1e-6, 1e-6)

PROCESSORS = {
    "signed": Figures(CHEAP, DEAR, DEAR, QUICK, SLOW, SLOW),
    "unsigned": Figures(DEAR, DEAR, CHEAP, SLOW, SLOW, QUICK),
    "float": Figures(DEAR, CHEAP, DEAR, SLOW, QUICK, SLOW),
}
"""Made-up processors, each very good at one thing."""


def network(seed: int = 1) -> Model:
    """Dense and depthwise convolutions with filters that do not fit."""
    random, net = np.random.default_rng(seed), Net()
    x, type = convolution(net, net.input(IMAGE), IMAGE, 24, 3, random)
    x, type = depthwise(net, x, type, random)
    x, _ = convolution(net, x, type, 12, 1, random)
    return net.finished(x)


def rewritten(model: Model, figures: Figures) -> Graph:
    graph = lower_model(model).graph
    with use_figures(lambda: figures):
        for rewrite in PASSES:
            graph = rewrite(graph)
    return graph


def computed_in(graph: Graph) -> set[str]:
    """The types that sums of products are computed in."""
    return {op.input(0).type for op in graph.operators if op.kind in ("CONV_2D", "DEPTHWISE_CONV_2D")}


@pytest.mark.parametrize(
    ("processor", "dense", "channelwise"),
    [("signed", "i8", "f32"), ("unsigned", "u8", "u8"), ("float", "f32", "f32")],
)
def test_what_is_computed_how_follows_the_figures(processor: str, dense: str, channelwise: str) -> None:
    graph = rewritten(network(), PROCESSORS[processor])
    found = {op.kind: op.input(0).type for op in graph.operators if op.kind.endswith("CONV_2D")}
    assert found["CONV_2D"] == dense
    assert computed_in(graph) <= {dense, channelwise}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_whatever_the_figures_are_the_results_agree(processor: str) -> None:
    driver = XnnpackDriver(1)
    driver.take_figures(lambda: as_data(PROCESSORS[processor]))
    model, x = network(2), image(np.random.default_rng(3))
    (ours,) = driver.prepare(model, PrepareOptions()).execute(Request([x])).outputs
    _, (theirs,) = both(model, x)
    assert np.abs(ours.astype(int) - theirs).max() <= 3  # up to one code in each operation; clipped, it is dozens


def test_signed_models_follow_the_figures_too() -> None:
    net, random = Net(), np.random.default_rng(4)
    type = tensor("int8", IMAGE.shape, 0.05, 3)
    w = net.constant(tensor("int8", (8, 3, 3, 6), 0.01), random.integers(-90, 90, (8, 3, 3, 6)))
    scale = float(np.float32(0.05) * np.float32(0.01))
    b = net.constant(tensor("int32", (8,), scale), random.integers(-500, 500, 8))
    out = tensor("int8", (*IMAGE.shape[:3], 8), 0.1, -4)
    model = net.finished(net.call(OperationCode.CONV_2D, [net.input(type), w, b, *net.numbers(1, 1, 1, 0)], out))
    assert computed_in(rewritten(model, PROCESSORS["float"])) == {"f32"}
    assert computed_in(rewritten(model, PROCESSORS["signed"])) == {"i8"}
    assert computed_in(rewritten(model, NOMINAL)) == {"i8"}
    driver = XnnpackDriver(1)
    driver.take_figures(lambda: as_data(PROCESSORS["float"]))
    x = random.integers(-128, 128, type.shape, np.int8)
    (ours,) = driver.prepare(model, PrepareOptions()).execute(Request([x])).outputs
    _, (theirs,) = both(model, x)
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_a_front_on_unsigned_codes_is_turned_where_signed_ones_begin() -> None:
    """Unsigned codes are better for shallow convolutions of this processor, signed ones for deep ones."""
    random, net = np.random.default_rng(5), Net()
    x, _ = convolution(net, net.input(IMAGE), IMAGE, 200, 1, random)
    w = wide_filter(net, (40, 1, 1, 200), random)
    b = net.constant(tensor("int32", (40,), float(np.float32(0.2) * np.float32(0.01))), np.zeros(40, np.int32))
    y = net.call(OperationCode.CONV_2D, [x, w, b, *net.numbers(1, 1, 1, 0)], tensor("uint8", (1, 8, 8, 40), 0.5, 110))
    model = net.finished(y)
    figures = NOMINAL._replace(signed=Dense(1e-9, 0, 1e-12), unsigned=Dense(1e-11, 0, 2e-11), real=DEAR)
    graph = rewritten(model, figures)
    assert [op.input(0).type for op in graph.operators if op.kind == "CONV_2D"] == ["u8", "i8"]
    assert graph.flipped == (False, True)
    driver = XnnpackDriver(1)
    driver.take_figures(lambda: as_data(figures))
    given = image(random)
    (ours,) = driver.prepare(model, PrepareOptions()).execute(Request([given])).outputs
    _, (theirs,) = both(model, given)
    assert np.abs(ours.astype(int) - theirs).max() <= 2


def test_what_is_measured_can_be_kept() -> None:
    figures = measure_figures()
    assert figures.unsigned is not None
    assert figures.unsigned_depthwise is not None
    for dense in (figures.signed, figures.real, figures.unsigned):
        assert min(dense) >= 0
        assert 0 < dense.mac < 1e-6
        assert dense.tile in (16, 32, 64)
    for each in (figures.signed_depthwise, figures.real_depthwise, figures.unsigned_depthwise):
        assert 0 < each.tile < 1e-3
    assert parse_figures(json.loads(json.dumps(as_data(figures)))) == figures


@pytest.mark.parametrize(
    "change",
    [{"signed": [1e-9]}, {"signed": ["soon", 0, 0, 16]}, {"moved": -1}, {"moved": "far"}, {"signed": [0, 0, 0, 17]}],
)
def test_what_are_no_figures_is_not_used(change: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    driver = XnnpackDriver(1)
    driver.take_figures(lambda: as_data(PROCESSORS["float"]) | change)
    assert driver._find_figures() == NOMINAL
    assert "of no use" in caplog.text
