"""The ONNX graphs that Qualcomm's compiler gets."""

import numpy as np
import pytest

import nnapi
from nnapi.drivers.qualcomm.lowering import CONVERSIONS, HtpConversion
from nnapi.exporters.onnx.graph import Graph
from nnapi.lowering.lower import assume_shapes
from nnapi.model.operand import ChannelQuantization
from tests.drivers.qualcomm.qualcomm_cases import build_network
from tests.runtime.control_cases import branch


def lower(*numbers: int) -> Graph:
    model = build_network()
    return HtpConversion(model, assume_shapes(model)).run().make_graph(numbers)


def test_every_operator_computes_floats() -> None:
    graph = lower(0, 1)
    computing = [node for node in graph.nodes if node.kind not in (*CONVERSIONS, "Transpose")]
    assert [node.kind for node in computing] == ["Conv", "Clip", "Reshape"]
    made = {value: node.kind for node in graph.nodes for value in node.outputs}
    for node in computing:
        given = node.inputs[0]
        assert given is not None
        assert made[given] == ("Transpose" if node.kind == "Conv" else "DequantizeLinear")
        (reader,) = [other for other in graph.nodes if node.output in other.inputs]
        assert reader.kind == "QuantizeLinear", node.kind


def test_names_tell_the_operations() -> None:
    graph = lower(0, 1)
    assert {node.origin for node in graph.nodes} == {0, 1}
    for node in graph.nodes:
        assert node.output in graph.outputs or node.output.name == f"op{node.origin}"


def test_a_part_has_inputs_and_outputs_of_its_own() -> None:
    (given,), (made,) = lower(1).inputs, lower(1).outputs
    assert (given.shape, made.shape) == ((1, 8, 8, 4), (1, 256))
    assert [node.kind for node in lower(1).nodes] == ["DequantizeLinear", "Reshape", "QuantizeLinear"]
    assert [value.shape for value in lower(0).outputs] == [(1, 8, 8, 4)]


@pytest.mark.parametrize(("type", "steps"), [("int32", 1), ("float16", 1), ("float32", 2)])
def test_a_cast_reads_stored_values(type: str, steps: int) -> None:
    net = nnapi.Builder("casts")
    net.output(net.cast(net.input(nnapi.tensor("uint8", (4,), 0.5, 3)), out=nnapi.tensor(type, (4,))))
    model = net.finish()
    graph = HtpConversion(model, assume_shapes(model)).run().make_graph({0})
    assert [node.kind for node in graph.nodes] == ["Cast"] * steps
    assert graph.nodes[-1].output.element == type


@pytest.mark.parametrize(("scale", "is_taken"), [(0.125, False), (0.1251, True), (0.25, True)])
def test_a_prelu_that_htp_computes_wrongly_is_refused(scale: float, is_taken: bool) -> None:
    net = nnapi.Builder("prelu")
    x = net.input(nnapi.tensor("uint8", (1, 3), 0.25, 128))
    alpha = net.input(nnapi.tensor("uint8", (3,), 0.5, 50))
    net.output(net.prelu(x, alpha, scale=scale, zero_point=120))
    model = net.finish()
    (verdict,) = HtpConversion(model, assume_shapes(model)).run().verdicts
    assert verdict.supported is is_taken, verdict.reason


@pytest.mark.parametrize(("activation", "kinds"), [("relu", ["Relu"]), ("relu6", ["Max", "Min"])])
def test_bounds_after_a_transposed_convolution(activation: str, kinds: list[str]) -> None:
    """The compiler would drop a Clip."""
    net = nnapi.Builder("transposed")
    x = net.input(nnapi.tensor("uint8", (1, 2, 2, 1), 0.5, 0))
    weights = net.constant(np.ones((1, 3, 3, 1), np.uint8), nnapi.tensor("uint8", (1, 3, 3, 1), 0.5, 0))
    bias = net.constant(np.zeros(1, np.int32), nnapi.tensor("int32", (1,), 0.25))
    shape = np.array([1, 5, 5, 1], np.int32)
    net.output(net.transpose_conv_2d(x, weights, bias, shape, "valid", 2, 2, activation, scale=0.5, zero_point=3))
    model = net.finish()
    nodes = HtpConversion(model, assume_shapes(model)).run().make_graph({0}).nodes
    made = [node.kind for node in nodes if node.kind not in (*CONVERSIONS, "Transpose", "Reshape")]
    assert made == ["ConvTranspose", *kinds]
    given = [value for node in nodes for value in node.inputs if value.data is not None]
    limits = [value.data.item() for value in given if value.shape == (1, 1, 1, 1)]
    assert limits == ([3, 15] if activation == "relu6" else [])


def test_control_flow_is_refused() -> None:
    (verdict,) = HtpConversion(model := branch(), assume_shapes(model)).run().verdicts
    assert verdict.reason.endswith("it is not written as ONNX, which Qualcomm's compiler reads")


def test_values_with_a_scale_per_channel_are_moved_as_they_are() -> None:
    net = nnapi.Builder("channels")
    x = net.input(nnapi.tensor("uint8", (1, 4, 4, 2), 0.5, 0))
    channels = ChannelQuantization(0, (0.5, 0.75, 1.0))
    filter = net.input(nnapi.tensor("quant8_symm_per_channel", (3, 1, 1, 2), channel=channels))
    bias = net.constant(np.zeros(3, np.int32), nnapi.tensor("int32", (3,)))
    net.output(net.conv_2d(x, filter, bias, "same", 1, 1, scale=1.0, zero_point=0))
    model = net.finish()
    nodes = HtpConversion(model, assume_shapes(model)).run().make_graph({0}).nodes
    scales = [node.inputs[1].data for node in nodes if node.kind == "QuantizeLinear"]
    assert all(scale.item() == 1.0 for scale in scales)
