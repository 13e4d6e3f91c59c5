"""One operation as a whole model, for tests of operations and drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.compiling import compile
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType
from nnapi.runtime.device import Device

Given = tuple[OperandType, Any]
"""An input's type and value; a value of None omits it."""


def scalar(code: OperandCode, value: Any) -> Given:
    """A scalar input: ``scalar(OperandCode.INT32, 2)``."""
    return OperandType(code), np.asarray(value)


def run_single(
    code: OperationCode,
    inputs: Sequence[Given],
    outputs: Sequence[OperandType],
    *,
    constant: bool = False,
    devices: Sequence[Device | str] | None = None,
) -> list[Array]:
    """The outputs of one operation on stored values (codes where quantized).

    Tensors are model inputs, with ``constant`` only the first is; scalars are constants always.
    """
    model = single(code, inputs, outputs, constant=constant)
    tensors = [value for type, value in inputs if _is_input(type, value, False)]
    given = tensors[: len(model.inputs)]
    arrays = [
        np.asarray(value, model.operands[index].type.dtype) for index, value in zip(model.inputs, given, strict=True)
    ]
    return compile(model, devices).run(*arrays)


def single(
    code: OperationCode, inputs: Sequence[Given], outputs: Sequence[OperandType], *, constant: bool = False
) -> Model:
    """The finished model of one operation; with ``constant`` every tensor but the first is a constant."""
    model = Model(code.name)
    indices: list[int] = []
    model_inputs: list[int] = []
    for position, (type, value) in enumerate(inputs):
        index = model.add_operand(
            OperandType(type.code, type.dimensions, type.scale, type.zero_point), f"input{position}"
        )
        if type.channel:
            model.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        if _is_input(type, value, constant and bool(model_inputs)):
            model_inputs.append(index)
        else:
            model.set_operand_value(index, None if value is None else np.ascontiguousarray(value, type.dtype))
        indices.append(index)
    results = [model.add_operand(type, f"output{position}") for position, type in enumerate(outputs)]
    model.add_operation(code, indices, results)
    model.identify_inputs_and_outputs(model_inputs, results)
    model.finish()
    return model


def _is_input(type: OperandType, value: Any, constant: bool) -> bool:
    return not type.is_scalar and value is not None and not constant
