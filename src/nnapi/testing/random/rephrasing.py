"""Variants of a model that must not change its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nnapi.codes import FuseCode, OperationCode, PaddingCode
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import TensorParameter
from nnapi.ops.evaluate import NCHW_TO_NHWC, NHWC_TO_NCHW
from nnapi.ops.shapes import same_padding
from nnapi.testing.example import Example, OperandSpec, OperationSpec, Source
from nnapi.testing.random.parts import CONSTANTS, match_call

ACTIVATIONS = {FuseCode.FUSED_RELU: "RELU", FuseCode.FUSED_RELU1: "RELU1", FuseCode.FUSED_RELU6: "RELU6"}


class _Text:
    """An example while its operations are replaced."""

    def __init__(self, example: Example) -> None:
        self.operands = list(example.main.operands)
        self.operations: list[OperationSpec] = []

    def constants(self, operation: OperationSpec) -> dict[str, int]:
        """Return the constant scalars of a call, by name."""
        found = {}
        for name, places in match_call(operation, self.operands).inputs.items():
            operand = self.operands[operation.inputs[places[0]]]
            if operand.lifetime in CONSTANTS and not operand.type.startswith("TENSOR") and operand.data is not None:
                found[name] = int(operand.data)
        return found

    def add(self, operand: OperandSpec) -> int:
        self.operands.append(operand)
        return len(self.operands) - 1

    def constant(self, type: str, value: object, dtype: type) -> int:
        data: Array = np.array(value, dtype)
        return self.add(OperandSpec(type, data.shape, lifetime=Source.CONSTANT_COPY, data=data))

    def add_between(self, index: int) -> int:
        """Add a tensor of the same type with unspecified dimensions."""
        like = self.operands[index]
        dimensions = (0,) * len(like.dimensions)
        return self.add(replace(like, lifetime=Source.TEMPORARY_VARIABLE, data=None, dimensions=dimensions))

    def transpose(self, source: int, target: int, order: tuple[int, ...]) -> None:
        perm = self.constant("TENSOR_INT32", order, np.int32)
        self.operations.append(OperationSpec("TRANSPOSE", (source, perm), (target,)))


def _replace_argument(inputs: tuple[int, ...], place: int, *others: int) -> tuple[int, ...]:
    return (*inputs[:place], *others, *inputs[place + 1 :])


def _rephrase(example: Example, say: Callable[[_Text, OperationSpec], bool]) -> Example | None:
    """Return the rewritten example; None if ``rewrite`` changed no operation."""
    text, is_new = _Text(example), False
    for operation in example.main.operations:
        if say(text, operation):
            is_new = True
        else:
            text.operations.append(operation)
    main = replace(example.main, operands=tuple(text.operands), operations=tuple(text.operations))
    return replace(example, main=main) if is_new else None


def with_own_activations(example: Example) -> Example | None:
    """Return the example with each fused activation as an operation that follows."""
    return _rephrase(example, _activate_after)


def _activate_after(text: _Text, operation: OperationSpec) -> bool:
    code = text.constants(operation).get("activation", 0)
    match = match_call(operation, text.operands)
    if not code or not match.overload.fuses or not _keeps_scale(text, operation):
        return False  # cells have one for each step
    (place,) = match.inputs["activation"]
    (result,) = operation.outputs
    inputs = _replace_argument(operation.inputs, place, text.constant("INT32", 0, np.int32))
    text.operations.append(replace(operation, inputs=inputs, outputs=(before := text.add_between(result),)))
    text.operations.append(OperationSpec(ACTIVATIONS[FuseCode(code)], (before,), (result,)))
    return True


def _keeps_scale(text: _Text, operation: OperationSpec) -> bool:
    """Whether a pooling has its input's scale: else the clamp is rounded before or after."""
    first, result = text.operands[operation.inputs[0]], text.operands[operation.outputs[0]]
    same = (first.scale, first.zero_point) == (result.scale, result.zero_point)
    return same or not operation.type.endswith("POOL_2D")


def with_other_layouts(example: Example) -> Example | None:
    """Return the example with each operation in its other layout, between transpositions."""
    return _rephrase(example, _turn)


def _turn(text: _Text, operation: OperationSpec) -> bool:
    first = text.constants(operation).get("layout")
    if first is None:
        return False
    match, slots = match_call(operation, text.operands), REGISTRY[OperationCode[operation.type]].outputs
    if "output_shape" in match.inputs:
        return False  # its dimensions would have to be transposed as well
    to, back = (NCHW_TO_NHWC, NHWC_TO_NCHW) if first else (NHWC_TO_NCHW, NCHW_TO_NHWC)
    inputs = _replace_argument(operation.inputs, match.inputs["layout"][0], text.constant("BOOL", not first, np.bool_))
    for slot in match.overload.inputs:
        if isinstance(slot, TensorParameter) and slot.image and slot.name in match.inputs:
            (place,) = match.inputs[slot.name]
            text.transpose(inputs[place], turned := text.add_between(inputs[place]), to)
            inputs = _replace_argument(inputs, place, turned)
    results = [
        text.add_between(index) if isinstance(slot, TensorParameter) and slot.image else index
        for slot, index in zip(slots, operation.outputs, strict=False)
    ]
    text.operations.append(replace(operation, inputs=inputs, outputs=tuple(results)))
    for old, new in zip(operation.outputs, results, strict=True):
        if old != new:
            text.transpose(new, old, back)
    return True


def with_padding_in_numbers(example: Example) -> Example | None:
    """Return the example with explicit padding instead of implicit padding schemes."""
    return _rephrase(example, _pad_by_numbers)


def _pad_by_numbers(text: _Text, operation: OperationSpec) -> bool:
    known = text.constants(operation)
    image = text.operands[operation.inputs[0]].dimensions
    if "padding_scheme" not in known or operation.type == "TRANSPOSE_CONV_2D" or 0 in image or "stride_w" not in known:
        return False
    if "filter_w" not in known and 0 in text.operands[operation.inputs[1]].dimensions:
        return False  # only the filter's value has its dimensions
    rows, columns = image[2:] if known.get("layout") else image[1:3]
    sides: list[int] = []
    for axis, dimension, name in ((2, columns, "w"), (1, rows, "h")):
        size = known.get(f"filter_{name}") or text.operands[operation.inputs[1]].dimensions[axis]
        both = same_padding(dimension, size, known[f"stride_{name}"], known.get(f"dilation_{name}", 1))
        sides += both if known["padding_scheme"] == PaddingCode.PADDING_SAME else (0, 0)
    (place,) = match_call(operation, text.operands).inputs["padding_scheme"]
    numbers = [text.constant("INT32", side, np.int32) for side in sides]
    text.operations.append(replace(operation, inputs=_replace_argument(operation.inputs, place, *numbers)))
    return True
