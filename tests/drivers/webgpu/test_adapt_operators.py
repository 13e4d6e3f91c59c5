"""The accelerator's replacements for unsigned quantized filters and for repeated inputs."""

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.drivers.litert.lowering import lower_model
from nnapi.drivers.webgpu.adapt_operators import adapt_operators, sign_constants
from nnapi.drivers.webgpu.lowering import WebGpuLowering, adapt_graph
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant

WIDE = np.arange(0, 250, 10).astype(np.uint8)


def image(*shape: int) -> Tensor:
    return Tensor("i8", shape, 0.5, -3)


def use_filter(kind: str, x: Tensor, result: Tensor) -> Operator:
    filter = Tensor("u8", (1, 1, 1, 1), 0.5, 3, data=np.array([[[[200]]]], np.uint8))
    return Operator(kind, [x, filter, constant([0])], [result], {"stride_w": 1})


def types(operator: Operator) -> list[str]:
    return [tensor.type for tensor in operator.tensors]


def test_a_convolution_is_unsigned_as_a_whole() -> None:
    x, y = image(1, 2, 2, 1), image(1, 2, 2, 1)
    before, conv, after = adapt_operators([use_filter("CONV_2D", x, y)])
    assert types(conv) == ["u8", "u8", "i32", "u8"]
    assert conv.options == {"stride_w": 1}
    assert conv.input(1).value.item() == 200
    assert (before.kind, before.inputs, before.outputs) == ("QUANTIZE", [x], conv.inputs[:1])
    assert (after.kind, after.inputs, after.outputs) == ("QUANTIZE", conv.outputs, [y])
    assert [tensor.zero_point for tensor in (conv.input(0), conv.input(1), conv.output)] == [125, 3, 125]


@pytest.mark.parametrize("second", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_nothing_is_turned_over_between_two(second: str) -> None:
    x, y, z = (image(1, 2, 2, 1) for _ in range(3))
    graph = Graph([use_filter("CONV_2D", x, y), use_filter(second, y, z)], [x], [z], (True, True))
    assert [operator.kind for operator in adapt_graph(graph).operators] == ["QUANTIZE", "CONV_2D", second, "QUANTIZE"]


def test_what_others_read_is_turned_back() -> None:
    x, y, z = (image(1, 2, 2, 1) for _ in range(3))
    relu = Operator("RELU", [y], [z])
    found = adapt_graph(Graph([use_filter("CONV_2D", x, y), relu], [x], [z], (True, True))).operators
    assert [operator.kind for operator in found] == ["QUANTIZE", "CONV_2D", "QUANTIZE", "RELU"]
    assert found[-1] is relu


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_of_others_the_filter_is_signed_and_nothing_else_changes(kind: str) -> None:
    operator = use_filter(kind, image(1, 2, 2, 1), image(1, 2, 2, 1))
    (signed,) = adapt_operators([operator])
    assert signed.inputs[::2] == operator.inputs[::2]
    assert signed.outputs == operator.outputs
    assert signed.options == operator.options
    found = signed.input(1)
    assert (found.type, found.zero_point, found.value.item(), found.scale) == ("i8", -125, 72, 0.5)
    assert sign_constants(signed) is signed


def test_an_input_that_comes_twice_is_copied() -> None:
    x, y = image(1, 2, 2, 1), image(1, 2, 2, 1)
    copy, add = adapt_operators([Operator("ADD", [x, x], [y], {"activation": 0})])
    assert (copy.kind, copy.inputs[0], copy.input(1).value.tolist()) == ("RESHAPE", x, [1, 2, 2, 1])
    assert (add.inputs, add.outputs, add.options) == ([x, *copy.outputs], [y], {"activation": 0})
    assert copy.output is not x


def test_concatenation_takes_an_input_twice() -> None:
    x = image(1, 2, 2, 1)
    operator = Operator("CONCATENATION", [x, x], [image(1, 2, 2, 2)], {"axis": 3})
    assert adapt_operators([operator]) == [operator]


def test_a_convolution_is_taken_where_all_that_it_becomes_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Builder("conv")
    x = net.input(tensor("quant8_asymm", (1, 2, 2, 1), 0.5, 125))
    filter = net.constant(WIDE.reshape(25, 1, 1, 1), tensor("quant8_asymm", (25, 1, 1, 1), 0.5, 3))
    bias = net.constant(np.zeros(25, np.int32), tensor("int32", (25,), 0.25))
    net.output(net.conv_2d(x, filter, bias, padding_scheme=1, stride_w=1, stride_h=1, scale=50.0, zero_point=9))
    model = net.finish()
    patterns = {"QUANTIZE i8[4] > u8[4]", "CONV_2D u8[4] u8[4]c i32[1]c > u8[4]", "QUANTIZE u8[4] > i8[4]"}
    monkeypatch.setattr("nnapi.drivers.webgpu.lowering.proven_patterns", lambda: patterns)
    assert [verdict.supported for verdict in lower_model(model, None, WebGpuLowering).verdicts] == [True]
    monkeypatch.setattr("nnapi.drivers.webgpu.lowering.proven_patterns", lambda: patterns - {"QUANTIZE u8[4] > i8[4]"})
    (verdict,) = lower_model(model, None, WebGpuLowering).verdicts
    assert verdict.reason == "CONV_2D (#0): the accelerator is not known to compute QUANTIZE u8[4] > i8[4]"
