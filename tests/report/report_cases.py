"""Benchmarks and plans for tests of reports: small, and the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import nnapi
from nnapi.contract.driver import Capabilities, Performance
from nnapi.drivers.limited import Limited
from nnapi.model.model import Model, OperationCall
from nnapi.report.graph import graph_data
from nnapi.report.result import Agreement, Benchmark, Measurement, ModelResult
from nnapi.report.timeline import timeline_data
from nnapi.runtime.device import Device
from nnapi.trace import Layer, Phase, Span
from nnapi.trace.labels import Label
from tests.graphs import add, finished

REASON = "the third is refused & <b>that</b> is said"


def refuses(_: Model, call: OperationCall) -> str | None:
    return f"{call}: {REASON}" if call.number == 2 or call.name == "IF" else None


@cache
def fast() -> Device:
    """A device that takes everything but operation 2 and IF, at a thousandth of the reference's time."""
    figure = Performance(0.001, 0.001)
    declared = Capabilities(figure, relaxed=figure, launch_seconds=1e-9, seconds_per_byte=1e-14)
    return Device(Limited(nnapi.device("nnapi-reference").driver, "fast", refuses, declared))


def chain(length: int, dimensions: tuple[int, ...] = (1, 40, 40, 8)) -> Model:
    """The input doubled so many times."""
    model = Model("chain")
    type = nnapi.tensor("float32", dimensions)
    tensors = [model.add_operand(type, f"t{number}") for number in range(length + 1)]
    for source, target in pairwise(tensors):
        add(model, source, source, target)
    return finished(model, tensors[:1], tensors[-1:])


def graph() -> dict[str, Any]:
    """Of five additions in a row, of which the third runs elsewhere."""
    return graph_data(nnapi.compile(chain(5), [fast(), nnapi.device("nnapi-reference")]).plan)


def spans() -> list[Span]:
    outer = Span(Label(Layer.RUNTIME, Phase.EXECUTION, "compute"), 1000, 51_000, 1, 7, "Main", {}, 0)
    inner = [
        Span(
            Label(Layer.CPU, Phase.COMPUTATION, "ADD"),
            2000 + 9000 * n,
            10_000 + 9000 * n,
            1,
            7,
            "Main",
            {"operation": n},
            1,
        )
        for n in range(5)
    ]
    return [outer, *inner]


def measurement(engine: str, milliseconds: float, rounds: int = 8, seed: int = 0, **more: Any) -> Measurement:
    """Rounds of times around a mean, each with a shift of its own."""
    generator = np.random.default_rng(seed)
    latency = tuple(
        tuple(float(s) for s in milliseconds / 1e3 * shift * generator.normal(1, 0.02, 12))
        for shift in generator.normal(1, 0.01, rounds)
    )
    load = tuple(float(s) for s in milliseconds / 500 * generator.normal(1, 0.01, 5))
    rate = tuple(float(s) for s in 1000 / milliseconds * generator.normal(1, 0.01, 5))
    return Measurement(
        engine, "1.0", latency=latency, load=load, compile=load, throughput=rate, requests=2, peak=50_000_000, **more
    )


def model_result(name: str, measurements: Sequence[Measurement], **more: Any) -> ModelResult:
    return ModelResult(
        name, f"/models/{name}", 1_000_000, 5, "float32 [1] → float32 [1]", "numbers", tuple(measurements), **more
    )


def benchmark(*models: ModelResult, **more: Any) -> Benchmark:
    settings = {"rounds": 8, "threads": 1, "requests": 2, "inputs": "random, seed 0"}
    machine = {"processor": "Abacus", "cores": "2 of 2 usable", "system": "Linux"}
    return Benchmark("2026-01-02 03:04:05", machine, settings, {"openvino": "not installed"}, models, **more)


def whole() -> Benchmark:
    """Two models, three engines, one that fails, a graph and a timeline."""
    agreement = Agreement(2.0, 0.1, 0.25, 0.01, "steps")
    rows = [
        measurement("nnapi", 2.0, agreement=agreement, accuracy={"top-1": 0.75}, devices=("fast", "nnapi-reference")),
        measurement("litert", 10.0, agreement=agreement, accuracy={"top-1": 0.5}),
        measurement("slow", 3.0),
        Measurement("onnxruntime", failure="there is no <b>.onnx</b> file"),
    ]
    first = model_result("first.tflite", rows, graph=graph(), timeline=timeline_data(spans()), examples=4)
    return benchmark(first, model_result("second.tflite", rows[:2]))
