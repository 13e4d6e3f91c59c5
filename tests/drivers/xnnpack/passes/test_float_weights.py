"""Codes of weights beside a float input, and the numbers in their place: which is offered, chosen and computed."""

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.litert.lowering import Lowered
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.cost_model import NOMINAL, Dense, KernelTimings, use_timings
from nnapi.drivers.xnnpack.passes.float_weights import is_dynamic_range, use_faster_weights, use_float_weights
from nnapi.drivers.xnnpack.passes.unroll_lstm import unroll_lstm
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from tests.drivers.xnnpack.engine_cases import engine
from tests.dynamic_range_cases import CASES, make_input, recurrent

from nnapi.drivers.xnnpack import FLOAT_WEIGHTS, IN_FLOAT, UNSIGNED  # isort: skip

SLOW, FAST = Dense(1e-8, 0.0, 1e-10), Dense(1e-9, 0.0, 1e-11)
SLOW_ON_BYTES = NOMINAL._replace(signed=SLOW, real=FAST, unsigned=SLOW)
FAST_ON_BYTES = NOMINAL._replace(signed=FAST, real=SLOW, unsigned=FAST)


def make_filter() -> Tensor:
    codes = np.array([[4, -8], [16, 0], [8, 8]], np.int8).reshape(3, 1, 1, 2)
    return Tensor("i8", codes.shape, np.array([0.5, 0.25, 0.125], np.float32), data=codes)


def make_graph() -> Graph:
    """A convolution of numbers by codes, one of codes, and another of numbers by the same codes."""
    x, codes = Tensor("f32", (1, 8, 8, 2)), Tensor("i8", (1, 8, 8, 2), 0.1)
    filter, bias = make_filter(), Tensor("f32", (3,), data=np.zeros(3, np.float32))
    outs = [Tensor("f32", (1, 8, 8, 3)), Tensor("i8", (1, 8, 8, 3), 0.2), Tensor("f32", (1, 8, 8, 3))]
    ways = zip((x, codes, x), outs, strict=True)
    return Graph([Operator("CONV_2D", [source, filter, bias], [out]) for source, out in ways], [x, codes], outs)


def list_filters(graph: Graph) -> list[str]:
    return [operator.input(1).type for operator in graph.operators]


def test_only_products_with_numbers_change_and_share_what_they_have_shared() -> None:
    graph = make_graph()
    assert [is_dynamic_range(operator) for operator in graph.operators] == [True, False, True]
    changed = use_float_weights(graph)
    assert list_filters(changed) == ["f32", "i8", "f32"]
    assert changed.operators[0].input(1) is changed.operators[2].input(1)
    assert list_filters(graph) == ["i8"] * 3


def test_numbers_are_those_behind_the_codes_along_their_axis() -> None:
    numbers = use_float_weights(make_graph()).operators[0].input(1)
    assert numbers.value.reshape(3, 2).tolist() == [[2, -4], [4, 0], [1, 1]]
    assert not numbers.is_quantized


@pytest.mark.parametrize(
    ("timings", "filters"),
    [
        (SLOW_ON_BYTES, ["f32", "i8", "f32"]),
        (FAST_ON_BYTES, ["i8", "i8", "i8"]),
        (NOMINAL._replace(signed=SLOW, real=FAST), ["i8", "i8", "i8"]),  # of another processor
    ],
    ids=["slow on bytes", "fast on bytes", "not measured"],
)
def test_the_choice_follows_the_timings(timings: KernelTimings, filters: list[str]) -> None:
    with use_timings(timings):
        assert list_filters(use_faster_weights(make_graph())) == filters


@pytest.mark.engine
def test_a_graph_with_such_weights_has_no_unsigned_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    real, quantized = Tensor("f32", (1, 8, 8, 2)), Tensor("i8", (1, 8, 8, 2), 0.1)
    weights, bias = (
        make_filter().like(scale=0.5, data=make_filter().data),
        Tensor("f32", (3,), data=np.zeros(3, np.float32)),
    )
    unsigned = Tensor("u8", (3, 1, 1, 2), 0.5, 7, data=np.zeros((3, 1, 1, 2), np.uint8))
    ends = [(real, weights), (quantized, unsigned)]
    operators = [Operator("CONV_2D", [x, w, bias], [x.like(shape=(1, 8, 8, 3))]) for x, w in ends]
    driver, model = engine().driver, nnapi.load(CASES["convolution"]())
    for kept, variants in ((operators[1:], [UNSIGNED, IN_FLOAT]), (operators, [IN_FLOAT, FLOAT_WEIGHTS])):
        outputs = [operator.output for operator in kept]
        graph = Graph(kept, [real, quantized], outputs, (True,) * (2 + len(outputs)))
        monkeypatch.setattr(driver, "_asked", {model: Lowered(graph, ())})
        assert driver.list_variants(model) == variants


@pytest.mark.engine
def test_the_form_is_offered_where_it_is_permitted_and_exact() -> None:
    content = CASES["convolution"]()
    permitted, exact = nnapi.load(content, weights="dynamic-range"), nnapi.load(content)
    driver = engine().driver
    assert driver.list_variants(permitted) == [FLOAT_WEIGHTS]
    assert driver.list_variants(exact) == []
    assert driver.list_variants(nnapi.load(CASES["depthwise"](), weights="dynamic-range")) == []
    x, found = make_input(exact), []
    for model, variant in ((permitted, ""), (permitted, FLOAT_WEIGHTS), (exact, "")):
        prepared = driver.prepare(model, PrepareOptions(threads=1, variant=variant))
        found.append(prepared.execute(Request([x])).outputs[0])
        prepared.close()
    np.testing.assert_array_equal(found[1], found[2])
    assert (found[0] != found[2]).any()


@pytest.mark.engine
def test_codes_that_are_not_permitted_to_be_used_are_numbers() -> None:
    """The same operations, from whoever made the model: the permission decides."""
    from nnapi.model.pickling import build, describe

    model = nnapi.load(CASES["dense"](), weights="dynamic-range")
    forbidden = build(nnapi.Model, [each._replace(dynamic_range=False) for each in describe(model)])
    x = make_input(model)
    outs = [nnapi.compile(each, engine()).run(x)[0] for each in (forbidden, nnapi.load(CASES["dense"]()))]
    np.testing.assert_allclose(outs[0], outs[1], 1e-6, 1e-6)
    assert np.abs(nnapi.compile(model, engine()).run(x)[0] - outs[1]).max() > 1e-3


@pytest.mark.engine
def test_a_cell_is_written_out_with_codes_or_numbers() -> None:
    model = nnapi.load(recurrent(), weights="dynamic-range")
    assert engine().driver.list_variants(model) == [FLOAT_WEIGHTS]
    cell = lower_model(model).graph
    assert is_dynamic_range(cell.operators[0])
    for graph, kind in ((cell, "i8"), (use_float_weights(cell), "f32")):
        products = [op for op in unroll_lstm(graph).operators if op.kind == "FULLY_CONNECTED"]
        assert {op.input(1).type for op in products} == {kind}
        assert products[0].input(1).shape == (4 * 24, 16)
    assert not is_dynamic_range(lower_model(nnapi.load(recurrent())).graph.operators[0])
