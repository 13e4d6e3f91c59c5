"""Graphs of one operator, and what they take: how the engine is measured on the processor at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.errors import need_value
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.options import convolution_options
from nnapi.formats.tflite.schema import SAME
from nnapi.formats.tflite.writer import serialise
from nnapi.model.operand import Shape

SECONDS, RUNS = 2.5e-4, 3
"""How long a graph is run, at least so often, after a first run that does not count."""
OPTIONS = convolution_options(SAME, (1, 1), (1, 1)) | {"activation": 0}


CODES = np.arange(101) * 37 % 101 - 50
"""What filters are made of, again and again."""


def make_tensor(type: str, shape: Shape) -> Tensor:
    return Tensor(type, shape, 0.0 if type == "f32" else 0.05, 128 if type == "u8" else 0)


def make_filter(type: str, shape: Shape, axis: int) -> Tensor:
    numbers = np.resize(CODES, shape)
    if type == "f32":
        return Tensor("f32", shape, data=(numbers * 0.01).astype(np.float32))
    if type == "u8":
        return Tensor("u8", shape, 0.01, 128, data=(numbers + 128).astype(np.uint8))
    return Tensor("i8", shape, np.full(shape[axis], 0.01, np.float32), 0, axis, numbers.astype(np.int8))


def make_bias(type: str, count: int) -> Tensor:
    if type == "f32":
        return Tensor("f32", (count,), data=np.zeros(count, np.float32))
    unit = np.float32(0.05) * np.float32(0.01)
    scale = float(unit) if type == "u8" else np.full(count, unit, np.float32)
    return Tensor("i32", (count,), scale, data=np.zeros(count, np.int32))


def convolve(type: str, image: Shape, units: int, edge: int = 1) -> Operator:
    filter = make_filter(type, (units, edge, edge, image[3]), 0)
    return Operator(
        "CONV_2D",
        [make_tensor(type, image), filter, make_bias(type, units)],
        [make_tensor(type, (*image[:3], units))],
        dict(OPTIONS),
    )


def convolve_each(type: str, image: Shape) -> Operator:
    filter = make_filter(type, (1, 3, 3, image[3]), 3)
    inputs: Sequence[Tensor] = [make_tensor(type, image), filter, make_bias(type, image[3])]
    return Operator("DEPTHWISE_CONV_2D", list(inputs), [make_tensor(type, image)], OPTIONS | {"multiplier": 1})


def convert(kind: str, source: str, target: str, shape: Shape) -> Operator:
    return Operator(kind, [make_tensor(source, shape)], [make_tensor(target, shape)])


def start_graph(*operators: Operator) -> tuple[Instance, list[Tensor]]:
    """What runs operators on one thread, of which each may read what those before give, and what it is to be given."""
    own = {operator.output for operator in operators}
    read = [tensor for operator in operators for tensor in operator.inputs if tensor is not None]
    inputs = [tensor for tensor in dict.fromkeys(read) if not tensor.is_constant and tensor not in own]
    graph = Graph(list(operators), inputs, operators[-1].outputs)
    return Instance(Program(serialise(graph), (False,) * len(graph.ends), (operators[-1].output.shape,)), 1), inputs


def time_graph(*operators: Operator) -> float:
    """Seconds of the shortest run of operators, as :func:`start_graph` takes them."""
    instance, inputs = start_graph(*operators)
    bound = need_value(instance.bind([tensor.shape for tensor in inputs]), "the engine has no memory of its own")
    for memory in bound.inputs:
        memory[...] = 1
    return time_shortest(bound.run)


def time_shortest(call: Callable[[], object]) -> float:
    """Seconds of the shortest of some calls, after a first one that does not count."""
    call()
    best, spent, runs = 1.0, 0.0, 0
    while spent < SECONDS or runs < RUNS:
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best
