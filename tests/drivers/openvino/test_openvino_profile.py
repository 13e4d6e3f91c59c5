"""Operations in traces: what the engine's counters tell, and whose nodes they are about."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import trace
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device
from tests.stacks import convolutions

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import lower_model
from nnapi.drivers.openvino.prepared import MARK, _attribute, mark_nodes

pytestmark = pytest.mark.engine

IMAGE = tensor("float32", (1, 32, 32, 16))


def traced(compilation: Any, runs: int, *inputs: Any) -> tuple[Any, ...]:
    with trace.recording() as recorder:
        for _ in range(runs):
            outputs = compilation.run(*inputs)
    return outputs, recorder.spans()


def operations(spans: list[Any]) -> list[Any]:
    return [span for span in spans if "operation" in span.args]


def test_nodes_are_named_after_the_operations_whose_results_they_give() -> None:
    graph = mark_nodes(lower_model(convolutions(IMAGE, 2)))
    numbers = {}  # type: ignore[var-annotated]
    for node in graph.get_ops():
        mark = MARK.search(node.get_friendly_name())
        numbers.setdefault(node.get_type_name(), []).append(int(mark[1]) if mark else None)
    assert sorted(numbers["Convolution"]) == [0, 1]
    assert None not in {number for name in ("Convolution", "Add", "Relu", "Transpose") for number in numbers[name]}
    assert numbers["Parameter"] == [None]


def test_what_the_engine_adds_belongs_to_what_follows() -> None:
    assert _attribute([None, 0, None, None, 2, None]) == [0, 0, 2, 2, 2, 2]
    assert _attribute([None]) == [0]


def test_every_operation_has_its_span() -> None:
    model, x = convolutions(IMAGE, 4), np.ones(IMAGE.dimensions, np.float32)
    compilation = nnapi.compile(model, Device(OpenVinoDriver(threads=1)))
    (plain,) = compilation.run(x)
    (y,), spans = traced(compilation, 1, x)
    np.testing.assert_array_equal(y, plain)
    found = operations(spans)
    assert {span.args["operation"] for span in found} == set(range(4))
    assert {str(span.label) for span in found} == {"[NN_LD_PCO]CONV_2D"}
    assert {span.args["outputs"][0] for span in found} == {"y0", "y1", "y2", "y3"}
    assert any(span.args["engine"].startswith("Convolution ") for span in found)
    (call,) = [span for span in spans if span.label.name == "OpenVINO"]
    assert (found[0].start, found[-1].end) == (call.start, call.end)


def test_what_comes_from_the_cache_and_open_dimensions_are_traced_alike() -> None:
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (0, 64)), name="x")
    builder.output(builder.tanh(builder.mul(x, x)))
    _, spans = traced(nnapi.compile(builder.finish(), Device(OpenVinoDriver(threads=1))), 1, np.ones((3, 64), "f4"))
    assert operations(spans)
    driver, model = OpenVinoDriver(threads=1), convolutions(IMAGE, 1)
    kept = driver.cache_entry(driver.prepare(model, PrepareOptions()))
    restored = driver.restore(model, CacheEntry(kept), PrepareOptions())
    with trace.recording() as recorder:
        restored.execute(Request([np.ones(IMAGE.dimensions, np.float32)]))
    assert {span.label.name for span in operations(recorder.spans())} == {"CONV_2D"}
