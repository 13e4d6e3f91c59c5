"""Unsigned inputs and outputs: which the engine is given as they are."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode as Op
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.xnnpack.passes.unsigned_io import keep_unsigned_io
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both, engine

CODES, NUMBERS = tensor("uint8", (2, 3), 0.5, 7), tensor("float32", (2, 3))
SIGNED = tensor("int8", (2, 3), 0.5, 7)


def quantized_sum(net: Net, type: Any) -> tuple[int, ...]:
    x = net.input(type)
    y = net.call(Op.DEQUANTIZE, [x], NUMBERS)
    z = net.call(Op.ADD, [y, y, *net.numbers(0)], NUMBERS)
    return x, net.call(Op.QUANTIZE, [z], type)


def flipped(model: Any) -> tuple[bool, ...]:
    prepared = engine().driver.prepare(model, PrepareOptions())
    try:
        return prepared.compiled.flipped
    finally:
        prepared.close()


def agree(model: Any) -> None:
    type = model.operands[model.inputs[0]].type
    codes = np.arange(6).reshape(2, 3).astype(type.dtype) * 40
    for ours, theirs in zip(*both(model, codes), strict=True):
        assert np.abs(ours.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize("type", [CODES, SIGNED])
def test_conversions_take_unsigned_codes_as_they_are(type: Any) -> None:
    net = Net()
    _, z = quantized_sum(net, type)
    model = net.finished(z)
    assert flipped(model) == (False, False)
    agree(model)


def test_what_other_operations_read_or_make_is_turned() -> None:
    net = Net()
    x, z = quantized_sum(net, CODES)
    model = net.finished(z, net.call(Op.RELU, [x], CODES))
    assert flipped(model) == (True, False, True)
    agree(model)
    net = Net()
    _, z = quantized_sum(net, CODES)
    model = net.finished(net.call(Op.RELU, [z], CODES), z)
    assert flipped(model) == (False, True, True)
    agree(model)


def test_what_only_turns_codes_at_the_ends_is_left_out() -> None:
    x, y = Tensor("i8", (1, 4), 0.5, -3), Tensor("i8", (1, 2), 0.25, 4)
    inner = x.like(type="u8", zero_point=125), y.like(type="u8", zero_point=132)
    product = Operator("FULLY_CONNECTED", [inner[0], None, None], [inner[1]])
    operators = [Operator("QUANTIZE", [x], [inner[0]]), product, Operator("QUANTIZE", [inner[1]], [y])]
    whole = keep_unsigned_io(Graph(operators, [x], [y], (True, True)))
    (only,) = whole.operators
    assert whole.flipped == (False, False)
    assert (only.kind, only.inputs[0].zero_point, only.outputs[0].zero_point) == ("FULLY_CONNECTED", 125, 132)
    assert keep_unsigned_io(Graph(operators, [x], [y], (False, False))).operators == operators
    half = keep_unsigned_io(Graph(operators, [x], [y], (False, True)))
    assert [operator.kind for operator in half.operators] == ["QUANTIZE", "FULLY_CONNECTED"]
    assert half.inputs == [x]


def test_a_change_of_scale_is_no_turn() -> None:
    x, y = Tensor("i8", (1, 4), 0.5, -3), Tensor("u8", (1, 4), 0.25, 125)
    z = Tensor("f32", (1, 4))
    operators = [Operator("QUANTIZE", [x], [y]), Operator("DEQUANTIZE", [y], [z])]
    graph = keep_unsigned_io(Graph(operators, [x], [z], (True, False)))
    assert [operator.kind for operator in graph.operators] == ["QUANTIZE", "DEQUANTIZE"]


@pytest.mark.parametrize("count", [1, 2])
def test_an_output_that_is_listed_twice_stays_signed(count: int) -> None:
    x, y = Tensor("f32", (1, 4)), Tensor("i8", (1, 4), 0.25, 4)
    graph = Graph([Operator("QUANTIZE", [x], [y])], [x], [y] * count, (False, *[True] * count))
    found = keep_unsigned_io(graph)
    assert found.flipped == (False, *[count == 2] * count)
    assert [tensor.type for tensor in found.outputs] == ["i8" if count == 2 else "u8"] * count


@pytest.mark.parametrize("is_output", [False, True])
def test_an_input_that_is_an_output_stays_signed(is_output: bool) -> None:
    x, y = Tensor("i8", (1, 4), 0.25, 4), Tensor("f32", (1, 4))
    outputs = [y, x] if is_output else [y]
    graph = Graph([Operator("DEQUANTIZE", [x], [y])], [x], outputs, (True, False, *[True] * is_output))
    found = keep_unsigned_io(graph)
    assert found.flipped == ((True, False, True) if is_output else (False, False))
    assert found.inputs[0].zero_point == (4 if is_output else 132)
