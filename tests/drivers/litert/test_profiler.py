"""Operations in traces: what LiteRT's profiler tells, and whose operators it is about."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import trace
from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.model.operand import OperandType, tensor
from nnapi.runtime.device import device
from tests.stacks import convolutions

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

from nnapi.drivers.litert import c_api
from nnapi.drivers.litert.compile import find_origins
from nnapi.drivers.litert.profiler import (
    OperatorNode,
    OperatorTime,
    Profiled,
    align_events,
    find_owners,
    may_be_event_of,
)
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from tests.drivers.xnnpack.engine_cases import Net, engine

pytestmark = pytest.mark.engine

IMAGE = tensor("float32", (1, 64, 64, 32))


def traced(compilation: Any, *inputs: Any) -> tuple[Any, ...]:
    with trace.recording() as recorder:
        outputs = compilation.run(*inputs)
    return outputs, recorder.spans()


def operations(spans: list[Any]) -> list[Any]:
    return [span for span in spans if "operation" in span.args]


# Whose an event is


def test_names() -> None:
    assert may_be_event_of("CONV_2D", "Fully Connected (NC, F32) GEMM")
    assert may_be_event_of("ADD", "Add (ND)")
    assert may_be_event_of("QUANTIZE", "Convert (NC)")
    assert not may_be_event_of("CONV_2D", "Convert (NC)")
    assert not may_be_event_of("RESHAPE", "Resize Bilinear 2D")
    assert may_be_event_of("SOMETHING_NEW", "Somber")
    assert not may_be_event_of("SOMETHING_NEW", "Sober")
    assert may_be_event_of("QUANTIZE", "Invalid Unary Op")
    assert may_be_event_of("RELU", "Invalid Unary Op")
    assert not may_be_event_of("ADD", "Invalid Unary Op")


@pytest.mark.parametrize(
    ("kinds", "names", "expected"),
    [
        ("CONV_2D ADD", "Convolution;Add", [0, 1]),
        ("ADD CONV_2D", "Add;Clamp;Convolution", [0, 0, 1]),
        ("RESHAPE FULLY_CONNECTED", "Static Reshape;Static Reshape;Fully Connected", [0, 1, 1]),
        ("CONV_2D RELU DEPTHWISE_CONV_2D", "Convolution;Convolution", [0, 2]),
        ("DEQUANTIZE RELU QUANTIZE CONV_2D", "Invalid Unary Op;Convolution", [0, 3]),
        ("ADD SOMETHING_NEW MUL", "Add;Another;Multiply", [0, 1, 2]),
        ("SOFTMAX", "Softmax;Copy", [0, 0]),
    ],
)
def test_events_find_their_operators(kinds: str, names: str, expected: list[int]) -> None:
    assert align_events(kinds.split(), names.split(";")) == expected


def test_delegates_run_what_has_its_inputs() -> None:
    """The second ADD waits for the kernel, the third operator does not."""
    nodes = [
        OperatorNode("GATHER", (0, -1), (1,)),
        OperatorNode("ADD", (1, 1), (2,)),
        OperatorNode("MUL", (0, 0), (3,)),
    ]
    before = [
        OperatorTime("Multiply (ND)", None, 1e-6),
        OperatorTime("GATHER", 0, 1e-6),
        OperatorTime("Add (ND)", None, 1e-6),
    ]
    assert find_owners(nodes, before) == [2, 0, 1]
    with pytest.raises(ValueError, match="before their inputs are computed"):
        find_owners(nodes[:2], before[:2])


def test_operators_know_the_operation_whose_result_they_give() -> None:
    """Of a quantized model, which becomes many more operators than it has operations."""
    codes = tensor("quant8_asymm", (1, 8, 8, 4), 0.5, 128)
    filter = OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (1, 3, 3, 4), 0.25, 3)
    bias = OperandType(OperandCode.TENSOR_INT32, (4,), 0.25)
    rng = np.random.default_rng(0)
    net = Net()
    x = net.input(codes)
    y = net.call(OperationCode.ADD, [x, x, *net.numbers(0)], tensor("quant8_asymm", (1, 8, 8, 4), 1.0, 128))
    weights = net.constant(filter, rng.integers(0, 256, filter.dimensions))
    numbers = net.numbers(1, 1, 1, 1, 0)
    inputs = [y, weights, net.constant(bias, np.zeros(4)), *numbers]
    z = net.call(OperationCode.DEPTHWISE_CONV_2D, inputs, tensor("quant8_asymm", (1, 8, 8, 4), 2.0, 128))
    graph = sign_weights(lower_model(net.finished(z)).graph)
    assert len(graph.operators) > 2
    found = find_origins(graph)
    assert None not in found
    assert found == sorted(found)
    assert set(found) == {0, 1}


# What LiteRT tells


def test_events_of_a_run() -> None:
    model = convolutions(IMAGE, 2)
    prepared = engine().driver.prepare(model, PrepareOptions())
    run = prepared._pool.take()._engine
    with Profiled(run.content, run.inputs, run.outputs, run.threads) as profiled:
        first, second = profiled.run(), profiled.run()
    assert [event.name for event in first] == [event.name for event in second]
    assert len(first) == 2
    assert all(event.operator is None for event in second)


def test_a_file_that_the_profiler_does_not_take() -> None:
    with pytest.raises(RuntimeError, match="LiteRtCreateModelFromBuffer fails"):
        Profiled(bytes(64), [], [], 1)


@pytest.mark.parametrize(("status", "words"), [(1, "invalid argument"), (5, "unsupported"), (99, "status 99")])
def test_failures_are_named(status: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_api, "_library", lambda: SimpleNamespace(LiteRtStartProfiler=lambda profiler: status))
    with pytest.raises(RuntimeError, match=f"LiteRtStartProfiler fails: {words}"):
        c_api.call("StartProfiler", None)


# In traces


def test_every_operation_has_its_span() -> None:
    model, x = convolutions(IMAGE, 6), np.ones(IMAGE.dimensions, np.float32)
    compilation = nnapi.compile(model, engine())
    (plain,) = compilation.run(x)
    (y,), spans = traced(compilation, x)
    np.testing.assert_array_equal(y, plain)
    found = operations(spans)
    assert [span.args["operation"] for span in found] == list(range(6))
    assert {str(span.label) for span in found} == {"[NN_LD_PCO]CONV_2D"}
    assert [span.args["outputs"] for span in found] == [[f"y{number}"] for number in range(6)]
    assert found[0].args["inputs"][0] == "x"
    assert found[0].args["engine"].startswith("Convolution")
    (call,) = [span for span in spans if span.label.name == "LiteRT"]
    assert (found[0].start, found[-1].end) == (call.start, call.end)
    assert all(before.end == after.start for before, after in pairwise(found))


def test_operations_of_a_part_have_the_numbers_of_the_whole() -> None:
    """HASHTABLE_LOOKUP has no rule: the reference runs it, the engine what is around."""
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (4, 4)), name="x")
    keys, rows = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32)
    y, _ = builder.hashtable_lookup(rows, keys, builder.add(x, x, name="sum"))
    builder.output(builder.mul(y, y, name="square"))
    compilation = nnapi.compile(builder.finish(), [engine(), device("nnapi-reference")])
    _, spans = traced(compilation, np.ones((4, 4), np.float32))
    found = {span.args["operation"]: span.label.name for span in operations(spans)}
    assert found == {0: "ADD", 1: "HASHTABLE_LOOKUP", 2: "MUL"}


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["deq_mobilenet_v2_1.0_224_float", "mobilenet_v2_1.0_224_quant", "tiny_vww_96_float", "tiny_resnet8_float"]
)
def test_operations_of_models_have_their_spans(shared: Any, name: str) -> None:
    """How much of their step they fill is for benchmarks/tracing.py to say."""
    model = nnapi.load(shared / "models" / f"{name}.tflite")
    (input,) = (model.operands[index].type for index in model.inputs)
    x = np.zeros([dimension or 1 for dimension in input.dimensions], input.dtype)
    _, spans = traced(nnapi.compile(model, engine()), x)
    (step,) = [span for span in spans if "operations" in span.args]
    assert all(step.start <= span.start and span.end <= step.end for span in operations(spans))
    numbers = {span.args["operation"] for span in operations(spans)}
    assert numbers <= set(range(len(model.operations)))
    assert len(numbers) >= 0.9 * len(model.operations), "few are fused into others"


def test_sessions_and_open_dimensions_are_traced_alike() -> None:
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (0, 8)), name="x")
    builder.output(builder.tanh(builder.add(x, x)))
    compilation = nnapi.compile(builder.finish(), engine())
    for rows in (1, 3):
        _, spans = traced(compilation, np.ones((rows, 8), np.float32))
        assert [span.label.name for span in operations(spans)] == ["ADD", "TANH"]


def test_what_comes_from_the_cache_is_traced_alike() -> None:
    driver, model = engine().driver, convolutions(IMAGE, 2)
    kept = driver.cache_entry(driver.prepare(model, PrepareOptions()))
    restored = driver.restore(model, CacheEntry(kept), PrepareOptions())
    with trace.recording() as recorder:
        restored.execute(Request([np.ones(IMAGE.dimensions, np.float32)]))
    assert [span.args["operation"] for span in operations(recorder.spans())] == [0, 1]


def test_threads_and_what_is_closed_when_the_recording_is_read() -> None:
    prepared = engine(2).driver.prepare(convolutions(IMAGE, 2), PrepareOptions())
    with trace.recording() as recorder:
        prepared.execute(Request([np.ones(IMAGE.dimensions, np.float32)]))
    prepared.close()
    del prepared
    assert [span.args["operation"] for span in operations(recorder.spans())] == [0, 1]


def test_what_is_not_traced_is_not_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("profiled")

    monkeypatch.setattr("nnapi.drivers.litert.profiler._measure", fail)
    prepared = engine().driver.prepare(convolutions(IMAGE, 1), PrepareOptions())
    prepared.execute(Request([np.ones(IMAGE.dimensions, np.float32)]))
