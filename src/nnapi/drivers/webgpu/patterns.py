"""Patterns of operators that the accelerator computes correctly. ``python -m tools.webgpu_patterns`` lists them."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np

from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.formats.tflite.operators import OPTION, row_of


@cache
def proven_patterns() -> frozenset[str]:
    lines = Path(__file__).with_name("proven_patterns.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def describe_pattern(operator: Operator) -> str:
    """Return the pattern of an operator, as a line of text."""
    ends = [" ".join(_describe_tensors(tensors)) for tensors in (operator.inputs, operator.outputs)]
    return " ".join([operator.kind, *filter(None, [ends[0], ">", ends[1]]), *_list_traits(operator)])


def _describe_tensors(tensors: list[Tensor | None] | list[Tensor]) -> Iterator[str]:
    """Yield a description of each tensor; equal ones in a row are yielded once."""
    words = (
        "none" if tensor is None else f"{tensor.type}[{len(tensor.shape)}]{'c' if tensor.is_constant else ''}"
        for tensor in tensors
    )
    yield from (word for word, _ in groupby(words))


def _list_traits(operator: Operator) -> Iterator[str]:
    kind, out = operator.kind, operator.output
    inputs = [tensor for tensor in operator.inputs if tensor is not None]
    if row_of(kind).broadcasts:
        yield from sorted({word for tensor in inputs if (word := _describe_spread(tensor, out))})
        if any(tensor.size == 1 < out.size and not tensor.is_constant for tensor in inputs) and any(
            tensor.size > 1 and tensor.is_constant for tensor in inputs
        ):
            yield "enlarged"
    yield from (word for word, (kinds, has_trait) in TRAITS.items() if kind in kinds and has_trait(operator))
    if any(tensor.type == "f32" and tensor.is_constant and not np.isfinite(tensor.value).all() for tensor in inputs):
        yield "infinite"
    if kind in ("PAD", "PADV2"):
        yield from (f"at{axis}" for axis, pair in enumerate(inputs[1].value) if any(pair))
    if kind == "TRANSPOSE":
        yield "order" + "".join(map(str, inputs[1].value.reshape(-1)))
    if row_of(kind).axis is not None:
        yield from (f"at{axis}" for axis in _list_axes(operator))


def _count_pieces(operator: Operator) -> int:
    """Return the block size, the number of tensors that are split or concatenated, or of values to choose from."""
    match operator.kind:
        case "SPLIT":
            return len(operator.outputs)
        case "CONCATENATION":
            return len(operator.inputs)
        case "ARG_MAX" | "ARG_MIN":
            return operator.input(0).shape[_list_axes(operator)[0]]
    return int(operator.options["block_size"])


def _is_ragged(operator: Operator) -> bool:
    """Return whether the size of the last axis is not a multiple of 4, so that the last vector has unused values."""
    shape = operator.input(0).shape
    axes = [len(shape) - 1] if operator.kind == "TOPK_V2" else _list_axes(operator)
    return len(shape) - 1 in axes and shape[-1] % 4 > 0


def _is_multiplied(operator: Operator) -> bool:
    """Return whether a 1×1 depthwise convolution has several results for each of several channels."""
    _, height, width, channels = operator.input(1).shape
    return height == width == 1 < operator.input(0).shape[3] < channels


def _is_skipping(operator: Operator) -> bool:
    """Return whether a stride exceeds the window, so that pixels are skipped."""
    _, height, width, _ = operator.input(1).shape
    return bool(operator.options["stride_h"] > height or operator.options["stride_w"] > width)


def _is_rescaled(operator: Operator) -> bool:
    return any(not tensor.same_quantization(operator.output) for tensor in operator.inputs if tensor is not None)


def _has_whole_exponent(operator: Operator) -> bool:
    """Return whether an exponent may be an integer. WGSL leaves powers of negative values undefined."""
    exponent = operator.input(1)
    return not exponent.is_constant or bool((exponent.value == np.rint(exponent.value)).any())


SPATIAL = ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
TRAITS: dict[str, tuple[tuple[str, ...], Callable[[Operator], bool]]] = {
    "batches": (SPATIAL, lambda operator: operator.output.shape[0] > 1),
    "single": (
        (*SPATIAL, "SPLIT", "CONCATENATION", "ARG_MAX", "ARG_MIN"),
        lambda operator: _count_pieces(operator) == 1,
    ),
    "ragged": (("TOPK_V2", "ARG_MAX", "ARG_MIN", "REVERSE_V2"), _is_ragged),
    "multiplied": (("DEPTHWISE_CONV_2D",), _is_multiplied),
    "rescaled": (("MAXIMUM", "MINIMUM"), _is_rescaled),
    "grouped": (("CONV_2D",), lambda operator: operator.input(0).shape[3] != operator.input(1).shape[3]),
    "skipping": (("CONV_2D",), _is_skipping),
    "quantized": (("CAST",), lambda operator: any(tensor.is_quantized for tensor in operator.tensors)),
    "whole": (("POW",), _has_whole_exponent),
    "beta": (("SOFTMAX",), lambda operator: operator.options.get("beta", 1.0) != 1.0),
    "reversed": (("STRIDED_SLICE",), lambda operator: bool((operator.input(3).value < 0).any())),
    "at0": (
        ("SLICE", "STRIDED_SLICE"),
        lambda operator: operator.input(0).shape[0] != operator.output.shape[0] and len(operator.output.shape) > 1,
    ),
}
"""Properties of operators that the accelerator may compute differently, in the order of their words in a pattern."""


def _describe_spread(tensor: Tensor, out: Tensor) -> str:
    """Return how a tensor is broadcast; empty for equal dimensions or one element."""
    if len(out.shape) == 1 and tensor.is_constant and tensor.size > 1:
        return "row"
    if tensor.size == 1 or tensor.shape == out.shape:
        return ""
    return "channels" if tensor.shape[-1] == tensor.size == out.shape[-1] else "spread"


def _list_axes(operator: Operator) -> list[int]:
    """Return the operator's axes, counted from the first; none if they are computed."""
    kind = operator.kind
    rank = len(operator.input(kind == "SPLIT").shape) + (kind == "PACK")
    position = row_of(kind).axis
    given = operator.options.get("axis", 0) if position is None or position == OPTION else operator.input(position).data
    return [] if given is None else sorted({int(axis) % max(rank, 1) for axis in np.reshape(given, -1)})
