"""C headers of golden values: an array for each tensor, and the integers of each operation."""

import math
import textwrap
from collections.abc import Sequence
from itertools import chain

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.golden.recording import Golden, Operation, Tensor

WIDTH = 120
FLOAT = "float"


def describe_tensor(name: str, tensor: Tensor) -> str:
    type, array = tensor.type, tensor.array
    words = [f"{tensor.name or 'operand'}: {type.name} {list(array.shape)}", tensor.layout, tensor.lifetime.value]
    if type.is_quantized and not type.channel:
        words.append(f"scale {type.scale!r}, zero point {type.zero_point}")
    return _make_header(", ".join(filter(None, words)), [], _define(name, array))


def list_integers(golden: Golden, names: Sequence[str]) -> str:
    """Return the header that includes those of all tensors and defines the integers of all operations."""
    lines = chain.from_iterable(map(_list_operation, golden.operations))
    return _make_header(golden.model, [f'"{name}.h"' for name in names], "\n".join(lines))


def _make_header(title: str, included: Sequence[str], body: str) -> str:
    lines = [_comment(title), "#pragma once", *(f"#include {name}" for name in ("<math.h>", "<stdint.h>", *included))]
    return "\n".join([*lines, body])


def _list_operation(operation: Operation) -> list[str]:
    inputs = (f"{name} {' '.join(f't{index}' for index in each)}" for name, each in operation.inputs.items())
    outputs = " ".join(f"t{index}" for index in operation.outputs)
    title = f"{operation.name} (#{operation.number}), {operation.arithmetic.rule}: {', '.join(inputs)} -> {outputs}"
    lines = [_comment(title)]
    for name, value in {**operation.settings, **operation.arithmetic.integers}.items():
        array = np.asarray(value)
        if array.dtype.kind in "iubf":
            lines.append(_define(f"op{operation.number}_{name}", array).rstrip("\n"))
    return [*lines, ""]


def _define(name: str, array: Array) -> str:
    values, type = _format(array)
    if not array.ndim:
        return f"static const {type} {name} = {values[0]};\n"
    lines = textwrap.fill(", ".join(values), WIDTH, break_long_words=False, break_on_hyphens=False) or "0"
    return f"static const {type} {name}[{max(array.size, 1)}] = {{\n{lines}\n}};\n"


def _format(array: Array) -> tuple[list[str], str]:
    """Return the elements as C writes them, and their type; integers are as wide as the array's, int64 as they need."""
    if array.dtype.kind == "f" and array.dtype.itemsize != 2:
        return [_format_float(value) for value in array.astype(np.float32).reshape(-1).tolist()], FLOAT
    if array.dtype == np.float16:
        array = array.view(np.uint16)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype == np.int64 and (not array.size or np.abs(array).max() < 2**31):
        array = array.astype(np.int32)
    return list(map(str, array.reshape(-1).tolist())), f"{array.dtype.name}_t"


def _format_float(value: float) -> str:
    if math.isfinite(value):
        return f"{value.hex()}f"
    return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


def _comment(text: str) -> str:
    return f"/* {' '.join(text.replace('*/', '* /').split())} */"
