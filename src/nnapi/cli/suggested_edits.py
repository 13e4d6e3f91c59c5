"""Suggest edits of an operation that may let an accelerator accept it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from nnapi.errors import NnapiError
from nnapi.lowering.decompose import decompose_call
from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.lowering.refusal import Unsupported
from nnapi.model.model import Lifetime, Model
from nnapi.testing.build import build
from nnapi.testing.example import Example, as_signed
from nnapi.testing.random.equivalents import with_constants

QUANTIZED = (
    "TENSOR_QUANT8_ASYMM",
    "TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_QUANT8_SYMM",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL",
)
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D", "FULLY_CONNECTED")


def list_edits(part: Example) -> Iterator[tuple[str, Model]]:
    """Yield each edit that changes the operation: its description and the edited model."""
    for words, edit in EDITS.items():
        edited = edit(part)
        if edited.main.operands != part.main.operands:
            try:
                yield words, build(edited)
            except NnapiError:
                continue  # the operation lacks the type, or requires a constant
    if decomposed := _decompose(build(part)):
        names = dict.fromkeys(call.name for call in decomposed.operations)
        yield f"write it as {', '.join(names)}", decomposed


def _use_floats(part: Example) -> Example:
    """Replace quantized values, and the int32 bias of quantized weights, by float32."""
    (operation,) = part.main.operations
    bias = operation.inputs[2] if operation.type in WEIGHTED else None
    operands = {}
    for index, operand in enumerate(part.main.operands):
        if operand.type in QUANTIZED or (index == bias and operand.type == "TENSOR_INT32"):
            data = None if operand.data is None else operand.data.astype(np.float32)
            operands[index] = replace(
                operand, type="TENSOR_FLOAT32", scale=0.0, zero_point=0, channel_quant=None, data=data
            )
    return part.with_operands(operands)


EDITS: dict[str, Callable[[Example], Example]] = {
    "quantize it as signed 8-bit": as_signed,
    "keep it in float32": _use_floats,
    "make its other inputs constants": with_constants,
}


def _decompose(model: Model) -> Model | None:
    """Return the operation decomposed into simpler ones; None if it has no decomposition."""
    (call,) = model.operations
    types = KnownTypes(model, {operand.index: operand.type for operand in model.operands})
    values = {o.index: o.value for o in model.operands if o.lifetime is Lifetime.CONSTANT}
    try:
        normal = normalize_call(model, call, types, values.__getitem__)
        decomposition = decompose_call(model, call, normal, types, values)
    except (NnapiError, Unsupported, KeyError):
        return None
    return None if decomposition is None else decomposition.model
