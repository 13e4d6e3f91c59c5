"""Whole models: random graphs, files of known networks."""

import platform
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnapi
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device, device
from tests.drivers.xnnpack.growing import GRAPHS, KINDS, judge

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import core, lower_model

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))
STEPS = ["conv", "depthwise", "relu6", "logistic", "average", "largest", "skip", "beside"]
STEPS += ["resize", "nearest", "transposed"]


def agreement(model: Any, seed: int = 0) -> list[Any]:
    """The outputs of the engine and of the reference on random inputs."""
    random = np.random.default_rng(seed)
    types = [model.operands[index].type for index in model.inputs]
    inputs = [
        random.integers(0, 256, type.dimensions).astype(np.uint8).view(type.dtype)
        if type.is_quantized
        else random.standard_normal(type.dimensions).astype(type.dtype)
        for type in types
    ]
    outcomes = [
        driver.prepare(model, PrepareOptions()).execute(Request(inputs)).outputs
        for driver in (ENGINE.driver, device("nnapi-reference").driver)
    ]
    return list(zip(*outcomes, strict=True))


def grow(builder: Any, x: Any, earlier: list[Any], step: str, quantized: bool, random: Any) -> Any:
    """One more operation on an NHWC image."""
    _, h, w, _ = x.shape
    out = {"scale": 0.05, "zero_point": 120} if quantized else {}
    if step in ("conv", "depthwise"):
        return filtered(builder, x, step, out, random)
    if step == "relu6":
        return builder.relu6(x)
    if step == "logistic":
        return builder.logistic(x)
    if step in ("average", "largest"):
        pool = builder.average_pool_2d if step == "average" else builder.max_pool_2d
        return pool(x, "same", 1, 1, 2, 2, activation="none")
    if step == "skip":
        other = next((value for value in earlier[::-1] if value.shape == x.shape), x)
        return builder.add(x, other, activation="none", **out)
    if step == "beside":
        other = next((value for value in earlier[::-1] if value.shape[:3] == x.shape[:3]), x)
        return builder.concatenation([x, other], 3, **out)
    if step == "resize":
        return builder.resize_bilinear(x, min(2 * w, 8), min(h + 1, 8))
    if step == "nearest":
        return builder.resize_nearest_neighbor(x, min(2 * w, 8), 2 * h if h < 5 else h)
    return builder.transpose(x, [0, 2, 1, 3])


def filtered(builder: Any, x: Any, step: str, out: Any, random: Any) -> Any:
    depth = x.shape[3]
    shape = (3, 3, 3, depth) if step == "conv" else (1, 3, 3, depth)
    channels = shape[0] if step == "conv" else depth
    weights = random.normal(0, 0.3, shape).astype(np.float32)
    bias = random.normal(0, 1, channels).astype(np.float32)
    if out:
        codes = random.integers(60, 200, shape).astype(np.uint8)
        weights = builder.constant(codes, tensor("uint8", shape, 0.01, 128))
        type = tensor("int32", (channels,), np.float32(x.type.scale) * np.float32(0.01))  # type: ignore[arg-type]
        bias = builder.constant(random.integers(-50, 50, channels).astype(np.int32), type)
    call, more = (builder.conv_2d, ()) if step == "conv" else (builder.depthwise_conv_2d, (1,))
    return call(x, weights, bias, "same", 1, 1, *more, activation="relu6", **out)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=3, max_size=12), st.booleans(), st.integers(0, 2**16))
def test_random_graphs_agree(steps: list[str], quantized: bool, seed: int) -> None:
    random, builder = np.random.default_rng(seed), nnapi.Builder()
    type = tensor("uint8", (1, 5, 4, 2), 0.03, 110) if quantized else tensor("float32", (1, 5, 4, 2))
    values = [builder.input(type)]
    for step in steps:
        values.append(grow(builder, values[-1], values[:-1], step, quantized, random))
    builder.output(values[-1])
    model = builder.finish()
    assert [verdict.reason for verdict in ENGINE.driver.verdicts(model) if not verdict.supported] == []
    steepest = 3.2 if "logistic" in steps else 1  # a slope of 1/4 from steps of 0.05 to steps of 1/256
    for ours, right in agreement(model, seed):
        tolerance = (1 + len(steps)) * steepest if quantized else 1e-4  # one off for each operation, at the worst
        np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=tolerance, rtol=1e-4)


@pytest.mark.slow
@settings(max_examples=GRAPHS // 3, deadline=None)  # compiling them takes longer than on other engines
@given(st.sampled_from(KINDS), st.integers(3, 20), st.integers(0, 2**32 - 1))
def test_each_operation_of_random_graphs_agrees(kind: str, count: int, seed: int) -> None:
    judge(ENGINE, kind, count, seed)


def test_what_is_joined_keeps_its_own_scale() -> None:
    """The engine would align the scales of what a concatenation joins, for whoever else uses it too."""
    random, builder = np.random.default_rng(0), nnapi.Builder()
    source = builder.input(tensor("int8", (1, 6, 6, 4), 0.02, -17))
    x = builder.add(source, source, activation="none", scale=0.05, zero_point=18)
    filter = builder.constant(random.integers(-127, 128, (8, 3, 3, 4)), tensor("int8", (8, 3, 3, 4), 0.003, 0))
    bias = builder.constant(random.integers(-500, 500, 8), tensor("int32", (8,), np.float32(0.05) * np.float32(0.003)))  # type: ignore[arg-type]
    y = builder.conv_2d(x, filter, bias, "same", 1, 1, activation="none", scale=0.04, zero_point=-5)
    joined = builder.concatenation([x, y], 3, scale=0.02, zero_point=20)
    builder.output(x, y, joined, builder.max_pool_2d(joined, "same", 1, 1, 3, 3, activation="none"))
    given = random.integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)
    first, second, whole, _ = nnapi.compile(builder.finish(), [ENGINE]).run(given)
    real = np.concatenate([(first - np.float32(18)) * 0.05, (second - np.float32(-5)) * 0.04], axis=3)
    assert np.abs(whole - np.clip(np.round(real / 0.02) + 20, -128, 127)).max() <= 1


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="elsewhere the engine names and chooses its code differently"
)
def test_the_first_convolution_computes_with_codes() -> None:
    """As those behind it do: the engine sees that what comes in is quantized."""
    builder = nnapi.Builder()
    x = builder.input(tensor("int8", (1, 16, 16, 8), 0.05, -3))
    filter = builder.constant(np.ones((8, 3, 3, 8), np.int8), tensor("int8", (8, 3, 3, 8), 0.003, 0))
    bias = builder.constant(np.ones(8, np.int32), tensor("int32", (8,), np.float32(0.05) * np.float32(0.003)))  # type: ignore[arg-type]
    builder.output(builder.conv_2d(x, filter, bias, "same", 1, 1, activation="none", scale=0.04, zero_point=-5))
    graph = lower_model(builder.finish()).graph()
    options = {"PERF_COUNT": True, "INFERENCE_PRECISION_HINT": "f32"}
    request = core().compile_model(graph, "CPU", options).create_infer_request()
    request.infer()
    (kind,) = (node.exec_type for node in request.profiling_info if node.node_type == "Convolution")
    assert kind.endswith("I8")


def test_padding_between_convolutions_keeps_the_order_of_axes() -> None:
    """NHWC into the engine's order once, and out of it once."""
    random, builder = np.random.default_rng(0), nnapi.Builder()
    x = builder.input(tensor("float32", (1, 5, 4, 2)))
    for _ in range(2):
        x = builder.mirror_pad(filtered(builder, x, "conv", {}, random), [[0, 0], [1, 2], [2, 1], [0, 0]], 0)
    builder.output(x)
    model = builder.finish()
    operations = [node.get_type_name() for node in lower_model(model).graph().get_ordered_ops()]
    assert operations.count("Transpose") == 2
    for ours, right in agreement(model):
        np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("mobilenet_v1_0.25_128_float", 1e-5),
        ("mobilenet_v1_0.25_128_quant", 8),
        ("tf2_mobilenet_v2_1.0_224_ptq", 16),
        ("tflm_person_detect_int8", 4),
        ("blazeface_front_f16", 1e-3),
    ],
)
def test_networks_agree(shared: Any, name: str, tolerance: float) -> None:
    """Codes may be off by one after each operation, which adds up."""
    for ours, right in agreement(nnapi.load(shared / "models" / f"{name}.tflite")):
        np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=tolerance)
