"""LiteRT's interpreter and the one in its place, side by side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.capi import installation  # noqa: E402
from nnapi.litert import Interpreter  # noqa: E402  # LiteRT is the class that it derives from

needs_library = pytest.mark.skipif(
    installation.library_problem() is not None, reason=str(installation.library_problem())
)
"""For graphs that are divided between LiteRT and nnapi: nnapi's delegate is a C library."""
rng = np.random.default_rng(3)
Pair = tuple[Any, Any]


def both(content: bytes, **options: Any) -> Pair:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that all tensors are preserved costs memory
        ours = Interpreter(model_content=content, devices="nnapi-reference", **options)
        options.pop("fallback", None)
        return litert.Interpreter(model_content=content, **options), ours


def values(interpreter: Any) -> list[np.ndarray]:
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def feed(pair: Pair, low: float = -3, high: float = 3) -> None:
    """The same random inputs for both."""
    for detail in pair[0].get_input_details():
        value = rng.uniform(low, high, detail["shape"]).astype(detail["dtype"])
        for interpreter in pair:
            interpreter.set_tensor(detail["index"], value)


def run(pair: Pair) -> None:
    """Run both, and compare everything that they say of the outputs."""
    for interpreter in pair:
        interpreter.invoke()
    foreign, ours = pair
    assert str(ours.get_output_details()) == str(foreign.get_output_details())
    for a, b in zip(values(ours), values(foreign), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(
            a.astype(np.float64), b.astype(np.float64), 1e-5, 1.0 if a.dtype == np.int8 else 1e-6
        )
