"""Filters that do not fit into signed bytes: split exactly, and computed as the reference does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights import rewrite
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both, engine

IMAGE = tensor("uint8", (1, 8, 8, 6), 0.05, 120)
SAME = 1


def filter_of(codes: Any, zero_point: int) -> Tensor:
    return Tensor("u8", codes.shape, 0.1, zero_point, data=codes)


def wide_filter(net: Net, shape: tuple[int, ...], random: Any, out_of_reach: int = 3, zero_point: int = 100) -> int:
    """A filter of which a few numbers are beyond ±127."""
    codes = random.integers(zero_point - 40, zero_point + 41, shape, np.uint8)
    codes.reshape(-1)[random.choice(codes.size, min(out_of_reach, codes.size), False)] = 250
    return net.constant(tensor("uint8", shape, 0.01, zero_point), codes)


def bias(net: Net, count: int, scale: float, random: Any) -> int:
    scale = float(np.float32(scale) * np.float32(0.01))
    return net.constant(tensor("int32", (count,), scale), random.integers(-500, 500, count))


def convolution(
    net: Net, x: int, x_type: Any, units: int, size: int, random: Any, scale: float = 0.2, activation: int = 0
) -> tuple[Any, ...]:
    w = wide_filter(net, (units, size, size, x_type.shape[3]), random)
    out = tensor("uint8", (*x_type.shape[:3], units), scale, 110)
    b = bias(net, units, x_type.scale, random)
    return net.call(OperationCode.CONV_2D, [x, w, b, *net.numbers(SAME, 1, 1, activation)], out), out


def depthwise(net: Net, x: int, x_type: Any, random: Any) -> tuple[Any, ...]:
    depth = x_type.shape[3]
    w = wide_filter(net, (1, 3, 3, depth), random)
    out = tensor("uint8", x_type.shape, 0.2, 3)
    b = bias(net, depth, x_type.scale, random)
    return net.call(OperationCode.DEPTHWISE_CONV_2D, [x, w, b, *net.numbers(SAME, 1, 1, 1, 1)], out), out


def image(random: Any, type: Any = IMAGE) -> Any:
    return random.integers(0, 256, type.shape, np.uint8)


def ways(monkeypatch: Any, way: str) -> None:
    monkeypatch.setattr(rewrite, "split_depthwise", lambda graph, outliers: graph)
    monkeypatch.setattr(rewrite, "estimate_ways", lambda operator, copies: {way: 0.0})


def types(graph: Graph) -> Any:
    return {tensor.type for tensor in graph.tensors()}


def inverted_residual(random: Any) -> Any:
    """Expand, filter each channel, project, add: every filter with numbers out of reach."""
    net = Net()
    x = net.input(IMAGE)
    first, first_type = convolution(net, x, IMAGE, 12, 1, random)
    y, type = convolution(net, first, first_type, 40, 1, random, activation=1)
    y, type = depthwise(net, y, type, random)
    y, type = convolution(net, y, type, 12, 1, random)
    total = net.call(OperationCode.ADD, [first, y, *net.numbers(0)], tensor("uint8", type.shape, 0.3, 120))
    out, _ = convolution(net, total, tensor("uint8", type.shape, 0.3, 120), 9, 3, random)
    return net.finished(out)


@pytest.mark.parametrize("way", ["appended", "doubled", "float", "unsigned"])
def test_every_way_of_computing_agrees(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ways(monkeypatch, way)
    random = np.random.default_rng(3)
    model = inverted_residual(random)
    narrowed = rewrite.sign_weights(lower_model(model).graph)
    kinds = {operator.kind for operator in narrowed.operators}
    signs = {"appended": "SLICE" in kinds, "doubled": "CONCATENATION" in kinds, "unsigned": "u8" in types(narrowed)}
    assert signs.get(way, True)
    (ours,), (theirs,) = both(model, image(random))
    assert np.abs(ours.astype(int) - theirs).max() <= 4  # up to one code in each operation; clipped, it is dozens


@pytest.mark.parametrize("way", ["appended", "doubled", "float", "unsigned"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_single_convolution_is_within_one_code(way: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ways(monkeypatch, way)
    random = np.random.default_rng(size)
    net = Net()
    y, _ = convolution(net, net.input(IMAGE), IMAGE, 20, size, random, scale=0.03)
    (ours,), (theirs,) = both(net.finished(y), image(random))
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_a_result_that_is_an_output_carries_no_copies() -> None:
    random = np.random.default_rng(5)
    net = Net()
    y, type = convolution(net, net.input(IMAGE), IMAGE, 8, 1, random)
    z, _ = convolution(net, y, type, 8, 1, random)
    model = net.finished(y, z)
    ours, theirs = both(model, image(random))
    assert [a.shape for a in ours] == [b.shape for b in theirs]
    assert max(np.abs(a.astype(int) - b).max() for a, b in zip(ours, theirs, strict=True)) <= 2


def test_no_unsigned_tensor_is_left() -> None:
    graph = rewrite.sign_weights(lower_model(inverted_residual(np.random.default_rng(7))).graph)
    assert types(graph) <= {"i8", "i32", "f32"}


def test_a_graph_without_unsigned_filters_stays_as_it_is() -> None:
    net = Net()
    x = net.input(IMAGE)
    graph = lower_model(net.finished(net.call(OperationCode.RELU, [x], IMAGE))).graph
    assert rewrite.sign_weights(graph).operators == graph.operators


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_chains_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    net = Net()
    x, type = net.input(IMAGE), IMAGE
    for _ in range(random.integers(1, 4)):
        if random.random() < 0.4:
            x, type = depthwise(net, x, type, random)
        else:
            x, type = convolution(net, x, type, int(random.integers(1, 40)), int(random.choice([1, 3])), random)
    (ours,), (theirs,) = both(net.finished(x), image(random))
    errors = np.abs(ours.astype(int) - theirs)
    assert errors.max() <= 8  # a code off weighs up to 1.5 in the next operation; clipped, it is dozens
    assert errors.mean() < 1


def test_estimates_prefer_float_for_shallow_images_and_copies_for_deep_ones() -> None:
    shallow, deep = _dense((1, 112, 112, 16), (16, 1, 1, 16)), _dense((1, 14, 14, 512), (512, 1, 1, 512))
    cheapest = [
        min(seconds, key=seconds.get) for seconds in (cost_model.estimate_ways(op, [0]) for op in (shallow, deep))
    ]
    assert cheapest == ["float", "appended"]
    assert cost_model.estimate_slices(deep, 1) < cost_model.estimate_doubling(deep)


def test_a_large_filter_for_a_single_row_stays_as_it_is() -> None:
    def cheapest(rows: Any, depth: Any) -> Any:
        operator = _dense((1, 1, rows, depth), (1000, 1, 1, depth))
        seconds = cost_model.estimate_ways(operator, [*range(20)])
        return min(seconds, key=seconds.get)

    assert cheapest(1, 1024) == "unsigned"
    assert cheapest(2, 1024) == cheapest(1, 256) == "doubled"


def test_a_large_filter_for_a_single_row_is_within_one_code() -> None:
    random = np.random.default_rng(11)
    net, type = Net(), tensor("uint8", (1, 1, 1, 640), 0.05, 120)
    w = wide_filter(net, (800, 1, 1, 640), random, out_of_reach=30)
    b = bias(net, 800, 0.05, random)
    out = tensor("uint8", (1, 1, 1, 800), 0.2, 110)
    y = net.call(OperationCode.CONV_2D, [net.input(type), w, b, *net.numbers(SAME, 1, 1, 0)], out)
    model = net.finished(y)
    assert "u8" in types(rewrite.sign_weights(lower_model(model).graph))
    (ours,), (theirs,) = both(model, image(random, type))
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def _dense(image: tuple[int, ...], filter: tuple[int, ...]) -> Operator:
    x, y = Tensor("i8", image, 0.1), Tensor("i8", (*image[:3], filter[0]), 0.1)
    codes = np.full(filter, 100, np.uint8)
    codes[0, 0, 0, 0] = 250
    return Operator("CONV_2D", [x, filter_of(codes, 100)], [y])


def test_the_driver_takes_it() -> None:
    model = inverted_residual(np.random.default_rng(9))
    assert all(verdict.supported for verdict in engine().driver.verdicts(model))
