"""The patterns of operators that the accelerator computes correctly. ``python -m tools.webgpu_patterns`` lists them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np

from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.formats.tflite.operators import OPTION, facts


@cache
def proven_patterns() -> frozenset[str]:
    """Return the supported patterns."""
    lines = Path(__file__).with_name("proven_patterns.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def describe_pattern(operator: Operator) -> str:
    """Return the pattern of an operator as a line."""
    ends = [" ".join(_describe_tensors(tensors)) for tensors in (operator.inputs, operator.outputs)]
    return " ".join([operator.kind, *filter(None, [ends[0], ">", ends[1]]), *_list_traits(operator)])


def _describe_tensors(tensors: list[Tensor | None] | list[Tensor]) -> Iterator[str]:
    """Describe each tensor; equal adjacent ones once."""
    words = (
        "none" if tensor is None else f"{tensor.type}[{len(tensor.shape)}]{'c' if tensor.is_constant else ''}"
        for tensor in tensors
    )
    yield from (word for word, _ in groupby(words))


def _list_traits(operator: Operator) -> Iterator[str]:
    kind, out = operator.kind, operator.output
    inputs = [tensor for tensor in operator.inputs if tensor is not None]
    if facts(kind).broadcasts:
        yield from sorted({word for tensor in inputs if (word := _describe_spread(tensor, out))})
    if kind in ("MAXIMUM", "MINIMUM") and any(not tensor.same_quantization(out) for tensor in inputs):
        yield "rescaled"
    if kind == "CONV_2D" and inputs[0].shape[3] != inputs[1].shape[3]:
        yield "grouped"
    if kind == "CONV_2D" and _is_skipping(operator):
        yield "skipping"
    if kind == "CAST" and any(tensor.is_quantized for tensor in (*inputs, out)):
        yield "quantized"
    if kind == "SOFTMAX" and operator.options.get("beta", 1.0) != 1.0:
        yield "beta"
    if kind in ("PAD", "PADV2"):
        yield from (f"at{axis}" for axis, pair in enumerate(inputs[1].value) if any(pair))
    if kind == "STRIDED_SLICE" and (inputs[3].value < 0).any():
        yield "reversed"
    if kind == "TRANSPOSE":
        yield "order" + "".join(map(str, inputs[1].value.reshape(-1)))
    if kind in ("SLICE", "STRIDED_SLICE") and inputs[0].shape[0] != out.shape[0] and len(out.shape) > 1:
        yield "at0"
    if facts(kind).axis is not None:
        yield from (f"at{axis}" for axis in _list_axes(operator))


def _is_skipping(operator: Operator) -> bool:
    """Whether a stride exceeds the window, which skips pixels."""
    _, height, width, _ = operator.input(1).shape
    return bool(operator.options["stride_h"] > height or operator.options["stride_w"] > width)


def _describe_spread(tensor: Tensor, out: Tensor) -> str:
    """Return how a tensor is broadcast; empty for equal dimensions or one element."""
    if tensor.size == 1 or tensor.shape == out.shape:
        return ""
    return "channels" if tensor.shape[-1] == tensor.size == out.shape[-1] else "spread"


def _list_axes(operator: Operator) -> list[int]:
    """Return the operator's axes, from the first; none if they are computed."""
    kind = operator.kind
    rank = len(operator.input(kind == "SPLIT").shape) + (kind == "PACK")
    position = facts(kind).axis
    given = operator.options.get("axis", 0) if position is None or position == OPTION else operator.input(position).data
    return [] if given is None else sorted({int(axis) % max(rank, 1) for axis in np.reshape(given, -1)})
