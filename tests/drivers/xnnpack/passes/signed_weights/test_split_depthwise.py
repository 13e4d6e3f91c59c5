"""Depthwise filters of which a few channels do not fit: those go their own way through float32."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from nnapi.drivers.xnnpack.passes.signed_weights.split_depthwise import split_depthwise
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Lifetime
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both

SAME, RELU6 = 1, 3
SIDE = 6


class Chain:
    """Convolutions one after the other; ``wide`` are channels whose filter has a number out of reach."""

    def __init__(self, random: Any, depth: int = 8) -> None:
        self.random, self.net = random, Net()
        self.type = tensor("uint8", (1, SIDE, SIDE, depth), 0.05, 120)
        self.x = self.net.input(self.type)
        self.first = self.type.dimensions

    def _call(self, code: Any, shape: Any, units: Any, wide: Any, axis: Any, tail: Any) -> Any:
        codes = self.random.integers(70, 131, shape, np.uint8)
        for channel in wide:
            place = [int(self.random.integers(dimension)) for dimension in shape]
            place[axis] = channel
            codes[tuple(place)] = 250
        w = self.net.constant(tensor("uint8", shape, 0.01, 100), codes)
        scale = float(np.float32(self.type.scale) * np.float32(0.01))
        b = self.net.constant(tensor("int32", (units,), scale), self.random.integers(-200, 200, units))
        self.type = tensor("uint8", (1, SIDE, SIDE, units), 0.05, 3)
        self.x = self.net.call(code, [self.x, w, b, *self.net.numbers(*tail)], self.type)
        return self

    def dense(self, units: Any, wide: Any = (), axis: int = 3) -> Any:
        """``wide`` are input channels, or with axis 0 output channels."""
        shape = (units, 1, 1, self.type.dimensions[3])
        return self._call(OperationCode.CONV_2D, shape, units, wide, axis, (SAME, 1, 1, RELU6))

    def each(self, wide: Any = ()) -> Any:
        depth = self.type.dimensions[3]
        return self._call(OperationCode.DEPTHWISE_CONV_2D, (1, 3, 3, depth), depth, wide, 3, (SAME, 1, 1, 1, RELU6))

    def agrees(self, error: Any) -> Any:
        model = self.net.finished(self.x)
        (ours,), (theirs,) = both(model, self.random.integers(0, 256, self.first, np.uint8))
        return np.abs(ours.astype(int) - theirs).max() <= error


@pytest.fixture
def always(monkeypatch: Any) -> None:
    monkeypatch.setattr(cost_model, "estimate_branches", lambda operator, apart: -1.0)


def graph_of(chain: Chain) -> tuple[Any, ...]:
    graph = lower_model(chain.net.finished(chain.x)).graph
    return graph, split_depthwise(graph, Outliers())


def test_in_float_a_pixel_that_touches_more_than_the_nearest_cache_takes_twice_as_long() -> None:
    def estimate(window: int) -> float:
        image = Tensor("i8", (1, 8, 8, 32))
        operator = Operator("DEPTHWISE_CONV_2D", [image, Tensor("i8", (1, window, window, 32))], [image], {})
        return cost_model.estimate_float(operator)

    assert 8 * 13**2 * 32 < cost_model.NEAREST_CACHE < 8 * 14**2 * 32
    assert estimate(14) > 1.5 * estimate(13)


def test_the_channels_that_do_not_fit_make_a_part_of_their_own(always: None) -> None:
    chain = Chain(np.random.default_rng(1)).dense(40).each(wide=[5]).dense(9)
    _, graph = graph_of(chain)
    kinds = [operator.kind for operator in graph.operators]
    assert kinds == ["CONV_2D"] * 2 + ["DEPTHWISE_CONV_2D"] * 2 + ["CONCATENATION", "CONV_2D"]
    fast, slow = graph.operators[2:4]
    assert [fast.outputs[0].shape[3], slow.outputs[0].shape[3]] == [32, 8]
    outliers = Outliers()
    assert outliers.find_slices(fast, 3) == []
    assert outliers.find_slices(slow, 3) == [0]


def test_the_part_also_has_channels_that_do_not_fit_in_the_convolution_before(always: None) -> None:
    chain = Chain(np.random.default_rng(2)).dense(48, wide=[1], axis=0).each(wide=[5, 40]).dense(9)
    before, graph = graph_of(chain)
    (unit,) = Outliers().find_slices(before.operators[0], 0)
    fast, slow = graph.operators[:2]
    assert unit < 32
    assert [len(Outliers().find_slices(part, 0)) for part in (fast, slow)] == [0, 1]


def test_results_agree(always: None) -> None:
    chain = Chain(np.random.default_rng(3)).dense(40, wide=[2]).each(wide=[5, 39]).dense(9, wide=[5, 17])
    assert chain.agrees(4)


def test_a_chain_of_them_agrees(always: None) -> None:
    chain = Chain(np.random.default_rng(4)).dense(33).each(wide=[0]).dense(40, wide=[0]).each(wide=[7]).dense(20)
    assert chain.agrees(6)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_chains_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    chain = Chain(random)
    some = lambda depth: random.choice(depth, int(random.integers(0, 4)), replace=False).tolist()  # noqa: E731
    for _ in range(random.integers(1, 3)):
        chain.dense(int(random.integers(17, 50)), some(chain.type.dimensions[3]))
        chain.each(some(chain.type.dimensions[3]))
    chain.dense(7, some(chain.type.dimensions[3]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost_model, "estimate_branches", lambda operator, apart: -1.0)
        assert chain.agrees(8)


def test_filters_of_the_model_stay_as_they_are(always: None) -> None:
    chain = Chain(np.random.default_rng(7)).dense(40, wide=[2]).each(wide=[5, 39]).dense(20, wide=[5]).dense(9)
    model = chain.net.finished(chain.x)
    constants = [operand for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    before = [operand.value.copy() for operand in constants]
    first, second = (serialize(sign_weights(lower_model(model).graph)) for _ in range(2))
    assert all((operand.value == value).all() for operand, value in zip(constants, before, strict=True))
    assert first == second


@pytest.mark.parametrize("depth", [16, 12])
def test_a_single_tile_stays_whole(depth: int, always: None) -> None:
    before, after = graph_of(Chain(np.random.default_rng(5)).dense(depth).each(wide=[3]).dense(9))
    assert before is after


def test_a_result_of_the_model_stays_whole(always: None) -> None:
    chain = Chain(np.random.default_rng(6)).dense(40).each(wide=[3])
    before, after = graph_of(chain)
    assert before is after


@pytest.mark.parametrize(("count", "parts"), [(16, [32, 16]), (17, None)])
def test_as_many_channels_as_a_tile_are_computed_separately(count: int, parts: list[int] | None, always: None) -> None:
    chain = Chain(np.random.default_rng(8)).dense(48).each(wide=list(range(0, 2 * count, 2))).dense(9)
    before, after = graph_of(chain)
    depthwise = [operator for operator in after.operators if operator.kind == "DEPTHWISE_CONV_2D"]
    assert (after is before) == (parts is None)
    assert parts is None or [operator.output.shape[3] for operator in depthwise] == parts


@pytest.mark.parametrize("is_before", [False, True])
def test_tensors_that_something_else_reads_stay_whole(is_before: bool, always: None) -> None:
    chain = Chain(np.random.default_rng(9)).dense(40)
    before = chain.x, chain.type
    chain.each(wide=[5])
    read, type = before if is_before else (chain.x, chain.type)
    chain.dense(9)
    other = chain.net.call(OperationCode.RELU, [read], type)
    graph = lower_model(chain.net.finished(chain.x, other)).graph
    assert split_depthwise(graph, Outliers()) is graph


def test_an_input_that_another_depthwise_filter_writes_stays_whole(always: None) -> None:
    before, after = graph_of(Chain(np.random.default_rng(10), depth=40).each().each(wide=[5]).dense(9))
    assert before is after
