"""Variants of a model that must not change its result."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from nnapi.codes import FuseCode, PaddingCode
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import TensorParameter
from nnapi.operation_codes import CODES
from nnapi.ops.evaluate import NCHW_TO_NHWC, NHWC_TO_NCHW
from nnapi.ops.shapes import same_padding
from nnapi.testing.example import (
    Example,
    OperandSource,
    OperandSpec,
    OperationSpec,
    find_operands,
    with_dynamic_outputs,
    with_unknown_dimensions,
)
from nnapi.testing.random.subgraphs import CONSTANTS, match_call

ACTIVATIONS = {FuseCode.FUSED_RELU: "RELU", FuseCode.FUSED_RELU1: "RELU1", FuseCode.FUSED_RELU6: "RELU6"}


class _Rewritten:
    def __init__(self, example: Example) -> None:
        self.operands = list(example.main.operands)
        self.operations: list[OperationSpec] = []

    def constants(self, operation: OperationSpec) -> dict[str, int]:
        found = {}
        for name, positions in match_call(operation, self.operands).inputs.items():
            operand = self.operands[operation.inputs[positions[0]]]
            if operand.lifetime in CONSTANTS and not operand.type.startswith("TENSOR") and operand.data is not None:
                found[name] = int(operand.data)
        return found

    def add(self, operand: OperandSpec) -> int:
        self.operands.append(operand)
        return len(self.operands) - 1

    def constant(self, type: str, value: object, dtype: type) -> int:
        data: Array = np.array(value, dtype)
        return self.add(OperandSpec(type, data.shape, lifetime=OperandSource.CONSTANT_COPY, data=data))

    def add_between(self, index: int) -> int:
        """Add a tensor of the same type with unspecified dimensions."""
        like = self.operands[index]
        dimensions = (0,) * len(like.dimensions)
        return self.add(replace(like, lifetime=OperandSource.TEMPORARY_VARIABLE, data=None, dimensions=dimensions))

    def transpose(self, source: int, target: int, order: tuple[int, ...]) -> None:
        perm = self.constant("TENSOR_INT32", order, np.int32)
        self.operations.append(OperationSpec("TRANSPOSE", (source, perm), (target,)))


def _replace_argument(inputs: tuple[int, ...], position: int, *others: int) -> tuple[int, ...]:
    return (*inputs[:position], *others, *inputs[position + 1 :])


def _rewrite(example: Example, rewrite: Callable[[_Rewritten, OperationSpec], bool]) -> Example | None:
    """Return the rewritten example; None if ``rewrite`` changed no operation."""
    model, is_new = _Rewritten(example), False
    for operation in example.main.operations:
        if rewrite(model, operation):
            is_new = True
        else:
            model.operations.append(operation)
    main = replace(example.main, operands=tuple(model.operands), operations=tuple(model.operations))
    return replace(example, main=main) if is_new else None


def _separate_activation(model: _Rewritten, operation: OperationSpec) -> bool:
    code = model.constants(operation).get("activation", 0)
    match = match_call(operation, model.operands)
    if not code or not match.overload.fuses or not _keeps_scale(model, operation):
        return False  # recurrent cells apply their activation in each step
    (position,) = match.inputs["activation"]
    (result,) = operation.outputs
    inputs = _replace_argument(operation.inputs, position, model.constant("INT32", 0, np.int32))
    model.operations.append(replace(operation, inputs=inputs, outputs=(before := model.add_between(result),)))
    model.operations.append(OperationSpec(ACTIVATIONS[FuseCode(code)], (before,), (result,)))
    return True


def _keeps_scale(model: _Rewritten, operation: OperationSpec) -> bool:
    """Return whether a pooling keeps its input's scale; else clamping before and after rounding differ."""
    first, result = model.operands[operation.inputs[0]], model.operands[operation.outputs[0]]
    same = (first.scale, first.zero_point) == (result.scale, result.zero_point)
    return same or not operation.type.endswith("POOL_2D")


def _change_layout(model: _Rewritten, operation: OperationSpec) -> bool:
    first = model.constants(operation).get("layout")
    if first is None:
        return False
    match, slots = match_call(operation, model.operands), REGISTRY[CODES[operation.type]].outputs
    if "output_shape" in match.inputs:
        return False  # the values of ``output_shape`` would have to be transposed too
    to, back = (NCHW_TO_NHWC, NHWC_TO_NCHW) if first else (NHWC_TO_NCHW, NCHW_TO_NHWC)
    inputs = _replace_argument(operation.inputs, match.inputs["layout"][0], model.constant("BOOL", not first, np.bool_))
    for slot in match.overload.inputs:
        if isinstance(slot, TensorParameter) and slot.image and slot.name in match.inputs:
            (position,) = match.inputs[slot.name]
            model.transpose(inputs[position], transposed := model.add_between(inputs[position]), to)
            inputs = _replace_argument(inputs, position, transposed)
    results = [
        model.add_between(index) if isinstance(slot, TensorParameter) and slot.image else index
        for slot, index in zip(slots, operation.outputs, strict=False)
    ]
    model.operations.append(replace(operation, inputs=inputs, outputs=tuple(results)))
    for old, new in zip(operation.outputs, results, strict=True):
        if old != new:
            model.transpose(new, old, back)
    return True


def _pad_explicitly(model: _Rewritten, operation: OperationSpec) -> bool:
    known = model.constants(operation)
    image = model.operands[operation.inputs[0]].dimensions
    if "padding_scheme" not in known or operation.type == "TRANSPOSE_CONV_2D" or 0 in image or "stride_w" not in known:
        return False
    if "filter_w" not in known and 0 in model.operands[operation.inputs[1]].dimensions:
        return False  # the filter's dimensions are unspecified
    rows, columns = image[2:] if known.get("layout") else image[1:3]
    sides: list[int] = []
    for axis, dimension, name in ((2, columns, "w"), (1, rows, "h")):
        size = known.get(f"filter_{name}") or model.operands[operation.inputs[1]].dimensions[axis]
        both = same_padding(dimension, size, known[f"stride_{name}"], known.get(f"dilation_{name}", 1))
        sides += both if known["padding_scheme"] == PaddingCode.PADDING_SAME else (0, 0)
    (position,) = match_call(operation, model.operands).inputs["padding_scheme"]
    numbers = [model.constant("INT32", side, np.int32) for side in sides]
    model.operations.append(replace(operation, inputs=_replace_argument(operation.inputs, position, *numbers)))
    return True


with_separate_activations = partial(_rewrite, rewrite=_separate_activation)
with_explicit_padding = partial(_rewrite, rewrite=_pad_explicitly)
with_other_layouts = partial(_rewrite, rewrite=_change_layout)

REWRITES = {
    "with activations of their own": with_separate_activations,
    "with padding in numbers": with_explicit_padding,
    "in the other layout": with_other_layouts,
}


def equivalent_variants(example: Example) -> Iterator[tuple[str, Example]]:
    """Yield each equivalent variant of an example, with a description of the difference. Outputs keep their order."""
    yield "with outputs of unspecified dimensions", with_dynamic_outputs(example)
    if not example.referenced:
        yield "with inputs of unspecified dimensions", with_unknown_dimensions(example)
        for description, rewrite in REWRITES.items():
            other = rewrite(example)
            if other is not None:
                yield description, other
    yield "with tensors as inputs", with_inputs(example)
    yield "with tensors as constants", with_constants(example)


def with_inputs(example: Example) -> Example:
    """Return the example with every constant tensor made a model input."""
    operands, inputs = dict[int, OperandSpec](), dict(example.inputs)
    for index, operand in enumerate(example.main.operands):
        if operand.lifetime in CONSTANTS and operand.type.startswith("TENSOR"):
            inputs[index] = operand.data
            operands[index] = replace(operand, lifetime=OperandSource.SUBGRAPH_INPUT, data=None)
    return _with_given(example, operands, inputs)


def with_constants(example: Example) -> Example:
    """Return the example with every input except the first made a constant."""
    operands, inputs = dict[int, OperandSpec](), dict(example.inputs)
    for index in example.main.inputs[1:]:
        operand, data = example.main.operands[index], inputs[index]
        if data is not None:
            del inputs[index]
            operands[index] = replace(operand, lifetime=OperandSource.CONSTANT_COPY, data=data, dimensions=data.shape)
    return _with_given(example, operands, inputs)


def _with_given(example: Example, operands: Mapping[int, OperandSpec], inputs: Mapping[int, Array | None]) -> Example:
    main = example.with_operands(operands).main
    order = find_operands(main.operands, OperandSource.SUBGRAPH_INPUT)
    return replace(example, main=replace(main, inputs=order), inputs=inputs)
