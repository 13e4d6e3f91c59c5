"""LiteRT's interpreter with the delegate and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.capi import installation
from tests.tflite_writer import Graph, f32, write

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert import delegate_path  # noqa: E402  # LiteRT is part of that package's interface

Pair = tuple[Any, Any]
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]
rng = np.random.default_rng(5)


def load(**options: object) -> Any:
    """The delegate, with the plain reference unless devices are named."""
    return litert.load_delegate(delegate_path(), {"devices": "nnapi-reference", **options})


def both(content: bytes, **options: object) -> Pair:
    """LiteRT's own kernels, and ours."""
    kind = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    plain, delegated = (
        litert.Interpreter(
            model_content=content, experimental_op_resolver_type=kind, experimental_delegates=delegates, num_threads=1
        )
        for delegates in ([], [load(**options)])
    )
    for interpreter in (plain, delegated):
        interpreter.allocate_tensors()
    return plain, delegated


def run(pair: Pair) -> list[np.ndarray]:
    """Run both on the same random inputs and compare; gives the outputs."""
    for detail in pair[0].get_input_details():
        value = rng.uniform(-3, 3, detail["shape"]).astype(detail["dtype"])
        for interpreter in pair:
            interpreter.set_tensor(detail["index"], value)
    return invoke(pair)


def invoke(pair: Pair) -> list[np.ndarray]:
    for interpreter in pair:
        interpreter.invoke()
    theirs, ours = map(values, pair)
    for a, b in zip(theirs, ours, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), 1e-5, 1e-5)
    return ours


def values(interpreter: Any) -> list[np.ndarray]:
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def convolution(channels: int = 3) -> bytes:
    """A convolution with a bias and RELU6, then a softmax."""
    image, between, result = f32(1, 8, 8, 2), f32(1, 4, 4, channels), f32(1, 4, 4, channels)
    weights = f32(channels, 3, 3, 2).of(rng.uniform(-1, 1, (channels, 3, 3, 2)).astype(np.float32))
    bias = f32(channels).of(rng.uniform(-1, 1, channels).astype(np.float32))
    graph = Graph().operator(
        "CONV_2D", [image, weights, bias], [between], "Conv2DOptions", StrideW=2, StrideH=2, FusedActivationFunction=3
    )
    graph.operator("SOFTMAX", [between], [result], "SoftmaxOptions", Beta=0.5)
    return write(graph.between([image], [result]))


def in_the_middle() -> bytes:
    """An operation that NNAPI cannot express between two that it can."""
    x, a, b, c = (f32(2, 3) for _ in range(4))
    half = f32(1).of(np.array([0.1], np.float32))
    graph = Graph().operator("MUL", [x, half], [a], "MulOptions").operator("ATAN2", [a, a], [b])
    return write(graph.operator("MUL", [b, half], [c], "MulOptions").between([x], [c]))


def explain(folder: Path, content: bytes, **options: object) -> tuple[Pair, str]:
    """The pair, and what the delegate says of the graph."""
    file = folder / "explained.txt"
    pair = both(content, explain=file, **options)
    return pair, file.read_text()
