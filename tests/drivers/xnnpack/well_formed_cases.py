"""The rules of TensorFlow Lite that lowered graphs keep, although the engine accepts some graphs that break them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nnapi.formats.tflite.graph import DTYPES, Graph, Operator, Tensor

ACTIVATIONS = (0, 1, 2, 3)
"""NONE, RELU, RELU_N1_TO_1 and RELU6."""
TANH = 4
CELLS = ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
"""Operators that may fuse TANH too."""
PER_AXIS = {"SLICE": (1, 2), "STRIDED_SLICE": (1, 2, 3), "TRANSPOSE": (1,), "TILE": (1,)}
"""Inputs with one number for each axis of input 0."""
PADS = ("PAD", "PADV2", "MIRROR_PAD")
ELEMENTWISE = ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM")
RANGES = {"i8": (-128, 127), "u8": (0, 255)}


def need_well_formed(graph: Graph) -> None:
    """Assert that tensors and operators of a graph keep the format's rules."""
    for operator in graph.operators:
        for tensor in operator.tensors:
            _need_well_formed_tensor(tensor)
        _need_well_formed_operator(operator)


def _need_well_formed_tensor(tensor: Tensor) -> None:
    if not tensor.is_quantized:
        assert tensor.zero_point == 0, f"{tensor} has zero point {tensor.zero_point} without a scale"
    elif tensor.type in RANGES:
        low, high = RANGES[tensor.type]
        assert low <= tensor.zero_point <= high, f"{tensor} has zero point {tensor.zero_point}"
    if not isinstance(tensor.scale, float):
        assert len(tensor.scale) == tensor.shape[tensor.axis], f"{tensor} has {len(tensor.scale)} scales"
    if tensor.data is not None:
        assert tensor.data.nbytes == tensor.size * DTYPES[tensor.type].itemsize, (
            f"{tensor} has {tensor.data.nbytes} bytes"
        )


def _need_well_formed_operator(operator: Operator) -> None:
    kind, out = operator.kind, operator.outputs[0]
    if "activation" in operator.options:
        known = (*ACTIVATIONS, TANH) if kind in CELLS else ACTIVATIONS
        assert operator.options["activation"] in known, f"{kind} has activation {operator.options['activation']}"
    for position in PER_AXIS.get(kind, ()):
        shape = operator.input(position).shape
        assert shape == (len(operator.input(0).shape),), f"input {position} of {kind} has shape {shape}"
    if kind in PADS:
        assert operator.input(1).shape == (len(operator.input(0).shape), 2), f"{kind} pads {operator.input(1).shape}"
    if kind in ELEMENTWISE:
        shapes = [tensor.shape for tensor in operator.tensors if tensor is not out]
        assert np.broadcast_shapes(*shapes) == out.shape, f"{kind} of {shapes} has shape {out.shape}"
    if kind == "RESHAPE":
        assert operator.input(0).size == out.size, f"{kind} of {operator.input(0)} has shape {out.shape}"
    if kind == "TRANSPOSE" and operator.input(1).data is not None:
        _need_transposed(operator.input(0), operator.input(1).value.tolist(), out)
    if kind == "CONCATENATION":
        axis, tensors = operator.options["axis"], [tensor for tensor in operator.inputs if tensor is not None]
        assert sum(tensor.shape[axis] for tensor in tensors) == out.shape[axis], f"{kind} along {axis}"
        assert math.prod(out.shape) == sum(tensor.size for tensor in tensors), f"{kind} has shape {out.shape}"


def _need_transposed(x: Tensor, order: Sequence[int], out: Tensor) -> None:
    assert sorted(order) == list(range(len(x.shape))), f"TRANSPOSE has order {order}"
    assert tuple(x.shape[axis] for axis in order) == out.shape, f"TRANSPOSE of {x} has shape {out.shape}"
