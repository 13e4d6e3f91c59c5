"""The variant of a model whose codes stay unsigned: it computes the same, and is only offered where it can be had."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.litert.unsigned_values import can_be_unsigned, flip_signedness, has_unsigned_filters, make_unsigned
from nnapi.drivers.xnnpack import UNSIGNED
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, engine, reference
from tests.drivers.xnnpack.passes.signed_weights.test_rewrite import (
    IMAGE,
    SAME,
    bias,
    convolution,
    image,
    inverted_residual,
)


def run(model: Model, variant: str, *inputs: Any) -> Any:
    prepared = engine().driver.prepare(model, PrepareOptions(threads=1, variant=variant))
    (output,) = prepared.execute(Request(list(inputs))).outputs
    prepared.close()
    return output


def fitting_filter(kind: str = "uint8") -> Model:
    """A convolution of which every number fits into signed bytes, on codes of that kind."""
    random, net = np.random.default_rng(2), Net()
    type = tensor(kind, IMAGE.shape, 0.05, 100)
    w = net.constant(tensor(kind, (4, 1, 1, 6), 0.01, 100), random.integers(60, 120, (4, 1, 1, 6)))
    out = tensor(kind, (*IMAGE.shape[:3], 4), 0.2, 110)
    b = bias(net, 4, 0.05, random)
    return net.finished(net.call(OperationCode.CONV_2D, [net.input(type), w, b, *net.numbers(SAME, 1, 1, 0)], out))


def test_both_forms_give_the_same() -> None:
    random = np.random.default_rng(4)
    model = inverted_residual(random)
    x = image(random)
    signed, unsigned = run(model, "", x), run(model, UNSIGNED, x)
    assert len(np.unique(signed)) > 20
    assert np.abs(signed.astype(int) - unsigned).max() <= 4  # up to one code in each operation


@pytest.mark.parametrize("size", [1, 3])
def test_a_single_convolution_is_within_one_code(size: int) -> None:
    random, net = np.random.default_rng(size), Net()
    y, _ = convolution(net, net.input(IMAGE), IMAGE, 20, size, random, scale=0.03)
    model, x = net.finished(y), image(random)
    assert np.abs(run(model, UNSIGNED, x).astype(int) - run(model, "", x)).max() <= 1
    expected = reference().driver.prepare(model, PrepareOptions()).execute(Request([x])).outputs[0]
    assert np.abs(run(model, UNSIGNED, x).astype(int) - expected).max() <= 1


def test_no_signed_code_is_left_and_nothing_is_flipped() -> None:
    graph = make_unsigned(lower_model(inverted_residual(np.random.default_rng(5))).graph)
    assert {each.type for each in graph.tensors()} == {"u8", "i32"}
    assert all(isinstance(each.scale, float) and not each.axis for each in graph.tensors())
    assert graph.flipped == (False, False)


def test_it_is_offered_for_models_with_filters_that_do_not_fit() -> None:
    driver = engine().driver
    model = inverted_residual(np.random.default_rng(6))
    assert driver.list_variants(model)[0] == UNSIGNED
    driver.verdicts(model)  # and with what that found out, too
    assert driver.list_variants(model)[0] == UNSIGNED
    assert UNSIGNED not in driver.list_variants(fitting_filter())


def test_it_is_not_offered_where_the_ends_are_signed() -> None:
    assert not can_be_unsigned(lower_model(fitting_filter("int8")).graph)
    assert UNSIGNED not in engine().driver.list_variants(fitting_filter("int8"))


@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.1, 0.2)])
def test_a_filter_with_scales_of_its_own_has_to_be_signed(scales: tuple[float, float]) -> None:
    x, y = Tensor("u8", (1, 2, 2, 1), 0.1), Tensor("u8", (1, 2, 2, 2), 0.1)
    filter = Tensor("i8", (2, 1, 1, 1), np.array(scales, np.float32), data=np.ones((2, 1, 1, 1), np.int8))
    graph = Graph([Operator("CONV_2D", [x, filter, None], [y])], [x], [y], (False, False))
    assert not has_unsigned_filters(graph)
    assert can_be_unsigned(graph) == (scales == (0.1, 0.1))


def test_an_operator_that_the_engine_has_for_signed_codes_only_rules_it_out() -> None:
    x = Tensor("i8", (1, 2), 0.1)
    assert not can_be_unsigned(Graph([Operator("GATHER", [x], [x])], [x], [x], (True, True)))


@pytest.mark.parametrize(("size", "kinds"), [(2047, ["QUANTIZE"]), (2048, ["DEQUANTIZE", "QUANTIZE"])])
def test_signs_are_flipped_in_float32_where_there_are_many(size: int, kinds: list[str]) -> None:
    signed, unsigned = Tensor("i8", (1, size), 0.1, -3), Tensor("u8", (1, size), 0.1, 125)
    for source, target in ((signed, unsigned), (unsigned, signed)):
        operators = flip_signedness(source, target)
        assert [operator.kind for operator in operators] == kinds
        assert operators[0].inputs == [source]
        assert operators[-1].outputs == [target]
        for between in operators[0].outputs[: len(operators) - 1]:
            assert (between.type, between.shape, between.scale, between.zero_point) == ("f32", (1, size), 0.0, 0)
            assert operators[1].inputs == [between]


def test_a_dynamic_batch_has_the_variants_of_a_static_one() -> None:
    (static, dynamic), x = (filter_batch(2), filter_batch(0)), np.random.default_rng(3).integers(0, 255, (2, 6, 6, 6))
    variants = [engine().driver.list_variants(model) for model in (static, dynamic)]
    assert UNSIGNED in variants[0]
    assert variants[1] == variants[0]
    results = [run(model, variant, x.astype(np.uint8)) for model in (static, dynamic) for variant in ("", UNSIGNED)]
    np.testing.assert_array_equal(results[2:], results[:2])


def filter_batch(batch: int) -> Model:
    random, net = np.random.default_rng(2), Net()
    type, out = (tensor("uint8", (batch, 6, 6, channels), 0.05, 100) for channels in (6, 4))
    w = net.constant(tensor("uint8", (4, 1, 1, 6), 0.01, 100), random.integers(0, 255, (4, 1, 1, 6)))
    operands = [net.input(type), w, bias(net, 4, 0.05, random), *net.numbers(SAME, 1, 1, 0)]
    return net.finished(net.call(OperationCode.CONV_2D, operands, out))
