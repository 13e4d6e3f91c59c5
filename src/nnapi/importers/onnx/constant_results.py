"""Results that are known before a run: constants, what is computed from constants alone, dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nnapi.importers.onnx.folding import as_supported_array, can_fold, fold
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.tensors import Tensor, constant, words
from nnapi.importers.refusals import expressible

if TYPE_CHECKING:
    import onnx


KNOWN = words("Constant Shape Size")
"""Operators that have no rule, as what they give is always known."""


def compute_constants(
    file: File, proto: onnx.NodeProto, opset: int, tensors: Sequence[Tensor | None]
) -> list[Tensor | None] | None:
    """The results that are known before a run: those of constants, and dimensions."""
    name = next(iter(proto.output), "")
    if proto.op_type in ("Shape", "Size") and tensors[0] is not None and tensors[0].array is None:
        shape = np.array([each or -1 for each in tensors[0].dims], np.int64)
        if proto.op_type == "Size":
            expressible(tensors[0].is_known, "it depends on dimensions that only a run knows")
            return [constant(name, np.array(int(np.prod(shape, dtype=np.int64)), np.int64))]
        begin, end = (_attribute(proto, key) for key in ("start", "end"))
        part = shape[slice(begin, end)]
        return [constant(name, part, is_open=bool((part < 0).any()))]
    if proto.op_type == "Constant":
        return [_constant(file, proto, opset, name)]
    if not can_fold(proto.op_type, tensors):
        return None
    is_open = any(tensor is not None and tensor.is_open for tensor in tensors)
    results: list[Tensor | None] = []
    for output, found in zip(proto.output, fold(proto, opset, tensors), strict=True):
        array = as_supported_array(found, f"its constant result {output}") if output else None
        open_here = is_open and array is not None and bool((array < 0).any())
        results.append(None if array is None else constant(output, array, is_open=open_here))
    return results


def _constant(file: File, proto: onnx.NodeProto, opset: int, name: str) -> Tensor:
    value = next((each for each in proto.attribute if each.name == "value"), None)
    if value is None:
        return constant(name, as_supported_array(fold(proto, opset, [])[0], "it"))
    array, in_file = file.array(value.t)
    return constant(name, array, in_file=in_file)


def _attribute(proto: onnx.NodeProto, name: str) -> int | None:
    return next((each.i for each in proto.attribute if each.name == name), None)
